"""Bags of words in lines: the UCI repository's ``docword``, svmlight and LDA-C."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.files import bare, beside, open_text, read_names
from isotopic.io.limits import check_shape
from isotopic.io.matrix_market import read_entries
from isotopic.io.numbers import are_plain, is_number
from isotopic.io.source import LoadedSource, Options, loaded

_HEADER = ("documents", "words in the vocabulary", "entries")

# Lines of pairs that are held at once.
_LINES = 2**14
_PAIR = re.compile(r"\d+:[0-9.eE+]+")
_QUERY = re.compile(r"\bqid:\S+")


def looks_like_docword(lines: list[str]) -> bool:
    """Return whether there are three lines of one number and then three numbers a line."""
    cells = [line.split() for line in lines[:4]]
    widths = [len(row) for row in cells]
    return widths == [1, 1, 1, 3] and all(cell.isdecimal() for row in cells for cell in row)


def read_docword(path: Path, options: Options) -> LoadedSource:
    """Read documents x words; the vocabulary is in a file beside it."""
    with open_text(path, options.encoding) as stream:
        documents, words, promised = (_header(stream, i) for i in range(3))
        check_shape(path, (documents, words), options.max_size)
        counts, found = read_entries(stream, 4, (documents, words), ("document", "word", "count"))
    if found != promised:
        raise ValueError(f"line 3 promises {promised:,} entries; {found:,} follow")
    beside_it = bare(path).name.replace("docword", "vocab")
    return loaded(counts, None, _read_vocabulary(path, options.encoding, beside_it))


def _header(stream: IO[str], place: int) -> int:
    text = stream.readline().strip()
    if not (text.isascii() and text.isdecimal()):
        what = _HEADER[place]
        raise ValueError(f"line {place + 1} must be the number of {what}, not {text!r:.60}")
    return int(text)


class Pairs(NamedTuple):
    """Some lines: their first cells, their numbers of pairs, and all pairs."""

    heads: list[str]
    lengths: list[int]
    features: Array
    values: Array


def looks_like_pairs(lines: list[str]) -> bool:
    """Return whether lines are a number and then pairs."""
    rows = [_without_comment(line).split() for line in lines]
    return any(len(row) > 1 for row in rows) and all(
        is_number(row[0]) and all(map(_PAIR.fullmatch, row[1:])) for row in rows if row
    )


def looks_like_ldac(lines: list[str]) -> bool:
    """Return whether every line begins with the number of its pairs."""
    rows = [line.split() for line in lines]
    fits = looks_like_pairs(lines) and all(row and row[0] == str(len(row) - 1) for row in rows)
    has_zero = any(pair.startswith("0:") for row in rows for pair in row)
    if fits and not has_zero and len({row[0] for row in rows}) < 3:
        raise ValueError(
            f"the first numbers of the lines, such as {lines[0].strip()[:40]!r}, may be numbers of "
            "pairs or labels. Say format='ldac' (--format ldac), whose features are numbered from "
            "0, or format='svmlight' (--format svmlight), whose are numbered from 1"
        )
    return fits


def read_svmlight(path: Path, options: Options) -> LoadedSource:
    """Read what follows the labels; features are numbered from 1, or from 0 if there is a 0."""
    parts = list(_read_pairs(path, options.encoding, comments=True))
    features = np.concatenate([part.features for part in parts] or [np.empty(0)])
    first = 0 if features.size == 0 or features.min() == 0 else 1
    return _join_pairs(path, parts, first, options)


def read_ldac(path: Path, options: Options) -> LoadedSource:
    """Read Blei's format: the number of different words, then pairs; words are numbered from 0."""
    parts = list(_read_pairs(path, options.encoding, comments=False))
    line = 0
    for part in parts:
        for head, length in zip(part.heads, part.lengths, strict=True):
            line += 1
            if head != str(length):
                raise ValueError(f"line {line} promises {head[:50]} pairs; {length} follow")
    return _join_pairs(path, parts, 0, options)


def _read_pairs(path: Path, encoding: str, *, comments: bool) -> Iterator[Pairs]:
    """Read the lines of a file, some at a time."""
    line = 1
    with open_text(path, encoding) as stream:
        while lines := list(islice(stream, _LINES)):
            kept = list(enumerate(map(_without_comment if comments else str.strip, lines), line))
            if comments:  # lines of comments alone are not samples
                kept = [(number, text) for number, text in kept if text]
            yield _read_lines(kept)
            line += len(lines)


def _read_lines(kept: list[tuple[int, str]]) -> Pairs:
    """Read all numbers at once; only if that fails, look for the line that is wrong."""
    lengths = [text.count(":") for _, text in kept]
    cells = " ".join(text.replace(":", " ") for _, text in kept).split()
    starts = np.cumsum([0, *(1 + 2 * length for length in lengths)])
    try:
        if starts[-1] != len(cells) or not are_plain(cells):
            raise ValueError
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        _raise_for_bad_line(kept)
        raise
    pairs = np.delete(numbers, starts[:-1]).reshape(-1, 2)
    features, values = pairs[:, 0], pairs[:, 1]
    good = (features >= 0) & (features == np.floor(features)) & (values >= 0) & (values < np.inf)
    if not good.all():
        _raise_for_bad_line(kept)
    return Pairs([cells[start] for start in starts[:-1]], lengths, features, values)


def _raise_for_bad_line(kept: list[tuple[int, str]]) -> None:
    for number, text in kept:
        head, *pairs = text.split() or [""]
        if not is_number(head):
            raise ValueError(f"line {number} must begin with a number, not {head!r:.60}")
        for pair in pairs:
            feature, _, value = pair.partition(":")
            is_whole = feature.isascii() and feature.isdecimal()
            if not (is_whole and is_number(value) and 0 <= float(value) < np.inf):
                raise ValueError(f"line {number}: {pair!r:.60} is not feature:count")


def _join_pairs(path: Path, parts: list[Pairs], first: int, options: Options) -> LoadedSource:
    """Return all lines as one matrix; features are numbered from ``first``."""
    names = _read_vocabulary(path, options.encoding)
    lengths = [length for part in parts for length in part.lengths]
    if not lengths:
        raise ValueError("the file has no samples")
    numbers = np.concatenate([part.features for part in parts])
    check_shape(path, (len(lengths), int(numbers.max(initial=0))), options.max_size)
    features = numbers.astype(np.int64) - first
    values = np.concatenate([part.values for part in parts])
    shape = (
        len(lengths),
        max(0 if names is None else len(names), int(features.max(initial=-1)) + 1),
    )
    counts = sparse.csr_array((values, features, np.cumsum([0, *lengths])), shape=shape)
    return loaded(counts, None, names)


def _read_vocabulary(path: Path, encoding: str, *names: str) -> Array | None:
    """Read the first of the named files, ``x.vocab`` (gensim) and ``vocab.txt`` that exists."""
    whole = bare(path)
    file = beside(path, *names, f"{whole.name}.vocab", f"{whole.stem}.vocab", "vocab.txt")
    return None if file is None else read_names(file, encoding)


def _without_comment(line: str) -> str:
    return _QUERY.sub("", line.partition("#")[0]).strip()

"""Lines of ``feature:count`` pairs: svmlight and LDA-C."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.delimited import is_number
from isotopic.io.names import read_names
from isotopic.io.opening import bare, beside, open_text
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, check_plausible, loaded

_LINES = 2**14
_PAIR = re.compile(r"\d+:[0-9.eE+]+")
_QUERY = re.compile(r"\bqid:\S+")


class Pairs(NamedTuple):
    """Some lines: their first cells, their numbers of pairs, and all pairs."""

    heads: list[str]
    lengths: list[int]
    features: Array
    values: Array


def looks_like_pairs(lines: list[str]) -> bool:
    """Whether lines are a number and then pairs."""
    rows = [_without_comment(line).split() for line in lines]
    return any(len(row) > 1 for row in rows) and all(
        is_number(row[0]) and all(map(_PAIR.fullmatch, row[1:])) for row in rows if row
    )


def looks_like_ldac(lines: list[str]) -> bool:
    """Whether every line begins with the number of its pairs."""
    rows = [line.split() for line in lines]
    return looks_like_pairs(lines) and all(row and row[0] == str(len(row) - 1) for row in rows)


def read_svmlight(path: Path, options: Options) -> LoadedSource:
    """Read what follows the labels; features are numbered from 1, or from 0 if there is a 0."""
    parts = list(_read_pairs(path, options.encoding, comments=True))
    features = np.concatenate([part.features for part in parts] or [np.empty(0)])
    first = 0 if features.size == 0 or features.min() == 0 else 1
    return _join_pairs(parts, first, _read_vocabulary(path, options.encoding))


def read_ldac(path: Path, options: Options) -> LoadedSource:
    """Read Blei's format: the number of different words, then pairs; words are numbered from 0."""
    parts = list(_read_pairs(path, options.encoding, comments=False))
    line = 0
    for part in parts:
        for head, length in zip(part.heads, part.lengths, strict=True):
            line += 1
            if head != str(length):
                raise ValueError(f"line {line} promises {head[:50]} pairs; {length} follow")
    return _join_pairs(parts, 0, _read_vocabulary(path, options.encoding))


def _read_pairs(path: Path, encoding: str, *, comments: bool) -> Iterator[Pairs]:
    """Read the lines of a file, some at a time."""
    line = 1
    with open_text(path, encoding) as stream:
        while lines := list(islice(stream, _LINES)):
            if comments:  # lines of comments alone are not samples
                kept = [
                    (i, text) for i, text in enumerate(map(_without_comment, lines), line) if text
                ]
            else:
                kept = list(enumerate(map(str.strip, lines), line))
            yield _read_lines(kept)
            line += len(lines)


def _read_lines(kept: list[tuple[int, str]]) -> Pairs:
    """Read all numbers at once; only if that fails, look for the line that is wrong."""
    lengths = [text.count(":") for _, text in kept]
    cells = " ".join(text.replace(":", " ") for _, text in kept).split()
    starts = np.cumsum([0, *(1 + 2 * length for length in lengths)])
    try:
        if starts[-1] != len(cells):
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
            if not (feature.isdecimal() and is_number(value) and 0 <= float(value) < np.inf):
                raise ValueError(f"line {number}: {pair!r:.60} is not feature:count")


def _join_pairs(parts: list[Pairs], first: int, names: list[str] | None) -> LoadedSource:
    """Return all lines as one matrix; features are numbered from ``first``."""
    lengths = [length for part in parts for length in part.lengths]
    if not lengths:
        raise ValueError("the file has no samples")
    features = np.concatenate([part.features for part in parts]).astype(np.int64) - first
    values = np.concatenate([part.values for part in parts])
    shape = (len(lengths), max(len(names or ()), int(features.max(initial=-1)) + 1))
    check_plausible(shape, len(values))
    counts = sparse.csr_array((values, features, np.cumsum([0, *lengths])), shape=shape)
    return loaded(counts, None, names)


def _read_vocabulary(path: Path, encoding: str) -> list[str] | None:
    """Read the names in ``x.vocab`` (gensim) or ``vocab.txt``, if there is such a file."""
    file = beside(path, f"{bare(path).name}.vocab", f"{bare(path).stem}.vocab", "vocab.txt")
    return None if file is None else read_names(file, encoding)


def _without_comment(line: str) -> str:
    return _QUERY.sub("", line.partition("#")[0]).strip()

"""Bags of words of the UCI repository: ``docword.x.txt`` and ``vocab.x.txt``."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.data import Content
from isotopic.io.names import read_names
from isotopic.io.opening import bare, beside, open_text
from isotopic.io.options import Options

_LINES = 2**18
_HEADER = ("documents", "words in the vocabulary", "entries")


def looks_like_docword(lines: list[str]) -> bool:
    """Whether there are three lines of one number and then three numbers a line."""
    cells = [line.split() for line in lines[:4]]
    widths = [len(row) for row in cells]
    return widths == [1, 1, 1, 3] and all(cell.isdecimal() for row in cells for cell in row)


def read(path: Path, options: Options) -> Content:
    """Read documents x words; the vocabulary stands beside the file."""
    with open_text(path, options.encoding) as stream:
        documents, words, entries = (_header(stream, i) for i in range(3))
        shape = (documents, words)
        parts = list(_entries(stream, shape))
    found = sum(len(part) for part in parts)
    if found != entries:
        raise ValueError(f"line 3 promises {entries:,} entries; {found:,} follow")
    rows, columns, values = np.concatenate([np.empty((0, 3)), *parts]).T
    places = (rows.astype(np.int64) - 1, columns.astype(np.int64) - 1)
    counts = sparse.coo_array((values, places), shape=shape).tocsr()
    vocabulary = _vocabulary(path)
    names = None if vocabulary is None else read_names(vocabulary, options.encoding)
    return Content(counts, None, names)


def _header(stream: IO[str], place: int) -> int:
    text = stream.readline().strip()
    if not text.isdecimal():
        raise ValueError(
            f"line {place + 1} must be the number of {_HEADER[place]}, not {text!r:.60}"
        )
    return int(text)


def _entries(stream: IO[str], shape: tuple[int, int]) -> Iterator[Array]:
    """Give the entries (document, word, count), some at a time."""
    line = 4
    while lines := list(islice(stream, _LINES)):
        rows = [row for row in lines if not row.isspace()]
        try:
            part = np.loadtxt(rows, ndmin=2, comments=None) if rows else np.empty((0, 3))
            if part.shape[1] != 3 or not _is_good(part, shape).all():
                raise ValueError
        except ValueError:
            _say_which(lines, line, shape)
            raise
        yield part
        line += len(lines)


def _is_good(part: Array, shape: tuple[int, int]) -> Array:
    places = part[:, :2]
    inside = (places >= 1) & (places <= shape) & (places == np.floor(places))
    good: Array = inside.all(axis=1) & (part[:, 2] >= 0) & (part[:, 2] < np.inf)
    return good


def _say_which(lines: list[str], first: int, shape: tuple[int, int]) -> None:
    for number, text in enumerate(lines, first):
        if not text.strip():
            continue
        try:
            row = np.array([text.split()], dtype=np.float64)
        except ValueError:
            row = np.empty((1, 0))
        if row.shape[1] != 3 or not _is_good(row, shape)[0]:
            raise ValueError(
                f"line {number}: {text.strip()!r:.60} is not a document (1 to {shape[0]}), a word "
                f"(1 to {shape[1]}) and a count"
            )


def _vocabulary(path: Path) -> Path | None:
    """Find ``vocab.x.txt`` for ``docword.x.txt``, or ``x.vocab`` (gensim), or ``vocab.txt``."""
    whole = bare(path).name
    return beside(
        path,
        whole.replace("docword", "vocab"),
        f"{whole}.vocab",
        f"{bare(path).stem}.vocab",
        "vocab.txt",
    )

"""Matrix Market.

SciPy can read it too, but some damaged files make its reader end the process.
"""

import os
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from isotopic.io.entries import read_entries
from isotopic.io.opening import bare, beside, open_text
from isotopic.io.options import Options
from isotopic.io.source import Source, named

_NUMBERS = ("real", "double", "integer", "unsigned-integer", "pattern")


class _Header(NamedTuple):
    """What the first lines say, and how many lines they are."""

    layout: str
    numbers: str
    symmetry: str
    sizes: list[int]
    lines: int


@dataclass(frozen=True, eq=False)
class MatrixMarketSource(Source):
    """A file of Matrix Market; text can only be read as a whole.

    Parameters
    ----------
    encoding : str
    """

    encoding: str

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        with open_text(Path(self.path), self.encoding) as stream:
            header = _header(stream)
            read = _read_array if header.layout == "array" else _read_coordinates
            counts = read(stream, header)
        if header.symmetry == "symmetric":
            lower = sparse.csr_array(counts)
            counts = lower + sparse.csr_array(sparse.tril(lower, k=-1).T)
        return counts if (start, stop) == (0, self.shape[0]) else counts[start:stop]


def open_mtx(path: Path, options: Options) -> Source:
    """Open a file; the names of its rows and columns may be in files beside it."""
    rows, columns = _find_names(path, "row"), _find_names(path, "col")
    return named(open_matrix(path, options), rows, columns, options.encoding)


def open_matrix(path: Path, options: Options) -> Source:
    """Open a file without looking for names."""
    with open_text(path, options.encoding) as stream:
        header = _header(stream)
    rows, columns = header.sizes[:2]
    entries = rows * columns if header.layout == "array" else header.sizes[2]
    if header.symmetry == "symmetric":
        if rows != columns:
            raise ValueError(f"a symmetric matrix must be square, not {rows} x {columns}")
        entries *= 2  # at most
    return MatrixMarketSource(os.fspath(path), (rows, columns), entries, options.encoding)


def _header(stream: IO[str]) -> _Header:
    words = stream.readline().lower().split()
    known = (
        len(words) == 5
        and words[:2] == ["%%matrixmarket", "matrix"]
        and words[2] in ("coordinate", "array")
    )
    if not known or words[3] not in _NUMBERS or words[4] not in ("general", "symmetric"):
        raise ValueError(
            f"line 1: {' '.join(words)!r:.80} is not '%%MatrixMarket matrix', 'coordinate' or "
            f"'array', one of {', '.join(_NUMBERS)} (counts are real numbers), and 'general' or "
            "'symmetric'"
        )
    line, text = 2, stream.readline()
    while text and (text.isspace() or text.startswith("%")):
        line, text = line + 1, stream.readline()
    sizes = text.split()
    wanted = ["rows", "columns", "entries"][: 3 if words[2] == "coordinate" else 2]
    if len(sizes) != len(wanted) or not all(s.isascii() and s.isdecimal() for s in sizes):
        raise ValueError(
            f"line {line} must be the numbers of {', '.join(wanted)}, not {text!r:.60}"
        )
    return _Header(words[2], words[3], words[4], [int(size) for size in sizes], line)


def _read_coordinates(stream: IO[str], header: _Header) -> Any:
    rows, columns, promised = header.sizes
    names = ("row", "column") if header.numbers == "pattern" else ("row", "column", "number")
    counts, found = read_entries(stream, header.lines + 1, (rows, columns), names)
    if found != promised:
        raise ValueError(f"line {header.lines} promises {promised:,} entries; {found:,} follow")
    return counts


def _read_array(stream: IO[str], header: _Header) -> Any:
    """Return an array whose entries are stored column by column."""
    rows, columns = header.sizes
    if header.symmetry != "general":
        raise ValueError("line 1: symmetric arrays are not read; coordinates are")
    cells = list(chain.from_iterable(map(str.split, stream)))
    if len(cells) != rows * columns:
        raise ValueError(
            f"line {header.lines} promises {rows * columns:,} numbers; {len(cells):,} follow"
        )
    return np.array(cells, dtype=np.float64).reshape(columns, rows).T


def _find_names(path: Path, kind: str) -> str | None:
    """Find ``x.mtx_rows``, ``x.rows``, ``x_rows.txt``, ``x.rownames.txt`` or the like."""
    whole, stem = bare(path).name, bare(path).stem
    endings = [f"{kind}s", f"{kind}names", f"{kind}_names"]
    names = [f"{whole}_{kind}s", *(f"{whole}.{ending}" for ending in endings)]
    names += [
        f"{stem}{mark}{ending}{suffix}"
        for mark in "._"
        for ending in endings
        for suffix in ("", ".txt", ".tsv")
    ]
    found = beside(path, *names)
    return None if found is None else os.fspath(found)

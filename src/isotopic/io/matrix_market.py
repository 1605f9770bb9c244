"""Matrix Market.

SciPy reads it too, but some damaged files make it read beyond its memory and end the process.
"""

from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from isotopic.io.data import Content
from isotopic.io.entries import read_entries
from isotopic.io.names import read_names
from isotopic.io.opening import bare, beside, open_text
from isotopic.io.options import Options

_NUMBERS = ("real", "double", "integer", "unsigned-integer", "pattern")


class _Header(NamedTuple):
    """What the first lines say, and how many they are."""

    layout: str
    numbers: str
    symmetry: str
    sizes: list[int]
    lines: int


def read(path: Path, options: Options) -> Content:
    """Read a file of samples x features; names of rows and columns may stand beside it."""
    counts = read_matrix(path, options)
    rows, columns = (_names_beside(path, kind, options.encoding) for kind in ("row", "col"))
    content = Content(counts, rows, columns)
    return content.transposed() if options.transpose else content


def read_matrix(path: Path, options: Options) -> Any:
    """Read the matrix alone."""
    with open_text(path, options.encoding) as stream:
        header = _header(stream)
        counts = (_array if header.layout == "array" else _coordinates)(stream, header)
    if header.symmetry == "general":
        return counts
    mirrored = sparse.csr_array(counts)
    return mirrored + sparse.csr_array(sparse.tril(mirrored, k=-1).T)


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


def _coordinates(stream: IO[str], header: _Header) -> Any:
    rows, columns, promised = header.sizes
    names = ("row", "column") if header.numbers == "pattern" else ("row", "column", "number")
    counts, found = read_entries(stream, header.lines + 1, (rows, columns), names)
    if found != promised:
        raise ValueError(f"line {header.lines} promises {promised:,} entries; {found:,} follow")
    return counts


def _array(stream: IO[str], header: _Header) -> Any:
    """Read the entries column by column."""
    rows, columns = header.sizes
    if header.symmetry != "general":
        raise ValueError("line 1: symmetric arrays are not read; coordinates are")
    cells = list(chain.from_iterable(map(str.split, stream)))
    if len(cells) != rows * columns:
        raise ValueError(
            f"line {header.lines} promises {rows * columns:,} numbers; {len(cells):,} follow"
        )
    return np.array(cells, dtype=np.float64).reshape(columns, rows).T


def _names_beside(path: Path, kind: str, encoding: str) -> list[str] | None:
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
    return None if found is None else read_names(found, encoding)

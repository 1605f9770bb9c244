"""Matrix Market, also in 10x Genomics' folders: lines of a row, a column and a number.

SciPy can read it too, but some damaged files make its reader end the process.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.files import as_names, bare, beside, open_text
from isotopic.io.limits import CHANGED, check_shape
from isotopic.io.numbers import is_number
from isotopic.io.source import Options, Source, named, transposed
from isotopic.names import gene_names

# Lines that are held at once.
_LINES = 2**18

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
    """A file of Matrix Market; text can only be read as a whole."""

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        with open_text(Path(self.path), self.encoding) as stream:
            header = _header(stream)
            read = _read_array if header.layout == "array" else _read_coordinates
            if tuple(header.sizes[:2]) != self.shape:
                raise ValueError(CHANGED)
            counts = read(stream, header)
        if header.symmetry == "symmetric":
            counts = _mirrored(sparse.csr_array(counts))
        return counts if (start, stop) == (0, self.shape[0]) else counts[start:stop]


def open_mtx(path: Path, options: Options) -> Source:
    """Open a file; the names of its rows and columns may be in files beside it."""
    rows, columns = _find_names(path, "row"), _find_names(path, "col")
    return named(_open_matrix(path, options), rows, columns, options.encoding)


def _open_matrix(path: Path, options: Options) -> Source:
    """Open a file without looking for names."""
    with open_text(path, options.encoding) as stream:
        header = _header(stream)
    rows, columns = header.sizes[:2]
    entries = rows * columns if header.layout == "array" else header.sizes[2]
    if header.symmetry == "symmetric":
        if rows != columns:
            raise ValueError(f"a symmetric matrix must be square, not {rows} x {columns}")
        entries *= 2  # at most
    check_shape(path, (rows, columns), options.max_size)
    return MatrixMarketSource(os.fspath(path), (rows, columns), entries, encoding=options.encoding)


def _mirrored(stored: Any) -> Any:
    """Return a symmetric matrix of which each pair of entries is stored once, in either triangle.

    An entry that is stored in both triangles would count twice, unless both are the same number.
    """
    lower: Any = sparse.csr_array(sparse.tril(stored, -1))
    upper: Any = sparse.csr_array(sparse.triu(stored, 1).T)
    both = lower.astype(bool).multiply(upper.astype(bool))
    if (lower.multiply(both) != upper.multiply(both)).nnz:
        raise ValueError(
            "line 1 says 'symmetric', but entries of the two triangles differ; write 'general' if "
            "the matrix is not symmetric"
        )
    half = lower.maximum(upper)
    return sparse.csr_array(half + half.T + sparse.diags_array(stored.diagonal()))


def find_10x(folder: Path) -> Path | None:
    """Find the matrix of a folder of 10x Genomics' layout."""
    return beside(folder / "-", "matrix.mtx")


def open_10x(path: Path, options: Options) -> Source:
    """Open a folder with a matrix of features x cells, features (or genes) and barcodes."""
    matrix = find_10x(path)
    if matrix is None:
        raise ValueError("there is no matrix.mtx or matrix.mtx.gz in the folder")
    genes = beside(matrix, "features.tsv", "genes.tsv")
    cells = beside(matrix, "barcodes.tsv")
    return named(
        transposed(_open_matrix(matrix, options)),
        None if cells is None else os.fspath(cells),
        None if genes is None else _gene_names(genes, options.encoding),
        options.encoding,
    )


def _gene_names(path: Path, encoding: str) -> Array:
    """Return the names of genes; a name of several genes gets the identifier of each."""
    with open_text(path, encoding) as stream:
        rows = [line.rstrip("\r\n").split("\t") for line in stream]
    return as_names(
        gene_names((row[0] for row in rows), (row[-1] if len(row) < 2 else row[1] for row in rows))
    )


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


def read_entries(
    stream: IO[str], line: int, shape: tuple[int, int], names: Sequence[str]
) -> tuple[Any, int]:
    """Return the counts in the lines that are left, from number ``line`` on, and how many they are.

    A line has a row and a column, numbered from 1, and a count; ``names`` says what these are
    called. Without the third, all counts are 1. Entries with the same row and column are summed.
    """
    small = np.dtype(np.int32 if max(shape) < 2**31 else np.int64)  # half the memory
    parts: list[list[Array]] = [[np.empty(0, small)], [np.empty(0, small)], [np.empty(0)]]
    for part in _read_parts(stream, line, shape, names):
        parts[0].append((part[:, 0] - 1).astype(small))
        parts[1].append((part[:, 1] - 1).astype(small))
        parts[2].append(part[:, 2].copy() if len(names) == 3 else np.ones(len(part)))
    rows, columns, values = (np.concatenate(parts.pop(0)) for _ in range(3))
    return sparse.coo_array((values, (rows, columns)), shape=shape).tocsr(), len(values)


def _read_parts(
    stream: IO[str], line: int, shape: tuple[int, int], names: Sequence[str]
) -> Iterator[Array]:
    while lines := list(islice(stream, _LINES)):
        rows = [row for row in lines if not row.isspace()]
        try:
            part = np.loadtxt(rows, ndmin=2, comments=None) if rows else np.empty((0, len(names)))
            if not _is_valid(part, shape, names).all():
                raise ValueError
        except ValueError:
            _raise_for_bad_line(lines, line, shape, names)
            raise
        yield part
        line += len(lines)


def _is_valid(part: Array, shape: tuple[int, int], names: Sequence[str]) -> Array:
    if part.shape[1] != len(names):
        return np.zeros(1, dtype=bool)
    places, values = part[:, :2], part[:, 2:]
    inside = (places >= 1) & (places <= shape) & (places == np.floor(places))
    counts = (values >= 0) & (values < np.inf)
    return np.asarray(inside.all(axis=1) & counts.all(axis=1))


def _raise_for_bad_line(
    lines: list[str], first: int, shape: tuple[int, int], names: Sequence[str]
) -> None:
    for number, text in enumerate(lines, first):
        if text.isspace():
            continue
        cells = text.split()
        is_numbers = all(map(is_number, cells))
        row = np.array([cells if is_numbers else []], dtype=np.float64)
        if not _is_valid(row, shape, names).all():
            wanted = [f"a {name} (1 to {most})" for name, most in zip(names, shape, strict=False)]
            wanted += [f"a {name} of at least 0" for name in names[2:]]
            raise ValueError(f"line {number}: {text.strip()!r:.60} is not {', '.join(wanted)}")

"""Lines of a row, a column and a number, as in Matrix Market and the UCI repository."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.source import check_plausible

# Lines that are held at once.
_LINES = 2**18


def read_entries(
    stream: IO[str], line: int, shape: tuple[int, int], names: Sequence[str]
) -> tuple[Any, int]:
    """Read the lines that are left.

    Parameters
    ----------
    stream : file of text
    line : int
        The number of the line that comes next.
    shape : tuple of int
        The numbers of rows and columns, which are numbered from 1.
    names : sequence of str
        What the two or three numbers of a line are called; without the third, all counts are 1.

    Returns
    -------
    counts : sparse array
        Entries with the same row and column are summed.
    found : int
        The number of entries.
    """
    small = np.dtype(np.int32 if max(shape) < 2**31 else np.int64)  # half the memory
    parts: list[list[Array]] = [[np.empty(0, small)], [np.empty(0, small)], [np.empty(0)]]
    for part in _read_parts(stream, line, shape, names):
        parts[0].append((part[:, 0] - 1).astype(small))
        parts[1].append((part[:, 1] - 1).astype(small))
        parts[2].append(part[:, 2].copy() if len(names) == 3 else np.ones(len(part)))
    rows, columns, values = (np.concatenate(parts.pop(0)) for _ in range(3))
    check_plausible(shape, len(values))
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
        try:
            row = np.array([text.split()], dtype=np.float64)
        except ValueError:
            row = np.empty((1, 0))
        if not _is_valid(row, shape, names).all():
            wanted = [f"a {name} (1 to {most})" for name, most in zip(names, shape, strict=False)]
            wanted += [f"a {name} of at least 0" for name in names[2:]]
            raise ValueError(f"line {number}: {text.strip()!r:.60} is not {', '.join(wanted)}")

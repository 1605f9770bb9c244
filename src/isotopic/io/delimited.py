"""Tables of text: CSV and TSV."""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.io.opening import bare_suffix, open_text

# Cells that are held at once, and rows that are read to recognise the table.
_CELLS = 2**16
_HEAD = 20

_TABS = (".tsv", ".tab")


@dataclass(frozen=True)
class DelimitedChunk:
    """Rows of a table, with the numbers of the lines that they end in."""

    rows: list[list[str]]
    lines: list[int]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, row: int, column: int) -> str:
        """Return the place of a cell, for errors."""
        return f"line {self.lines[row]}, column {self.names[column]!r}"

    def text(self, column: int) -> list[str]:
        """Return a column as text."""
        return [row[column] for row in self.rows]

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as numbers (rows x columns)."""
        first, last = columns[0], columns[-1] + 1
        if last - first == len(columns):
            cells = list(chain.from_iterable(row[first:last] for row in self.rows))
        else:
            cells = [row[column] for row in self.rows for column in columns]
        try:
            return np.array(cells, dtype=np.float64).reshape(len(self), len(columns))
        except ValueError:
            self._raise_for_bad_cell(columns)
            raise

    def _raise_for_bad_cell(self, columns: Sequence[int]) -> None:
        for number, row in enumerate(self.rows):
            for column in columns:
                if not is_number(row[column]):
                    what = repr(row[column][:50]) if row[column].strip() else "an empty cell"
                    raise ValueError(f"{self.where(number, column)}: {what} is not a number")


class DelimitedTable:
    """A file of rows, the first of which names the columns (unless it has numbers alone)."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        with open_text(path, encoding) as stream:
            first = stream.readline()
        if not first.strip():
            raise ValueError("line 1 is empty; a table begins with the names of its columns")
        self.delimiter = "\t" if bare_suffix(path) in _TABS else _guess_delimiter(first)
        with self._reader() as reader:
            rows = list(islice(reader, _HEAD + 1))
        self.has_header = not _is_data(rows[0])
        self.names = rows[0] if self.has_header else [f"x{i}" for i in range(len(rows[0]))]
        self.head = rows[1:] if self.has_header else rows[:_HEAD]

    def chunks(self) -> Iterator[DelimitedChunk]:
        """Yield the rows, some at a time; empty lines are ignored."""
        width, at_once = len(self.names), max(1, _CELLS // len(self.names))
        with self._reader() as reader:
            if self.has_header:
                next(reader)
            rows: list[list[str]] = []
            lines: list[int] = []
            for row in reader:
                if not row:
                    continue
                if len(row) != width:
                    raise ValueError(
                        f"line {reader.line_num} has {len(row)} cells; the header has {width}"
                    )
                rows.append(row)
                lines.append(reader.line_num)
                if len(rows) == at_once:
                    yield DelimitedChunk(rows, lines, self.names)
                    rows, lines = [], []
            if rows:
                yield DelimitedChunk(rows, lines, self.names)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        before = csv.field_size_limit(sys.maxsize)  # documents are longer than csv expects
        try:
            with open_text(self.path, self.encoding) as stream:
                reader = csv.reader(stream, delimiter=self.delimiter)
                try:
                    yield reader
                except csv.Error as error:
                    raise ValueError(f"line {reader.line_num}: {error}") from error
        finally:
            csv.field_size_limit(before)


def is_number(text: str) -> bool:
    """Whether NumPy reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python allows it in numbers, NumPy does not


def _guess_delimiter(line: str) -> str:
    return max(",\t;", key=line.count)


def _is_data(row: list[str]) -> bool:
    """Whether the first row holds numbers, not the names of columns (or their numbers)."""
    counting = [str(i) for i in range(len(row))]
    return all(map(is_number, row)) and not (len(row) > 1 and row == counting)

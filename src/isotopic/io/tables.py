"""Tables of CSV, TSV or Parquet, and the meaning of their columns."""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from isotopic.arrays import Array
from isotopic.io.files import bare, extra, head_of, open_seekable, open_text
from isotopic.io.limits import check_bytes
from isotopic.io.numbers import (
    PROSE_WORDS,
    are_plain,
    column_kind,
    column_kinds,
    is_number,
    not_a_number,
)
from isotopic.io.source import Options

# Cells that are held at once, and rows that are read to recognise the table.
_TEXT_CELLS, _PARQUET_CELLS = 2**16, 2**20
_HEAD = 20

# About what a row of a table of three columns takes.
_ROW_BYTES = 24

# So many ascending numbers in a first row are names, such as years.
_ASCENDING_NAMES = 6

# What pandas calls an index without a name.
_INDEX = ("", "index", "__index_level_0__", "Unnamed: 0")

# Names of the columns that hold documents, and of those that name the rows.
TEXT_COLUMNS = ("text", "document", "content", "body", "abstract")
NAME_COLUMNS = ("id", "name", "sample", "doc_id", "title", "file", *_INDEX)


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
            if not are_plain(cells):
                raise ValueError
            return np.array(cells, dtype=np.float64).reshape(len(self), len(columns))
        except ValueError:
            for number, row in enumerate(self.rows):
                for column in columns:
                    if not is_number(row[column]):
                        where = self.where(number, column)
                        raise ValueError(f"{where}: {not_a_number(row[column])}") from None
            raise


def _delimiter(lines: Sequence[str]) -> str:
    """Return the mark that every line has as often as the first; or the first line's most frequent.

    Cells in quotes may contain any mark.
    """
    rows, marks = [line for line in lines if line.strip()], ",\t;"
    regular = [m for m in marks if rows[0].count(m) and len({row.count(m) for row in rows}) == 1]
    return max(regular or marks, key=rows[0].count)


class DelimitedTable:
    """A file of rows, the first of which names the columns (unless it has numbers alone)."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self.encoding = path, options.encoding
        with open_text(path, self.encoding) as stream:
            lines = list(islice(stream, _HEAD))
        if not lines or not lines[0].strip():
            raise ValueError("line 1 is empty; a table begins with the names of its columns")
        has_tabs = bare(path).suffix.lower() in (".tsv", ".tab")
        self.delimiter = "\t" if has_tabs else _delimiter(lines)
        with self._reader() as reader:
            rows = list(islice(reader, _HEAD + 1))
        self.has_header = not _is_data(rows[0]) if options.header is None else options.header
        self.head = [row for row in (rows[1:] if self.has_header else rows[:_HEAD]) if row]
        self.kinds = column_kinds(self.head, 0, len(rows[0]))
        if options.header is None and self.has_header and _looks_like_data(rows[0], self.kinds):
            shown = self.delimiter.join(rows[0])
            raise ValueError(
                f"line 1, {shown[:60]!r}, may be data or the names of columns. Say header=False "
                "(--header no) if it is data, and columns are called x0, x1, ...; header=True "
                "(--header yes) if it names the columns"
            )
        self.names = rows[0] if self.has_header else [f"x{i}" for i in range(len(rows[0]))]

    def cells(self, column: int) -> list[str]:
        """Return the first cells of a column."""
        return [row[column] for row in self.head if len(row) > column]

    def chunks(self) -> Iterator[DelimitedChunk]:
        """Yield the rows, some at a time; empty lines are ignored."""
        width, at_once = len(self.names), max(1, _TEXT_CELLS // len(self.names))
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


def _is_data(row: list[str]) -> bool:
    """Return whether the first row holds numbers, not the names of columns (or their numbers)."""
    return all(map(is_number, row)) and not _is_counting(row)


def _is_counting(row: Sequence[str]) -> bool:
    """Return whether cells are 0, 1, 2, ... as pandas names columns."""
    return len(row) > 1 and list(row) == [str(i) for i in range(len(row))]


def _looks_like_data(first: list[str], kinds: Sequence[str]) -> bool:
    """Return whether the first row may be data: numbers above numbers, or a sentence."""
    if any(len(cell.split()) > PROSE_WORDS for cell in first):
        return True
    cells = [cell for cell, kind in zip(first, kinds, strict=True) if kind == "number"]
    if not cells or not all(map(is_number, cells)) or first[0] in _INDEX or _is_counting(first):
        return False
    values = [float(cell) for cell in cells]
    ascends = all(a < b for a, b in pairwise(values))
    return not (ascends and len(values) >= _ASCENDING_NAMES)


@dataclass(frozen=True)
class ParquetChunk:
    """Rows of a table, the first of which has the number ``first``."""

    batch: Any
    first: int
    names: Sequence[str]

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def where(self, row: int, column: int) -> str:
        """Return the place of a cell, for errors."""
        return f"row {self.first + row}, column {self.names[column]!r}"

    def text(self, column: int) -> list[str]:
        """Return a column as text."""
        cells = self.batch.column(column).to_pylist()
        if None in cells:
            raise ValueError(f"{self.where(cells.index(None), column)} is missing")
        return [cell if isinstance(cell, str) else str(cell) for cell in cells]

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as numbers (rows x columns)."""
        found = np.empty((len(self), len(columns)))
        for place, column in enumerate(columns):
            cells = self.batch.column(column)
            if cells.null_count:
                row = int(np.argmax(cells.is_null().to_numpy(zero_copy_only=False)))
                raise ValueError(f"{self.where(row, column)} is missing; counts are at least 0")
            if _typed_kind(cells.type, ()) not in ("number", "boolean"):
                raise ValueError(f"column {self.names[column]!r} holds {cells.type}, not numbers")
            found[:, place] = cells.to_numpy(zero_copy_only=False)
        return found


class ParquetTable:
    """A file whose columns have names and types."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_parquet(path) as file:
            self.names: list[str] = [str(name) for name in file.schema_arrow.names]
            self.n_rows: int = file.metadata.num_rows
            types = list(file.schema_arrow.types)
            batch = next(file.iter_batches(batch_size=_HEAD), None)
        rows = [] if batch is None else zip(*batch.to_pydict().values(), strict=True)
        self.head = [["" if cell is None else str(cell) for cell in row] for row in rows]
        self.kinds = [_typed_kind(type_, self.cells(i)) for i, type_ in enumerate(types)]

    def cells(self, column: int) -> list[str]:
        """Return the first cells of a column."""
        return [row[column] for row in self.head]

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[ParquetChunk]:
        """Yield the rows ``start:stop``, some at a time, from the row groups that have them."""
        at_once = max(1, _PARQUET_CELLS // max(1, len(self.names)))
        stop = self.n_rows if stop is None else stop
        with open_parquet(self.path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            ends = np.cumsum(sizes)
            groups = [i for i, end in enumerate(ends) if end > start and end - sizes[i] < stop]
            if not groups:
                return
            first = int(ends[groups[0]]) - sizes[groups[0]]
            for batch in file.iter_batches(batch_size=at_once, row_groups=groups):
                begin, end = max(start - first, 0), min(stop - first, batch.num_rows)
                if begin < end:
                    yield ParquetChunk(batch.slice(begin, end - begin), first + begin, self.names)
                first += batch.num_rows


def _typed_kind(arrow_type: Any, cells: Sequence[str]) -> str:
    """Return what a column of this type is; text is never a number, whatever it looks like."""
    types = extra("pyarrow", "parquet").types
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    kinds = {
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "boolean": (types.is_boolean,),
        "date": (types.is_temporal,),
        "empty": (types.is_null,),
        "text": (types.is_string, types.is_large_string, types.is_string_view),
    }
    kind = next((k for k, tests in kinds.items() if any(t(arrow_type) for t in tests)), "other")
    if kind != "text":
        return kind
    return "prose" if column_kind(cells) == "prose" else "name"


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a file for the length of a with statement."""
    parquet = extra("pyarrow.parquet", "parquet")
    arrow = extra("pyarrow", "parquet")
    with open_seekable(path) as stream:
        try:
            yield parquet.ParquetFile(stream)
        except (arrow.ArrowInvalid, arrow.ArrowException, OSError) as error:
            raise ValueError(f"this is not Parquet, or is damaged: {error}") from error


Chunk: TypeAlias = DelimitedChunk | ParquetChunk
Table: TypeAlias = DelimitedTable | ParquetTable


def open_table(path: Path, options: Options) -> Table:
    """Open CSV, TSV or Parquet, whichever it is."""
    if head_of(path)[:4] == b"PAR1":
        table = ParquetTable(path)
        check_bytes(path, _ROW_BYTES * table.n_rows, f"{table.n_rows:,} rows", options.max_size)
        return table
    return DelimitedTable(path, options)


def read_chunk_counts(chunk: Chunk, columns: Sequence[int]) -> Array:
    """Return columns as counts; raise if one is negative, infinite or not a number."""
    found = chunk.numbers(columns)
    bad = ~((found >= 0) & (found < float("inf")))
    if bad.any():
        row, place = divmod(int(bad.argmax()), found.shape[1])
        raise ValueError(
            f"{chunk.where(row, columns[place])}: {found[row, place]:g} is not a count; counts "
            "must be finite and at least 0"
        )
    return found


def _column_of(table: Table, name: str) -> int:
    """Return the number of the column with a name."""
    if name not in table.names:
        known = ", ".join(repr(known) for known in table.names[:20])
        raise ValueError(f"there is no column {name!r}; the columns are {known}")
    return table.names.index(name)


def is_numeric(table: Table, column: int) -> bool:
    """Return whether the first cells of a column are numbers."""
    return table.kinds[column] in ("number", "boolean", "empty")


def label_column(table: Table, options: Options) -> int | None:
    """Return the column that names the rows: a first column of text, or the index of pandas."""
    if options.name_column is not None:
        return _column_of(table, options.name_column)
    for name in _INDEX:
        if table.has_header and name in (table.names if name else table.names[:1]):
            return table.names.index(name)
    return 0 if table.names and not is_numeric(table, 0) else None


def count_columns(table: Table, label: int | None, options: Options) -> list[int]:
    """Return the columns of counts: those that do not name the rows and are not to be dropped."""
    dropped = {_column_of(table, name) for name in other_columns(options)}
    return [i for i in range(len(table.names)) if i != label and i not in dropped]


def other_columns(options: Options) -> list[str]:
    """Return the names of the columns of a wide table that do not hold counts."""
    return [*options.drop_columns, *(options.metadata or ())]


def metadata_columns(table: Table, options: Options) -> dict[str, int]:
    """Return the columns of a wide table that are kept as metadata, by name."""
    return {name: _column_of(table, name) for name in options.metadata or ()}


def text_columns(table: Table, options: Options) -> tuple[int | None, int | None]:
    """Return the column of the documents, and that of their names."""
    text, name = options.text_column, options.name_column
    return (
        usual_column(table, TEXT_COLUMNS) if text is None else _column_of(table, text),
        usual_column(table, NAME_COLUMNS) if name is None else _column_of(table, name),
    )


def usual_column(table: Table, names: Sequence[str]) -> int | None:
    """Return the column with the first of these names that a table has, in any case."""
    lowered = [name.lower() for name in table.names]
    return next((lowered.index(name) for name in names if name in lowered), None)

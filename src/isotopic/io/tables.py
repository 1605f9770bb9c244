"""Tables of CSV, TSV or Parquet, and the meaning of their columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from isotopic.arrays import Array
from isotopic.io.delimited import DelimitedChunk, DelimitedTable, is_number
from isotopic.io.opening import head_of
from isotopic.io.options import Options
from isotopic.io.parquet import ParquetChunk, ParquetTable

# What pandas calls an index without a name.
_INDEX = ("", "index", "__index_level_0__", "Unnamed: 0")

# Names of the columns that hold documents, and of those that name the rows.
TEXT_COLUMNS = ("text", "document", "content", "body", "abstract")
NAME_COLUMNS = ("id", "name", "sample", "doc_id", "title", "file", *_INDEX)


Chunk: TypeAlias = DelimitedChunk | ParquetChunk
Table: TypeAlias = DelimitedTable | ParquetTable


def open_table(path: Path, options: Options) -> Table:
    """Open CSV, TSV or Parquet, whichever it is."""
    if head_of(path)[:4] == b"PAR1":
        return ParquetTable(path)
    return DelimitedTable(path, options.encoding)


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


def column_of(table: Table, name: str) -> int:
    """Return the number of the column with a name."""
    if name not in table.names:
        known = ", ".join(repr(known) for known in table.names[:20])
        raise ValueError(f"there is no column {name!r}; the columns are {known}")
    return table.names.index(name)


def is_numeric(table: Table, column: int) -> bool:
    """Whether the first cells of a column are numbers."""
    return all(len(row) > column and is_number(row[column]) for row in table.head)


def label_column(table: Table, options: Options) -> int | None:
    """Return the column that names the rows: a first column of text, or the index of pandas."""
    if options.name_column is not None:
        return column_of(table, options.name_column)
    for name in _INDEX:
        if table.has_header and name in table.names:
            return table.names.index(name)
    return 0 if table.names and not is_numeric(table, 0) else None


def text_columns(table: Table, options: Options) -> tuple[int | None, int | None]:
    """Return the column of the documents, and that of their names."""
    return (
        _column(table, options.text_column, TEXT_COLUMNS),
        _column(table, options.name_column, NAME_COLUMNS),
    )


def _column(table: Table, given: str | None, usual: Sequence[str]) -> int | None:
    if given is not None:
        return column_of(table, given)
    lowered = [name.lower() for name in table.names]
    return next((lowered.index(name) for name in usual if name in lowered), None)

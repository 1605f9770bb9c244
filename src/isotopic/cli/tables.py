"""Tables in files: CSV always, Parquet where pyarrow is installed."""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from isotopic.arrays import Array
from isotopic.atomic import atomic_file
from isotopic.cli.output import InputError
from isotopic.io.files import as_names

#: The columns of a table by name, all of the same length.
Columns: TypeAlias = dict[str, Any]
_Write: TypeAlias = Callable[[Columns], None]

NEEDS_PYARROW = "Parquet needs pyarrow: pip install 'isotopic[parquet]'"


def can_write_parquet() -> bool:
    """Return whether pyarrow is installed."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        return False
    return True


def check_table_file(path: Path) -> None:
    """Raise InputError if the suffix names no format of tables, or one that needs an extra."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"The name of the output must end with .csv or .parquet: {path.name}")
    if path.suffix == ".parquet" and not can_write_parquet():
        raise InputError(f"{NEEDS_PYARROW}. Or write a .csv file.")


def topic_table(kind: str, names: Sequence[str] | Array, values: Array) -> Columns:
    """Return a table with a row for each name and a column for each topic."""
    topics = {f"topic_{k}": np.ascontiguousarray(column) for k, column in enumerate(values.T)}
    return {kind: list(names), **topics}


def write_tables(tables: Iterable[Columns], path: Path) -> None:
    """Write tables, one below the other, to Parquet or CSV: the suffix of the path decides."""
    open_writer = _parquet_writer if path.suffix == ".parquet" else _csv_writer
    with atomic_file(path) as file, ExitStack() as stack:
        write: _Write | None = None
        for table in tables:
            if write is None:
                write = stack.enter_context(open_writer(file, table))
            write(table)


def read_first_column(path: Path) -> Array:
    """Return the names in the first column of a CSV file that was written by this module."""
    before = csv.field_size_limit(sys.maxsize)  # a name may be longer than csv expects
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            next(rows)
            return as_names(row[0] for row in rows)
    finally:
        csv.field_size_limit(before)


@contextmanager
def _csv_writer(file: IO[bytes], first: Columns) -> Iterator[_Write]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(first)

    def write(table: Columns) -> None:
        columns = [
            column.tolist() if isinstance(column, np.ndarray) else column
            for column in table.values()
        ]
        writer.writerows(zip(*columns, strict=True))

    try:
        yield write
    finally:
        text.detach()  # writes the rest, and leaves the file open


@contextmanager
def _parquet_writer(file: IO[bytes], first: Columns) -> Iterator[_Write]:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    # Names are text even in a table without rows.
    types = [
        arrow.from_numpy_dtype(column.dtype) if isinstance(column, np.ndarray) else arrow.string()
        for column in first.values()
    ]
    schema = arrow.schema(list(zip(first, types, strict=True)))
    with parquet.ParquetWriter(file, schema) as writer:
        yield lambda table: writer.write_table(arrow.table(table, schema=schema))

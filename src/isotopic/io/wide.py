"""Wide tables: a row for each sample, a column for each feature."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.names import as_names
from isotopic.io.options import Options
from isotopic.io.parquet import ParquetTable
from isotopic.io.source import Source, loaded
from isotopic.io.tables import label_column, open_table, read_chunk_counts


@dataclass(frozen=True, eq=False)
class WideParquetSource(Source):
    """A Parquet table with a row for each sample.

    Parameters
    ----------
    label : int or None
        The column of names.
    columns : tuple of int
        The columns of counts.
    """

    label: int | None
    columns: tuple[int, ...]

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        chunks = ParquetTable(Path(self.path)).chunks(start, stop)
        parts = [sparse.csr_array(read_chunk_counts(chunk, self.columns)) for chunk in chunks]
        return sparse.vstack(parts, format="csr")

    def sample_names(self, start: int = 0, stop: int | None = None) -> Array | None:
        """Return the names of the rows ``start:stop``."""
        if self.label is None:
            return None
        stop = self.shape[0] if stop is None else stop
        chunks = ParquetTable(Path(self.path)).chunks(start, stop)
        return as_names(name for chunk in chunks for name in chunk.text(self.label))

    def feature_names(self) -> Array | None:
        """Return the names of the columns."""
        names = ParquetTable(Path(self.path)).names
        return as_names(names[i] for i in self.columns)


def open_wide(path: Path, options: Options) -> Source:
    """Open a table whose first column may name the rows; CSV and TSV are read as a whole."""
    table = open_table(path, options)
    label = label_column(table, options)
    columns = [i for i in range(len(table.names)) if i != label]
    if not columns:
        raise ValueError("the table has no column of counts")
    if isinstance(table, ParquetTable):
        if table.n_rows == 0:
            raise ValueError("the table has no rows below its header")
        shape = (table.n_rows, len(columns))
        return WideParquetSource(
            os.fspath(path), shape, shape[0] * shape[1], label, tuple(columns), can_read_rows=True
        )
    parts: list[Any] = []
    labels: list[str] = []
    for chunk in table.chunks():
        parts.append(sparse.csr_array(read_chunk_counts(chunk, columns)))
        if label is not None:
            labels += chunk.text(label)
    if not parts:
        raise ValueError("the table has no rows below its header")
    names = [table.names[i] for i in columns] if table.has_header else None
    return loaded(sparse.vstack(parts, format="csr"), None if label is None else labels, names)

"""Tables in Parquet."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.io.opening import extra, open_seekable

_CELLS = 2**20
_HEAD = 20


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
            try:
                found[:, place] = cells.to_numpy(zero_copy_only=False)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"column {self.names[column]!r} holds {cells.type}, not numbers"
                ) from error
        return found


class ParquetTable:
    """A file whose columns have names and types."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_parquet(path) as file:
            self.names: list[str] = [str(name) for name in file.schema_arrow.names]
            self.n_rows: int = file.metadata.num_rows
            batch = next(file.iter_batches(batch_size=_HEAD), None)
        rows = [] if batch is None else zip(*batch.to_pydict().values(), strict=True)
        self.head = [["" if cell is None else str(cell) for cell in row] for row in rows]

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[ParquetChunk]:
        """Yield the rows ``start:stop``, some at a time, from the row groups that have them."""
        at_once = max(1, _CELLS // max(1, len(self.names)))
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

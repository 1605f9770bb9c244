"""Counts in tables: wide ones, long ones, and catalogues of mutations."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.files import as_names
from isotopic.io.limits import check_shape
from isotopic.io.source import LoadedSource, Options, Source, loaded
from isotopic.io.tables import (
    Chunk,
    ParquetTable,
    Table,
    count_columns,
    is_numeric,
    label_column,
    metadata_columns,
    open_table,
    read_chunk_counts,
    usual_column,
)

# The usual names of the three columns.
_SAMPLE = ("sample", "sample_id", "doc", "doc_id", "document", "cell", "barcode", "tumour", "row")
_FEATURE = ("feature", "term", "word", "token", "gene", "type", "channel", "item", "column", "col")
_COUNT = ("count", "counts", "n", "value", "freq", "frequency", "weight")

# As SigProfiler writes them, with or without the strand: A[C>A]G, T:AC[C>A]GT, AC>CA, 1:Del:C:0;
# and as the PCAWG consortium does: DEL_C_1_0, INS_repeats_5+_0.
_STRAND = r"([A-Z]:)?"
_TYPE = re.compile(
    rf"{_STRAND}[ACGT]+\[[ACGT]{{1,2}}>[ACGT]{{1,2}}\][ACGT]+"
    rf"|{_STRAND}[ACGT]{{2}}>[ACGT]{{2}}"
    rf"|{_STRAND}\d\+?:(Del|Ins):(C|T|R|M):\d\+?"
    r"|(DEL|INS)_(C|T|repeats|MH)_\d\+?_\d\+?"
)
_CHANGE, _CONTEXT, _PAIR = map(re.compile, ("[CT]>[ACGT]", "[ACGT]{3}", "[ACGT]{2}"))


@dataclass(frozen=True, eq=False)
class WideParquetSource(Source):
    """A Parquet table with a row for each sample."""

    label: int | None  # the column of names
    columns: tuple[int, ...]  # of counts
    others: dict[str, int]  # columns of metadata, by name

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        chunks = ParquetTable(Path(self.path)).chunks(start, stop)
        parts = [sparse.csr_array(read_chunk_counts(chunk, self.columns)) for chunk in chunks]
        return sparse.vstack(parts, format="csr")

    def _stored_names(self, axis: int, start: int, stop: int | None) -> Array | None:
        table = ParquetTable(Path(self.path))
        if axis == 1:
            return as_names(table.names[i] for i in self.columns[start:stop])
        if self.label is None:
            return None
        return as_names(
            name for chunk in table.chunks(start, stop) for name in chunk.text(self.label)
        )

    def stored_metadata(self) -> dict[str, Array] | None:
        """Return the columns that were asked for."""
        table = ParquetTable(Path(self.path))
        found = {
            name: as_names(text for chunk in table.chunks() for text in chunk.text(column))
            for name, column in self.others.items()
        }
        return found or None


def open_wide(path: Path, options: Options) -> Source:
    """Open a table whose first column may name the rows; CSV and TSV are read as a whole."""
    table = open_table(path, options)
    label = label_column(table, options)
    columns = count_columns(table, label, options)
    if not columns:
        raise ValueError("the table has no column of counts")
    if isinstance(table, ParquetTable):
        if table.n_rows == 0:
            raise ValueError("the table has no rows below its header")
        shape = (table.n_rows, len(columns))
        check_shape(path, shape, options.max_size, cell_bytes=8)
        return WideParquetSource(
            os.fspath(path),
            shape,
            shape[0] * shape[1],
            label,
            tuple(columns),
            metadata_columns(table, options),
            can_read_rows=True,
        )
    parts: list[Any] = []
    labels: list[str] = []
    others = metadata_columns(table, options)
    kept: dict[str, list[str]] = {name: [] for name in others}
    for chunk in table.chunks():
        parts.append(sparse.csr_array(read_chunk_counts(chunk, columns)))
        if label is not None:
            labels += chunk.text(label)
        for name, column in others.items():
            kept[name] += chunk.text(column)
    if not parts:
        raise ValueError("the table has no rows below its header")
    names = [table.names[i] for i in columns] if table.has_header else None
    source = loaded(sparse.vstack(parts, format="csr"), None if label is None else labels, names)
    metadata = {name: as_names(texts) for name, texts in kept.items()}
    return replace(source, metadata=metadata or None)


def is_called_long(table: Table) -> bool:
    """Return whether there are three columns whose names say it."""
    columns = find_long_columns(table) if table.has_header and len(table.names) == 3 else None
    return columns is not None and is_numeric(table, columns[2])


def read_long(path: Path, options: Options) -> LoadedSource:
    """Read samples and features in the order in which they occur; duplicates are summed."""
    table = open_table(path, options)
    if len(table.names) < 3:
        raise ValueError(f"a long table has three columns; this one has {len(table.names)}")
    columns = find_long_columns(table) or (0, 1, 2)
    samples: dict[str, int] = {}
    features: dict[str, int] = {}
    parts: list[tuple[Array, Array, Array]] = []
    for chunk in table.chunks():
        rows = _number(chunk.text(columns[0]), samples)
        places = _number(chunk.text(columns[1]), features)
        parts.append((rows, places, read_chunk_counts(chunk, columns[2:])[:, 0]))
    if not parts:
        raise ValueError("the table has no rows below its header")
    rows, places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    shape = (len(samples), len(features))
    counts: Any = sparse.coo_array((values, (rows, places)), shape=shape).tocsr()
    if options.is_guessed and len(rows) > 1 and len(samples) == len(rows):
        raise ValueError(
            f"read as a long table, each of the {len(rows):,} samples has a single feature. If the "
            f"columns {', '.join(map(repr, table.names[:3]))} are sample, feature and count, say "
            "format='long' (--format long); if one holds documents, text_column= (--text-column "
            "NAME); otherwise leave it out with drop_columns= (--drop-columns NAME)"
        )
    return loaded(counts, samples, features)


def _number(names: Iterable[str], known: dict[str, int]) -> Array:
    """Return the number of each name; a new name gets the next number."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def find_long_columns(table: Table) -> tuple[int, int, int] | None:
    """Return the columns of samples, features and counts, if their names say which they are."""
    sample, feature, count = (usual_column(table, usual) for usual in (_SAMPLE, _FEATURE, _COUNT))
    if sample is None or feature is None or count is None:
        return None
    return sample, feature, count


def looks_like_catalogue(table: Table) -> bool:
    """Return whether the first column, or the first two, hold types of mutations."""
    return bool(table.head) and _label_columns(table.head) is not None


def read_catalogue(path: Path, options: Options) -> LoadedSource:
    """Read a catalogue; its columns become the samples."""
    table = open_table(path, options)
    labels = _label_columns(table.head)
    if labels is None:
        raise ValueError(
            "the first column must hold types of mutations, such as A[C>A]G, AC>CA or 1:Del:C:0; "
            f"it begins with {table.head[0][0][:50]!r}"
            if table.head
            else "the table has no rows below its header"
        )
    columns = list(range(labels, len(table.names)))
    if not columns:
        raise ValueError("the table has no column of counts")
    parts: list[Any] = []
    types: list[str] = []
    for chunk in table.chunks():
        parts.append(sparse.csr_array(read_chunk_counts(chunk, columns)))
        types += _types(chunk, labels)
    counts = sparse.vstack(parts, format="csr").T
    return loaded(counts, [table.names[i] for i in columns], types)


def _types(chunk: Chunk, labels: int) -> Iterator[str]:
    rows = zip(*(chunk.text(column) for column in range(labels)), strict=True)
    for number, row in enumerate(rows):
        name = _type(row)
        if name is None:
            where = chunk.where(number, 0)
            raise ValueError(f"{where}: {' '.join(row)[:50]!r} is not a type of mutation")
        yield name


def _label_columns(head: Sequence[Sequence[str]]) -> int | None:
    """Return how many columns name the type, or ``None`` if they do not."""
    for labels in (1, 2):
        if all(len(row) >= labels and _type(row[:labels]) is not None for row in head):
            return labels if head else None
    return None


def _type(cells: Sequence[str]) -> str | None:
    """Return the type of mutation that cells name, or ``None`` if they do not."""
    if len(cells) == 1:
        return cells[0] if _TYPE.fullmatch(cells[0]) else None
    first, second = cells
    if _CHANGE.fullmatch(first) and _CONTEXT.fullmatch(second):
        return f"{second[0]}[{first}]{second[2]}"
    if _PAIR.fullmatch(first) and _PAIR.fullmatch(second):
        return f"{first}>{second}"
    return None

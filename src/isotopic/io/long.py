"""Long tables: a row for each sample, feature and count."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, loaded
from isotopic.io.tables import Table, is_numeric, open_table, read_chunk_counts

# The usual names of the three columns.
_SAMPLE = ("sample", "sample_id", "doc", "doc_id", "document", "cell", "barcode", "tumour", "row")
_FEATURE = ("feature", "term", "word", "token", "gene", "type", "channel", "item", "column", "col")
_COUNT = ("count", "counts", "n", "value", "freq", "frequency", "weight")


def is_called_long(table: Table) -> bool:
    """Whether there are three columns whose names say it."""
    columns = _find_columns(table) if table.has_header and len(table.names) == 3 else None
    return columns is not None and is_numeric(table, columns[2])


def looks_long(table: Table) -> bool:
    """Whether there are two columns of names and one of numbers."""
    if len(table.names) != 3 or not table.has_header:
        return False
    return [is_numeric(table, column) for column in range(3)] == [False, False, True]


def read(path: Path, options: Options) -> LoadedSource:
    """Read samples and features in the order in which they occur; duplicates are summed."""
    table = open_table(path, options)
    if len(table.names) < 3:
        raise ValueError(f"a long table has three columns; this one has {len(table.names)}")
    columns = _find_columns(table) or (0, 1, 2)
    samples: dict[str, int] = {}
    features: dict[str, int] = {}
    parts: list[tuple[Array, Array, Array]] = []
    for chunk in table.chunks():
        parts.append(
            (
                _number(chunk.text(columns[0]), samples),
                _number(chunk.text(columns[1]), features),
                read_chunk_counts(chunk, columns[2:])[:, 0],
            )
        )
    if not parts:
        raise ValueError("the table has no rows below its header")
    rows, places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    shape = (len(samples), len(features))
    counts: Any = sparse.coo_array((values, (rows, places)), shape=shape).tocsr()
    return loaded(counts, samples, features)


def _number(names: Iterable[str], known: dict[str, int]) -> Array:
    """Return the number of each name; a new name gets the next number."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _find_columns(table: Table) -> tuple[int, int, int] | None:
    lowered = [name.lower() for name in table.names]
    found = [
        next((lowered.index(name) for name in names if name in lowered), None)
        for names in (_SAMPLE, _FEATURE, _COUNT)
    ]
    sample, feature, count = found
    if sample is None or feature is None or count is None:
        return None
    return sample, feature, count

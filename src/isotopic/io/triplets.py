"""Parquet tables of triplets: sample number, feature number and count, samples ascending."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.files import head_of
from isotopic.io.limits import check_shape
from isotopic.io.source import Options, Source
from isotopic.io.tables import open_parquet


@dataclass(frozen=True, eq=False)
class TripletsSource(Source):
    """A table whose first three columns are sample, feature and count, numbered from 0."""

    def rows(self, start: int, stop: int) -> Any:
        """Return the samples ``start:stop``, from the row groups that have them."""
        with open_parquet(Path(self.path)) as file:
            names = file.schema_arrow.names[:3]
            groups = [i for i in range(file.num_row_groups) if _overlaps(file, i, start, stop)]
            table = file.read_row_groups(groups, columns=names)
            sample, feature, count = (_numbers(table, name) for name in names)
        if np.any(np.diff(sample) < 0):
            raise ValueError(
                f"the sample numbers in {self.path} are not in ascending order: sort the table by "
                "sample"
            )
        here = slice(*np.searchsorted(sample, (start, stop)))
        if count.dtype.kind in "biu":  # sums of duplicates must not overflow
            count = count.astype(np.int64)
        places = (sample[here] - start, feature[here])
        return sparse.coo_array((count[here], places), shape=(stop - start, self.shape[1]))

    def row_starts(self) -> Array | None:
        """Return where the entries of each sample start."""
        lengths = np.zeros(self.shape[0], np.int64)
        with open_parquet(Path(self.path)) as file:
            name = file.schema_arrow.names[0]
            for group in range(file.num_row_groups):
                sample = _numbers(file.read_row_group(group, columns=[name]), name)
                counted = np.bincount(sample)
                lengths[: len(counted)] += counted
        return np.append(0, np.cumsum(lengths))


def has_triplets(path: Path) -> bool:
    """Return whether a Parquet table has two columns of integers, then one of numbers."""
    with open_parquet(path) as file:
        kinds = [_kind(field.type) for field in list(file.schema_arrow)[:3]]
    return len(kinds) == 3 and kinds[:2] == ["whole", "whole"] and kinds[2] != "other"


def looks_like_triplets(path: Path) -> bool:
    """Return whether a Parquet table has these three columns and no others."""
    if head_of(path)[:4] != b"PAR1":
        return False
    with open_parquet(path) as file:
        return len(file.schema_arrow.names) == 3 and has_triplets(path)


def open_triplets(path: Path, options: Options) -> Source:
    """Open a table; the largest numbers say how many samples and features there are."""
    if not has_triplets(path):
        raise ValueError(
            "the first three columns must be sample and feature (whole numbers) and count"
        )
    largest = [-1, -1]
    with open_parquet(path) as file:
        names, entries = file.schema_arrow.names[:2], file.metadata.num_rows
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=names)
            for axis, name in enumerate(names):
                numbers = _numbers(table, name)
                if len(numbers) and numbers.min() < 0:
                    raise ValueError(f"column {name!r} has {numbers.min()}: numbers start at 0")
                largest[axis] = max(largest[axis], int(numbers.max(initial=-1)))
    rows, features = largest[0] + 1, largest[1] + 1
    if options.n_features is not None:
        if features > options.n_features:
            raise ValueError(
                f"n_features={options.n_features}, but there is a feature {features - 1}"
            )
        features = options.n_features
    check_shape(path, (rows, largest[1] + 1), options.max_size)
    return TripletsSource(os.fspath(path), (rows, features), entries, can_read_rows=True)


def _overlaps(file: Any, group: int, start: int, stop: int) -> bool:
    """Return whether a row group has some of the samples, or does not say which it has."""
    statistics = file.metadata.row_group(group).column(0).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min < stop and statistics.max >= start)


def _numbers(table: Any, name: str) -> Array:
    if table[name].null_count:
        raise ValueError(f"column {name!r} has missing values")
    return np.asarray(table[name])


def _kind(arrow_type: Any) -> str:
    try:
        kind = np.dtype(arrow_type.to_pandas_dtype()).kind
    except (NotImplementedError, TypeError):
        return "other"
    return "whole" if kind in "iu" else "number" if kind == "f" else "other"

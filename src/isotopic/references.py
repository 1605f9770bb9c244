"""Reference topics, such as a table of known signatures, aligned with data by feature names."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.evaluate.topics import components_of
from isotopic.fitted import Fitted
from isotopic.io import CountData, read_counts

_MOST_NAMES_SHOWN = 5


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A matrix, and the names of its rows and columns if it has some."""

    values: Any
    row_names: Array | None = None
    column_names: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrix."""
        return tuple(np.shape(self.values))

    @property
    def transposed(self) -> "NamedTable":
        """The same table with rows as columns."""
        return NamedTable(self.values.T, self.column_names, self.row_names)


@dataclass(frozen=True, eq=False)
class Reference:
    """Known topics, each of which sums to one.

    Attributes
    ----------
    topics : ndarray of shape (topics, features)
    names : ndarray of str
    """

    topics: Array
    names: Array


def read_named(given: Any, what: str) -> NamedTable:
    """Return a table with its names, of whatever holds one; ``what`` is for errors."""
    if isinstance(given, (str, os.PathLike)):
        given = read_counts(given)
    if isinstance(given, CountData):
        return NamedTable(given.counts, given.sample_names, _names(given.feature_names))
    if isinstance(given, Fitted) or hasattr(given, "get_params"):
        names = given.feature_names if isinstance(given, Fitted) else None
        names = getattr(given, "feature_names_in_", names)
        return NamedTable(np.asarray(components_of(given)), None, names)
    if hasattr(given, "var_names") and hasattr(given, "obs_names"):
        return NamedTable(given.X, _text(given.obs_names), _text(given.var_names))
    if hasattr(given, "columns") and hasattr(given, "dtypes"):
        return _read_frame(given, what)
    return NamedTable(given if sparse.issparse(given) else np.asarray(given))


def read_reference(
    reference: Any, feature_names: Array | None, n_features: int, opportunity: Any = None
) -> Reference:
    """Return reference topics over the features of the data, in their order.

    Parameters
    ----------
    reference : fitted model, data frame, array or path
        Topics x features. A table is turned if only its rows have the names of the features, or
        only their number.
    feature_names : ndarray of str or None
        Those of the data.
    n_features : int
    opportunity : array-like of shape (n_features,) or None
        A factor for each feature of the data.
    """
    table = _oriented(read_named(reference, "reference"), feature_names, n_features)
    order = _order(table.column_names, feature_names)
    known = as_reference("reference", table)
    topics = known.topics if order is None else known.topics[:, order]
    if topics.shape[1] != n_features:
        raise ValueError(
            f"reference has {topics.shape[1]} features and the data has {n_features}. Both must "
            "have the same features; with names they are aligned."
        )
    if opportunity is not None:
        topics = topics * read_opportunity(opportunity, n_features)
    return Reference(_normalized("reference", topics, known.names), known.names)


def as_reference(what: str, table: NamedTable) -> Reference:
    """Return a table of topics x features as topics that sum to one; ``what`` is for errors."""
    values: Any = table.values
    topics = as_numbers(what, values.toarray() if hasattr(values, "toarray") else values)
    if topics.ndim != 2 or 0 in topics.shape:
        raise ValueError(
            f"{what} must be a table of topics x features, but has the shape {topics.shape}."
        )
    names = _text(range(len(topics))) if table.row_names is None else table.row_names
    bad = first_not_finite(topics)
    if bad is not None:
        raise ValueError(
            f"{what} must be finite and non-negative, but topic {names[bad[0]]!r}, feature "
            f"{bad[1]} is {topics[bad]}."
        )
    largest = topics.max(axis=1, keepdims=True)  # so that no sum overflows
    return Reference(_normalized(what, topics / np.where(largest > 0, largest, 1), names), names)


def _normalized(what: str, topics: Array, names: Array) -> Array:
    sums = topics.sum(axis=1, keepdims=True)
    if not np.all(sums > 0):
        empty = names[int(np.argmin(sums[:, 0]))]
        raise ValueError(f"Topic {empty!r} of {what} is zero in all features. Leave it out.")
    return np.asarray(topics / sums)


def read_opportunity(opportunity: Any, n_features: int) -> Array:
    """Return a factor for each feature, finite and at least 0."""
    factors = as_numbers("opportunity", opportunity)
    if factors.shape != (n_features,):
        raise ValueError(
            f"opportunity must have one factor for each of the {n_features} features, but has the "
            f"shape {factors.shape}."
        )
    bad = first_not_finite(factors)
    if bad is not None:
        raise ValueError(
            f"opportunity must be finite and non-negative, but feature {bad[0]} has {factors[bad]}."
        )
    return factors


def _oriented(table: NamedTable, feature_names: Array | None, n_features: int) -> NamedTable:
    """Turn a table of features x topics."""
    if len(table.shape) != 2:
        raise ValueError(
            "reference must be a table of topics x features, but has "
            f"{len(table.shape)} dimensions."
        )
    known = None if feature_names is None else set(feature_names)
    if known is not None and table.column_names is not None and table.row_names is not None:
        by_column = len(known & set(table.column_names))
        return table if by_column >= len(known & set(table.row_names)) else table.transposed
    is_turned = table.shape[1] != n_features and table.shape[0] == n_features
    return table.transposed if is_turned else table


def _order(found: Array | None, expected: Array | None) -> Array | None:
    """Return where each expected name is; ``None`` if there is nothing to align."""
    if found is None or expected is None or np.array_equal(found, expected):
        return None
    places = {name: place for place, name in enumerate(found)}
    missing = [name for name in expected if name not in places]
    extra = sorted(set(found) - set(expected))
    if missing or extra:
        parts = [
            f"{len(names)} {where} ({', '.join(map(repr, names[:_MOST_NAMES_SHOWN]))}"
            f"{', ...' if len(names) > _MOST_NAMES_SHOWN else ''})"
            for names, where in ((missing, "only in the data"), (extra, "only in reference"))
            if names
        ]
        raise ValueError(
            f"reference and the data have different features: {' and '.join(parts)}. Give both the "
            "same features, in any order."
        )
    if len(places) < len(found):
        raise ValueError("A feature name occurs more than once in reference. Make names unique.")
    return np.array([places[name] for name in expected])


def _read_frame(frame: Any, what: str) -> NamedTable:
    """Return the numbers of a data frame; a first column of text names the rows."""
    columns, index = list(frame.columns), getattr(frame, "index", None)
    rows = None if index is None else _names(index)
    data = {name: np.asarray(frame[name]) for name in columns}
    if len(data) < len(columns):
        raise ValueError(f"A column name occurs more than once in {what}. Make names unique.")
    if rows is None and columns and data[columns[0]].dtype.kind in "OUT":
        rows = _text(data.pop(columns[0]))
    if not data:
        raise ValueError(f"{what} has no columns of numbers.")
    columns_read = [as_numbers(f"{what}, column {name!r},", data[name]) for name in data]
    return NamedTable(np.column_stack(columns_read), rows, _names(data))


def _names(given: Any) -> Array | None:
    """Return names as text; ``None`` if they only count: 0, 1, 2, ... or x0, x1, x2, ..."""
    names = _text(given)
    is_counting = all(name in (str(i), f"x{i}") for i, name in enumerate(names))
    return None if is_counting else names


def _text(names: Any) -> Array:
    return np.array([str(name) for name in names], dtype=object)

"""Reference topics, such as a table of known signatures, aligned with data by feature names."""

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.containers import (
    NamedMatrix,
    as_dense,
    check_not_transposed,
    is_frame,
    read_container,
    sparse_or_array,
)
from isotopic.evaluate.topics import named_topics
from isotopic.fitted import Fitted
from isotopic.io import read_counts
from isotopic.names import as_sample_names


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


def read_named(given: Any, what: str) -> NamedMatrix:
    """Return the table of a model, data frame, array or file; ``what`` names it in errors."""
    if isinstance(given, (str, os.PathLike)):
        given = read_counts(given)
    if isinstance(given, Fitted) or hasattr(given, "get_params"):
        return named_topics(given)
    rows, given = _split_row_names(given, what) if is_frame(given) else (None, given)
    named = read_container(given, what)
    rows = named.sample_names if rows is None else rows
    names = None if rows is None else _text(rows)
    return replace(named, matrix=sparse_or_array(named.matrix), sample_names=names)


def read_reference(reference: Any, data: NamedMatrix, opportunity: Any = None) -> Reference:
    """Return reference topics over the features of the data, in their order.

    Parameters
    ----------
    reference : fitted model, data frame, array or path
        Topics x features. A table is turned if only its rows have the names of the features, or
        only their number.
    data : NamedMatrix
        Samples x features.
    opportunity : array-like of shape (n_features,) or None
        A factor for each feature of the data.
    """
    n_features = data.shape[1]
    table = _oriented(read_named(reference, "reference"), data.feature_names, n_features)
    check_not_transposed(data, table.feature_names, what="X")
    table = table.with_features(data.feature_names, what="reference", than="the data")
    known = as_reference("reference", table)
    name, times = Counter(known.names.tolist()).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"reference has {times} topics with the name {name!r}. Give each a name of its own."
        )
    topics = known.topics
    if topics.shape[1] != n_features:
        raise ValueError(
            f"reference has {topics.shape[1]} features and the data has {n_features}. Both must "
            "have the same features; with names they are aligned."
        )
    if opportunity is not None:
        topics = topics * read_opportunity(opportunity, n_features)
    return Reference(_normalized("reference", topics, known.names), known.names)


def as_reference(what: str, table: NamedMatrix) -> Reference:
    """Return a table of topics x features, normalised; ``what`` names it in errors."""
    topics = as_numbers(what, as_dense(table).matrix)
    if topics.ndim != 2 or 0 in topics.shape:
        raise ValueError(
            f"{what} must be a table of topics x features, but has the shape {topics.shape}."
        )
    names = _text(range(len(topics))) if table.sample_names is None else table.sample_names
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


def _oriented(table: NamedMatrix, feature_names: Array | None, n_features: int) -> NamedMatrix:
    """Return a table as topics x features, transposed if it is features x topics."""
    if len(table.shape) != 2:
        raise ValueError(
            "reference must be a table of topics x features, but has "
            f"{len(table.shape)} dimensions."
        )
    columns, rows = table.feature_names, table.sample_names
    known = None if feature_names is None else set(feature_names)
    if known is not None and columns is not None and rows is not None:
        is_turned = len(known & set(columns)) < len(known & set(rows))
    else:
        is_turned = table.shape[1] != n_features and table.shape[0] == n_features
    return NamedMatrix(table.matrix.T, rows, columns) if is_turned else table


def _split_row_names(frame: Any, what: str) -> tuple[Array | None, Any]:
    """Return the rest of a data frame whose first column is text, which names the rows."""
    columns = list(frame.columns)
    if not columns or as_sample_names(getattr(frame, "index", None)) is not None:
        return None, frame
    first = frame.iloc[:, 0] if hasattr(frame, "iloc") else frame.get_column(columns[0])
    if not all(isinstance(name, str) for name in first):
        return None, frame
    if len(columns) == 1:
        raise ValueError(f"{what} has no columns of numbers.")
    rest = frame.iloc[:, 1:] if hasattr(frame, "iloc") else frame.drop(columns[0])
    return _text(first), rest


def _text(names: Any) -> Array:
    return np.array([str(name) for name in names], dtype=object)

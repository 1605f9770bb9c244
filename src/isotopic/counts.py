"""CountMatrix: the data, validated once, in the form that the kernels work on."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.containers import NamedMatrix, read_container
from isotopic.count_checks import (
    SMALLEST_COUNT,
    canonical_csr,
    check_indices,
    check_range,
    check_values,
    missing_pattern,
    without_missing,
)
from isotopic.missing import Missing
from isotopic.names import is_same_order
from isotopic.threads import current_threads

# The entries of a block of rows: few enough that its ratios and weights stay in a second-level
# cache, and so many that a feature occurs several times.
_BLOCK_ENTRIES = 2**17
_FEWEST_ROWS, _MOST_ROWS = 256, 4096

# Sums over all entries are computed in parts of this many.
_PART = 2**14

# Bytes of an entry in the index by feature: a short and a long whole number.
INDEX_BYTES = 6


@dataclass(frozen=True)
class RowView:
    """Some rows of sparse counts, without a copy of their entries.

    Attributes
    ----------
    starts, ends : ndarray of int
        Where the entries of each row begin and end.
    features, values : ndarray
        The entries of all rows of the matrix.
    n_features : int
    sample_totals : ndarray
        The sum of each row.
    missing : Missing or None
    has_tiny_samples : bool
        Whether products with the weights of a sample of the matrix may underflow.
    """

    starts: Array
    ends: Array
    features: Array
    values: Array
    n_features: int
    sample_totals: Array
    missing: Missing | None
    has_tiny_samples: bool


class CountMatrix:
    """Non-negative counts, samples x features, in a canonical form.

    Sparse data of any SciPy format becomes rows of sorted, distinct features with positive values;
    dense data becomes a C-contiguous array. The data of the caller is never changed, and its memory
    is shared if it already has that form.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
        Non-negative and finite.
    dtype : float32, float64 or None
        The precision of everything computed from it. ``None``: float32 if that is what ``X`` has,
        float64 otherwise.
    missing : array-like or sparse matrix of bool of shape (samples, features) or None
        True where a count is missing; what ``X`` has there is ignored.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    missing : Missing or None
        The missing entries.
    copies : ndarray of shape (samples,) or None
        How often each sample counts; see :meth:`repeated`.
    feature_names : ndarray of str or None
        The names of the columns, if ``X`` has some.
    stored : ndarray
        The values: all of dense data, the positive ones of sparse data.
    sample_totals : ndarray of shape (samples,), float64
        The sum of each row.
    total : float
        The sum of all counts.

    Examples
    --------
    >>> from isotopic import CountMatrix
    >>> counts = CountMatrix.of([[1, 0, 2], [0, 3, 0]])
    >>> counts.shape, counts.feature_totals.tolist()
    ((2, 3), [1.0, 3.0, 2.0])
    """

    copies: Array | None = None
    missing: Missing | None = None
    feature_names: Array | None = None

    def __init__(self, X: Any, dtype: DTypeLike | None = None, *, missing: Any = None) -> None:
        named = read_container(X)
        given: Any = named.matrix if sparse.issparse(named.matrix) else np.asarray(named.matrix)
        missing = named.missing if missing is None else missing
        if given.dtype.kind == "O" and given.ndim == 0:
            raise TypeError(
                f"Cannot read counts from {type(X).__name__}. Accepted: an array or a sparse "
                "matrix of samples x features, a data frame of pandas or polars, AnnData, "
                "CountMatrix, or what isotopic.read_counts returns."
            )
        if given.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, samples x features; it has {given.ndim}."
            )
        if given.dtype.kind not in "biuf":
            raise TypeError(f"X must contain numbers, but its dtype is {given.dtype}.")
        if dtype is None:
            dtype = np.float32 if given.dtype == np.float32 else np.float64
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise TypeError(f"Counts are stored as float32 or float64, not {self.dtype}.")
        self.shape: tuple[int, int] = given.shape
        self.feature_names = named.feature_names
        if self.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X has {self.shape[1]} features; at most 2**31 - 1 are possible.")
        self.is_sparse = sparse.issparse(given)
        if missing is not None:
            pattern = missing_pattern(missing, self.shape)
            self.missing = Missing(pattern)
            given = without_missing(given, pattern)
        if self.is_sparse:
            csr = canonical_csr(given, self.dtype)
            indptr, indices = csr.indptr.astype(np.int64, copy=False), csr.indices
            self._set_entries(indptr, indices.astype(np.int32, copy=False), csr.data)
        else:
            check_values(given)
            with np.errstate(over="ignore"):  # check_range looks for infinity
                self.dense = self.stored = np.ascontiguousarray(given, dtype=self.dtype)
        check_range(self.dtype, self.total, values=self.stored, feature_totals=self.feature_totals)

    def _set_entries(self, row_starts: Array, features: Array, values: Array) -> None:
        self.row_starts, self.features, self.values = row_starts, features, values
        self.stored = values
        mean_entries = len(values) / max(1, self.shape[0])
        rows = int(np.clip(_BLOCK_ENTRIES / max(1.0, mean_entries), _FEWEST_ROWS, _MOST_ROWS))
        self.workspace = native.Workspace()
        self.block_rows = np.append(np.arange(0, self.shape[0], rows), self.shape[0])

    @classmethod
    def of(
        cls,
        X: Any,
        dtype: DTypeLike | None = None,
        *,
        feature_names: Array | None = None,
        what: str = "X",
        than: str | None = None,
    ) -> "CountMatrix":
        """Return ``X`` itself if it is a CountMatrix of that precision, else a new one.

        If both ``X`` and ``feature_names`` name the features, the counts have these features in
        this order; ``what`` and ``than`` are for errors, see :func:`isotopic.names.order_by_name`.
        """
        if not isinstance(X, cls) or not is_same_order(X.feature_names, feature_names):
            named = read_container(X, what).with_features(feature_names, what=what, than=than)
            return cls(named, dtype)
        if dtype is None or X.dtype == dtype:
            return X
        check_range(np.dtype(dtype), X.total, values=X.stored, feature_totals=X.feature_totals)
        return X._with(X.stored.astype(dtype))

    @classmethod
    def of_canonical(cls, X: Any, dtype: DTypeLike) -> "CountMatrix":
        """Return counts from CSR data that was found valid and canonical before.

        Only indices that would lead outside of memory are looked for.
        """
        check_indices(X)
        return cls.of_checked(
            X.shape,
            X.indptr.astype(np.int64, copy=False),
            X.indices.astype(np.int32, copy=False),
            X.data.astype(dtype, copy=False),
        )

    @classmethod
    def of_checked(
        cls, shape: tuple[int, int], row_starts: Array, features: Array, values: Array
    ) -> "CountMatrix":
        """Return counts from arrays that are valid and canonical, without any check."""
        made = cls.__new__(cls)
        made.shape, made.dtype, made.is_sparse = shape, values.dtype, True
        made._set_entries(row_starts, features, values)
        return made

    def _with(
        self, stored: Array, row_starts: Array | None = None, features: Array | None = None
    ) -> "CountMatrix":
        """Return other counts of the same features: stored values, and where they are if sparse."""
        other = CountMatrix.__new__(CountMatrix)
        other.missing, other.copies, other.dtype = self.missing, self.copies, stored.dtype
        other.feature_names = self.feature_names
        other.is_sparse = self.is_sparse or row_starts is not None
        if other.is_sparse:
            row_starts = self.row_starts if row_starts is None else row_starts
            other.shape = len(row_starts) - 1, self.shape[1]
            other._set_entries(row_starts, self.features if features is None else features, stored)
        else:
            other.shape, other.dense, other.stored = stored.shape, stored, stored
        return other

    def named_matrix(self) -> NamedMatrix:
        """Return the counts as an array or sparse matrix, with the names of the features."""
        if self.copies is not None:
            raise ValueError(
                "X is a CountMatrix with sample weights. Pass the original counts, and the weights "
                "as sample_weight."
            )
        matrix: Any = self.stored
        if self.is_sparse:
            parts = self.values, self.features, self.row_starts
            matrix = sparse.csr_array(parts, shape=self.shape)
        missing = None if self.missing is None else self.missing.pattern.astype(bool)
        return NamedMatrix(matrix, self.feature_names, missing=missing)

    def as_complete(self) -> "CountMatrix":
        """Return the same counts, with zeros where entries are missing."""
        if self.missing is None:
            return self
        other = copy(self)
        other.missing = None
        return other

    def as_sparse(self) -> "CountMatrix":
        """Return the same counts in sparse form."""
        if self.is_sparse:
            return self
        csr = sparse.csr_array(self.dense)
        starts, features = csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False)
        return self._with(csr.data, starts, features)

    def repeated(self, copies: Array) -> "CountMatrix":
        """Return the data with each sample counted ``copies`` times (positive, whole or not)."""
        with np.errstate(over="ignore"):  # check_range looks for infinity
            if self.is_sparse:
                values = np.repeat(copies, np.diff(self.row_starts)) * self.values
            else:
                values = copies[:, np.newaxis] * self.dense
        check_range(self.dtype, float(values.sum()), values=values)
        other = self._with(values.astype(self.dtype))
        other.copies = copies
        return other

    def rows(self, which: Array) -> "CountMatrix":
        """Return the rows with the numbers ``which``."""
        if self.is_sparse:
            lengths = np.diff(self.row_starts)[which]
            starts = np.append(0, np.cumsum(lengths))
            entries = np.arange(starts[-1]) + np.repeat(
                self.row_starts[which] - starts[:-1], lengths
            )
            part = self._with(self.values[entries], starts, self.features[entries])
        else:
            part = self._with(self.dense[which])
        part.missing = None if self.missing is None else self.missing.rows(which)
        part.copies = None if self.copies is None else self.copies[which]
        return part

    def only_features(self, which: Array) -> "CountMatrix":
        """Return sparse counts without those of features that are false in ``which``."""
        if which.all():
            return self
        kept = which[self.features]
        before = np.append(0, np.cumsum(kept))
        return self._with(self.values[kept], before[self.row_starts], self.features[kept])

    def view(self, which: Array | slice = slice(None)) -> RowView:
        """Return some rows of sparse data, by number, without a copy of their entries."""
        missing = self.missing
        if missing is not None and not isinstance(which, slice):
            missing = missing.rows(which)
        return RowView(
            self.row_starts[:-1][which],
            self.row_starts[1:][which],
            self.features,
            self.values,
            self.shape[1],
            self.sample_totals[which],
            missing,
            self.has_tiny_samples,
        )

    def equal_shares(self, n_components: int) -> Array:
        """Return each sample's total, divided equally among the components."""
        return np.repeat(self.sample_totals[:, np.newaxis] / n_components, n_components, 1)

    def identity(self) -> list[Array]:
        """Return arrays that differ for different data."""
        parts = [self.row_starts, self.features, self.values] if self.is_sparse else [self.dense]
        if self.missing is not None:
            parts += [self.missing.pattern.indptr, self.missing.pattern.indices]
        return parts

    @property
    def nbytes(self) -> int:
        """The memory of the counts, with the index by feature."""
        if not self.is_sparse:
            return int(self.dense.nbytes)
        index = INDEX_BYTES * len(self.values)
        return int(self.row_starts.nbytes + self.features.nbytes + self.values.nbytes + index)

    @cached_property
    def by_feature(self) -> Any:
        """The entries of each block of rows ordered by feature, for the sums over samples."""
        parts = self.block_rows, self.row_starts, self.features
        return native.column_index(self.shape[1], *parts, current_threads())

    @cached_property
    def values_by_feature(self) -> Array:
        """The values in the order of the index by feature: short whole numbers if all are."""
        values = self.values
        if values.max(initial=0) <= np.iinfo(np.uint16).max:
            whole = values.astype(np.uint16)
            values = whole if np.array_equal(whole, values) else values
        ordered = np.empty_like(values)
        native.order_values(self.by_feature, values, ordered)
        return ordered

    @cached_property
    def in_sparse_form(self) -> "CountMatrix":
        """The same counts in sparse form, made once."""
        return self.as_sparse()

    @cached_property
    def in_single_precision(self) -> "CountMatrix":
        """The same counts as float32, with the totals of the original ones."""
        other = self._with(self.stored.astype(np.float32))
        shared = ["sample_totals", "feature_totals", "total", "saturated_divergence"]
        if self.is_sparse:
            shared.append("by_feature")
        for name in shared:
            other.__dict__[name] = getattr(self, name)  # where cached_property looks for it
        return other

    @property
    def fits_single_precision(self) -> bool:
        """Whether float32 has the range for the counts, their totals, and shares of both."""
        values, totals = self.stored, self.feature_totals
        smallest = float(np.min(values, where=values > 0, initial=np.inf))
        rarest = float(np.min(totals, where=totals > 0, initial=np.inf))
        limit = SMALLEST_COUNT[np.dtype(np.float32)]
        least, most = limit**0.5, 1 / limit
        fits = smallest > least and self.total < most**0.5 and rarest > least * self.total
        return bool(fits)

    @cached_property
    def sample_totals(self) -> Array:
        """The sum of each row."""
        if not self.is_sparse:
            return np.asarray(self.dense.sum(axis=1, dtype=np.float64))
        totals = np.zeros(self.shape[0])
        some = np.flatnonzero(np.diff(self.row_starts))
        if len(some):
            totals[some] = np.add.reduceat(self.values, self.row_starts[some], dtype=np.float64)
        return totals

    @cached_property
    def feature_totals(self) -> Array:
        """The sum of each column."""
        if not self.is_sparse:
            return np.asarray(self.dense.sum(axis=0, dtype=np.float64))
        totals, n = np.zeros(self.shape[1]), len(self.values)
        step = max(_PART, self.shape[1])  # so that adding the parts costs no more than counting
        for begin in range(0, n, step):
            part = slice(begin, begin + step)
            totals += np.bincount(self.features[part], self.values[part], self.shape[1])
        return totals

    @cached_property
    def has_tiny_samples(self) -> bool:
        """Whether products with the weights of a sample may underflow."""
        some = self.sample_totals[self.sample_totals > 0]
        return bool(len(some)) and float(some.min()) < SMALLEST_COUNT[self.dtype] ** 0.5

    @cached_property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.sample_totals.sum())

    @cached_property
    def saturated_divergence(self) -> float:
        """The sum of ``x log x - x``: the likelihood plus it is the generalised KL divergence."""
        values = self.stored.ravel()
        terms, logarithms = [], np.empty(1)
        for begin in range(0, len(values), _PART):
            part = values[begin : begin + _PART].astype(np.float64)
            native.divide(part[np.newaxis], part[np.newaxis].copy(), logarithms, 1)
            terms.append(float(logarithms[0] - part.sum()))  # x log x - x
        total = sum(terms, 0.0)
        if self.copies is not None:  # the values are copies * x, the sum copies * (x log x - x)
            total -= float(self.sample_totals @ np.log(self.copies))
        return total

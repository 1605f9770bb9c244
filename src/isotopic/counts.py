"""CountMatrix: the data, validated once, cut into row blocks."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.missing import Missing
from isotopic.threads import current_threads

# A block's entries are about as many as keeps its ratios and weights in a second-level cache, and
# enough that a feature occurs several times in it.
_BLOCK_ENTRIES = 2**18
_FEWEST_ROWS, _MOST_ROWS = 256, 4096

# Sums over all entries are made in parts of this many.
_PART = 2**14

# Sums of counts, and their products with factors, must stay finite, and shares of them positive.
_LARGEST_TOTAL = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e305}
_SMALLEST = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-300}


@dataclass(frozen=True)
class Rows:
    """Some rows of sparse counts, whose entries stay where they are.

    Attributes
    ----------
    starts, ends : ndarray of int
        Where each row's entries begin and end.
    features, values : ndarray
        The entries of all rows of the matrix.
    n_features : int
    sample_totals : ndarray
        The sum of each row.
    missing : Missing or None
    has_tiny_samples : bool
        Whether the matrix has some.
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
    """Non-negative counts, samples x features, in a canonical private form.

    Sparse data of any SciPy format becomes rows of sorted, distinct features with positive values;
    dense data a C-contiguous array. What the caller gave is never changed, and shared where it
    already has that form.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (samples, features)
        Non-negative and finite.
    dtype : float32, float64 or None
        The precision of everything computed from it. ``None``: float32 if that is what ``X`` has,
        float64 otherwise.
    missing : array-like or sparse matrix of bool of shape (samples, features) or None
        Where it is true the count was not seen, and what ``X`` has there is not looked at.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    missing : Missing or None
        Where entries are missing.
    copies : ndarray of shape (samples,) or None
        How often each sample counts; see :meth:`repeated`.
    sample_totals : ndarray of shape (samples,), float64
        The sum of each row.
    total : float
        The sum of all counts.
    """

    copies: Array | None = None
    missing: Missing | None = None

    def __init__(self, X: Any, dtype: DTypeLike | None = None, *, missing: Any = None) -> None:
        given: Any = X if sparse.issparse(X) else np.asarray(X)
        if given.ndim != 2:
            raise ValueError(f"X must have two dimensions, samples x features; it has {given.ndim}")
        if given.dtype.kind not in "biuf":
            raise TypeError(f"X must hold numbers; its dtype is {given.dtype}")
        self.dtype = np.dtype(_precision(given.dtype) if dtype is None else dtype)
        if self.dtype not in (np.float32, np.float64):
            raise TypeError(f"counts are kept as float32 or float64, not {self.dtype}")
        self.shape: tuple[int, int] = given.shape
        if self.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X has {self.shape[1]} features; at most 2**31 - 1 are possible")
        self.is_sparse = sparse.issparse(given)
        if missing is not None:
            pattern = _pattern(missing, self.shape)
            self.missing = Missing(pattern)
            given = _without(given, pattern)
        if self.is_sparse:
            csr = _canonical(given, self.dtype)
            self._keep(
                csr.indptr.astype(np.int64, copy=False),
                csr.indices.astype(np.int32, copy=False),
                csr.data,
            )
        else:
            _check_values(given, lambda position: position)
            with np.errstate(over="ignore"):  # the total tells
                self.dense = np.ascontiguousarray(given, dtype=self.dtype)
        _check_range(self.values if self.is_sparse else self.dense, self.dtype, self.total)
        check_shares(self.feature_totals, self.total, self.dtype)

    def equal_shares(self, n_components: int) -> Array:
        """Share each sample's total equally over components."""
        return np.repeat(self.sample_totals[:, np.newaxis] / n_components, n_components, 1)

    def as_complete(self) -> "CountMatrix":
        """Return the same counts, with zeros where entries are missing."""
        if self.missing is None:
            return self
        other = copy(self)
        other.missing = None
        return other

    def as_sparse(self) -> "CountMatrix":
        """Give the same counts in sparse form."""
        if self.is_sparse:
            return self
        other = CountMatrix(sparse.csr_array(self.dense))
        other.missing, other.copies = self.missing, self.copies
        return other

    @cached_property
    def by_sample_and_by_feature(self) -> "tuple[CountMatrix, CountMatrix]":
        """The counts in sparse form, as they are and turned around (features x samples)."""
        rows = self.as_sparse()
        parts = rows.block_rows, rows.row_starts, rows.features, rows.values
        turned = native.turned(self.shape[1], *parts, rows.by_feature)
        return rows, CountMatrix.of_checked(self.shape[::-1], *turned)

    @cached_property
    def in_single_precision(self) -> "CountMatrix":
        """The same counts as float32, with the totals that they have as they are."""
        other = CountMatrix.__new__(CountMatrix)
        other.shape, other.dtype = self.shape, np.dtype(np.float32)
        other.is_sparse, other.missing, other.copies = self.is_sparse, self.missing, self.copies
        if self.is_sparse:
            other._keep(self.row_starts, self.features, self.values.astype(np.float32))
        else:
            other.dense = self.dense.astype(np.float32)
        shared = ("sample_totals", "feature_totals", "total", "saturated_divergence")
        for name in (*shared, "by_feature") if self.is_sparse else shared:
            other.__dict__[name] = getattr(self, name)  # where cached_property looks for it
        return other

    @property
    def fits_single_precision(self) -> bool:
        """Whether float32 has room for the counts, for their totals, and for shares of both."""
        values = self.values if self.is_sparse else self.dense
        totals = self.feature_totals
        smallest = float(np.min(values, where=values > 0, initial=np.inf))
        rarest = float(np.min(totals, where=totals > 0, initial=np.inf))
        least, most = _SMALLEST[np.dtype(np.float32)] ** 0.5, 1 / _SMALLEST[np.dtype(np.float32)]
        fits = smallest > least and self.total < most**0.5 and rarest > least * self.total
        return bool(fits)

    def repeated(self, copies: Array) -> "CountMatrix":
        """Let each sample count as often as ``copies`` (positive, whole or not) says."""
        other = CountMatrix.__new__(CountMatrix)
        other.shape, other.dtype, other.is_sparse = self.shape, self.dtype, self.is_sparse
        other.missing, other.copies = self.missing, copies
        lengths = np.diff(self.row_starts) if self.is_sparse else None
        scale = copies[:, np.newaxis] if lengths is None else np.repeat(copies, lengths)
        with np.errstate(over="ignore"):  # looked for below
            values = scale * (self.dense if lengths is None else self.values)
        _check_range(values, self.dtype, float(values.sum()))
        if self.is_sparse:
            other._keep(self.row_starts, self.features, values.astype(self.dtype))
        else:
            other.dense = values.astype(self.dtype)
        return other

    def _keep(self, row_starts: Array, features: Array, values: Array) -> None:
        self.row_starts, self.features, self.values = row_starts, features, values
        entries_a_row = len(values) / max(1, self.shape[0])
        rows = int(np.clip(_BLOCK_ENTRIES / max(1.0, entries_a_row), _FEWEST_ROWS, _MOST_ROWS))
        self.workspace = native.Workspace()
        self.block_rows = np.append(np.arange(0, self.shape[0], rows), self.shape[0])

    @classmethod
    def of(cls, X: Any, dtype: DTypeLike | None = None) -> "CountMatrix":
        """Give ``X`` itself if it is a CountMatrix of that precision, else a new one."""
        if not isinstance(X, cls):
            return cls(X, dtype)
        if dtype is None or X.dtype == dtype:
            return X
        if X.is_sparse:
            other = cls.__new__(cls)
            other.shape, other.dtype, other.is_sparse = X.shape, np.dtype(dtype), True
            other._keep(X.row_starts, X.features, X.values.astype(dtype))
        else:
            other = cls(X.dense, dtype)
        other.copies = X.copies
        other.missing = X.missing
        return other

    @classmethod
    def of_canonical(cls, X: Any, dtype: DTypeLike) -> "CountMatrix":
        """Take CSR data that was found good and canonical before, when it is read again.

        Only what would lead outside of memory is looked at.
        """
        _check_indices(X)
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
        """Take the parts of sparse counts in the private form, without looking at them."""
        made = cls.__new__(cls)
        made.shape, made.dtype, made.is_sparse = shape, values.dtype, True
        made._keep(row_starts, features, values)
        return made

    @property
    def nbytes(self) -> int:
        """The memory it takes, with the index by feature."""
        if not self.is_sparse:
            return int(self.dense.nbytes)
        index = 6 * len(self.values)  # a short and a long whole number for each entry
        return int(self.row_starts.nbytes + self.features.nbytes + self.values.nbytes + index)

    def rows(self, which: Array) -> "CountMatrix":
        """Select rows by index."""
        part = CountMatrix.__new__(CountMatrix)
        part.shape = (len(which), self.shape[1])
        part.dtype, part.is_sparse = self.dtype, self.is_sparse
        part.missing = None if self.missing is None else self.missing.rows(which)
        part.copies = None if self.copies is None else self.copies[which]
        if self.is_sparse:
            lengths = np.diff(self.row_starts)[which]
            starts = np.append(0, np.cumsum(lengths))
            entries = np.arange(starts[-1]) + np.repeat(
                self.row_starts[which] - starts[:-1], lengths
            )
            part._keep(starts, self.features[entries], self.values[entries])
        else:
            part.dense = self.dense[which]
        return part

    def view(self, which: Array | slice = slice(None)) -> Rows:
        """Look at some rows of sparse data, by index, without a copy of their entries."""
        missing = self.missing
        if missing is not None and not isinstance(which, slice):
            missing = missing.rows(which)
        return Rows(
            self.row_starts[:-1][which],
            self.row_starts[1:][which],
            self.features,
            self.values,
            self.shape[1],
            self.sample_totals[which],
            missing,
            self.has_tiny_samples,
        )

    def only_features(self, which: Array) -> "CountMatrix":
        """Leave all counts of other features out (of sparse data); the shape stays."""
        if which.all():
            return self
        kept = which[self.features]
        before = np.append(0, np.cumsum(kept))
        part = CountMatrix.__new__(CountMatrix)
        part.shape, part.dtype, part.is_sparse = self.shape, self.dtype, True
        part.missing, part.copies = self.missing, self.copies
        part._keep(before[self.row_starts], self.features[kept], self.values[kept])
        return part

    def identity(self) -> list[Array]:
        """Give the arrays that tell it from other data."""
        parts = [self.row_starts, self.features, self.values] if self.is_sparse else [self.dense]
        if self.missing is not None:
            parts += [self.missing.pattern.indptr, self.missing.pattern.indices]
        return parts

    @cached_property
    def by_feature(self) -> Any:
        """Each block's entries ordered by feature, for the sums over samples."""
        parts = self.block_rows, self.row_starts, self.features
        return native.column_index(self.shape[1], *parts, current_threads())

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
        step = max(_PART, self.shape[1])  # so that adding the parts up costs no more than counting
        for begin in range(0, n, step):
            part = slice(begin, begin + step)
            totals += np.bincount(self.features[part], self.values[part], self.shape[1])
        return totals

    @cached_property
    def has_tiny_samples(self) -> bool:
        """Whether products with the weights of some sample may underflow."""
        some = self.sample_totals[self.sample_totals > 0]
        return bool(len(some)) and float(some.min()) < _SMALLEST[self.dtype] ** 0.5

    @cached_property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.sample_totals.sum())

    @cached_property
    def saturated_divergence(self) -> float:
        """The sum of ``x log x - x``: what the generalized KL divergence adds to the likelihood."""
        values = self.values if self.is_sparse else self.dense.ravel()
        parts = (values[part].astype(np.float64) for part in self._parts(len(values)))
        value = sum((_saturated(part) for part in parts), 0.0)
        if self.copies is not None:  # the values are copies * x, the sum copies * (x log x - x)
            value -= float(self.sample_totals @ np.log(self.copies))
        return value

    def _parts(self, n: int | None = None) -> Iterator[slice]:
        """Cut the entries into pieces whose temporaries are small."""
        n = len(self.values) if n is None else n
        return (slice(begin, begin + _PART) for begin in range(0, n, _PART))


def _saturated(values: Array) -> float:
    sums = np.empty(1)
    native.divide(values[np.newaxis], values[np.newaxis].copy(), sums, 1)  # x log x, and x / x
    return float(sums[0] - values.sum())


def check_total(total: float, dtype: np.dtype[Any]) -> None:
    """Raise if sums of counts are lost by overflow."""
    if not total < _LARGEST_TOTAL[dtype]:
        remedy = "divide it by a number" + (", or use float64" if dtype == np.float32 else "")
        raise ValueError(f"X is too large for {dtype}: {remedy}")


def check_shares(feature_totals: Array, total: float, dtype: np.dtype[Any]) -> None:
    """Raise if a feature's share of the counts would be lost by underflow."""
    rarest = float(np.min(feature_totals, where=feature_totals > 0, initial=np.inf))
    if rarest < _SMALLEST[dtype] * total:
        raise ValueError(
            f"the counts of X are too different for {dtype}: a feature has {rarest:.3g} "
            f"of {total:.3g}, a share below {_SMALLEST[dtype]}. Leave such features "
            "out, or scale the columns"
        )


def _check_range(values: Array, dtype: np.dtype[Any], total: float) -> None:
    """Raise if counts are lost by overflow or underflow."""
    check_total(total, dtype)
    smallest, limit = float(np.min(values, where=values > 0, initial=np.inf)), _SMALLEST[dtype]
    if smallest < limit:
        raise ValueError(
            f"X has a count of {smallest:.3g}, below {limit} and too small for {dtype}: multiply "
            "it by a number"
        )


def _precision(dtype: np.dtype[Any]) -> DTypeLike:
    return np.float32 if dtype == np.float32 else np.float64


def _canonical(X: Any, dtype: np.dtype[Any]) -> Any:
    """CSR with sorted distinct indices and no zeros, sharing memory with X where it can."""
    _check_indices(X)
    if X.format not in ("csr", "csc", "coo"):  # others have no plain list of values
        X = X.tocoo()
    _check_values(X.data, lambda entry: _coordinates(X, entry))
    # To the final precision first: sums of duplicates must not overflow a small integer type.
    with np.errstate(over="ignore"):  # the total tells
        csr = X.astype(dtype, copy=False).tocsr()
    # A new object around the same arrays: SciPy notes what it finds out on the object.
    csr = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if np.any(csr.data == 0):
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def _check_indices(X: Any, name: str = "X") -> None:
    """Raise if a sparse matrix points outside itself; SciPy does not look."""
    if X.format in ("csr", "csc", "bsr"):
        groups, width = X.shape if X.format != "csc" else X.shape[::-1]
        if X.format == "bsr":
            groups, width = groups // X.blocksize[0], width // X.blocksize[1]
        pointers, indices = X.indptr, X.indices
        good = len(pointers) == groups + 1 and pointers[0] == 0
        good = good and np.all(np.diff(pointers) >= 0)
        good = good and pointers[-1] == len(indices) == len(X.data)
        good = good and _within(indices, width)
    elif X.format == "coo":
        good = all(len(c) == len(X.data) for c in X.coords) and all(
            _within(index, size) for index, size in zip(X.coords, X.shape, strict=True)
        )
    else:
        return
    if not good:
        raise ValueError(f"the indices of {name}, a {X.format} matrix of {X.shape}, are damaged")


def _within(indices: Array, size: int) -> bool:
    unsigned = indices.view(f"u{indices.dtype.itemsize}")  # negative numbers are the largest so
    return len(indices) == 0 or bool(unsigned.max() < size)


def read_mask(given: Any, shape: tuple[int, int]) -> Any:
    """Check a mask of missing entries: boolean, of the shape of the data."""
    try:
        mask: Any = given if sparse.issparse(given) else np.asarray(given)
    except ValueError:
        raise ValueError("missing_mask must be an array; its rows differ in length") from None
    if mask.dtype != np.bool_:
        raise TypeError(
            f"missing_mask must be boolean, not {mask.dtype}; it is true where an entry is missing"
        )
    if mask.shape != shape:
        raise ValueError(f"missing_mask has shape {mask.shape}, X has {shape}")
    if sparse.issparse(mask):
        _check_indices(mask, "missing_mask")
    return mask


def _pattern(missing: Any, shape: tuple[int, int]) -> Any:
    """Read a mask as ones at the missing entries."""
    pattern = sparse.csr_array(read_mask(missing, shape))
    pattern.sum_duplicates()
    pattern.eliminate_zeros()
    return pattern.astype(np.float64)


def _without(X: Any, missing: Any) -> Any:
    """Put zeros where entries are missing."""
    rows, features = missing.nonzero()
    if isinstance(X, np.ndarray):
        X = X.copy()
        X[rows, features] = 0
        return X
    if X.format in (
        "csr",
        "csc",
    ):  # a new object around the arrays: SciPy notes on it what it finds
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    coo = X.tocoo()
    width = np.int64(missing.shape[1])
    seen = ~np.isin(coo.row * width + coo.col, rows * width + features)
    return sparse.coo_array((coo.data[seen], (coo.row[seen], coo.col[seen])), shape=missing.shape)


def _coordinates(X: Any, entry: tuple[int, ...]) -> tuple[int, int]:
    coo = X.tocoo()
    return int(coo.row[entry[0]]), int(coo.col[entry[0]])


def _check_values(values: Array, place: Any) -> None:
    """Raise on the first value that is not a finite non-negative number."""
    if values.size == 0 or (values.min() >= 0 and values.max() < np.inf):  # false for NaN
        return
    bad = ~((values >= 0) & (values < np.inf))
    first = np.unravel_index(int(np.argmax(bad)), values.shape)
    row, feature = place(tuple(int(i) for i in first))
    value = values[first]
    what = "Negative values in data" if value < 0 else "NaN or infinity in data"
    raise ValueError(f"{what}: X has {value} in row {row}, column {feature}; counts are at least 0")

"""Checks of counts and masks: what :class:`~isotopic.CountMatrix` accepts, and why not."""

from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array, as_unsigned

# Sums of counts, and their products with factors, must stay finite, and shares of them positive.
LARGEST_TOTAL = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e305}
SMALLEST_COUNT = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-300}


def check_range(
    dtype: np.dtype[Any],
    total: float,
    *,
    values: Array | None = None,
    feature_totals: Array | None = None,
) -> None:
    """Raise if a count, the sum of all, or a feature's share of it does not fit the precision."""
    limit = SMALLEST_COUNT[dtype]
    if not total < LARGEST_TOTAL[dtype]:
        remedy = "Divide X by a constant" + (", or use float64." if dtype == np.float32 else ".")
        raise ValueError(f"X is too large for {dtype}: its counts sum to {total:.3g}. {remedy}")
    if values is not None:
        smallest = float(np.min(values, where=values > 0, initial=np.inf))
        if smallest < limit:
            raise ValueError(
                f"X has a count of {smallest:.3g}, which is too small for {dtype}: the smallest "
                f"positive count must be at least {limit}. Multiply X by a constant, or set tiny "
                "counts to 0."
            )
    if feature_totals is not None:
        rarest = float(np.min(feature_totals, where=feature_totals > 0, initial=np.inf))
        if rarest < limit * total:
            raise ValueError(
                f"The range of X is too wide for {dtype}: the counts of a feature sum to "
                f"{rarest:.3g}, those of all features to {total:.3g}, and the share is below "
                f"{limit}. Leave such features out, or scale the columns."
            )


def check_values(values: Array, X: Any = None) -> None:
    """Raise on the first value that is not finite and non-negative.

    Parameters
    ----------
    values : ndarray
        All values: those of a dense array, or the stored ones of a sparse matrix.
    X : sparse matrix or None
        The sparse matrix of the values, to find the place of a bad one.
    """
    if values.size == 0 or (values.min() >= 0 and values.max() < np.inf):  # false for NaN
        return
    bad = ~((values >= 0) & (values < np.inf))
    first = np.unravel_index(int(np.argmax(bad)), values.shape)
    if X is None:
        row, feature = (int(i) for i in first)
    else:
        coo = X.tocoo()
        row, feature = int(coo.row[first[0]]), int(coo.col[first[0]])
    value = values[first]
    what = "Negative values in data" if value < 0 else "NaN or infinity in data"
    raise ValueError(
        f"{what}: X has {value} in row {row}, column {feature}. Counts must be finite and at least "
        "0."
    )


def check_indices(X: Any, name: str = "X") -> None:
    """Raise if a sparse matrix points outside itself, which SciPy does not check."""
    is_valid = True
    if X.format in ("csr", "csc", "bsr"):
        groups, width = X.shape if X.format != "csc" else X.shape[::-1]
        if X.format == "bsr":
            groups, width = groups // X.blocksize[0], width // X.blocksize[1]
        pointers, axes = X.indptr, [(X.indices, width)]
        is_valid = len(pointers) == groups + 1 and pointers[0] == 0
        is_valid = is_valid and bool(np.all(np.diff(pointers) >= 0))
        is_valid = is_valid and pointers[-1] == len(X.indices)
    elif X.format == "coo":
        axes = list(zip(X.coords, X.shape, strict=True))
    else:
        return
    for indices, size in axes:
        unsigned = indices.view(as_unsigned(indices.dtype))  # negative ones become the largest
        is_valid = is_valid and len(indices) == len(X.data)
        is_valid = is_valid and (len(indices) == 0 or bool(unsigned.max() < size))
    if not is_valid:
        raise ValueError(
            f"The indices of {name} are damaged: the {X.format} matrix of shape {X.shape} points "
            "outside itself."
        )


def canonical_csr(X: Any, dtype: np.dtype[Any]) -> Any:
    """Return CSR with sorted distinct indices and no zeros, sharing memory with X if possible."""
    check_indices(X)
    if X.format not in ("csr", "csc", "coo"):  # others have no plain list of values
        X = X.tocoo()
    check_values(X.data, X)
    # First to the final precision: sums of duplicates must not overflow a small integer type.
    with np.errstate(over="ignore"):  # check_range looks for infinity
        csr = X.astype(dtype, copy=False).tocsr()
    # A new object around the same arrays, because SciPy stores what it finds out on the object.
    csr = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if np.any(csr.data == 0):
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def read_mask(given: Any, shape: tuple[int, int]) -> Any:
    """Return a mask of missing entries: boolean, of the shape of the data."""
    try:
        mask: Any = given if sparse.issparse(given) else np.asarray(given)
    except ValueError:
        raise ValueError("missing_mask must be an array, but its rows differ in length.") from None
    if mask.dtype != np.bool_:
        raise TypeError(
            "missing_mask must be a boolean array that is True where an entry is missing; its "
            f"dtype is {mask.dtype}."
        )
    if mask.shape != shape:
        raise ValueError(f"missing_mask has the shape {mask.shape}; it must be that of X, {shape}.")
    if sparse.issparse(mask):
        check_indices(mask, "missing_mask")
    return mask


def missing_pattern(missing: Any, shape: tuple[int, int]) -> Any:
    """Return a mask as a sparse matrix with ones at the missing entries."""
    pattern = sparse.csr_array(read_mask(missing, shape))
    pattern.sum_duplicates()
    pattern.eliminate_zeros()
    return pattern.astype(np.float64)


def without_missing(X: Any, pattern: Any) -> Any:
    """Return the counts with zeros where entries are missing."""
    rows, features = pattern.nonzero()
    if isinstance(X, np.ndarray):
        X = X.copy()
        X[rows, features] = 0
        return X
    if X.format in ("csr", "csc"):  # a new object, because SciPy stores what it finds out on it
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    coo = X.tocoo()
    width = np.int64(pattern.shape[1])
    seen = ~np.isin(coo.row * width + coo.col, rows * width + features)
    return sparse.coo_array((coo.data[seen], (coo.row[seen], coo.col[seen])), shape=pattern.shape)

"""What a user hands to ``fit`` and ``transform``, read and checked."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.counts import CountMatrix, read_mask


def read_counts(
    estimator: Any, X: Any, *, reset: bool, missing_mask: Any, nan_is_missing: bool
) -> CountMatrix:
    """Validate ``X`` as scikit-learn does, and as counts.

    Parameters
    ----------
    estimator : estimator
        Whose features ``X`` must have, or with ``reset`` takes over.
    X : array-like, sparse matrix or data frame of shape (samples, features)
    reset : bool
    missing_mask : array-like or sparse matrix of bool or None
        Where entries are missing.
    nan_is_missing : bool
        Whether NaN stands for a missing entry.
    """
    if hasattr(X, "columns") and 0 in X.shape:  # scikit-learn looks at the names first
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, whose mask would be lost. If masked entries are missing, give "
            "X.filled(0) and missing_mask=np.ma.getmaskarray(X)"
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and any(map(_is_text, X.flat)):
        raise TypeError("X must hold numbers, not text")
    try:
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=True,
            dtype="numeric",
            ensure_all_finite=False,  # CountMatrix looks too, and says where
        )
    except OverflowError:
        raise ValueError("X has a number that is too large for float64") from None
    except (ValueError, TypeError):
        raise
    except Exception as error:  # of the libraries of data frames
        raise ValueError(f"X cannot be read: {error}") from error
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        X = as_numbers("X", X)
    return CountMatrix(X, missing=_missing(X, missing_mask, nan_is_missing))


def read_sample_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Check the samples' weights; ``None`` if every one counts once."""
    if sample_weight is None:
        return None
    copies = as_numbers("sample_weight", sample_weight)
    if copies.ndim == 0:
        copies = np.full(n_samples, copies)
    if copies.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {copies.shape}; X has {n_samples} samples, so it must be "
            f"({n_samples},)"
        )
    bad = first_not_finite(copies)
    if bad is not None:
        raise ValueError(
            f"sample_weight must be finite and at least 0; sample {bad[0]} has {copies[bad]}"
        )
    with np.errstate(over="ignore"):
        if not copies.sum() < np.inf:
            raise ValueError("sample_weight is too large: its sum is infinite")
    if not copies.any():
        raise ValueError("sample_weight is zero for every sample: nothing is left to fit")
    return None if np.all(copies == 1) else copies


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes))


def _missing(X: Any, mask: Any, nan_is_missing: bool) -> Any:
    if not nan_is_missing or X.dtype.kind != "f":
        return mask
    nan: Any = _nan_pattern(X) if sparse.issparse(X) else np.isnan(X)
    if mask is None:
        return nan
    mask = read_mask(mask, X.shape)
    return sparse.csr_array(nan, dtype=bool) + sparse.csr_array(mask)


def _nan_pattern(X: Any) -> Any:
    coo = X.tocoo()
    nan = np.isnan(coo.data)
    ones = np.ones(np.count_nonzero(nan), dtype=bool)
    return sparse.csr_array((ones, (coo.row[nan], coo.col[nan])), shape=X.shape, dtype=bool)

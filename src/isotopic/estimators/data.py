"""What a user hands to ``fit`` and ``transform``, read and checked."""

import os
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.blocks import BlockedCounts, Blocks, open_blocks
from isotopic.count_checks import read_mask
from isotopic.counts import CountMatrix


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


def read_blocks(
    estimator: Any, X: Any, *, reset: bool, missing: bool, memory_limit: Any, client: Any
) -> BlockedCounts:
    """Open data in row blocks, and check all of them.

    Parameters
    ----------
    estimator : estimator
        Whose features they must have, or with ``reset`` take over.
    X : Blocks, or anything that :func:`~isotopic.open_blocks` takes
    reset : bool
    missing : bool
        Whether entries may be missing, for which there is no form in blocks.
    memory_limit, client
        As for :func:`~isotopic.open_blocks`.
    """
    if missing:
        raise ValueError("missing entries need the whole matrix in memory; X is in row blocks")
    if isinstance(X, str) and not os.path.exists(X):
        raise ValueError(f"X is the str {X!r:.200}, and there is no such file or folder")
    if not isinstance(X, Blocks):
        expected = None if reset else estimator.n_features_in_
        X = open_blocks(X, memory_limit=memory_limit, client=client, n_features=expected)
    elif memory_limit is not None or client is not None:
        raise ValueError("memory_limit and client are for open_blocks, which made this X")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        if X.feature_names is not None:
            estimator.feature_names_in_ = X.feature_names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    else:
        _check_features(estimator, X)
    return BlockedCounts(X)


def _check_features(estimator: Any, X: Blocks) -> None:
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and X.feature_names is not None and list(known) != list(X.feature_names):
        raise ValueError("the feature names of X are not those that the model was fitted to")


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

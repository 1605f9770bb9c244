"""Read and check what a user gives to ``fit`` and ``transform``."""

import os
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.blocks import BlockedCounts, Blocks, is_blocks, open_blocks
from isotopic.count_checks import read_mask
from isotopic.counts import CountMatrix
from isotopic.fitted import NO_OFFSETS, Offsets
from isotopic.fitted.fitting import Data
from isotopic.priors import Prior


def read_data(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    sample_weight: Any = None,
    missing_mask: Any = None,
    size_factors: Any = None,
    fixed_weights: Any = None,
    memory_limit: Any = None,
    client: Any = None,
) -> Data:
    """Read and check samples, and what was given with them, as for ``fit``.

    ``X`` must have the features of the estimator; with ``reset`` this takes over those of ``X``.
    """
    nan_is_missing = estimator.missing == "nan"
    counts: CountMatrix | BlockedCounts
    if is_blocks(X):
        if nan_is_missing or missing_mask is not None:
            raise ValueError(
                "Missing entries need the whole matrix in memory, but X is in row blocks."
            )
        counts = _read_blocks(estimator, X, reset, memory_limit, client)
    elif memory_limit is not None or client is not None:
        raise ValueError(
            f"memory_limit and client are for data in row blocks, but X is a {type(X).__name__}. "
            "open_blocks makes row blocks of files, lists of matrices and memory maps."
        )
    else:
        counts = _read_counts(estimator, X, reset, missing_mask, nan_is_missing)
    copies, offsets = None, NO_OFFSETS
    if sample_weight is not None:
        copies = _read_sample_weight(sample_weight, counts.shape[0])
    if size_factors is not None or fixed_weights is not None:
        prior, n_components = estimator._priors()[0], estimator.n_components
        if not reset:
            prior, n_components = estimator.fitted_.weights_prior, estimator.fitted_.n_components
        offsets = _read_offsets(size_factors, fixed_weights, counts, prior, n_components)
    return Data(counts, copies, offsets, getattr(estimator, "feature_names_in_", None))


def read_new(estimator: Any, X: Any, **given: Any) -> Data:
    """Read and check samples for a fitted model; they need the offsets that it was fitted with."""
    check_is_fitted(estimator)
    data, fitted = read_data(estimator, X, reset=False, **given), estimator.fitted_.offsets
    for name in ("size_factors", "fixed_weights"):
        if getattr(fitted, name) is not None and getattr(data.offsets, name) is None:
            raise ValueError(
                f"This model was fitted with {name}. Give the {name} of these samples, too."
            )
    if fitted.fixed_weights is not None:
        expected, found = fitted.n_fixed_weights, data.offsets.n_fixed_weights
        if found != expected:
            raise ValueError(
                f"fixed_weights has {found} columns; this model was fitted with {expected}."
            )
    return data


def _read_counts(
    estimator: Any, X: Any, reset: bool, missing_mask: Any, nan_is_missing: bool
) -> CountMatrix:
    """Validate ``X`` as scikit-learn does, and as counts."""
    if hasattr(X, "columns") and 0 in X.shape:  # scikit-learn looks at the names first
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, whose mask would be lost. If masked entries are missing, give "
            "X.filled(0) and missing_mask=np.ma.getmaskarray(X)."
        )
    if (
        isinstance(X, np.ndarray)
        and X.dtype.kind == "O"
        and any(isinstance(value, (str, bytes)) for value in X.flat)
    ):
        raise TypeError("X must hold numbers, not text.")
    try:
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=True,
            dtype="numeric",
            ensure_all_finite=False,  # CountMatrix checks this, and names the entry
        )
    except OverflowError:
        raise ValueError("X has a number that is too large for float64.") from None
    except (ValueError, TypeError):
        raise
    except Exception as error:  # data frame libraries have errors of their own
        raise ValueError(f"Cannot read X: {error}") from error
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        X = as_numbers("X", X)
    if nan_is_missing and X.dtype.kind == "f":
        missing_mask = _mask_with_nan(X, missing_mask)
    return CountMatrix(X, missing=missing_mask)


def _read_blocks(
    estimator: Any, X: Any, reset: bool, memory_limit: Any, client: Any
) -> BlockedCounts:
    """Open data in row blocks, and check every block."""
    if isinstance(X, str) and not os.path.exists(X):
        raise ValueError(f"X is the str {X!r:.200}, but there is no such file or folder.")
    if not isinstance(X, Blocks):
        expected = None if reset else estimator.n_features_in_
        X = open_blocks(X, memory_limit=memory_limit, client=client, n_features=expected)
    elif memory_limit is not None or client is not None:
        raise ValueError("Give memory_limit and client to open_blocks, which made this X.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        if X.feature_names is not None:
            estimator.feature_names_in_ = X.feature_names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return BlockedCounts(X)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and X.feature_names is not None and list(names) != list(X.feature_names):
        raise ValueError("The feature names of X differ from those that the model was fitted to.")
    return BlockedCounts(X)


def _read_sample_weight(given: Any, n_samples: int) -> Array | None:
    """Return the sample weights; ``None`` if every sample counts once."""
    copies = _one_for_each_sample("sample_weight", given, n_samples)
    bad = first_not_finite(copies)
    if bad is not None:
        raise ValueError(
            f"sample_weight must be finite and at least 0; sample {bad[0]} has {copies[bad]}."
        )
    with np.errstate(over="ignore"):
        if not copies.sum() < np.inf:
            raise ValueError("sample_weight is too large: its sum is infinite.")
    if not copies.any():
        raise ValueError("sample_weight is zero for every sample: there is nothing to fit.")
    return None if np.all(copies == 1) else copies


def _one_for_each_sample(name: str, given: Any, n_samples: int) -> Array:
    values = as_numbers(name, given)
    if values.ndim == 0:
        values = np.full(n_samples, values)
    if values.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {values.shape}; X has {n_samples} samples, so it must be "
            f"({n_samples},)."
        )
    return values


def _read_offsets(
    size_factors: Any, fixed_weights: Any, X: Any, prior: Prior, n_components: int
) -> Offsets:
    """Return the size factors and fixed weights of samples; ``prior`` is that of the weights."""
    for name, given in (("size_factors", size_factors), ("fixed_weights", fixed_weights)):
        if given is not None and prior.is_normalized:
            raise ValueError(
                f"{name} are for Poisson models, whose weights have a scale (NMF, GammaPoisson, "
                "PoissonFactorization). The weights of this model are proportions, whatever the "
                "size of a sample."
            )
    return Offsets(
        None if size_factors is None else _read_size_factors(size_factors, X),
        None if fixed_weights is None else _read_fixed_weights(fixed_weights, X, n_components),
    )


def _read_size_factors(given: Any, X: Any) -> Array:
    sizes = _one_for_each_sample("size_factors", given, X.shape[0])
    good = (sizes > 0) & (sizes < np.inf)
    if not good.all():
        first = int(np.argmin(good))
        raise ValueError(
            f"size_factors must be positive and finite; sample {first} has {sizes[first]}. Leave "
            "out samples without a size."
        )
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore"):
        largest = X.sample_totals / sizes
    bad = (sizes < limits.tiny) | (sizes > limits.max) | (largest > limits.max)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"size_factors: {sizes[first]} of sample {first} is too extreme for {X.dtype}. Divide "
            "all of them by their mean."
        )
    return sizes


def _read_fixed_weights(given: Any, X: Any, n_components: int) -> Array:
    fixed = as_numbers("fixed_weights", given)
    if fixed.ndim == 1:
        fixed = fixed[:, np.newaxis]
    if fixed.ndim != 2 or len(fixed) != X.shape[0] or not 0 < fixed.shape[1] <= n_components:
        raise ValueError(
            f"fixed_weights has shape {np.shape(given)}; it must have {X.shape[0]} rows, as X has "
            f"samples, and between 1 and n_components={n_components} columns."
        )
    bad = first_not_finite(fixed)
    if bad is not None:
        raise ValueError(
            f"fixed_weights must be finite and at least 0; sample {bad[0]} has {fixed[bad]}."
        )
    if not np.all(fixed <= np.finfo(X.dtype).max):
        raise ValueError(f"fixed_weights are too large for {X.dtype}.")
    return fixed.astype(X.dtype)


def _mask_with_nan(X: Any, mask: Any) -> Any:
    """Return the mask of missing entries, with those of ``X`` that are NaN."""
    nan: Any
    is_sparse: bool = sparse.issparse(X)
    if is_sparse:
        coo = X.tocoo()
        at = np.isnan(coo.data)
        ones = np.ones(np.count_nonzero(at), dtype=bool)
        nan = sparse.csr_array((ones, (coo.row[at], coo.col[at])), shape=X.shape, dtype=bool)
    else:
        nan = np.isnan(X)
    if mask is None:
        return nan
    mask = read_mask(mask, X.shape)
    return sparse.csr_array(nan, dtype=bool) + sparse.csr_array(mask)

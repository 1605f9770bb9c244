"""Read and check what a user gives to ``fit`` and ``transform``."""

import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.blocks import BlockedCounts, Blocks, WidthError, is_blocks, open_blocks
from isotopic.containers import (
    NamedMatrix,
    align_table,
    is_anndata,
    is_frame,
    is_named,
    read_container,
)
from isotopic.count_checks import read_mask
from isotopic.counts import CountMatrix
from isotopic.covariates import read_covariates
from isotopic.fitted import NO_OFFSETS, Fitted, Offsets
from isotopic.fitted.fitting import Data, SampleNames
from isotopic.fitted.offsets import check_covariates
from isotopic.names import (
    OF_NEW_TEXTS,
    EmptySampleWarning,
    as_sample_names,
    order_by_name,
    stacklevel_of_caller,
)
from isotopic.priors import Prior


def read_data(
    estimator: Any,
    X: Any,
    *,
    known: Fitted | None,
    sample_weight: Any = None,
    missing_mask: Any = None,
    size_factors: Any = None,
    fixed_weights: Any = None,
    covariates: Any = None,
    formula: str | None = None,
    memory_limit: Any = None,
    client: Any = None,
) -> Data:
    """Return the samples passed to an estimator's method, validated, with weights and offsets.

    ``X`` must have the features of the ``known`` fit; ``None``: any features.
    """
    nan_is_missing = estimator.missing == "nan"
    counts: CountMatrix | BlockedCounts
    samples: SampleNames
    is_limited = memory_limit is not None or client is not None
    if is_blocks(X) or (is_limited and is_anndata(X)):
        if nan_is_missing or missing_mask is not None:
            raise ValueError(
                "Missing entries need the whole matrix in memory, but X is in row blocks. Read X "
                "with isotopic.read_counts, or leave missing and missing_mask out."
            )
        counts, samples = _read_blocks(estimator, X, known, memory_limit, client)
    elif is_limited:
        raise ValueError(
            f"memory_limit and client are for data in row blocks, but X is a {type(X).__name__}. "
            "open_blocks makes row blocks of files, lists of matrices and memory maps."
        )
    else:
        counts, samples = _read_counts(estimator, X, known, missing_mask, nan_is_missing)
    copies, offsets = None, NO_OFFSETS
    if sample_weight is not None:
        sample_weight = _align_rows("sample_weight", sample_weight, samples)
        copies = _read_sample_weight(sample_weight, counts.shape[0])
    if size_factors is not None or fixed_weights is not None:
        if known is None:
            prior, n_components = estimator._priors()[0], estimator.n_components
        else:
            prior, n_components = known.weights_prior, known.n_components
        size_factors = _align_rows("size_factors", size_factors, samples)
        fixed_weights = _align_rows("fixed_weights", fixed_weights, samples)
        offsets = _read_offsets(size_factors, fixed_weights, counts, prior, n_components)
    fitted = None if known is None else known.offsets.covariates
    given = read_covariates(
        covariates,
        formula,
        X,
        n_samples=counts.shape[0],
        sample_names=samples,
        copies=copies,
        known=None if fitted is None else fitted.design,
    )
    offsets = replace(offsets, covariates=given)
    names = counts.feature_names if known is None else known.feature_names
    return Data(counts, copies, offsets, names, samples)


def read_new(estimator: Any, X: Any, **given: Any) -> Data:
    """Read and check samples for a fitted model; they need the offsets that it was fitted with."""
    check_is_fitted(estimator)
    data, fitted = (
        read_data(estimator, X, known=estimator.fitted_, **given),
        estimator.fitted_.offsets,
    )
    check_covariates(fitted, data.offsets)
    for name in ("size_factors", "fixed_weights"):
        if getattr(fitted, name) is not None and getattr(data.offsets, name) is None:
            raise ValueError(
                f"This model was fitted with {name}. Pass the {name} of these samples, too."
            )
    if fitted.fixed_weights is not None:
        expected, found = fitted.n_fixed_weights, data.offsets.n_fixed_weights
        if found != expected:
            raise ValueError(
                f"fixed_weights has {found} columns; this model was fitted with {expected}."
            )
    return data


def warn_of_empty_samples(data: Data, prior: Prior | None = None) -> None:
    """Warn if data and model have names, and samples have none of the features.

    A row of zeros is ordinary in a matrix without names. Where features are known by name, such as
    the words of a vocabulary, it usually means that all that the sample has was left out. ``prior``
    is that of the weights that they get; ``None``: they are only scored.
    """
    counts = data.counts
    n_empty = np.count_nonzero(counts.sample_totals == 0)
    if n_empty and counts.feature_names is not None and data.feature_names is not None:
        warnings.warn(
            f"{n_empty:,} of {counts.shape[0]:,} samples have no count of any feature of this "
            f"model. {_what_empty_samples_get(prior)}",
            EmptySampleWarning,
            stacklevel=stacklevel_of_caller(),
        )


def _what_empty_samples_get(prior: Prior | None) -> str:
    if prior is None:
        return "They do not count in the score."
    if prior.is_normalized:
        what = "the mean of the prior" if prior.is_bayesian else "equal"
    else:
        what = "those of the prior alone" if prior.is_bayesian else "zero"
    return f"Their weights are {what}."


def _read_counts(
    estimator: Any, X: Any, known: Fitted | None, missing_mask: Any, nan_is_missing: bool
) -> tuple[CountMatrix, SampleNames]:
    """Validate ``X`` as scikit-learn does, and as counts, with the features that are known."""
    if is_frame(X) and 0 in X.shape:  # before the names, which are compared first
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if _has_texts(X):
        raise TypeError(
            "X must contain numbers, not text. Count the words of texts first, with "
            "isotopic.read_counts or scikit-learn's CountVectorizer."
        )
    given = read_container(X)
    # A mask has the order of X, whether it has names or not.
    mask = align_table(
        "missing_mask", missing_mask, features=given.feature_names, samples=given.sample_names
    )
    if mask is not None:
        given = replace(given, missing=read_mask(mask, given.shape))
    given = given.with_features(_check_names(estimator, given.feature_names, known))
    matrix = _validate(estimator, given.matrix)
    _check_n_features(estimator, matrix.shape, known)
    missing = given.missing
    if nan_is_missing and matrix.dtype.kind == "f":
        missing = _mask_with_nan(matrix, missing)
    counts = CountMatrix(NamedMatrix(matrix, given.feature_names, missing=missing))
    return counts, lambda: given.sample_names


def _has_texts(X: Any) -> bool:
    """Return whether ``X`` is a column of texts, or an array of objects with texts."""
    if hasattr(X, "to_numpy") and not hasattr(X, "columns"):  # a Series
        X = X.to_numpy()
    is_array = isinstance(X, np.ndarray) and (X.dtype.kind == "O" or X.ndim == 1)
    return is_array and any(isinstance(value, (str, bytes)) for value in X.flat)


def _validate(estimator: Any, X: Any) -> Any:
    """Return an array or sparse matrix of numbers, checked as scikit-learn does."""
    try:
        X = check_array(
            X,
            accept_sparse=True,
            ensure_all_finite=False,  # CountMatrix checks this, and names the entry
            estimator=estimator,
            input_name="X",
        )
    except OverflowError:
        raise ValueError("X has a number that is too large for float64.") from None
    return as_numbers("X", X) if isinstance(X, np.ndarray) and X.dtype.kind == "O" else X


def _check_names(estimator: Any, names: Array | None, known: Fitted | None) -> Array | None:
    """Return the names that the features should have.

    As in scikit-learn, names on one side only are a warning.
    """
    if known is None:
        return names
    expected, model, said = known.feature_names, type(estimator).__name__, ""
    if expected is None and names is not None:
        said = f"X has feature names, but {model} was fitted without feature names"
    elif expected is not None and names is None:
        said = f"X does not have valid feature names, but {model} was fitted with feature names"
    if said:
        warnings.warn(said, UserWarning, stacklevel=stacklevel_of_caller())
    return expected


def _check_n_features(estimator: Any, shape: tuple[int, ...], known: Fitted | None) -> None:
    """Raise ValueError unless there are as many features as were fitted."""
    if known is None or shape[1] == known.n_features:
        return
    advice = ""
    if shape[0] == known.n_features:
        advice = " It has as many rows: is it transposed? Rows are samples (X.T)."
    elif known.feature_names is not None:
        advice = f" {OF_NEW_TEXTS}"
    raise ValueError(
        f"X has {shape[1]} features, but {type(estimator).__name__} is expecting "
        f"{known.n_features} features as input.{advice}"
    )


def _read_blocks(
    estimator: Any, X: Any, known: Fitted | None, memory_limit: Any, client: Any
) -> tuple[BlockedCounts, SampleNames]:
    """Open data in row blocks, align its features, and check every block."""
    if isinstance(X, str) and not os.path.exists(X):
        raise ValueError(f"X is the str {X!r:.200}, but there is no such file or folder.")
    if not isinstance(X, Blocks):
        expected = None if known is None else known.n_features
        try:
            X = open_blocks(X, memory_limit=memory_limit, client=client, n_features=expected)
        except WidthError as error:  # if both sides have names, these say more than their number
            order_by_name(error.names, None if known is None else known.feature_names)
            raise
    elif memory_limit is not None or client is not None:
        raise ValueError("Pass memory_limit and client to open_blocks, which made this X.")
    blocks: Blocks = X
    blocks = blocks.with_features(_check_names(estimator, blocks.feature_names, known))
    _check_n_features(estimator, blocks.shape, known)
    return BlockedCounts(blocks), lambda: as_sample_names(blocks.sample_names)


def _align_rows(name: str, given: Any, samples: SampleNames) -> Any:
    """Return something that has a row for each sample, in the order of the samples of ``X``."""
    if given is None or not (is_named(given) or hasattr(given, "iloc")):
        return given
    return align_table(name, given, samples=samples())


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
            f"{name} must have the shape ({n_samples},), one value for each sample of X, not "
            f"{values.shape}."
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
                "PoissonFactorization). The weights of this model are proportions, which do not "
                f"depend on the size of a sample. Leave {name} out, or use one of these models."
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
            f"size_factors: the value {sizes[first]} of sample {first} is outside the range of "
            f"{X.dtype}. Divide all size factors by their mean."
        )
    return sizes


def _read_fixed_weights(given: Any, X: Any, n_components: int) -> Array:
    fixed = as_numbers("fixed_weights", given)
    if fixed.ndim == 1:
        fixed = fixed[:, np.newaxis]
    if fixed.ndim != 2 or len(fixed) != X.shape[0] or not 0 < fixed.shape[1] <= n_components:
        raise ValueError(
            f"fixed_weights has the shape {np.shape(given)}; it must have one row for each of the "
            f"{X.shape[0]} samples and between 1 and n_components={n_components} columns."
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

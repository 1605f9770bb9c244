"""Reading the arguments of plots: models, or their arrays."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import is_anndata
from isotopic.evaluate import prevalence, proportions
from isotopic.evaluate.topics import as_matrix
from isotopic.fitted import Fitted, fitted_of


def shares_of(given: Any) -> Array:
    """Return the proportions (samples x components) of a model or of weights."""
    if isinstance(given, Fitted) or hasattr(given, "get_params"):
        fitted = fitted_of(given)
        return proportions(fitted.weights.mean, fitted.topics.mean)
    if is_anndata(given):
        raise TypeError(
            "structure draws weights, not counts. Pass the fitted model, or the weights that "
            f"fit_anndata stored, as in adata.obsm['X_nmf']; obsm has {sorted(given.obsm)}."
        )
    weights = as_matrix("weights", given, "an array of samples x components", "sample", "component")
    return proportions(weights, np.ones((weights.shape[1], 1)))


def prevalence_of(given: Any) -> Array | None:
    """Return the prevalence of the topics of a model, or None for an array of topics."""
    is_model = isinstance(given, Fitted) or hasattr(given, "fitted_")
    return prevalence(given) if is_model else None


def chosen_topics(chosen: Any, n: int) -> Array:
    """Return the indices of the topics to draw; the default is all."""
    if chosen is None:
        return np.arange(n)
    numbers = np.atleast_1d(np.asarray(chosen))
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(f"topics must be indices of topics, not {chosen!r}.")
    if not np.all((numbers >= 0) & (numbers < n)):
        raise ValueError(f"topics must be indices between 0 and {n - 1}, not {chosen!r}.")
    return numbers

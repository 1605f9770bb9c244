"""Reading the arguments of plots: models, or their arrays."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import is_anndata
from isotopic.evaluate import prevalence
from isotopic.evaluate.shares import Shares, read_shares
from isotopic.fitted import Fitted


def shares_of(given: Any) -> Shares:
    """Return the shares of topics in the samples of a model, a refit or weights."""
    if is_anndata(given):
        raise TypeError(
            "structure draws weights, not counts. Pass the fitted model, or the weights that "
            f"fit_anndata stored, as in adata.obsm['X_nmf']; obsm has {sorted(given.obsm)}."
        )
    return read_shares(given)


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

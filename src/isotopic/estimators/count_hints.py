"""Warn if the data of a Bayesian model looks like transformed counts."""

from typing import Any

from isotopic.blocks import BlockedCounts
from isotopic.counts import CountMatrix
from isotopic.transformed import warn_if_transformed


def measures_counts(model: Any) -> bool:
    """Return whether a prior of the model is compared with the counts of a sample."""
    if not model._divergence.is_likelihood:
        return False
    return any(prior.is_bayesian or prior.learns for prior in model._priors())


def warn_unless_counts(model: Any, X: CountMatrix | BlockedCounts) -> None:
    """Warn if the data of a model with priors can be recognised as transformed counts.

    Priors are compared with the counts of a sample, so their strength depends on the unit of X.
    Point estimates do not: NMF and PLSA of such data are fits with other weights of the entries.
    """
    if not measures_counts(model):
        return
    warn_if_transformed(
        X.head if isinstance(X, BlockedCounts) else X,
        f"{type(model).__name__} measures its priors in counts, so the strength of the priors, the "
        "learned hyperparameters and the credible intervals depend on the scale of X. Pass the "
        "counts themselves; a Poisson model takes the depth of the samples as size_factors. NMF "
        "and PLSA have no prior and are not affected.",
    )

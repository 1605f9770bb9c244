"""Claims about models beyond the paper: what they have in common with those of the paper."""

from typing import Any

import numpy as np
from scipy.special import xlogy

from isotopic.arrays import Array
from isotopic.divergences import NegativeBinomial
from isotopic.estimators import NegativeBinomialNMF
from isotopic.objectives import generalized_kl
from isotopic.verify.evidence import TRIES, Checks, Evidence, deviation, excess, iterate_of

checks = Checks()

# A dispersion that is nothing next to the noise of Poisson counts, for the largest count.
_TINY = 1e-9

# Shapes of the exposures of samples.
_SHAPES = (0.5, 3.0, 50.0)


@checks.claim(
    "Extension", "Negative binomial NMF with a vanishing dispersion is NMF", tolerance=1e-7
)
def negative_binomial_limit(evidence: Evidence) -> float:
    """Compare iterates and objectives without dispersion, and with a tiny one."""
    at, worst = evidence.small, 0.0
    settings: dict[str, Any] = {"init": at.start, "max_iter": at.n_iter, "tol": 0}
    settings["solver"] = "joint"
    nmf = at.nmf().set_params(**settings).fit(at.X)
    for dispersion in (0.0, _TINY / at.X.max()):
        model = NegativeBinomialNMF(at.n_components, dispersion=dispersion, **settings)
        model.fit(at.X)
        weights, topics = iterate_of(model)
        value = float(NegativeBinomial(dispersion).values(at.X, weights @ topics).sum())
        worst = max(
            worst,
            deviation((weights, topics), iterate_of(nmf)),
            deviation(model.objective_, nmf.objective_, scale=at.total),
            deviation(value, generalized_kl(at.X, weights, topics), scale=at.total),
        )
    return worst


@checks.claim("Extension", "A Gamma exposure for each sample does not move NMF's optimum")
def exposures_of_samples(evidence: Evidence) -> float:
    """Return by how much the likelihood with exposures is higher near an optimum of NMF.

    Means that are multiplied by an exposure of mean one and shape ``r`` for each sample, which is
    integrated out, have the log-likelihood ``x log(v) - (r + sum(x)) log(r + sum(v))``.
    """
    at, rng, worst = evidence.small, evidence.rng(), 0.0
    best = iterate_of(evidence.fixed_points["nmf"])
    for shape in _SHAPES:
        least = _with_exposures(at.X, *best, shape)
        for size in (1e-4, 1e-3, 1e-2):
            for _ in range(TRIES):
                weights, topics = (
                    side * np.exp(size * (rng.normal() + rng.normal(size=side.shape)))
                    for side in best
                )
                value = _with_exposures(at.X, weights, topics, shape)
                worst = max(worst, excess(least, value, scale=at.total))
    return worst


def _with_exposures(X: Array, weights: Array, topics: Array, shape: float) -> float:
    """Return minus the log-likelihood with exposures, up to a constant."""
    product = weights @ topics
    rows = (shape + X.sum(axis=1)) * np.log(shape + product.sum(axis=1))
    return float((rows - xlogy(X, product).sum(axis=1)).sum())

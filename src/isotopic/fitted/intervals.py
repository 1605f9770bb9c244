"""Credible intervals of the weights and of the topics."""

from typing import Any

import numpy as np

from isotopic.arrays import Array, check_level
from isotopic.fitted.value import Fitted
from isotopic.priors import Posterior


def check_interval(fitted: Fitted, side: Any, level: Any) -> None:
    """Raise unless the side is Bayesian and the level is a probability."""
    if not (isinstance(side, str) and side in ("weights", "components")):
        raise ValueError(f"side must be 'weights' or 'components', not {side!r}.")
    check_level(level)
    prior = fitted.weights_prior if side == "weights" else fitted.topics_prior
    if not prior.is_bayesian:
        raise ValueError(
            f"The {side} of this model are a point estimate and have no posterior. Use a model "
            "with a Dirichlet or Gamma prior for them."
        )


def credible_interval(
    fitted: Fitted, side: str, level: float, weights: Posterior | None = None
) -> tuple[Array, Array]:
    """Return the lower and upper ends of the posterior's interval for each entry of a side.

    The rest of the probability is split equally between both sides of it. ``weights`` are those of
    other samples; ``None``: those that were fitted.
    """
    prior: Any = fitted.weights_prior
    posterior = fitted.weights if weights is None else weights
    if side == "components":
        prior, posterior = fitted.topics_prior, fitted.topics
    tail = (1 - level) / 2
    ends = prior.quantile(posterior, tail), prior.quantile(posterior, 1 - tail)
    return np.minimum(*ends), np.maximum(*ends)  # rounding can swap ends that are nearly equal

"""What a fitted model keeps of both sides."""

from typing import Any

import numpy as np

from isotopic.priors import Posterior
from isotopic.problem import Pair


def kept_sides(pair: Pair, weights: Posterior, topics: Posterior) -> dict[str, Any]:
    """Give what is kept of both sides."""
    parameters, rates = topics.parameters, topics.rates
    return {
        **weight_attributes(weights),
        "_fitted_priors": (pair.weights, pair.topics),
        "components_": np.ascontiguousarray(topics.mean),
        "components_posterior_": None if parameters is None else np.ascontiguousarray(parameters),
        "components_posterior_rate_": None if rates is None else np.ascontiguousarray(rates),
        "_effective_components": pair.topics.predictive_factor(topics),
        "_components_explained": topics.explained,
    }


def weight_attributes(weights: Posterior) -> dict[str, Any]:
    """Give what is kept of the weights."""
    return {
        "weights_": weights.mean,
        "weights_posterior_": weights.parameters,
        "weights_posterior_rate_": weights.rates,
        "_effective_weights": weights.effective,
        "_weights_explained": weights.explained,
    }

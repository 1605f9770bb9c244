"""Draw new samples from a fitted model."""

from numbers import Integral
from typing import Any

import numpy as np

from isotopic import generative
from isotopic.fitted.value import Fitted, check_likelihood
from isotopic.kernels import normalized
from isotopic.random import Seed, generator


def draw_samples(fitted: Fitted, n_samples: int, random_state: Seed = None) -> Any:
    """Return whole counts of new samples, a sparse array of shape (n_samples, n_features).

    The weights come from their prior. Without a prior they are those of fitted samples, drawn with
    replacement. So are totals (of models of proportions), size factors and fixed weights.
    """
    check_likelihood(fitted, "sample")
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1, not {n_samples!r}.")
    rng = generator(random_state)
    copies = fitted.sample_weight
    like = rng.choice(len(copies), size=int(n_samples), p=copies / copies.sum())
    prior, fitted_weights = fitted.weights_prior.rows(like), fitted.weights.mean[like]
    weights = prior.draw(fitted_weights.astype(np.float64), rng)
    fixed = np.s_[:, : fitted.offsets.n_fixed_weights]
    weights[fixed] = fitted_weights[fixed]
    if fitted.offsets.size_factors is not None:
        weights = weights * fitted.offsets.size_factors[like, np.newaxis]
    topics = fitted.topics.mean.astype(np.float64)
    if not prior.is_normalized:
        return generative.poisson(weights, topics, random_state=rng)
    totals = np.rint(fitted.sample_totals[like]).astype(np.int64)
    return generative.multinomial(normalized(weights), normalized(topics), totals, random_state=rng)

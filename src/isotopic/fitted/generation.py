"""Draw from a fitted model: new samples, and data near what was fitted, for the bootstrap."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from isotopic import generative
from isotopic.arrays import Array
from isotopic.elementwise import normalized
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.value import Fitted, check_likelihood
from isotopic.priors import Posterior, Prior
from isotopic.random import Seed, generator

# The share of its counts that a refit spreads evenly at its start: a factor of zero stays zero.
_SPREAD = 0.05

# More could not be held in memory.
_MOST_SAMPLES = 2**31


def draw_samples(fitted: Fitted, n_samples: int, random_state: Seed = None) -> Any:
    """Return whole counts of new samples, a sparse array of shape (n_samples, n_features).

    The weights come from their prior. Without a prior they are those of fitted samples, drawn with
    replacement. So are totals (of models of proportions), size factors and fixed weights.
    """
    check_likelihood(fitted, "sample")
    if not isinstance(n_samples, Integral) or not 1 <= n_samples <= _MOST_SAMPLES:
        raise ValueError(f"n_samples must be an integer from 1 to 2**31, not {n_samples!r}.")
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


def draw_factors(fitted: Fitted, rng: np.random.Generator, *, from_prior: bool = False) -> Fitted:
    """Return the model with weights and topics drawn near its own.

    A Bayesian side is drawn from its posterior, a point estimate from the posterior that its
    expected counts imply. With ``from_prior`` the weights come from their prior.
    """
    by_sample, by_topic = explained_counts(fitted)
    offsets, sizes = fitted.offsets, fitted.offsets.size_factors
    totals = fitted.pair.topics_totals(fitted.topics)
    if sizes is not None:
        totals = sizes[:, np.newaxis] * totals
    if from_prior:
        weights = fitted.weights_prior.draw(fitted.weights.mean.astype(np.float64), rng)
    else:
        weights = _draw(fitted.weights_prior, fitted.weights, by_sample, 1, totals, rng)
    fixed = np.s_[:, : offsets.n_fixed_weights]
    weights[fixed] = fitted.weights.mean[fixed]
    seen = weights
    for factor in (fitted.copies, sizes):
        seen = seen if factor is None else seen * factor[:, np.newaxis]
    scale = seen.sum(axis=0)[:, np.newaxis]
    topics = _draw(fitted.topics_prior, fitted.topics, by_topic, 0, scale, rng)
    return replace(
        fitted,
        weights=replace(fitted.weights, mean=weights, effective=weights),
        topics=replace(fitted.topics, mean=topics, effective=topics),
    )


def draw_counts(fitted: Fitted, missing_mask: Any, rng: np.random.Generator) -> Any:
    """Return counts drawn from a model, with the totals or sizes of its samples.

    ``missing_mask`` is a sparse array of bool, true where entries are missing, or ``None``.
    """
    weights, topics = fitted.weights.mean, fitted.topics.mean
    sizes, totals = fitted.offsets.size_factors, fitted.sample_totals
    if not fitted.weights_prior.is_normalized:
        weights = weights if sizes is None else weights * sizes[:, np.newaxis]
        shape = len(weights), topics.shape[1]
        exposures = fitted.divergence.draw_exposures(shape, rng)
        if exposures is not None:
            return sparse.csr_array(rng.poisson(exposures * (weights @ topics)))
        return generative.poisson(weights, topics, random_state=rng)
    weights, topics = normalized(weights), normalized(topics)
    if missing_mask is not None:  # draw more, so that as many are not missing
        hidden = missing_mask.multiply(weights @ topics).sum(axis=1)
        totals = totals / np.maximum(1 - hidden, np.finfo(np.float64).eps)
    whole = np.rint(totals).astype(np.int64)
    return generative.multinomial(weights, topics, whole, random_state=rng)


def spread_evenly(fitted: Fitted) -> Fitted:
    """Return the model with a small share of its counts spread evenly, as a start for refits."""
    weights, topics = fitted.weights, fitted.topics
    typical = normalized((weights.mean.sum(axis=0, dtype=np.float64) @ topics.mean)[np.newaxis])
    typical = typical * topics.mean.sum(axis=1, keepdims=True)
    return replace(
        fitted,
        weights=replace(weights, mean=_mix(weights.mean, 1), explained=_mix(weights.explained, 1)),
        topics=replace(
            topics, mean=_mix(topics.mean, 0, typical), explained=_mix(topics.explained, 0)
        ),
    )


def _mix(values: Array | None, axis: int, even: Array | None = None) -> Any:
    """Replace a small share of the values by even ones, by default their mean over an axis."""
    if values is None:
        return None
    even = values.mean(axis=axis, keepdims=True) if even is None else even
    return np.asarray((1 - _SPREAD) * values + _SPREAD * even, dtype=values.dtype)


def _draw(
    prior: Prior,
    posterior: Posterior,
    counts: Array,
    axis: int,
    totals: Any,
    rng: np.random.Generator,
) -> Array:
    """Draw a side from its posterior, or from one that is made of its expected counts."""
    mean = posterior.mean.astype(np.float64)
    if not prior.is_learned:
        return np.asarray(mean)
    if posterior.parameters is None:
        # Add one count to each sample or feature, in equal parts, and scale back to the old totals:
        # so no component is impossible, unless there are no counts at all.
        counts = np.maximum(counts, 0)  # before it is fitted, a posterior can imply negative counts
        sums = counts.sum(axis=axis, keepdims=True)
        gammas = rng.standard_gamma((counts + 1 / counts.shape[axis]) * (sums / (sums + 1)))
        gammas = np.asarray(gammas, order="C" if axis == 1 else "F")
        return np.ascontiguousarray(prior.absorb(gammas, totals).mean)
    fixed = np.isnan(posterior.parameters)
    gammas = rng.standard_gamma(np.where(fixed, 1.0, posterior.parameters))
    values = normalized(gammas) if posterior.rates is None else gammas / posterior.rates
    return np.where(fixed, mean, values)

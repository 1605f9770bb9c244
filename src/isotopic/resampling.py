"""Draw data from a fitted model, near what it was fitted to, and fit it again."""

from copy import copy
from typing import Any

import numpy as np

from isotopic import generative
from isotopic.arrays import Array
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.persistence import OF_TOPICS, OF_WEIGHTS
from isotopic.init import explained_counts
from isotopic.kernels import normalized
from isotopic.match import match
from isotopic.priors import Posterior
from isotopic.problem import Pair

# The share of its counts that a refit starts with at places that are the same for all: a factor
# of zero could not become anything else.
_BLUR = 0.05

# Refits go on at least as far as this: one that stops soon has hardly left its start, which is near
# the model, and says nothing of the error.
_CLOSE = 1e-3


class Resampler:
    """Draws from a fitted model, and fits what was drawn.

    Parameters
    ----------
    model : fitted estimator
    missing_mask : sparse array of bool of shape (samples, features) or None
        Where entries of the data were missing.
    """

    def __init__(self, model: BaseTopicModel, missing_mask: Any = None) -> None:
        self.model, self.missing_mask = model, missing_mask
        self.counts = explained_counts(model)
        self.start = _blurred(model)

    def draw(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Draw factors near the fitted ones, as a model, and counts from these."""
        truth = copy(self.model)
        truth.weights_ = truth._effective_weights = self._drawn_weights(rng)
        truth.components_ = truth._effective_components = self._drawn_topics(rng, truth.weights_)
        return truth, self._drawn_counts(rng, truth.weights_, truth.components_)

    def refit(self, X: Any) -> Any:
        """Fit the model to other counts, from near where it is; keep the order of its topics."""
        model = self.model
        settings = model.get_params(deep=False) | {
            "init": self.start,
            "n_init": 1,
            "warm_start": False,
            "tol": min(model.tol, _CLOSE),
            "n_jobs": 1,
            "callbacks": None,
            "verbose": 0,
        }
        given = model.weights_[:, : model._n_fixed_weights]
        again = type(model)(**settings).fit(
            X.astype(model.components_.dtype),
            sample_weight=model._copies,
            missing_mask=self.missing_mask,
            size_factors=model._size_factors,
            fixed_weights=given if given.size else None,
        )
        return _in_order_of(model, again)

    def _drawn_weights(self, rng: np.random.Generator) -> Array:
        model = self.model
        topics = Posterior(model.components_, model._effective_components)
        totals = Pair(*model._fitted_priors).topics_totals(topics)
        if model._size_factors is not None:
            totals = model._size_factors[:, np.newaxis] * totals
        drawn = self._drawn("weights", totals, rng)
        given = np.s_[:, : model._n_fixed_weights]
        drawn[given] = model.weights_[given]
        return drawn

    def _drawn_topics(self, rng: np.random.Generator, weights: Array) -> Array:
        for often in (self.model._copies, self.model._size_factors):
            weights = weights if often is None else weights * often[:, np.newaxis]
        return self._drawn("components", weights.sum(axis=0)[:, np.newaxis], rng)

    def _drawn(self, side: str, totals: Any, rng: np.random.Generator) -> Array:
        """Draw a side from its posterior, or from one that is made of its expected counts."""
        number = 0 if side == "weights" else 1
        prior = self.model._fitted_priors[number]
        mean = getattr(self.model, f"{side}_").astype(np.float64)
        parameters = getattr(self.model, f"{side}_posterior_")
        if not prior.learned:
            return np.asarray(mean)
        if parameters is None:
            layout = np.ascontiguousarray if number == 0 else np.asfortranarray
            gammas = rng.standard_gamma(_with_one_more(self.counts[number], axis=1 - number))
            return np.ascontiguousarray(prior.absorb(layout(gammas), totals).mean)
        known = np.isnan(parameters)
        gammas = rng.standard_gamma(np.where(known, 1.0, parameters))
        rates = getattr(self.model, f"{side}_posterior_rate_")
        values = normalized(gammas) if rates is None else gammas / rates
        return np.where(known, mean, values)

    def _drawn_counts(self, rng: np.random.Generator, weights: Array, topics: Array) -> Any:
        sizes, totals = self.model._size_factors, self.model.sample_totals_
        if not self.model._fitted_priors[0].is_normalized:
            weights = weights if sizes is None else weights * sizes[:, np.newaxis]
            return generative.poisson(weights, topics, random_state=rng)
        weights, topics = normalized(weights), normalized(topics)
        if self.missing_mask is not None:  # as many draws in all as show so many
            hidden = self.missing_mask.multiply(weights @ topics).sum(axis=1)
            totals = totals / np.maximum(1 - hidden, np.finfo(np.float64).eps)
        whole = np.rint(totals).astype(np.int64)
        return generative.multinomial(weights, topics, whole, random_state=rng)


def _with_one_more(counts: Array, axis: int) -> Array:
    """Add a count to those of each sample or feature, in equal parts, and scale to what they were.

    So no component is out of the question, unless there is nothing to share.
    """
    counts = np.maximum(
        counts, 0
    )  # a posterior may stand for less than nothing before it is fitted
    totals = counts.sum(axis=axis, keepdims=True)
    return np.asarray((counts + 1 / counts.shape[axis]) * (totals / (totals + 1)))


def _in_order_of(model: Any, other: Any) -> Any:
    """Put the topics of another model into the order of the most similar ones of this one."""
    order = match(model.components_, other.components_).order
    ordered = copy(other)
    for names, which in ((OF_TOPICS, order), (OF_WEIGHTS, np.s_[:, order])):
        for name in names:
            values = getattr(other, name)
            if values is not None:
                setattr(ordered, name, values[which])
    return ordered


def _blurred(model: BaseTopicModel) -> Any:
    """Give the model with a small part of its counts shared out equally."""
    start = copy(model)
    scale = model.weights_.sum(axis=0, dtype=np.float64)
    typical = normalized((scale @ model.components_)[np.newaxis])
    typical = typical * model.components_.sum(axis=1, keepdims=True)
    start.weights_ = _mixed(model.weights_, model.weights_.mean(axis=1, keepdims=True))
    start.components_ = _mixed(model.components_, typical)
    for name, axis in (("_weights_explained", 1), ("_components_explained", 0)):
        counts = getattr(model, name)
        if counts is not None:
            setattr(start, name, _mixed(counts, counts.mean(axis=axis, keepdims=True)))
    return start


def _mixed(values: Array, others: Array) -> Array:
    return np.asarray((1 - _BLUR) * values + _BLUR * others, dtype=values.dtype)

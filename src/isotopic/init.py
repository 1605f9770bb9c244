"""Where a fit starts."""

from typing import Any

import numpy as np

from isotopic.counts import Array, CountMatrix
from isotopic.priors import Posterior
from isotopic.problem import Problem

Start = tuple[Posterior, Posterior]


def random_start(problem: Problem, rng: np.random.Generator) -> Start:
    """Share the counts out at random, and let the priors absorb them.

    Each sample's total is split by a flat Dirichlet, and each feature's total is weighted by an
    independent exponential for each component.
    """
    X, components = problem.X, problem.n_components
    weight_counts = rng.dirichlet(np.ones(components), size=X.shape[0])
    weight_counts *= X.sample_totals[:, np.newaxis]
    topic_counts = rng.exponential(1 / components, size=(X.shape[1], components))
    topic_counts *= X.feature_totals[:, np.newaxis]
    return _absorbed(problem, weight_counts, topic_counts.T)


def start_from_arrays(problem: Problem, weights: Any, topics: Any) -> Start:
    """Take given factors, or given parameters of a Bayesian side.

    Topics that are to be normalised and are not hand their scale to the weights where these are
    a factor, so that the product stays what was given (Lemma 4.1).
    """
    dtype, components = problem.X.dtype, problem.n_components
    weights = _given("weights", weights, (problem.X.shape[0], components), problem.weights.bayesian)
    topics = _given("topics", topics, (components, problem.X.shape[1]), problem.topics.bayesian)
    points = not (problem.weights.bayesian or problem.topics.bayesian)
    if points and problem.topics.normalized and problem.topics.learned:
        weights = weights * topics.sum(axis=1)
    scaled = not (problem.topics.normalized or problem.topics.bayesian)
    first = problem.weights.at(weights.astype(dtype), topics.sum(axis=1) if scaled else 1.0)
    second = problem.topics.at(
        np.asfortranarray(topics, dtype=dtype), problem.weights_totals(first)
    )
    return first, second


def start_from_model(problem: Problem, model: Any) -> Start:
    """Let both priors absorb the counts that a fitted model of any kind explains."""
    if not hasattr(model, "components_"):
        raise ValueError(f"init={model!r} is not fitted; fit it first")
    if not hasattr(model, "weights_"):
        raise TypeError(
            f"init={model!r} is not a model of this package; give its factors as "
            "init=(weights, topics)"
        )
    given = model.weights_.shape, model.components_.shape
    needed = (problem.X.shape[0], problem.n_components), (problem.n_components, problem.X.shape[1])
    if given != needed:
        raise ValueError(
            f"init is a model with weights {given[0]} and topics {given[1]}; "
            f"this fit needs {needed[0]} and {needed[1]}"
        )
    totals = problem.X.sample_totals
    weight_counts, topic_counts = (s.copy("K") for s in explained_counts(model, totals))
    # A sample that the model knew nothing of starts anywhere: from zero it could not leave.
    unknown = (weight_counts.sum(axis=1) <= 0) & (totals > 0)
    weight_counts[unknown] = totals[unknown, np.newaxis] / problem.n_components
    return _absorbed(problem, weight_counts, topic_counts)


def explained_counts(model: Any, sample_totals: Array) -> tuple[Array, Array]:
    """Find the expected counts that a fitted model of any kind stands for.

    For a Bayesian side these are its parameters less the prior's, for proportions their share of
    each sample's total, for weights with a scale what an update would leave as it is. A prior that
    absorbs them turns one into the other as the paper's lemmas say.
    """
    prior, topic_sums = model._fitted_priors[0], model.components_.sum(axis=1)
    weight_counts = model._weights_explained
    if weight_counts is None and prior.normalized:
        weight_counts = model.weights_ * sample_totals[:, np.newaxis]
    elif weight_counts is None:
        weight_counts = model.weights_ * (topic_sums + getattr(prior, "strength", 0.0))
    topic_counts = model._components_explained
    if topic_counts is None:
        mass = weight_counts.sum(axis=0) / np.where(topic_sums > 0, topic_sums, 1)
        topic_counts = mass[:, np.newaxis] * model.components_
    return weight_counts, topic_counts


def _absorbed(problem: Problem, weight_counts: Array, topic_counts: Array) -> Start:
    dtype = problem.X.dtype
    return problem.absorb(
        np.ascontiguousarray(weight_counts, dtype), np.asfortranarray(topic_counts, dtype)
    )


def uniform_start(X: CountMatrix, problem: Problem, topics: Posterior) -> Start:
    """Share each sample's total equally: where the inference for new samples begins."""
    counts = np.repeat(
        X.sample_totals[:, np.newaxis] / problem.n_components, problem.n_components, 1
    )
    weights = problem.weights.absorb(counts.astype(X.dtype), problem.topics_totals(topics))
    return weights, topics


def _given(name: str, values: Any, shape: tuple[int, int], bayesian: bool) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"init {name} have shape {array.shape}; this fit needs {shape}")
    good = (array > 0 if bayesian else array >= 0) & (array < np.inf)
    if not good.all():
        what = "positive (they are posterior parameters)" if bayesian else "non-negative"
        raise ValueError(f"init {name} must be finite and {what}")
    return array

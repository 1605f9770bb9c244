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
    first = problem.weights.at(weights.astype(dtype), 1.0)
    second = problem.topics.at(
        np.asfortranarray(topics, dtype=dtype), problem.weights_totals(first)
    )
    return first, second


def start_from_model(problem: Problem, model: Any) -> Start:
    """Let both priors absorb the counts that a fitted model of any kind explains."""
    if not hasattr(model, "components_"):
        raise ValueError(f"init={model!r} is not fitted; fit it first")
    given = model.weights_.shape, model.components_.shape
    needed = (problem.X.shape[0], problem.n_components), (problem.n_components, problem.X.shape[1])
    if given != needed:
        raise ValueError(
            f"init is a model with weights {given[0]} and topics {given[1]}; "
            f"this fit needs {needed[0]} and {needed[1]}"
        )
    counts = explained_counts(model, problem.X.sample_totals)
    return _absorbed(problem, *(side.copy("K") for side in counts))  # the model keeps its own


def explained_counts(model: Any, sample_totals: Array) -> tuple[Array, Array]:
    """Find the expected counts that a fitted model of any kind stands for.

    For a Bayesian side these are its parameters less the prior's, for a point side its share of
    each sample's total. A prior that absorbs them turns proportions into weights that carry the
    totals, or the other way round, as the paper's lemmas say.
    """
    topic_sums = model.components_.sum(axis=1)
    weight_counts = model._weights_explained
    if weight_counts is None:
        shares = model.weights_ * topic_sums
        sums = shares.sum(axis=1)
        weight_counts = shares * (sample_totals / np.where(sums > 0, sums, 1))[:, np.newaxis]
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

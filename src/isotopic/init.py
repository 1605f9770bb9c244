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
    shares = rng.dirichlet(np.ones(components), size=X.shape[0])
    noise = rng.exponential(size=(X.shape[1], components))
    weight_counts = X.sample_totals[:, np.newaxis] * shares
    topic_counts = X.feature_totals[:, np.newaxis] * noise / components
    return start_from_counts(problem, weight_counts, topic_counts.T)


def start_from_counts(problem: Problem, weight_counts: Array, topic_counts: Array) -> Start:
    """Let both priors absorb expected counts."""
    dtype = problem.X.dtype
    weights = problem.weights.absorb(weight_counts.astype(dtype), 1.0)
    topics = problem.topics.absorb(
        np.asfortranarray(topic_counts, dtype=dtype), problem.weights_totals(weights)
    )
    return weights, topics


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
    """Let both priors absorb the counts that a fitted model of any kind stands for.

    For a Bayesian side these are its parameters less the prior's, for a point side its share of
    each sample's total. So proportions become weights that carry the totals, and the other way
    round, as the paper's lemmas say, and a point becomes the posterior centred on it.
    """
    if not hasattr(model, "components_"):
        raise ValueError(f"init={model!r} is not fitted; fit it first")
    weights, topics = model.weights_, model.components_
    shapes = (problem.X.shape[0], problem.n_components), (problem.n_components, problem.X.shape[1])
    if (weights.shape, topics.shape) != shapes:
        raise ValueError(
            f"init is a model with weights {weights.shape} and topics {topics.shape}; "
            f"this fit needs {shapes[0]} and {shapes[1]}"
        )
    shares = weights * topics.sum(axis=1)
    sums = shares.sum(axis=1, keepdims=True)
    weight_counts = _explained(
        model, "weights", problem.X.sample_totals[:, np.newaxis] * shares / np.where(sums > 0, sums, 1)
    )
    topic_sums = topics.sum(axis=1, keepdims=True)
    mass = weight_counts.sum(axis=0)[:, np.newaxis] / np.where(topic_sums > 0, topic_sums, 1)
    return start_from_counts(problem, weight_counts, _explained(model, "components", mass * topics))


def _explained(model: Any, side: str, of_point: Array) -> Array:
    """Counts that a side of a fitted model stands for."""
    explained = getattr(model, f"_{side}_explained", None)
    return of_point if explained is None else explained


def uniform_start(X: CountMatrix, problem: Problem, topics: Posterior) -> Start:
    """Share each sample's total equally: where the inference for new samples begins."""
    counts = np.repeat(X.sample_totals[:, np.newaxis] / problem.n_components, problem.n_components, 1)
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

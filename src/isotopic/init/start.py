"""Random starts, and starts from given factors."""

from typing import Any

import numpy as np

from isotopic.arrays import Array, as_numbers
from isotopic.counts import CountMatrix
from isotopic.priors import Posterior, Totals, row_norms
from isotopic.problem import Problem

Start = tuple[Posterior, Posterior]


def random_counts(
    X: CountMatrix, n_components: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return random expected counts.

    Each feature's total is split by a flat Dirichlet, each sample's equally, and the first pass
    tells the components apart. So neither the order of the samples nor copies of them matter, and
    fits end lower than from random shares of the samples.
    """
    topic_counts = rng.dirichlet(np.ones(n_components), size=X.shape[1])
    topic_counts *= X.feature_totals[:, np.newaxis]
    return X.equal_shares(n_components), topic_counts.T


def random_start(problem: Problem, rng: np.random.Generator) -> Start:
    """Return the factors that the priors make of random expected counts."""
    return absorbed(problem, *random_counts(problem.X, problem.n_components, rng))


def start_from_arrays(problem: Problem, weights: Any, topics: Any) -> Start:
    """Return given factors, or given parameters of a Bayesian side, as posteriors.

    If the prior normalises the topics, their scale moves to the weights, so that the product stays
    what was given (Lemma 4.1).
    """
    dtype, components = problem.X.dtype, problem.n_components
    weights = _given(
        "weights", weights, (problem.X.shape[0], components), problem.weights.is_bayesian
    )
    topics = _given("topics", topics, (components, problem.X.shape[1]), problem.topics.is_bayesian)
    given = weights
    points = not (problem.weights.is_bayesian or problem.topics.is_bayesian)
    if points and problem.topics.norm is not None and problem.topics.is_learned:
        weights = weights * row_norms(topics, problem.topics.norm)
    if problem.weights.sizes is not None and not problem.weights.is_bayesian:
        weights = weights * problem.weights.sizes[:, np.newaxis]
    scaled = not (problem.topics.is_normalized or problem.topics.is_bayesian)
    own = weights.astype(dtype, copy=weights is given)
    totals = topics.sum(axis=1) if scaled else 1.0
    first = problem.weights_from(own, totals, is_value=True)
    second = problem.topics.at(np.array(topics, dtype, order="F"), problem.weights_totals(first))
    return first, second


def absorbed(
    problem: Problem, weight_counts: Array, topic_counts: Array, totals: Totals | None = None
) -> Start:
    """Return the factors that the priors make of expected counts.

    Topics with a scale may come with the ``totals`` that the weights see.
    """
    dtype = problem.X.dtype
    if isinstance(weight_counts, np.ndarray):  # data in blocks has a form of its own
        weight_counts = np.ascontiguousarray(weight_counts, dtype)
    topic_counts = np.asfortranarray(topic_counts, dtype)
    if totals is None or problem.topics.norm is not None:
        totals = problem.topics.initial_totals(topic_counts)
    weights = problem.weights_from(weight_counts, totals)
    topics = problem.topics_next_to(weights).absorb(topic_counts, problem.weights_totals(weights))
    return problem.hand_over_scale(weights, topics)


def uniform_start(problem: Problem, topics: Posterior) -> Start:
    """Return equal shares of each sample's total: where the inference for new samples begins."""
    shares: Any = problem.X.equal_shares(problem.n_components)
    if isinstance(shares, np.ndarray):  # data in blocks has a form of its own
        shares = shares.astype(problem.X.dtype)
    totals = problem.topics_totals(topics, problem.X.missing)
    return problem.weights_from(shares, totals), topics


def _given(name: str, values: Any, shape: tuple[int, int], bayesian: bool) -> Array:
    array = as_numbers(f"init {name}", values, copy=False)
    if array.shape != shape:
        raise ValueError(f"init: {name} must have the shape {shape}, not {array.shape}.")
    least, most = array.min(initial=np.inf), array.max(initial=0)
    if not ((least > 0 if bayesian else least >= 0) and most < np.inf):  # so for NaN
        what = "positive (they are posterior parameters)" if bayesian else "non-negative"
        raise ValueError(
            f"init: {name} must be finite and {what}, but the entries range from {least:g} to "
            f"{most:g}."
        )
    return array

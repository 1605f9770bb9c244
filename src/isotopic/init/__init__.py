"""Where a fit starts: at random, from a decomposition of the data, or from given factors.

A strategy distributes the counts over the components, and the priors absorb them. So every strategy
works with every model.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.blocks import BlockedProblem
from isotopic.counts import CountMatrix
from isotopic.init.allocation import smallest_count
from isotopic.init.gibbs import gibbs
from isotopic.init.kmeans import kmeans
from isotopic.init.nndsvd import nndsvd
from isotopic.init.pooled import pooled
from isotopic.init.spectral import spectral
from isotopic.init.start import (
    Start,
    absorbed,
    random_counts,
    random_start,
    start_from_arrays,
    uniform_start,
)
from isotopic.init.subsample import counts_of_all_samples, has_room_for_sample, sample_problem
from isotopic.init.warm_up import warm_up, with_self_contribution_estimate
from isotopic.priors import WithFixedWeights, Wrapper
from isotopic.problem import Problem

__all__ = [
    "STRATEGIES",
    "Start",
    "Strategy",
    "random_start",
    "start_from_arrays",
    "strategy_start",
    "uniform_start",
    "with_self_contribution_estimate",
]

# Returns expected counts of the weights (samples x components), whose rows sum to the samples'
# totals, and of the topics (components x features), whose columns sum to the features' totals.
Strategy: TypeAlias = Callable[[CountMatrix, int, np.random.Generator], tuple[Array, Array]]

STRATEGIES: dict[str, Strategy] = {
    "random": random_counts,
    "nndsvd": nndsvd,
    "spectral": spectral,
    "kmeans": kmeans,
    "pooled": pooled,
    "gibbs": gibbs,
}

# With more topics, finding pooled ones takes longer than sampling does.
_MANY_TOPICS = 128

# From this many entries of the factors on, memory that a start needed is given back to the system.
_MANY_WEIGHTS = 2**18


def strategy_start(
    problem: Problem, name: str, rng: np.random.Generator, *, number: int = 0
) -> Start:
    """Return the start of a named strategy: it distributes the counts, and the priors absorb them.

    If the data is in row blocks, strategies other than random see as many samples as fit into
    memory.

    Parameters
    ----------
    problem : Problem
    name : {"auto", "random", "nndsvd", "spectral", "kmeans", "pooled", "gibbs"}
    rng : Generator
        Its state changes. The same state gives the same start, with any number of threads.
    number : int, default=0
        The number of the start, if there are several. Under ``"auto"`` all but the first are
        random, unless they are sampled: a decomposition would find the same again.

    Returns
    -------
    weights, topics : Posterior
    """
    chosen = name
    if name == "auto":
        chosen = _informed(problem)
        in_memory = isinstance(problem.X, CountMatrix)
        is_sampled = chosen == "pooled" and in_memory and _can_be_sampled(problem)
        chosen = chosen if number == 0 or is_sampled else "random"
    if chosen not in STRATEGIES:
        names = ", ".join(["auto", *STRATEGIES])
        raise ValueError(f"init must be one of {names}, not {name!r}.")

    part = problem
    if chosen != "random" and isinstance(problem, BlockedProblem):
        if has_room_for_sample(problem):
            part = sample_problem(problem, rng)
        elif name == "auto":
            chosen = "random"
        else:
            raise ValueError(
                f"init={name!r} needs samples in memory, but memory_limit leaves no room for them. "
                "Raise memory_limit, or use init='random'."
            )
    if name == "auto" and chosen == "pooled" and _can_be_sampled(part):
        chosen = "gibbs"
    counts = STRATEGIES[chosen](part.X, part.n_components, rng)
    if name == "auto":
        counts = warm_up(part, *counts)
    if isinstance(problem, BlockedProblem) and part.X.shape[0] < problem.X.shape[0]:
        counts = counts_of_all_samples(problem, counts[1])
        if name == "auto":
            counts = warm_up(problem, *counts)
    start = absorbed(problem, *counts)
    if sum(problem.X.shape) * problem.n_components > _MANY_WEIGHTS:
        del counts
        native.release_memory()  # otherwise the allocator holds what the start alone needed
    return start


def _informed(problem: Problem) -> str:
    """Return the strategy of the first start under ``"auto"``.

    Pooled topics are chosen by the evidence of LDA, so they are for proportions with a prior.
    Singular vectors find more rare topics than random starts do. They are computed for the noise of
    counts, so fits under another divergence start at random.
    """
    if problem.weights.is_bayesian and problem.weights.is_normalized:
        return "pooled"
    if problem.weights.is_bayesian or problem.topics.is_bayesian:
        return "nndsvd"
    is_free = problem.divergence.is_likelihood and not _has_known_components(problem)
    return "nndsvd" if is_free else "random"


def _has_known_components(problem: Problem) -> bool:
    """Return whether something is given for some components, which then have their own order."""
    weights = problem.weights
    while isinstance(weights, Wrapper) and not isinstance(weights, WithFixedWeights):
        weights = weights.prior
    is_constrained = isinstance(problem.topics, Wrapper) or isinstance(weights, WithFixedWeights)
    return is_constrained or not problem.topics.is_learned


def _can_be_sampled(problem: Problem) -> bool:
    """Return whether Gibbs sampling improves pooled topics, or takes their place if there are many.

    It is for counts: of other data, nothing says how much a draw is worth. And it is for CVB0,
    which approximates what is sampled, with one concentration for all samples: covariates tell the
    topics apart that sampling without them cannot. The other estimates begin with what the data
    alone determine, so that a sample weight of two is the same as two samples.
    """
    X: Any = problem.X
    weights: Any = problem.weights
    is_collapsed = weights.needs_squares and weights.uses_histogram(problem.n_components)
    return problem.n_components > _MANY_TOPICS or (is_collapsed and smallest_count(X) == 1)

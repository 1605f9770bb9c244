"""OnlineEM: stochastic updates from mini-batches."""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from isotopic.arrays import Array
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver
from isotopic.solvers.batches import (
    Batch,
    batches_of,
    check_batch_size,
    check_batches,
    stack_rows,
)
from isotopic.solvers.quick_inference import PASSES, quick_inference


@register
@dataclass(frozen=True)
class OnlineState(State):
    """A point, and what the topics remember of the batches before.

    Attributes
    ----------
    statistics : ndarray of shape (components, features)
        The average of the expected counts of the topics, each as if all data were like its batch.
    steps : int
        Batches seen.
    """

    statistics: Array
    steps: int


@register
@dataclass(frozen=True)
class OnlineEM(Solver[OnlineState]):
    r"""Let the topics absorb an average over mini-batches (Hoffman, Blei & Bach; Cappé & Moulines).

    With the topics' expected counts :math:`c_t` of the :math:`t`-th batch, of :math:`n_t` of all
    :math:`n` samples, the topics absorb

    .. math:: s_t = (1 - \rho_t) s_{t-1} + \rho_t \frac{n}{n_t} c_t, \qquad
        \rho_t = (\text{delay} + t)^{-\text{forgetting}}

    and the batch's weights absorb theirs. The start, :math:`s_0`, is that of all samples. For
    every pair of priors with normalised topics: for Dirichlet topics this is stochastic
    variational inference.

    The first iteration infers each batch's weights in a few updates
    (:func:`~isotopic.solvers.quick_inference.quick_inference`), so that the topics are told apart
    early; the later ones update them once. An iteration visits all batches once and evaluates the
    result: four passes, then two. If a single batch has all samples there is nothing to average,
    and the iteration is that of :class:`~isotopic.solvers.JointEM`.

    Parameters
    ----------
    batch_size : int or None, default=None
        Samples in a batch; by default as many as have eight counts for each feature.
    delay : float, default=1.0
        At least 1; more slows the first steps down.
    forgetting : float, default=0.51
        Above 0.5 and at most 1, so that the steps become small, but not too soon: the first counts
        are those of topics that know nothing yet.
    seed : int, default=0
        Of the batches and of their order.
    """

    batch_size: int | None = None
    delay: float = 1.0
    forgetting: float = 0.51
    seed: int = 0

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        if not (isinstance(self.delay, Real) and 1 <= self.delay < np.inf):
            raise ValueError(f"delay must be a number of at least 1, not {self.delay!r}")
        if not (isinstance(self.forgetting, Real) and 0.5 < self.forgetting <= 1):
            raise ValueError(f"forgetting must lie in (0.5, 1], not {self.forgetting!r}")

    def step_size(self, steps: int) -> float:
        """Return the share that the next batch has in the average, after so many."""
        return float((self.delay + steps) ** -self.forgetting)

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless mini-batches can be averaged."""
        check_batches(problem, "OnlineEM")

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> OnlineState:
        """Return the state at the starting point."""
        start = problem.evaluate(weights, topics, passes=0)
        # The first average is over all samples: no batch alone has every feature.
        statistics = start.counts.topics.copy("K")
        return OnlineState(**vars(start), statistics=statistics, steps=1)

    def step(self, problem: Problem, state: OnlineState) -> OnlineState:
        """Return the state after all batches and a pass."""
        batches = batches_of(problem, self.batch_size, self.seed)
        if len(batches) == 1:
            return self._whole(problem, state)
        first = state.steps == 1
        topics, statistics, steps = state.topics, state.statistics, state.steps
        order = np.random.default_rng((self.seed, steps)).permutation(len(batches))
        parts: dict[int, Posterior] = {}
        for number in order.tolist():
            batch = batches[number]
            parts[number], counts = _updated(batch, None if first else state.weights, topics)
            rate = self.step_size(steps)
            counts = counts * counts.dtype.type(rate * problem.X.shape[0] / len(batch.rows))
            counts += (1 - rate) * statistics
            statistics = counts
            topics = problem.topics.absorb(statistics.copy("K"), 1.0)
            steps += 1
        weights = stack_rows(
            [parts[number] for number in range(len(batches))], [batch.rows for batch in batches]
        )
        passes = state.passes + (PASSES if first else 1) + 1
        new = problem.evaluate(weights, topics, passes)
        return OnlineState(**vars(new), statistics=statistics, steps=steps)

    def plain_step(self, problem: Problem, state: OnlineState) -> OnlineState:
        """Return the state after the joint update; the average stays."""
        return replace(self._whole(problem, state), steps=state.steps)

    def _whole(self, problem: Problem, state: OnlineState) -> OnlineState:
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
        new = problem.evaluate(weights, topics, state.passes + 1)
        return OnlineState(**vars(new), statistics=state.statistics, steps=state.steps + 1)


def _updated(batch: Batch, weights: Posterior | None, topics: Posterior) -> tuple[Posterior, Array]:
    """Return the new weights of a batch and its topics' counts.

    With ``weights=None`` they are inferred quickly from equal shares.
    """
    own = batch.problem
    if weights is None:
        new, counts = quick_inference(own, topics)
        return new, own.with_unseen(counts.topics, new, topics)
    counts = own.expected_counts(
        batch.weights(weights), topics, weights_only=not own.topics.is_learned
    )
    new = own.absorb_weights(counts.weights, topics)
    return new, own.with_unseen(counts.topics, new, topics)

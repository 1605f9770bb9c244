"""IncrementalEM: updates from mini-batches whose counts are remembered."""

from dataclasses import dataclass

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver
from isotopic.solvers.batches import batches_of, check_batch_settings, check_batches, stack_rows


@register
@dataclass(frozen=True)
class IncrementalState(State):
    """A point, and the topics' expected counts there, of each batch.

    Attributes
    ----------
    by_batch : list of ndarray of shape (components, features)
    """

    by_batch: list[Array]


@register
@dataclass(frozen=True)
class IncrementalEM(Solver[IncrementalState]):
    r"""Update the topics after each mini-batch, from the latest counts of all (Neal & Hinton).

    The expected counts :math:`c_b` of every batch :math:`b` are kept. When batch :math:`b` is
    visited, its counts are recomputed at the current topics, its weights absorb theirs, and the
    topics absorb :math:`\sum_b c_b`. Each of these steps lowers the same free energy, which is the
    objective wherever all counts are new: so no iteration raises the objective, with a constant
    step. For every pair of priors with normalised topics.

    An iteration goes through all batches, and evaluates where that led: two passes. It costs
    memory of the size of the topics for each batch. With a single batch it is
    :class:`~isotopic.solvers.JointEM`.

    Parameters
    ----------
    batch_size : int or None, default=None
        Samples in a batch. By default a batch has about eight nonzeros for each feature.
    seed : int, default=0
        Of the batches.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import IncrementalEM, PLSA
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> PLSA(2, solver=IncrementalEM(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    batch_size: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_batch_settings(self.batch_size, self.seed)

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless the counts of batches can be added."""
        check_batches(problem, "IncrementalEM")

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> IncrementalState:
        """Return the state at the starting point."""
        return self._evaluated(problem, weights, topics, passes=0)

    def step(self, problem: Problem, state: IncrementalState) -> IncrementalState:
        """Return the state after all batches and a pass."""
        batches = batches_of(problem, self.batch_size, self.seed)
        topics = state.topics
        remembered = [
            batch.problem.with_unseen(counts, batch.weights(state.weights), topics)
            for batch, counts in zip(batches, state.by_batch, strict=True)
        ]
        total = _sum(remembered)
        parts = []
        for number, (batch, old) in enumerate(zip(batches, remembered, strict=True)):
            own = batch.problem
            if number == 0:  # nothing has changed since its counts were made
                weight_counts, new = state.counts.weights[batch.rows], state.by_batch[0]
            else:
                counts = batch.expected_counts(state.weights, topics)
                weight_counts, new = counts.weights, counts.topics
            weights = own.absorb_weights(weight_counts, topics)
            new = own.with_unseen(new, weights, topics)
            # Never below zero but for rounding.
            total = np.maximum(total - old, 0) + new if len(batches) > 1 else new
            topics = problem.topics.absorb(np.array(total, order="F"), 1.0)
            parts.append(weights)
        made = 1 if len(batches) == 1 else 2
        new_weights = stack_rows(parts, [batch.rows for batch in batches])
        return self._evaluated(problem, new_weights, topics, state.passes + made)

    def plain_step(self, problem: Problem, state: IncrementalState) -> IncrementalState:
        """Return the state after both sides absorbed the counts of all batches."""
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
        return self._evaluated(problem, weights, topics, state.passes + 1)

    def _evaluated(
        self, problem: Problem, weights: Posterior, topics: Posterior, passes: int
    ) -> IncrementalState:
        """Make a pass over the data, and return the state with the counts of each batch."""
        batches = batches_of(problem, self.batch_size, self.seed)
        counts = [batch.expected_counts(weights, topics) for batch in batches]
        weight_counts = np.empty_like(weights.mean)
        for batch, part in zip(batches, counts, strict=True):
            weight_counts[batch.rows] = part.weights
        whole = Counts(
            weight_counts,
            _sum([part.topics for part in counts]),
            sum(part.log_likelihood for part in counts),
        )
        state = problem.state_at(weights, topics, whole, passes)
        return IncrementalState(**vars(state), by_batch=[part.topics for part in counts])


def _sum(arrays: list[Array]) -> Array:
    """Return the sum of the arrays in a new array, which the caller may overwrite."""
    total = np.array(arrays[0], order="F")
    for array in arrays[1:]:
        total += array
    return total

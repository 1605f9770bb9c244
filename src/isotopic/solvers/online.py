"""OnlineEM: stochastic updates from mini-batches."""

from dataclasses import dataclass, field, replace
from numbers import Real

import numpy as np

from isotopic.arrays import Array
from isotopic.elementwise import row_sums
from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.accelerated import FLOOR
from isotopic.solvers.base import Solver
from isotopic.solvers.batches import (
    batches_of,
    check_batch_settings,
    check_batches,
    number_of_batches,
    stack_rows,
)
from isotopic.solvers.joint import JointEM

# The power of the first update: it goes as far as this many updates would.
_POWER = 8

# Two passes for the weights, one for the counts of the topics.
PASSES = 3


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
    (:func:`~isotopic.solvers.online.quick_inference`), so that the topics are told apart
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
    earlier_passes : int, default=0
        Passes that led to the start: a warm start goes on with small steps.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import OnlineEM, PLSA
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = PLSA(2, solver=OnlineEM(batch_size=5), max_iter=3, tol=0, random_state=0).fit(X)
    >>> model.n_iter_
    3
    """

    batch_size: int | None = None
    delay: float = 1.0
    forgetting: float = 0.51
    seed: int = 0
    earlier_passes: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        check_batch_settings(self.batch_size, self.seed)
        if not (isinstance(self.delay, Real) and 1 <= self.delay < np.inf):
            raise ValueError(f"delay must be a finite number of at least 1, not {self.delay!r}.")
        if not (isinstance(self.forgetting, Real) and 0.5 < self.forgetting <= 1):
            raise ValueError(
                f"forgetting must be above 0.5 and at most 1, not {self.forgetting!r}."
            )

    def step_size(self, steps: int) -> float:
        """Return the step size: the weight of the next batch in the average, after ``steps``."""
        return float((self.delay + steps) ** -self.forgetting)

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless mini-batches can be averaged."""
        check_batches(problem, "OnlineEM")

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> OnlineState:
        """Return the state at the starting point."""
        start = problem.evaluate(weights, topics, passes=0)
        # The first average is over all samples: no batch alone has every feature.
        statistics = start.counts.topics.copy("K")
        n_batches = number_of_batches(problem.X, self.batch_size)
        steps = 1 + n_batches * (self.earlier_passes // 2)  # two passes visit all batches once
        return OnlineState(**vars(start), statistics=statistics, steps=steps)

    def continued(self, passes: int) -> "OnlineEM":
        """Return the solver with the step size that a fit has reached after ``passes`` passes."""
        return replace(self, earlier_passes=passes)

    def step(self, problem: Problem, state: OnlineState) -> OnlineState:
        """Return the state after all batches and a pass."""
        batches = batches_of(problem, self.batch_size, self.seed)
        if len(batches) == 1:
            return replace(self.plain_step(problem, state), steps=state.steps + 1)
        first = state.steps == 1
        topics, statistics, steps = state.topics, state.statistics, state.steps
        order = np.random.default_rng((self.seed, steps)).permutation(len(batches))
        parts: dict[int, Posterior] = {}
        for number in order.tolist():
            batch, own = batches[number], batches[number].problem
            if first:
                weights, counts = quick_inference(own, topics)
            else:
                counts = batch.expected_counts(state.weights, topics)
                weights = own.absorb_weights(counts.weights, topics)
            parts[number] = weights
            if problem.topics.is_learned:
                new = own.with_unseen(counts.topics, weights, topics)
                rate = self.step_size(steps)
                new = new * new.dtype.type(rate * problem.X.shape[0] / len(batch.rows))
                new += (1 - rate) * statistics
                statistics = new
                topics = problem.topics.absorb(statistics.copy("K"), 1.0)
            steps += 1
        weights = stack_rows(
            [parts[number] for number in range(len(batches))], [batch.rows for batch in batches]
        )
        passes = state.passes + (PASSES if first else 1) + 1
        point = problem.evaluate(weights, topics, passes)
        return OnlineState(**vars(point), statistics=statistics, steps=steps)

    def plain_step(self, problem: Problem, state: OnlineState) -> OnlineState:
        """Return the state after the joint update; the average stays."""
        return replace(state, **vars(JointEM().step(problem, state)))


def quick_inference(problem: Problem, topics: Posterior) -> tuple[Posterior, Counts]:
    r"""Return weights inferred in two updates, and the expected counts there.

    Each sample starts with equal shares. While the topics are still alike, plain updates leave
    these shares slowly, so the topics' counts stay alike, and a fit spends most of its time telling
    them apart. So the first update is extrapolated: in the logarithms, which from equal shares is a
    power,

    .. math:: \text{counts}_{dk} \propto \Big(\sum_v x_{dv} \phi_{dkv}\Big)^{8}

    and the second one is plain.

    Parameters
    ----------
    problem : Problem
    topics : Posterior

    Returns
    -------
    weights : Posterior
    counts : Counts
        The expected counts at these weights.
    """
    shares = problem.X.equal_shares(problem.n_components).astype(problem.X.dtype)
    weights = problem.absorb_weights(shares, topics)
    counts = problem.expected_counts(weights, topics, weights_only=True).weights
    weights = problem.absorb_weights(_extrapolate_far(counts), topics)
    counts = problem.expected_counts(weights, topics, weights_only=True).weights
    weights = problem.absorb_weights(counts, topics)
    return weights, problem.expected_counts(weights, topics)


def _extrapolate_far(counts: Array) -> Array:
    """Return each row's shares raised to a power; positive entries stay positive."""
    totals = row_sums(counts).astype(counts.dtype)[:, np.newaxis]
    largest = counts.max(axis=1, keepdims=True)
    far = counts / np.where(largest > 0, largest, 1)
    least = np.where(far > 0, counts.dtype.type(FLOOR / counts.shape[1] ** 2), 0)
    far = np.maximum(far**_POWER, least)
    sums = row_sums(far).astype(counts.dtype)[:, np.newaxis]
    far *= totals / np.where(sums > 0, sums, 1)
    return far

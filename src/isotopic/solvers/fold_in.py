"""FoldIn: the weights of samples when the topics are known."""

from dataclasses import dataclass, fields, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import extrapolated, row_distances, row_pass, row_sums
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.momentum import FIRST_MOMENTUM, FLOOR, Schedule

_SCHEDULE = Schedule(most_momentum=0.9, floor_to_residual=5.0)


@dataclass(frozen=True)
class Swept:
    """The samples that are still looked at, and where each is on its way.

    Attributes
    ----------
    X : CountMatrix
    rows : ndarray of int
        Their row numbers.
    moving : ndarray of bool
        Which have not settled.
    plain : ndarray of bool
        Whose next update goes no further than the counts say.
    latest : ndarray of shape (rows, components)
        The expected counts at each sample's best point so far.
    explained : ndarray of shape (rows, components)
        The counts that the weights absorb next: these, or taken further.
    objective : ndarray
        Each sample's part of the objective at its best point.
    momentum, floor : ndarray
    """

    X: CountMatrix
    rows: Array
    moving: Array
    plain: Array
    latest: Array
    explained: Array
    objective: Array
    momentum: Array
    floor: Array

    def only(self, which: Array) -> "Swept":
        """Select samples by index."""
        arrays = {f.name: getattr(self, f.name)[which] for f in fields(self) if f.name != "X"}
        return Swept(X=self.X.rows(which), **arrays)


@dataclass(frozen=True)
class FoldInState:
    """Every sample's expected counts, and the samples that still move.

    Attributes
    ----------
    topics : Posterior
    settled : ndarray of shape (samples, components)
        The expected counts of the samples that have settled. The next step takes this array over,
        and the one below.
    log_likelihoods : ndarray of shape (samples,)
    swept : Swept
    residual : float
        The largest share of its own total that an update moves of any sample's counts.
    passes : int
    """

    topics: Posterior
    settled: Array
    log_likelihoods: Array
    swept: Swept
    residual: float
    passes: int

    @property
    def counts(self) -> Array:
        """Every sample's expected counts, as they were when it settled or was last looked at."""
        moving = self.swept.moving
        self.settled[self.swept.rows[moving]] = self.swept.latest[moving]
        return self.settled

    @property
    def objective(self) -> float:
        """Minus the log-likelihood at the (effective) weights."""
        return -float(self.log_likelihoods.sum())


@dataclass(frozen=True)
class FoldIn:
    """Accelerated EM for each sample on its own, the topics being fixed.

    What :class:`~isotopic.solvers.Accelerated` does for a fit is done here for each sample: it has
    a momentum, a floor and an objective of its own. A sample settles when an update moves at most
    ``tol`` of its total; from then on it is left as it is. So what comes out for a sample does not
    depend on which others are there.
    """

    tol: float

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> FoldInState:
        """Sweep over all samples once.

        Counts that no topic can explain say nothing of the weights, and are left out. Sparse data
        is swept over row by row; dense products would see all rows of a block.
        """
        topics = replace(topics, effective=np.asfortranarray(topics.effective))
        X = problem.X.as_sparse().only_features(np.any(topics.effective, axis=0))
        counts, log_likelihoods, objective = _evaluated(problem, X, weights, topics)
        n = len(counts)
        swept = Swept(
            X,
            rows=np.arange(n),
            moving=X.sample_totals > 0,
            plain=np.ones(n, bool),
            latest=counts,
            explained=counts.copy(),
            objective=objective,
            momentum=np.full(n, FIRST_MOMENTUM),
            floor=np.ones(n),
        )
        return FoldInState(topics, counts.copy(), log_likelihoods, swept, residual=np.inf, passes=0)

    def step(self, problem: Problem, state: FoldInState) -> FoldInState:
        """Update the samples that still move."""
        swept, topics = state.swept, state.topics
        if 4 * np.count_nonzero(swept.moving) < 3 * len(swept.rows):  # worth a smaller matrix
            swept = swept.only(np.flatnonzero(swept.moving))
        totals = problem.topics_totals(topics, swept.X.missing)
        weights = problem.weights.rows(swept.rows).absorb(swept.explained.copy(), totals)
        counts, log_likelihoods, objective = _evaluated(problem, swept.X, weights, topics)
        moved = row_distances(counts, swept.explained)
        moved /= np.where(swept.X.sample_totals > 0, swept.X.sample_totals, 1)
        settled = swept.moving & (moved <= self.tol)

        worse = (objective > swept.objective) & ~swept.plain & ~settled
        counts[worse], objective[worse] = swept.latest[worse], swept.objective[worse]
        state.settled[swept.rows[settled]] = counts[settled]
        state.log_likelihoods[swept.rows[swept.moving]] = log_likelihoods[swept.moving]
        return FoldInState(
            topics,
            state.settled,
            state.log_likelihoods,
            _taken_further(swept, counts, objective, moved, swept.moving & ~settled, worse),
            float(moved[swept.moving].max(initial=0.0)),
            state.passes + 1,
        )


def _evaluated(
    problem: Problem, X: CountMatrix, weights: Posterior, topics: Posterior
) -> tuple[Array, Array, Array]:
    """Give expected counts, log-likelihood and part of the objective of each sample."""
    counts, log_likelihoods = row_pass(
        X, weights.effective, topics.effective, proportions=problem.weights.normalized
    )
    objective = -log_likelihoods
    if weights.terms is not None:
        objective += weights.terms
    if not problem.weights.normalized:
        totals = problem.topics_totals(topics, X.missing)
        if np.ndim(totals) == 0:
            objective += row_sums(weights.mean) * totals
        else:
            objective += (weights.mean * totals).sum(axis=1, dtype=np.float64)
    return counts, log_likelihoods, objective


def _taken_further(
    swept: Swept, counts: Array, objective: Array, moved: Array, moving: Array, plain: Array
) -> Swept:
    """Take each sample's counts further along their way, but those that are to be plain."""
    momentum, floor = _SCHEDULE.after_success(swept.momentum, swept.floor, moved)
    failed = np.flatnonzero(plain)
    slower = _SCHEDULE.after_failure(swept.momentum[failed], swept.floor[failed])
    momentum[failed], floor[failed] = slower
    by_component = FLOOR / counts.shape[1]
    now_momentum, now_floor = momentum.copy(), by_component * floor
    now_momentum[failed] = now_floor[failed] = 0
    X = swept.X
    explained = extrapolated(
        counts,
        swept.latest,
        X.sample_totals if X.missing is None else row_sums(counts),
        momentum=now_momentum,
        floor=now_floor,
    )
    return Swept(X, swept.rows, moving, plain, counts, explained, objective, momentum, floor)

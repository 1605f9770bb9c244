"""FoldIn: the weights of samples when the topics are known."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.divergences.base import RowsPass
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.accelerated import Schedule
from isotopic.solvers.base import Solver
from isotopic.threads import current_threads

MAX_MOMENTUM = 0.9

# The samples that are updated together, for each thread: so few that their arrays stay in the
# caches, and enough that Python's own time is small compared to that of the pass.
_ACTIVE_ENTRIES = 2**20
_MIN_ACTIVE, _MAX_ACTIVE = 256, 8192


@dataclass(frozen=True)
class ActiveRows:
    """The samples being updated; each array has one entry or row per sample."""

    rows: Array  # their row numbers
    is_moving: Array  # which have not converged
    is_plain: Array  # whose next update is not extrapolated
    updates: Array  # how many each has had
    latest: Array  # the expected counts at each sample's best point so far
    absorbed: Array  # the counts that the weights absorb next: these, or extrapolated ones
    log_likelihoods: Array  # of each sample at its last update
    objectives: Array  # each sample's part of the objective at its best point
    momentum: Array
    floor: Array


@dataclass(frozen=True)
class FoldInState:
    """Every sample's expected counts, the samples that are being updated, and those that wait."""

    start: Posterior  # the weights that samples begin with
    select: Callable[[Array], RowsPass]  # see Divergence.prepare_rows
    group_size: int  # how many samples are updated together
    converged: Array  # the expected counts of samples that have; the next step writes to it
    log_likelihood: float  # of the samples that have converged
    waiting: Array  # the row numbers of the samples that are still to come
    active: ActiveRows
    selected: RowsPass  # the pass over the active samples
    largest_given_up: float  # the largest residual of samples that reached the limit of updates
    n_updates: int  # of all samples together
    objective: float  # minus the log-likelihood, at the effective weights, of all but the waiting
    residual: float  # the largest fraction of a sample's total that an update moves
    passes: int  # the mean number of updates of a sample, rounded up

    @property
    def counts(self) -> Array:
        """Every sample's expected counts when it converged or was last updated."""
        is_moving = self.active.is_moving
        self.converged[self.active.rows[is_moving]] = self.active.latest[is_moving]
        return self.converged


@dataclass(frozen=True)
class FoldIn(Solver[FoldInState]):
    """Infer the weights of each sample by accelerated updates, with the topics fixed.

    What :class:`~isotopic.solvers.Accelerated` does for a fit is done here for each sample: it has
    a momentum, a floor and an objective of its own. A sample has converged when an update moves at
    most ``tol`` of its total; from then on it does not change. So the result for a sample does not
    depend on which others are there.

    A step updates a few thousand samples. When some have converged, others that wait take their
    places. So the arrays of a step stay in the caches, and few steps are made for a handful of
    samples.

    Parameters
    ----------
    tol : float
    max_updates : int, default=5000
        The number of updates after which a sample that has not converged is left as it is.
    """

    tol: float
    max_updates: int = 5000

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> FoldInState:
        """Return the state with the first samples at their start.

        Counts that no topic can explain do not depend on the weights, and are left out. Sparse
        data is passed over row by row; dense products would depend on all rows of a block.
        """
        X = problem.X.as_sparse()
        if problem.divergence.is_likelihood:
            X = X.only_features(topics.explains)
        select = problem.divergence.prepare_rows(problem, X, topics)
        n_samples, n_components = weights.effective.shape
        entries = max(n_components, len(X.values) // max(1, n_samples))
        rows_per_thread = min(max(_ACTIVE_ENTRIES // entries, _MIN_ACTIVE), _MAX_ACTIVE)
        group_size = int(current_threads() * rows_per_thread)
        first, waiting = np.split(np.flatnonzero(X.sample_totals > 0), [group_size])
        selected = select(first)
        return FoldInState(
            weights,
            select,
            group_size,
            converged=np.zeros(weights.effective.shape, weights.effective.dtype),
            log_likelihood=0.0,
            waiting=waiting,
            active=_activate(weights, first, selected, problem.divergence.row_momentum),
            selected=selected,
            largest_given_up=0.0,
            n_updates=0,
            objective=np.inf,
            residual=np.inf,
            passes=0,
        )

    def is_done(self, state: FoldInState) -> bool:
        """Return whether no sample waits or moves."""
        return not (len(state.waiting) or state.active.is_moving.any())

    def step(self, problem: Problem, state: FoldInState) -> FoldInState:
        """Return the state after an update of the active samples."""
        state = _replenish(state, problem.divergence.row_momentum)
        active, selected = state.active, state.selected
        weights = selected.absorb(active.absorbed.copy())
        counts, log_likelihoods, objectives, residuals, rounding = selected.evaluate(
            weights, active.absorbed
        )
        has_converged = active.is_moving & (residuals <= self.tol)
        has_given_up = active.is_moving & ~has_converged & (active.updates + 1 >= self.max_updates)
        has_failed = (objectives > active.objectives + rounding) & ~active.is_plain & ~has_converged
        counts[has_failed] = active.latest[has_failed]
        objectives[has_failed] = active.objectives[has_failed]
        ended = np.flatnonzero(has_converged | has_given_up)
        state.converged[active.rows[ended]] = counts[ended]
        schedule = Schedule(MAX_MOMENTUM, problem.divergence.row_floor_to_residual)
        momentum, floor = schedule.next(active.momentum, active.floor, residuals, has_failed)
        first_floor = problem.divergence.row_floor / counts.shape[1]
        absorbed = selected.extrapolate(
            counts,
            active.latest,
            np.where(has_failed, 0.0, momentum),
            np.where(has_failed, 0.0, first_floor * floor),
        )
        is_moving = active.is_moving & ~(has_converged | has_given_up)
        log_likelihood = state.log_likelihood + float(log_likelihoods[ended].sum())
        given_up = float(residuals[has_given_up].max(initial=state.largest_given_up))
        largest = float(residuals[active.is_moving].max(initial=given_up))
        n_updates = state.n_updates + len(active.rows)
        return replace(
            state,
            log_likelihood=log_likelihood,
            active=ActiveRows(
                rows=active.rows,
                is_moving=is_moving,
                is_plain=has_failed,
                updates=active.updates + 1,
                latest=counts,
                absorbed=absorbed,
                log_likelihoods=log_likelihoods,
                objectives=objectives,
                momentum=momentum,
                floor=floor,
            ),
            largest_given_up=given_up,
            n_updates=n_updates,
            objective=-log_likelihood - float(log_likelihoods[is_moving].sum()),
            residual=np.inf if len(state.waiting) else largest,
            passes=-(-n_updates // max(1, len(state.converged))),
        )


def _activate(start: Posterior, which: Array, selected: RowsPass, momentum: float) -> ActiveRows:
    """Return samples at their start."""
    terms = None if start.terms is None else start.terms[which]
    first = Posterior(start.mean[which], start.effective[which], terms)
    counts, log_likelihoods, objectives, _, _ = selected.evaluate(first, None)
    n = len(which)
    return ActiveRows(
        rows=which,
        is_moving=np.ones(n, bool),
        is_plain=np.ones(n, bool),
        updates=np.zeros(n, np.int64),
        latest=counts,
        absorbed=counts.copy(),
        log_likelihoods=log_likelihoods,
        objectives=objectives,
        momentum=np.full(n, momentum),
        floor=np.ones(n),
    )


def _replenish(state: FoldInState, momentum: float) -> FoldInState:
    """Replace converged samples by waiting ones once an eighth of the group has converged."""
    active = state.active
    n_moving = int(np.count_nonzero(active.is_moving))
    if 8 * n_moving > 7 * len(active.rows):
        return state
    others, waiting = np.split(state.waiting, [state.group_size - n_moving])
    later = vars(_activate(state.start, others, state.select(others), momentum))
    kept = np.flatnonzero(active.is_moving)
    active = ActiveRows(
        **{name: np.concatenate([rows[kept], later[name]]) for name, rows in vars(active).items()}
    )
    return replace(state, waiting=waiting, active=active, selected=state.select(active.rows))

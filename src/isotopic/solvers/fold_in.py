"""FoldIn: the weights of samples when the topics are known."""

from dataclasses import dataclass, fields, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix, RowView
from isotopic.kernels import (
    ReadyTopics,
    extrapolated,
    ready,
    row_distances,
    row_sums,
    rows_pass,
)
from isotopic.priors import Posterior, Prior
from isotopic.priors.base import Totals
from isotopic.problem import Problem
from isotopic.solvers.momentum import Schedule
from isotopic.threads import current_threads

# A sample has one optimum, or few: it can go far at once, and needs little of a floor.
_SCHEDULE = Schedule(most_momentum=0.9, floor_to_residual=1.0)
_FIRST_MOMENTUM = 0.9
_FIRST_FLOOR = 0.002  # the share of a sample's counts that it holds, over all components

# The samples that are swept over together, for each thread: so few that their arrays stay in the
# caches, and so many that Python's own time is small beside that of the pass.
_SWEPT_ENTRIES = 2**20
_FEWEST_SWEPT, _MOST_SWEPT = 256, 8192


@dataclass(frozen=True)
class ActiveRows:
    """Samples on their way, one entry or row of each array for each.

    Attributes
    ----------
    rows : ndarray of int
        Their row numbers.
    moving : ndarray of bool
        Which have not settled.
    plain : ndarray of bool
        Whose next update goes no further than the counts say.
    updates : ndarray of int
        How many each has had.
    latest : ndarray of shape (rows, components)
        The expected counts at each sample's best point so far.
    explained : ndarray of shape (rows, components)
        The counts that the weights absorb next: these, or taken further.
    log_likelihoods : ndarray
        Of each sample when it was last looked at.
    objective : ndarray
        Each sample's part of the objective at its best point.
    momentum, floor : ndarray
    """

    rows: Array
    moving: Array
    plain: Array
    updates: Array
    latest: Array
    explained: Array
    log_likelihoods: Array
    objective: Array
    momentum: Array
    floor: Array

    def joined(self, later: "ActiveRows") -> "ActiveRows":
        """Keep the samples that still move, and put later ones behind them."""
        kept = np.flatnonzero(self.moving)
        pairs = ((getattr(self, f.name)[kept], getattr(later, f.name)) for f in fields(self))
        return ActiveRows(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Given:
    """What is given of the samples that are swept over.

    Attributes
    ----------
    X : RowView
    prior : Prior
        Of their weights.
    topics : ReadyTopics
    totals : Totals
        The sums of the topics, as these samples see them.
    """

    X: RowView
    prior: Prior
    topics: ReadyTopics
    totals: Totals

    def evaluated(self, weights: Posterior) -> tuple[Array, Array, Array]:
        """Give expected counts, log-likelihood and part of the objective of each sample."""
        normalized = self.prior.is_normalized
        counts, log_likelihoods = rows_pass(
            self.X, weights.effective, self.topics, proportions=normalized
        )
        objective = -log_likelihoods
        if weights.terms is not None:
            objective += weights.terms
        if not normalized and np.ndim(self.totals) == 0:
            objective += row_sums(weights.mean) * self.totals
        elif not normalized:
            objective += (weights.mean * self.totals).sum(axis=1, dtype=np.float64)
        return counts, log_likelihoods, objective


@dataclass(frozen=True)
class Samples:
    """All samples, and the topics.

    Attributes
    ----------
    X : CountMatrix
        Sparse.
    start : Posterior
        Where the weights begin.
    topics : Posterior
    ready : ReadyTopics
    """

    X: CountMatrix
    start: Posterior
    topics: Posterior
    ready: ReadyTopics

    @property
    def together(self) -> int:
        """How many of them are swept over at a time."""
        n_samples, n_components = self.start.effective.shape
        entries = max(n_components, len(self.X.values) // max(1, n_samples))
        rows = min(max(_SWEPT_ENTRIES // entries, _FEWEST_SWEPT), _MOST_SWEPT)
        return int(current_threads() * rows)

    def given(self, problem: Problem, which: Array) -> Given:
        """Select what is given of some samples."""
        X = self.X.view(which)
        totals = problem.topics_totals(self.topics, X.missing)
        return Given(X, problem.weights.rows(which), self.ready, totals)

    def begun(self, problem: Problem, which: Array) -> ActiveRows:
        """Look at some samples for the first time."""
        start, terms = self.start, self.start.terms
        terms = None if terms is None else terms[which]
        first = Posterior(start.mean[which], start.effective[which], terms)
        counts, log_likelihoods, objective = self.given(problem, which).evaluated(first)
        n = len(which)
        return ActiveRows(
            rows=which,
            moving=np.ones(n, bool),
            plain=np.ones(n, bool),
            updates=np.zeros(n, np.int64),
            latest=counts,
            explained=counts.copy(),
            log_likelihoods=log_likelihoods,
            objective=objective,
            momentum=np.full(n, _FIRST_MOMENTUM),
            floor=np.ones(n),
        )


@dataclass(frozen=True)
class FoldInState:
    """Every sample's expected counts, the samples on their way, and those that wait.

    Attributes
    ----------
    samples : Samples
    settled : ndarray of shape (samples, components)
        The expected counts of the samples that have settled. The next step takes this array over.
    log_likelihood : float
        Of the samples that have settled.
    waiting : ndarray of int
        The row numbers of the samples that were not looked at.
    swept : ActiveRows
    given : Given
    moved : float
        The largest share of its own total that the last update moved of any sample's counts.
    given_up : float
        The same of the samples that were given up.
    looks : int
        How often samples were updated, all in all.
    """

    samples: Samples
    settled: Array
    log_likelihood: float
    waiting: Array
    swept: ActiveRows
    given: Given
    moved: float
    given_up: float
    looks: int

    @property
    def counts(self) -> Array:
        """Every sample's expected counts, as they were when it settled or was last looked at."""
        moving = self.swept.moving
        self.settled[self.swept.rows[moving]] = self.swept.latest[moving]
        return self.settled

    @property
    def objective(self) -> float:
        """Minus the log-likelihood, at the (effective) weights, of the samples that do not wait."""
        on_their_way = self.swept.log_likelihoods[self.swept.moving]
        return -self.log_likelihood - float(on_their_way.sum())

    @property
    def residual(self) -> float:
        """The largest share of its own total that an update moves of any sample's counts."""
        return np.inf if len(self.waiting) else max(self.moved, self.given_up)

    @property
    def ended(self) -> bool:
        """Whether no sample waits or moves."""
        return not (len(self.waiting) or self.swept.moving.any())

    @property
    def passes(self) -> int:
        """How often samples were updated on average, rounded up."""
        return -(-self.looks // max(1, len(self.settled)))


@dataclass(frozen=True)
class FoldIn:
    """Accelerated EM for each sample on its own, the topics being fixed.

    What :class:`~isotopic.solvers.Accelerated` does for a fit is done here for each sample: it has
    a momentum, a floor and an objective of its own. A sample settles when an update moves at most
    ``tol`` of its total; from then on it is left as it is. So what comes out for a sample does not
    depend on which others are there.

    A step updates a few thousand samples. As they settle, others that wait take their places. So
    the arrays of a step stay in the caches, and few steps are made for a handful of samples.

    Parameters
    ----------
    tol : float
    most_updates : int, default=5000
        A sample that has not settled after so many updates is given up.
    """

    tol: float
    most_updates: int = 5000

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> FoldInState:
        """Look at the first samples.

        Counts that no topic can explain say nothing of the weights, and are left out. Sparse data
        is swept over row by row; dense products would see all rows of a block.
        """
        table = ready(topics.effective)
        topics = replace(topics, effective=table.topics)
        X = problem.X.as_sparse().only_features(np.any(topics.effective, axis=0))
        if X.missing is not None:  # computed once, for those that sweep over some rows
            scaled = not (problem.weights.is_normalized or problem.topics.is_normalized)
            X.missing.reach(topics.mean if scaled else topics.effective)
        samples = Samples(X, weights, topics, table)
        some = np.flatnonzero(X.sample_totals > 0)
        first, waiting = np.split(some, [samples.together])
        return FoldInState(
            samples,
            settled=np.zeros(weights.effective.shape, weights.effective.dtype),
            log_likelihood=0.0,
            waiting=waiting,
            swept=samples.begun(problem, first),
            given=samples.given(problem, first),
            moved=np.inf,
            given_up=0.0,
            looks=0,
        )

    def step(self, problem: Problem, state: FoldInState) -> FoldInState:
        """Update the samples that are on their way."""
        state = _with_others(problem, state)
        swept, given = state.swept, state.given
        weights = given.prior.absorb(swept.explained.copy(), given.totals)
        counts, log_likelihoods, objective = given.evaluated(weights)
        moved = row_distances(counts, swept.explained)
        moved /= given.X.sample_totals
        settled = swept.moving & (moved <= self.tol)
        lost = swept.moving & ~settled & (swept.updates + 1 >= self.most_updates)

        worse = np.flatnonzero((objective > swept.objective) & ~swept.plain & ~settled)
        counts[worse], objective[worse] = swept.latest[worse], swept.objective[worse]
        ended = np.flatnonzero(settled | lost)
        state.settled[swept.rows[ended]] = counts[ended]
        later = _taken_further(given.X, swept, counts, moved, worse)
        return replace(
            state,
            log_likelihood=state.log_likelihood + float(log_likelihoods[ended].sum()),
            swept=replace(
                later,
                moving=swept.moving & ~(settled | lost),
                updates=swept.updates + 1,
                log_likelihoods=log_likelihoods,
                objective=objective,
            ),
            moved=float(moved[swept.moving].max(initial=0.0)),
            given_up=float(moved[lost].max(initial=state.given_up)),
            looks=state.looks + len(swept.rows),
        )


def _with_others(problem: Problem, state: FoldInState) -> FoldInState:
    """Let others take the places of samples that have settled, where it is worth it."""
    swept, samples = state.swept, state.samples
    moving = int(np.count_nonzero(swept.moving))
    if 8 * moving > 7 * len(swept.rows):
        return state
    others, waiting = np.split(state.waiting, [samples.together - moving])
    swept = swept.joined(samples.begun(problem, others))
    given = samples.given(problem, swept.rows)
    return replace(state, waiting=waiting, swept=swept, given=given)


def _taken_further(
    X: RowView, swept: ActiveRows, counts: Array, moved: Array, failed: Array
) -> ActiveRows:
    """Take each sample's counts further along their way, but those whose last step failed."""
    momentum, floor = _SCHEDULE.after_success(swept.momentum, swept.floor, moved)
    slower = _SCHEDULE.after_failure(swept.momentum[failed], swept.floor[failed])
    momentum[failed], floor[failed] = slower
    by_component = _FIRST_FLOOR / counts.shape[1]
    now_momentum, now_floor = momentum.copy(), by_component * floor
    now_momentum[failed] = now_floor[failed] = 0
    plain = np.zeros(len(counts), bool)
    plain[failed] = True
    explained = extrapolated(
        counts,
        swept.latest,
        X.sample_totals if X.missing is None else row_sums(counts),
        momentum=now_momentum,
        floor=now_floor,
    )
    return replace(
        swept, plain=plain, latest=counts, explained=explained, momentum=momentum, floor=floor
    )

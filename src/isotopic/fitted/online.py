"""Update the topics with one batch of samples after the other (``partial_fit``)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts
from isotopic.counts import CountMatrix
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.fitting import Data, Fit
from isotopic.fitted.value import Fitted, OnlineMemory
from isotopic.priors import Evidence, Posterior, Prior, SampleWeighted
from isotopic.problem import Problem, State
from isotopic.solvers import HISTORY, OnlineEM
from isotopic.solvers.batches import number_of_batches
from isotopic.solvers.online import PASSES, quick_inference

# With fewer counts than this for each entry of the topics, their means are the effective factor.
_FEW_COUNTS = 1.0

# After so many batches, the next ones begin with learned coefficients of covariates. Before, the
# topics are still those of the start: a topic with few counts would lose the rest of them.
_FIRST_BATCHES = 4


@dataclass(frozen=True, eq=False)
class Progress:
    """Where the topics are after some batches.

    Attributes
    ----------
    memory : OnlineMemory
    weights_prior, topics_prior : Prior
        The first with the hyperparameters that were learned, the second as the first batch had it.
    feature_totals : ndarray of shape (features,)
        Over all batches.
    history : structured ndarray
    """

    memory: OnlineMemory
    weights_prior: Prior
    topics_prior: Prior
    feature_totals: Array
    history: Array

    @classmethod
    def of(cls, fitted: Fitted, batch_size: int) -> "Progress":
        """Return the progress of a fitted model; a ``fit`` counts as batches of that size."""
        memory, history = fitted.online, fitted.history
        if memory is None:
            if not len(fitted.weights.mean):
                raise ValueError(
                    "partial_fit cannot go on after a fit to row blocks whose weights were not "
                    "kept: nothing says how many samples there were. Open the row blocks with "
                    "keep_weights=True."
                )
            n_samples = float(fitted.sample_weight.sum())
            average = explained_counts(fitted)[1] / n_samples
            n_batches = max(1, round(n_samples / batch_size))
            statistics = _statistics_of_fit(fitted)
            memory = OnlineMemory(average, n_samples, n_batches, statistics=statistics)
            history = history[:0]
        priors = fitted.weights_prior, fitted.topics_prior
        return cls(memory, *priors, fitted.feature_totals, history)


@dataclass(frozen=True, eq=False)
class Update:
    """The progress after a batch, and the batch's own state."""

    progress: Progress
    batch: Fit
    state: State

    def fitted(self) -> Fitted:
        """Return the fitted value, with the weights and the objective of this batch."""
        progress = self.progress
        fitted = self.batch.fitted_at(
            self.state,
            history=progress.history,
            topics=progress.memory.topics,
            online=progress.memory,
        )
        prior = fitted.weights_prior
        if prior.learns_from_batches:
            prior = prior.with_learned(progress.weights_prior)
        return replace(fitted, weights_prior=prior, feature_totals=progress.feature_totals)


def split_batches(data: Data, batch_size: int | None) -> Iterator[Data]:
    """Yield batches of samples, in the order of the data."""
    X = data.counts
    if isinstance(X, BlockedCounts):
        for piece, block in X.loaded():
            yield from split_batches(_part(data, block, piece.rows), batch_size)
        return
    n_batches = number_of_batches(X, batch_size)
    for rows in np.array_split(np.arange(X.shape[0]), n_batches):
        part = data if n_batches == 1 else _part(data, X.rows(rows), rows)
        if part.copies is None or part.copies.any():
            yield part


def _part(data: Data, counts: CountMatrix, rows: Array | slice) -> Data:
    copies = None if data.copies is None else data.copies[rows]
    return replace(data, counts=counts, copies=copies, offsets=data.offsets.rows(rows))


def learn_batch(
    batch: Fit,
    progress: Progress | None,
    settings: OnlineEM,
    seeds: Array,
    first_topics: Callable[[Problem, Array], Posterior],
) -> Update:
    """Infer the weights of a batch, and let the topics absorb its counts.

    ``progress`` is ``None`` for the first batch, which starts from ``first_topics``; ``settings``
    say how much a batch changes the average.
    """
    began = time.perf_counter()
    if progress is not None:
        prior = batch.problem.weights
        if prior.learns_from_batches and progress.memory.statistics is not None:
            prior = prior.continuing(progress.weights_prior)
        known = replace(batch.problem, weights=prior, topics=progress.topics_prior)
        batch = replace(batch, problem=known)
    problem, copies = batch.problem, batch.data.copies
    n_samples = float(batch.data.counts.shape[0] if copies is None else copies.sum())
    feature_totals = problem.X.feature_totals
    if progress is None:
        topics, rate = _with_mean_as_effective(first_topics(problem, seeds)), 1.0
    else:
        topics = _next_topics(problem, progress, seeds)
        rate = settings.step_size(progress.memory.n_batches)
    weights, counts = quick_inference(problem, topics)
    average = problem.with_unseen(counts.topics, weights, topics) * (rate / n_samples)
    memory = OnlineMemory(average, n_samples, 1)
    history = np.empty(0, HISTORY)
    if progress is not None:
        before, history = progress.memory, progress.history
        average += (1 - rate) * before.average
        memory = OnlineMemory(average, before.n_samples + n_samples, before.n_batches + 1)
        feature_totals = progress.feature_totals + feature_totals
    state = problem.state_at(weights, topics, counts, PASSES)
    earlier = None if progress is None else progress.memory
    learned, statistics = _learn_prior(problem, state, earlier, rate, n_samples)
    absorbed = problem.topics.absorb(_expected_counts(memory, problem), 1.0)
    memory = replace(memory, topics=absorbed, statistics=statistics)
    last = (0, 0, 0.0) if len(history) == 0 else history[-1].item()
    row = (
        len(history) + 1,  # after a fit, there are more batches than rows
        last[1] + state.passes,
        last[2] + time.perf_counter() - began,
        state.objective,
        state.residual,
    )
    history = np.append(history, np.array([row], HISTORY))
    after = Progress(memory, learned, problem.topics, feature_totals, history)
    return Update(after, batch, state)


def _learn_prior(
    problem: Problem, state: State, before: OnlineMemory | None, rate: float, n_samples: float
) -> tuple[Prior, Array | None]:
    """Return the prior of the weights, and the average statistics that it has learned from.

    ``rate`` is the share of the batch, which has ``n_samples``, in the average. The first batches
    have none: they begin with the same coefficients.
    """
    prior: Any = problem.weights
    if not prior.learns_from_batches:
        return _without_sample_weights(prior), None
    statistics = prior.sufficient_statistics(problem.weights_evidence(state)) / n_samples
    if before is not None:
        n_samples += before.n_samples
        if before.statistics is not None:
            statistics = rate * statistics + (1 - rate) * before.statistics.ravel()
    own: Any = _without_sample_weights(prior)
    updated = own.with_statistics_of_batches(n_samples * statistics)
    if before is None or (before.statistics is None and before.n_batches < _FIRST_BATCHES):
        return updated, None
    return updated, updated.statistics_at(statistics, own).reshape(-1, problem.n_components)


def _statistics_of_fit(fitted: Fitted) -> Array | None:
    """Return what the prior of the weights has learned from in a fit, of one sample."""
    prior: Any = fitted.weights_prior
    if not prior.learns_from_batches:
        return None
    explained, copies = fitted.weights.explained, fitted.sample_weight
    assert explained is not None
    counts = np.maximum(explained.astype(np.float64), 0)
    evidence = Evidence(counts, None, fitted.pair.topics_totals(fitted.topics), copies)
    sums = prior.statistics_of_fit(evidence) / copies.sum()
    return np.asarray(sums.reshape(-1, fitted.n_components))


def _without_sample_weights(prior: Any) -> Prior:
    return prior.prior if isinstance(prior, SampleWeighted) else prior


def _next_topics(problem: Problem, progress: Progress, seeds: Array) -> Posterior:
    """Return the topics that a batch starts from, with the features that are new."""
    memory, totals = progress.memory, problem.X.feature_totals
    topics = memory.topics
    if topics is None or topics.mean.dtype != problem.X.dtype:
        topics = problem.topics.absorb(_expected_counts(memory, problem), 1.0)
    if not topics.effective.min() > 0:  # rarely, and quickly checked
        new = (totals > 0) & ~np.any(topics.effective, axis=0)
        if new.any():  # distribute them at random, as a random start does
            counts = _expected_counts(memory, problem)
            rng = np.random.default_rng([*seeds[0].tolist(), memory.n_batches])
            shares = rng.dirichlet(np.ones(len(counts)), size=np.count_nonzero(new))
            counts[:, new] = (shares * totals[new, np.newaxis]).T
            topics = problem.topics.absorb(counts, 1.0)
    few = progress.feature_totals.sum() < _FEW_COUNTS * topics.mean.size
    return _with_mean_as_effective(topics) if few else topics


def _with_mean_as_effective(topics: Posterior) -> Posterior:
    """Use the mean in the place of ``exp(E[log])``.

    That is far smaller where there is less than one count: as long as few counts were seen, a
    variational side would remove features from topics for no other reason.
    """
    return replace(topics, effective=topics.mean)


def _expected_counts(memory: OnlineMemory, problem: Problem) -> Any:
    """Return the topics' expected counts of all samples so far."""
    return np.asfortranarray(np.multiply(memory.average, memory.n_samples, dtype=problem.X.dtype))

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
from isotopic.fitted.fitting import Fit
from isotopic.fitted.value import Fitted, OnlineMemory
from isotopic.priors import Posterior, Prior
from isotopic.problem import Problem, State
from isotopic.solvers import HISTORY, OnlineEM
from isotopic.solvers.batches import number_of_batches
from isotopic.solvers.online import PASSES, quick_inference

# With fewer counts than this for each entry of the topics, their means are the effective factor.
_FEW_COUNTS = 1.0


@dataclass(frozen=True, eq=False)
class Progress:
    """Where the topics are after some batches.

    Attributes
    ----------
    memory : OnlineMemory
    topics_prior : Prior
        As the first batch had it.
    feature_totals : ndarray of shape (features,)
        Over all batches.
    history : structured ndarray
    """

    memory: OnlineMemory
    topics_prior: Prior
    feature_totals: Array
    history: Array

    @classmethod
    def of(cls, fitted: Fitted, batch_size: int) -> "Progress":
        """Return the progress of a fitted model; a ``fit`` counts as batches of that size."""
        memory, history = fitted.online, fitted.history
        if memory is None:
            n_samples = float(fitted.sample_weight.sum())
            average = explained_counts(fitted)[1] / n_samples
            memory = OnlineMemory(average, n_samples, max(1, round(n_samples / batch_size)))
            history = history[:0]
        return cls(memory, fitted.topics_prior, fitted.feature_totals, history)


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
        return replace(fitted, feature_totals=progress.feature_totals)


def split_batches(
    X: CountMatrix | BlockedCounts, copies: Array | None, batch_size: int | None
) -> Iterator[tuple[CountMatrix, Array | None]]:
    """Yield batches of samples and their sample weights, in the order of the data."""
    if isinstance(X, BlockedCounts):
        for piece, block in X.loaded():
            part = None if copies is None else copies[piece.rows]
            yield from split_batches(block, part, batch_size)
        return
    n_batches = number_of_batches(X, batch_size)
    for rows in np.array_split(np.arange(X.shape[0]), n_batches):
        part = copies if copies is None or n_batches == 1 else copies[rows]
        if part is None or part.any():
            yield (X if n_batches == 1 else X.rows(rows)), part


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
        batch = replace(batch, problem=replace(batch.problem, topics=progress.topics_prior))
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
    memory = replace(memory, topics=problem.topics.absorb(_expected_counts(memory, problem), 1.0))
    last = (0, 0, 0.0) if len(history) == 0 else history[-1].item()
    row = (
        memory.n_batches,
        last[1] + state.passes,
        last[2] + time.perf_counter() - began,
        state.objective,
        state.residual,
    )
    history = np.append(history, np.array([row], HISTORY))
    return Update(Progress(memory, problem.topics, feature_totals, history), batch, state)


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

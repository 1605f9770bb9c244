"""From data and priors to a problem, and from a solver's state to a fitted value."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts
from isotopic.counts import CountMatrix
from isotopic.fitted.inference import infer
from isotopic.fitted.offsets import NO_OFFSETS, Offsets
from isotopic.fitted.value import Fitted, OnlineMemory, without_rows, without_terms
from isotopic.priors import (
    Posterior,
    Prior,
    SampleWeighted,
    WithFixedWeights,
    WithSizeFactors,
)
from isotopic.problem import Problem, State
from isotopic.solvers import HISTORY, HyperparameterState
from isotopic.solvers.batches import stack_rows

SampleNames: TypeAlias = Callable[[], Array | None]

_NO_HISTORY = np.empty(0, HISTORY)


@dataclass(frozen=True, eq=False)
class Data:
    """The samples of a fit.

    Attributes
    ----------
    counts : CountMatrix or BlockedCounts
    copies : ndarray of shape (samples,) or None
        The sample weights; ``None``: all are one.
    offsets : Offsets
    feature_names : ndarray of str or None
    sample_names : callable
        Returns the names of the samples or ``None``. Files have them, and are read only if they are
        needed.
    """

    counts: CountMatrix | BlockedCounts
    copies: Array | None = None
    offsets: Offsets = NO_OFFSETS
    feature_names: Array | None = None
    sample_names: SampleNames = lambda: None

    @cached_property
    def kept_names(self) -> Array | None:
        """The names of samples that a fitted value keeps: text or integers, of data in memory."""
        names = self.sample_names() if isinstance(self.counts, CountMatrix) else None
        if names is None or all(isinstance(name, str) for name in names):
            return names
        try:
            numbers = np.array(names.tolist())
        except (ValueError, OverflowError):  # such as labels of several levels
            return None
        return numbers.astype(np.int64) if numbers.dtype.kind == "i" else None

    @property
    def used_rows(self) -> Array | None:
        """The samples with a positive sample weight; ``None``: all of them."""
        if self.copies is None or self.copies.all():
            return None
        if isinstance(self.counts, BlockedCounts):
            raise ValueError(
                "sample_weight must be positive for row blocks. Leave out samples with weight 0."
            )
        return np.flatnonzero(self.copies)

    def used(self, prior: Prior) -> tuple[Any, Prior]:
        """Return the counts with their sample weights, and the prior of the samples' weights.

        Samples with a sample weight of zero are left out.
        """
        counts: Any = self.counts
        prior, copies, rows = self.offsets.wrap(prior), self.copies, self.used_rows
        if copies is None:
            return counts, prior
        if rows is not None:
            counts, prior, copies = counts.rows(rows), prior.rows(rows), copies[rows]
        try:
            return counts.repeated(copies), SampleWeighted(prior, copies)
        except ValueError as error:
            raise ValueError(f"sample_weight times X: {error}") from None


@dataclass(frozen=True, eq=False)
class Fit:
    """A problem, and the data and the prior that it was made of.

    Attributes
    ----------
    data : Data
    weights_prior : Prior
        The prior of all samples' weights, before size factors are applied.
    problem : Problem
    """

    data: Data
    weights_prior: Prior
    problem: Problem

    def fitted_at(
        self,
        state: State,
        *,
        history: Array = _NO_HISTORY,
        converged: bool = False,
        topics: Posterior | None = None,
        online: OnlineMemory | None = None,
    ) -> Fitted:
        """Return the fitted value of a solver's state; ``topics`` by default those of the state.

        Topics that are learned ``online`` keep their order in memory: the next batch goes on with
        it, and changing it would take longer than a small batch.
        """
        data, problem = self.data, self.problem
        weights_prior, topics_prior = self.weights_prior, problem.topics
        divergence = problem.divergence
        if isinstance(state, HyperparameterState):
            learned: Any = state.weights_prior
            while isinstance(learned, (SampleWeighted, WithSizeFactors, WithFixedWeights)):
                learned = learned.prior
            weights_prior = weights_prior.with_learned(learned)
            topics_prior = topics_prior.with_learned(state.topics_prior)
            divergence = state.divergence
        rows = data.used_rows
        used_offsets = data.offsets if rows is None else data.offsets.rows(rows)
        weights = problem.collect_weights(state.weights, used_offsets.for_size_one)
        fitted = Fitted(
            weights_prior=weights_prior,
            topics_prior=topics_prior,
            weights=without_terms(weights),
            topics=topics_for_new_samples(
                topics_prior, topics or state.topics, by_row=online is None
            ),
            offsets=data.offsets,
            copies=data.copies,
            sample_totals=data.counts.sample_totals,
            feature_totals=problem.X.feature_totals,
            has_missing=data.counts.missing is not None,
            divergence=divergence,
            objective=state.objective,
            log_likelihood=state.counts.log_likelihood,
            saturated_divergence=problem.X.saturated_divergence,
            history=history,
            converged=converged,
            feature_names=data.feature_names,
            sample_names=data.kept_names,
            online=online,
        )
        if len(fitted.weights.mean) == 0:  # row blocks whose weights are not kept
            return without_rows(fitted)
        if rows is None:
            return fitted
        # Infer the weights of the samples that the problem left out.
        counts: Any = data.counts
        others = np.setdiff1d(np.arange(counts.shape[0]), rows)
        rest = infer(fitted, counts.rows(others), data.offsets.rows(others), others)
        weights = stack_rows([fitted.weights, without_terms(rest)], [rows, others])
        return replace(fitted, weights=weights)


def topics_for_new_samples(prior: Prior, topics: Posterior, *, by_row: bool = True) -> Posterior:
    """Return the topics, row by row in memory, with the effective factor that new samples see."""
    order: Literal["C", "K"] = "C" if by_row else "K"
    parameters, rates = topics.parameters, topics.rates
    return Posterior(
        mean=np.asarray(topics.mean, order=order),
        effective=prior.predictive_factor(topics),
        parameters=None if parameters is None else np.asarray(parameters, order=order),
        rates=None if rates is None else np.asarray(rates, order=order),
        explained=topics.explained,
    )

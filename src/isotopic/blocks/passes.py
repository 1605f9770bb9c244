"""Passes over the data, a block at a time: of a step, and of updates of hyperparameters."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.row_store import BlockRows, StoredRows
from isotopic.blocks.tasks import Added, PlacedBlock
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence
from isotopic.kernels import squared_counts
from isotopic.priors import Evidence, Posterior, Prior, Totals
from isotopic.priors.hyperparameters import CountHistogram
from isotopic.problem import sum_components
from isotopic.registry import register


@register
@dataclass(frozen=True)
class Recipe:
    """How the weights of a block are computed."""

    prior: Prior  # of all samples, as it was when the weights were made: it may learn later
    rows: BlockRows  # expected counts, or with is_value the factor, or its posterior's parameters
    totals: Totals  # of the topics
    is_value: bool = False

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Posterior:
        """Return the weights of a block, with the prior of its rows."""
        prior, values = self.prior.rows(piece.row_numbers), self.rows.of(piece, sample_totals)
        return prior.at(values, self.totals) if self.is_value else prior.absorb(values, self.totals)


@register
@dataclass(frozen=True)
class RecipeRows(BlockRows):
    """The weights that a recipe makes, as rows."""

    recipe: Recipe

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the weights of a block."""
        return self.recipe.of(piece, sample_totals).mean

    def stored(self, store: Any, pieces: Any) -> "RecipeRows":
        """Return the same with the rows of the recipe in a store."""
        rows = self.recipe.rows.stored(store, pieces)
        return RecipeRows(replace(self.recipe, rows=rows))


@register
@dataclass
class Sums:
    """What a pass over some blocks adds up to: as much as the topics are, and a few numbers."""

    topics: Array  # the sums of which the topics' next counts are made
    log_likelihood: float
    term: float  # what the weights add to the objective
    gap: float  # how far the weights are from their optimum,
    mass: float  # and what that is divided by
    scale: Array  # the sum of the weights over the samples, for each component

    def plus(self, later: Self) -> Self:
        """Return the sums with those of later blocks added."""
        # What came from another process cannot be written to.
        out = self.topics if self.topics.flags.writeable else None
        return type(self)(
            np.add(self.topics, later.topics, out=out),
            self.log_likelihood + later.log_likelihood,
            self.term + later.term,
            self.gap + later.gap,
            self.mass + later.mass,
            self.scale + later.scale,
        )


@dataclass(frozen=True)
class BlockPass:
    """The task of a pass: make a block's weights, sum over its data, and store its rows."""

    divergence: Divergence
    recipe: Recipe
    topics: Posterior  # effective topics; the topics themselves if they are point estimates
    totals: Totals  # of these topics
    weights_only: bool  # see Divergence.prepare for this and the next two
    jointly: bool
    rescales: bool
    to: StoredRows  # where the weights' counts go

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Sums:
        """Return the sums of one block."""
        prior = self.recipe.prior.rows(piece.row_numbers)
        weights = self.recipe.of(piece, X.sample_totals)
        found = self.divergence.prepare(X)(
            prior,
            weights,
            self.topics,
            weights_only=self.weights_only,
            jointly=self.jointly,
            rescales=self.rescales,
        )
        self.to.put(piece, found.weights)
        gap = prior.gap(weights, found.weights, self.totals) if np.isnan(found.gap) else found.gap
        return Sums(
            found.topics,
            found.log_likelihood,
            weights.term,
            gap,
            found.mass,
            sum_components(weights, prior.copies),
        )


@dataclass(frozen=True)
class BlockedEvidence:
    """The :class:`~isotopic.priors.Evidence` of all blocks."""

    counts: BlockRows  # expected counts of the weights, which are in a store
    squares: BlockRows | None  # the sums of squared responsibilities
    totals: Totals  # of the topics

    def of(self, piece: PlacedBlock) -> Evidence:
        """Return the evidence of a block."""
        unused = np.empty(0)  # rows in a store do not need the totals of samples
        squares = None if self.squares is None else self.squares.of(piece, unused)
        return Evidence(self.counts.of(piece, unused), squares, self.totals)


@dataclass(frozen=True)
class SumStatistics:
    """The task that sums sufficient statistics of the weights' prior; it reads no counts."""

    prior: Prior  # of the weights of all samples
    evidence: BlockedEvidence

    def __call__(self, piece: PlacedBlock, X: Any) -> Added:
        """Return the sufficient statistics of one block."""
        prior: Any = self.prior.rows(piece.row_numbers)
        return Added(prior.sufficient_statistics(self.evidence.of(piece)))


@dataclass(frozen=True)
class SumEntries:
    """The task that sums sufficient statistics of the divergence."""

    divergence: Divergence
    recipe: Recipe
    topics: Posterior

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        """Return the sufficient statistics of one block."""
        weights = self.recipe.of(piece, X.sample_totals)
        return Added(self.divergence.sufficient_statistics(X, weights, self.topics))


@dataclass(frozen=True)
class SumHistograms:
    """The task that sums histograms of the weights' expected counts; it reads no counts."""

    prior: Prior  # of the weights of all samples
    evidence: BlockedEvidence

    def __call__(self, piece: PlacedBlock, X: Any) -> CountHistogram:
        """Return the histogram of one block."""
        prior: Any = self.prior.rows(piece.row_numbers)
        histogram: CountHistogram = prior.histogram(self.evidence.of(piece))
        return histogram


@dataclass(frozen=True)
class Squares:
    """The task that sums squared responsibilities, which takes a pass over the data."""

    prior: Prior  # of the weights of all samples
    recipe: Recipe  # of the weights
    topics: Array  # effective topics
    evidence: BlockedEvidence  # without squares
    to: StoredRows  # where the squares of the samples go,
    entries: StoredRows  # and their self-contributions

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        """Store the squares of one block's samples, and return those of the topics."""
        weights = self.recipe.of(piece, X.sample_totals)
        squares, of_topics = squared_counts(X, weights.effective, self.topics)
        self.to.put(piece, squares)
        evidence = self.evidence.of(piece)._replace(squares=squares)
        if self.prior.needs_squares:
            prior: Any = self.prior.rows(piece.row_numbers)
            self.entries.put(piece, prior.self_contribution_of(evidence))
        return Added(of_topics)

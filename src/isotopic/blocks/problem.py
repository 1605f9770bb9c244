"""Problems whose data is in row blocks: the same sums, and weights that are made when needed."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.memory import Memory
from isotopic.blocks.passes import (
    BlockedEvidence,
    BlockPass,
    Recipe,
    RecipeRows,
    Squares,
    SumEntries,
    SumHistograms,
    Sums,
    SumStatistics,
)
from isotopic.blocks.row_store import Extrapolated, RowsByNumber, RowsInMemory, StoredRows
from isotopic.divergences import Divergence
from isotopic.divergences.base import PassSums
from isotopic.kernels import Counts
from isotopic.priors import Evidence, Posterior, Prior, Totals
from isotopic.priors.hyperparameters import update_repeatedly
from isotopic.problem import Finish, Problem, sum_components
from isotopic.registry import register


@register
@dataclass
class BlockedWeights:
    """The weights of all samples as a recipe; it stands for a Posterior."""

    recipe: Recipe
    sums: Sums | None = None  # of the pass that used them; None before the first
    stands_for: ClassVar[type] = Posterior

    @property
    def term(self) -> float:
        """The term of this side in the objective."""
        assert self.sums is not None
        return self.sums.term


@dataclass(frozen=True)
class BlockedProblem(Problem):
    """A problem whose data is in row blocks.

    Solvers need only the expected counts of the weights, which they pass back to be absorbed, and
    sums over them. So here the counts are rows in a store, and weights are a recipe that is used
    block by block during a pass: no array has a row for each sample.

    Parameters
    ----------
    weights, topics : Prior
    X : BlockedCounts
    n_components : int
    memory : Memory or None, default=None
        What the fit uses, shared by problems that differ in their priors only; by default its own.
    """

    X: BlockedCounts  # type: ignore[assignment] # which stands for a CountMatrix
    memory: Memory = None  # type: ignore[assignment] # until __post_init__ makes it

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topics.is_learned and self.topics.norm not in (None, 1.0):
            raise ValueError(
                "Topics of unit l_p norm with p > 1 need X in memory. For row blocks use topics "
                "that sum to one (norm='l1')."
            )
        if self.memory is None:
            memory = Memory(self.X, self.n_components, self.weights)
            object.__setattr__(self, "memory", memory)

    def expected_counts(
        self,
        weights: Any,
        topics: Posterior,
        *,
        weights_only: bool = False,
        jointly: bool = True,
    ) -> Counts:
        """Make a pass over the data, and return what both sides absorb next."""
        to: Any = StoredRows(self.memory.store)
        task = BlockPass(
            self.divergence,
            self._shareable(weights.recipe),
            Posterior(topics.effective, topics.effective),
            self.topics_totals(topics),
            weights_only,
            jointly and self.divergence.is_joint,
            self.topics.is_normalized and self.topics.is_learned,
            to,
        )
        sums = self.X.engine.total(task, self.X.pieces)
        weights.sums = replace(sums, topics=sums.topics[:0])  # not needed with the weights
        order = np.asfortranarray if sums.topics.ndim == 2 else np.ascontiguousarray
        found = PassSums(to, order(sums.topics), sums.log_likelihood, sums.gap, sums.mass)
        return self.divergence.counts(found, self.topics, topics)

    def with_updated_hyperparameters(self, state: Any) -> Self:
        """Return the problem with hyperparameters updated from the counts at a point."""
        counts, store, pieces = state.counts, self.memory.store, self.X.pieces
        rows = counts.weights.stored(store, pieces) if self.X.engine.shared else counts.weights
        evidence = BlockedEvidence(rows, None, self.topics_totals(state.topics))
        prior: Any = self.weights
        topic_squares, table = None, None
        if prior.needs_squares:
            prior = prior.with_self_contribution(None)
        if self.weights.needs_squares or self.topics.needs_squares:
            recipe, of_topics = self._shareable(state.weights.recipe), state.topics.effective
            to, entries = StoredRows(store), StoredRows(store)
            squares = Squares(prior, recipe, of_topics, evidence, to, entries)
            topic_squares = np.asfortranarray(self.X.engine.total(squares, pieces).values)
            evidence = replace(evidence, squares=to)
            table = RowsByNumber(entries, tuple(piece.start for piece in pieces))
        topics = self.topics.with_updated_hyperparameters(
            Evidence(counts.topics, topic_squares, self.weights_totals(state.weights))
        )
        prior = self._update_weights_prior(prior, evidence)
        weights = prior.with_self_contribution(table) if prior.needs_squares else prior
        divergence = self.divergence.with_updated_hyperparameters(partial(self._entries, state))
        return replace(self, weights=weights, topics=topics, divergence=divergence)

    def _entries(self, state: Any, divergence: Divergence) -> Array:
        """Return the sufficient statistics of a divergence, summed over all blocks."""
        task = SumEntries(divergence, self._shareable(state.weights.recipe), state.topics)
        statistics: Array = self.X.engine.total(task, self.X.pieces).values
        return statistics

    def _update_weights_prior(self, prior: Any, evidence: BlockedEvidence) -> Any:
        """Return the weights' prior with hyperparameters updated by sums over all blocks."""
        if not prior.learns or prior.learn is None:
            return prior
        if prior.uses_histogram(self.n_components):
            histograms = SumHistograms(prior, evidence)
            return prior.with_histogram(self.X.engine.total(histograms, self.X.pieces, read=False))

        def sufficient_statistics(now: Prior) -> Array:
            task = SumStatistics(now, evidence)
            statistics: Array = self.X.engine.total(task, self.X.pieces, read=False).values
            return statistics

        return update_repeatedly(prior, sufficient_statistics)

    def weights_from(self, counts: Any, totals: Totals, *, is_value: bool = False) -> Any:
        """Return the weights that their prior makes of counts, or of values, when needed."""
        rows = RowsInMemory(counts) if isinstance(counts, np.ndarray) else counts
        return BlockedWeights(Recipe(self.weights, rows, totals, is_value))

    def extrapolate_weights(
        self, latest: Any, previous: Any, *, momentum: float, floor: float
    ) -> Any:
        """Return the weights' counts, extrapolated when they are needed."""
        return Extrapolated(self.divergence, latest, previous, momentum, floor)

    def hand_over_scale(self, weights: Any, topics: Posterior) -> tuple[Any, Posterior]:
        """Multiply the weights by the norms that the topics were divided by."""
        if topics.scale is None:
            return weights, topics
        recipe = weights.recipe
        rows = recipe.rows if recipe.is_value else RecipeRows(recipe)
        scaled = Recipe(recipe.prior, rows.scaled(topics.scale), 1.0, is_value=True)
        return BlockedWeights(scaled), replace(topics, scale=None)

    def weights_gap(self, weights: Any, topics: Posterior, counts: Counts) -> float:
        """Return the gap that the last pass measured."""
        gap: float = weights.sums.gap
        return gap

    def component_sums(self, weights: Any) -> Array:
        """Return the sum of each component's weights over the samples, with sample weights."""
        if weights.sums is not None:
            scale: Array = weights.sums.scale
            return scale
        parts = (
            sum_components(self._of(weights, piece), self.weights.rows(piece.row_numbers).copies)
            for piece in self.X.pieces
        )
        return np.asarray(sum(parts))

    def _of(self, weights: BlockedWeights, piece: Any) -> Posterior:
        return weights.recipe.of(piece, self.X.sample_totals[piece.rows])

    def _shareable(self, recipe: Recipe) -> Recipe:
        """Return the recipe with its rows where all processes can read them."""
        if not self.X.engine.shared:
            return recipe
        return replace(recipe, rows=recipe.rows.stored(self.memory.store, self.X.pieces))

    def collect_weights(self, weights: Any, finish: Finish) -> Posterior:
        """Return the weights of all samples as arrays: in memory, in files, or none at all."""
        made: dict[str, Any] = {}
        if not self.X.blocks.keep_weights:
            first = self._of(weights, self.X.pieces[0])
            for name in _ARRAYS:
                rows = getattr(first, name)
                made[name] = None if rows is None else rows[:0].copy()
            return Posterior(**made)
        for piece in self.X.pieces:
            part = finish(self._of(weights, piece), piece.rows)
            for name in _ARRAYS:
                rows = getattr(part, name)
                if rows is None or (name == "effective" and part.effective is part.mean):
                    continue
                if name not in made:
                    shape = (self.X.shape[0], rows.shape[1])
                    made[name] = self.memory.new_weights(name, shape, rows.dtype)
                made[name][piece.rows] = rows
        made.setdefault("effective", made["mean"])
        return Posterior(**made)


_ARRAYS = ("mean", "effective", "parameters", "rates", "explained")

"""A problem whose data is in row blocks: the same sums, and weights that are made when needed."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.block_pass import Recipe, Sums, Sweep
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.hyperparameters import BlockedEvidence, Squares, Tally
from isotopic.blocks.memory import Memory
from isotopic.blocks.row_store import Extrapolated, RowsByNumber, RowsInMemory, StoredRows
from isotopic.counts import CountMatrix
from isotopic.kernels import Counts
from isotopic.priors import Evidence, Posterior, Prior, Totals
from isotopic.priors.hyperparameters import settled
from isotopic.problem import Finish, Problem, as_it_is, component_sums


@dataclass
class BlockedWeights:
    """The weights of all samples, as a recipe: it stands for a Posterior.

    Attributes
    ----------
    recipe : Recipe
    sums : Sums or None
        Of the pass that used them; ``None``: none did yet.
    """

    recipe: Recipe
    sums: Sums | None = None

    @property
    def term(self) -> float:
        """What this side adds to the objective."""
        assert self.sums is not None
        return self.sums.term


@dataclass(frozen=True)
class BlockedProblem(Problem):
    """A problem whose data is in row blocks.

    All that solvers ask of the weights are expected counts, which they hand back to be absorbed,
    and sums. So here the counts are :class:`~isotopic.blocks.row_store.BlockRows` in a store, and
    weights are a recipe that is followed block by block during a pass: no array has a row for each
    sample.

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
        if self.topics.learned and self.topics.norm not in (None, 1.0):
            raise ValueError(
                "topics of a unit norm other than their sum need X in memory: for row blocks use "
                "topics that sum to one"
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
    ) -> Counts:
        """Share out the counts at this point: a pass over the data."""
        to = StoredRows.new(self.memory.store)
        sweep = Sweep(
            self._settled(weights.recipe),
            topics.effective,
            self.topics_totals(topics),
            weights_only,
            to,
        )
        sums = self.X.engine.total(sweep, self.X.pieces)
        weights.sums = replace(sums, topics=sums.topics[:0])  # nobody asks the weights for them
        counts: Any = to
        return Counts(counts, np.asfortranarray(sums.topics), sums.log_likelihood)

    def with_updated_hyperparameters(self, state: Any) -> Self:
        """Give the problem with the settings that the priors learn from the counts at a point."""
        counts, store, pieces = state.counts, self.memory.store, self.X.pieces
        rows = counts.weights.stored(store, pieces) if self.X.engine.shared else counts.weights
        evidence = BlockedEvidence(rows, None, self.topics_totals(state.topics))
        prior, topic_squares, table = self.weights.with_self_contribution(None), None, None
        if self.weights.needs_squares or self.topics.needs_squares:
            recipe, of_topics = self._settled(state.weights.recipe), state.topics.effective
            to, entries = StoredRows.new(store), StoredRows.new(store)
            squares = Squares(prior, recipe, of_topics, evidence, to, entries)
            topic_squares = np.asfortranarray(self.X.engine.total(squares, pieces).values)
            evidence = replace(evidence, squares=to)
            table = RowsByNumber(entries, tuple(piece.start for piece in pieces))
        topics = self.topics.with_updated_hyperparameters(
            Evidence(counts.topics, topic_squares, self.weights_totals(state.weights))
        )
        weights = self._taught(prior, evidence).with_self_contribution(table)
        return replace(self, weights=weights, topics=topics)

    def _taught(self, prior: Prior, evidence: BlockedEvidence) -> Prior:
        """Update the settings of the weights' prior, by sums over all blocks."""
        if not prior.learns_from_statistics:
            return prior

        def update(now: Prior) -> Prior:
            tally = self.X.engine.total(Tally(now, evidence), self.X.pieces, read=False)
            return now.with_statistics(tally.values)

        return settled(update, prior, lambda now, before: now.changed_since(before))

    def weights_at(self, values: Array, totals: Totals) -> Any:
        """Take ``values`` as the weights, or as their posterior's parameters."""
        return BlockedWeights(Recipe(self.weights, RowsInMemory(values), totals, given=True))

    def _weights_of(self, counts: Any, totals: Totals) -> Any:
        rows = RowsInMemory(counts) if isinstance(counts, np.ndarray) else counts
        return BlockedWeights(Recipe(self.weights, rows, totals))

    def extrapolated_weights(
        self, latest: Any, previous: Any, *, momentum: float, floor: float
    ) -> Any:
        """Take the weights' expected counts further, when they are asked for."""
        return Extrapolated(latest, previous, momentum, floor)

    def _weights_gap(self, weights: Any, topics: Posterior, counts: Counts) -> float:
        gap: float = weights.sums.gap
        return gap

    def _scale_of(self, weights: Any) -> Array:
        if weights.sums is not None:
            scale: Array = weights.sums.scale
            return scale
        parts = (
            component_sums(self._of(weights, piece), self.weights.rows(piece.row_numbers).copies)
            for piece in self.X.pieces
        )
        return np.asarray(sum(parts))

    def _of(self, weights: BlockedWeights, piece: Any) -> Posterior:
        return weights.recipe.of(piece, self.X.sample_totals[piece.rows])

    def _settled(self, recipe: Recipe) -> Recipe:
        """Put what only this process has where all can see it."""
        if not self.X.engine.shared:
            return recipe
        return replace(recipe, rows=recipe.rows.stored(self.memory.store, self.X.pieces))

    def whole(self, weights: Any, finished: Finish = as_it_is) -> Posterior:
        """Give the weights of all samples as arrays: in memory, in files, or none at all."""
        if not self.X.blocks.keep_weights:
            return _without_rows(self._of(weights, self.X.pieces[0]))
        made: dict[str, Any] = {}
        for piece in self.X.pieces:
            part = finished(self._of(weights, piece), piece.rows)
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


def _without_rows(part: Posterior) -> Posterior:
    arrays: dict[str, Any] = {name: getattr(part, name) for name in _ARRAYS}
    none: dict[str, Any] = {n: None if a is None else a[:0].copy() for n, a in arrays.items()}
    return Posterior(**none)


def problem_of(weights: Prior, topics: Prior, X: Any, n_components: int) -> Problem:
    """Make the problem for data of either form."""
    form = Problem if isinstance(X, CountMatrix) else BlockedProblem
    return form(weights, topics, X, n_components)

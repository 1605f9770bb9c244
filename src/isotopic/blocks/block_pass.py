"""A pass over the data, a block at a time: weights are made, used and measured together."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.row_store import BlockRows, StoredRows
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence
from isotopic.priors import Posterior, Prior, Totals
from isotopic.problem import sum_components
from isotopic.registry import register


@register
@dataclass(frozen=True)
class Recipe:
    """How the weights of a block are made.

    Attributes
    ----------
    prior : Prior
        Of the weights of all samples, as it was when they were made: it may learn later.
    rows : BlockRows
        Expected counts; or with ``is_value`` the factor itself, or its posterior's parameters.
    totals : float or ndarray of shape (components,)
        Of the topics.
    is_value : bool
    """

    prior: Prior
    rows: BlockRows
    totals: Totals
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
    """What a pass over some blocks adds up to: as much as the topics are, and a few numbers.

    Attributes
    ----------
    topics : ndarray
        The sums of which the topics' next counts are made.
    log_likelihood : float
    term : float
        What the weights add to the objective.
    gap, mass : float
        How far the weights are from their optimum, and what that is divided by.
    scale : ndarray of shape (components,)
        The sums of the weights over the samples.
    """

    topics: Array
    log_likelihood: float
    term: float
    gap: float
    mass: float
    scale: Array

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
    """The task of a pass: make a block's weights, sum over its data, and store its rows.

    Parameters
    ----------
    divergence : Divergence
    recipe : Recipe
    topics : Posterior
        Effective topics, which are the topics themselves where they are points.
    totals : float or ndarray of shape (components,)
        Of these topics.
    weights_only, jointly, rescales : bool
        See :meth:`~isotopic.divergences.Divergence.prepare`.
    to : StoredRows
        Where the weights' counts go.
    """

    divergence: Divergence
    recipe: Recipe
    topics: Posterior
    totals: Totals
    weights_only: bool
    jointly: bool
    rescales: bool
    to: StoredRows

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

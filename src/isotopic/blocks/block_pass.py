"""A pass over the data, a block at a time: the weights are made, used and measured together."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.row_store import BlockRows, StoredRows
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import CountMatrix
from isotopic.kernels import one_pass
from isotopic.priors import Posterior, Prior, Totals
from isotopic.problem import component_sums


@dataclass(frozen=True)
class Recipe:
    """How the weights of a block are made.

    Attributes
    ----------
    prior : Prior
        Of the weights of all samples, as it was when they were made: it may learn later.
    rows : BlockRows
        Expected counts; or the factor itself, or its parameters, if it was ``given``.
    totals : float or ndarray of shape (components,)
        Of the topics.
    given : bool
    """

    prior: Prior
    rows: BlockRows
    totals: Totals
    given: bool = False

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Posterior:
        """Make the weights of a block, with the prior of its rows."""
        prior, values = self.prior.rows(piece.row_numbers), self.rows.of(piece, sample_totals)
        return prior.at(values, self.totals) if self.given else prior.absorb(values, self.totals)


@dataclass
class Sums:
    """What a pass over some blocks adds up to: as much as the topics are, and a few numbers.

    Attributes
    ----------
    topics : ndarray of shape (components, features)
        Their expected counts.
    log_likelihood : float
    term : float
        What the weights add to the objective.
    gap : float
        How far the weights are from what they would make of their new counts.
    scale : ndarray of shape (components,)
        The sums of the weights over the samples.
    """

    topics: Array
    log_likelihood: float
    term: float
    gap: float
    scale: Array

    def plus(self, later: Self) -> Self:
        """Add the sums of blocks that come later."""
        # What came from another process cannot be written to.
        out = self.topics if self.topics.flags.writeable else None
        return type(self)(
            np.add(self.topics, later.topics, out=out),
            self.log_likelihood + later.log_likelihood,
            self.term + later.term,
            self.gap + later.gap,
            self.scale + later.scale,
        )


@dataclass(frozen=True)
class Sweep:
    """The task of a pass: make a block's weights, share out its counts, and keep those of its rows.

    Parameters
    ----------
    recipe : Recipe
    topics : ndarray of shape (components, features)
        Effective topics.
    totals : float or ndarray of shape (components,)
        Of these topics.
    weights_only : bool
        Whether the topics' counts are left out.
    to : StoredRows
        Where the weights' counts go.
    """

    recipe: Recipe
    topics: Array
    totals: Totals
    weights_only: bool
    to: StoredRows

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Sums:
        """Do it for one block."""
        prior = self.recipe.prior.rows(piece.row_numbers)
        weights = self.recipe.of(piece, X.sample_totals)
        counts = one_pass(
            X,
            weights.effective,
            self.topics,
            weights_only=self.weights_only,
            proportions=prior.is_normalized,
        )
        self.to.put(piece, counts.weights)
        return Sums(
            counts.topics,
            counts.log_likelihood,
            weights.term,
            prior.gap(weights, counts.weights, self.totals),
            component_sums(weights, prior.copies),
        )

"""What the prior of the weights learns from the samples of all blocks, a block at a time."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.block_pass import Recipe
from isotopic.blocks.row_store import BlockRows, StoredRows
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import CountMatrix
from isotopic.kernels import squared_counts
from isotopic.priors import Evidence, Prior, Totals


@dataclass
class Added:
    """An array of which there is one for each block, and a sum."""

    values: Array

    def plus(self, later: Self) -> Self:
        """Add that of blocks that come later."""
        return type(self)(self.values + later.values)


@dataclass(frozen=True)
class BlockedEvidence:
    """What the prior of the weights learns from; it stands for :class:`~isotopic.priors.Evidence`.

    Attributes
    ----------
    counts : BlockRows
        Their expected counts, which are in a store.
    squares : BlockRows or None
        The sums of squared responsibilities.
    totals : float or ndarray of shape (components,)
        Of the topics.
    """

    counts: BlockRows
    squares: BlockRows | None
    totals: Totals

    def of(self, piece: PlacedBlock) -> Evidence:
        """Give that of a block."""
        unused = np.empty(0)  # totals of samples, which what is in a store does not ask for
        squares = None if self.squares is None else self.squares.of(piece, unused)
        return Evidence(self.counts.of(piece, unused), squares, self.totals)


@dataclass(frozen=True)
class Tally:
    """The task of adding up what an update of the prior's settings needs: no counts are read.

    Parameters
    ----------
    prior : Prior
        Of the weights of all samples.
    evidence : BlockedEvidence
    """

    prior: Prior
    evidence: BlockedEvidence

    def __call__(self, piece: PlacedBlock, X: Any) -> Added:
        """Do it for one block."""
        prior: Any = self.prior.rows(piece.row_numbers)
        return Added(prior.sufficient_statistics(self.evidence.of(piece)))


@dataclass(frozen=True)
class Squares:
    """The task of squaring responsibilities, which takes a pass over the data.

    Parameters
    ----------
    prior : Prior
        Of the weights of all samples, that learns.
    recipe : Recipe
        Of the weights.
    topics : ndarray of shape (components, features)
        Effective topics.
    evidence : BlockedEvidence
        But for the squares.
    to, entries : StoredRows
        Where the squares of the samples go, and what the prior learns of each entry.
    """

    prior: Prior
    recipe: Recipe
    topics: Array
    evidence: BlockedEvidence
    to: StoredRows
    entries: StoredRows

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        """Do it for one block; give the squares of the topics."""
        weights = self.recipe.of(piece, X.sample_totals)
        squares, of_topics = squared_counts(X, weights.effective, self.topics)
        self.to.put(piece, squares)
        evidence = self.evidence.of(piece)._replace(squares=squares)
        if self.prior.needs_squares:
            prior: Any = self.prior.rows(piece.row_numbers)
            self.entries.put(piece, prior.self_contribution_of(evidence))
        return Added(of_topics)

"""Tasks that update the hyperparameters of the weights' prior, a block at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.block_pass import Recipe
from isotopic.blocks.row_store import BlockRows, StoredRows
from isotopic.blocks.tasks import Added, PlacedBlock
from isotopic.counts import CountMatrix
from isotopic.kernels import squared_counts
from isotopic.priors import Evidence, Prior, Totals


@dataclass(frozen=True)
class BlockedEvidence:
    """The :class:`~isotopic.priors.Evidence` of all blocks.

    Attributes
    ----------
    counts : BlockRows
        Expected counts of the weights, which are in a store.
    squares : BlockRows or None
        The sums of squared responsibilities.
    totals : float or ndarray of shape (components,)
        Of the topics.
    """

    counts: BlockRows
    squares: BlockRows | None
    totals: Totals

    def of(self, piece: PlacedBlock) -> Evidence:
        """Return the evidence of a block."""
        unused = np.empty(0)  # rows in a store do not need the totals of samples
        squares = None if self.squares is None else self.squares.of(piece, unused)
        return Evidence(self.counts.of(piece, unused), squares, self.totals)


@dataclass(frozen=True)
class SumStatistics:
    """The task that sums sufficient statistics of the weights' prior; it reads no counts.

    Parameters
    ----------
    prior : Prior
        Of the weights of all samples.
    evidence : BlockedEvidence
    """

    prior: Prior
    evidence: BlockedEvidence

    def __call__(self, piece: PlacedBlock, X: Any) -> Added:
        """Return the sufficient statistics of one block."""
        prior: Any = self.prior.rows(piece.row_numbers)
        return Added(prior.sufficient_statistics(self.evidence.of(piece)))


@dataclass(frozen=True)
class Squares:
    """The task that sums squared responsibilities, which takes a pass over the data.

    Parameters
    ----------
    prior : Prior
        Of the weights of all samples.
    recipe : Recipe
        Of the weights.
    topics : ndarray of shape (components, features)
        Effective topics.
    evidence : BlockedEvidence
        Without squares.
    to, entries : StoredRows
        Where the squares of the samples and their self-contributions go.
    """

    prior: Prior
    recipe: Recipe
    topics: Array
    evidence: BlockedEvidence
    to: StoredRows
    entries: StoredRows

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

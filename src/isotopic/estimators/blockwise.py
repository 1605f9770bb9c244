"""What a fitted model does with new samples, block by block."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks import PlacedBlock
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.tasks import A, Task
from isotopic.counts import CountMatrix
from isotopic.estimators.offsets import NOTHING_KNOWN, Offsets
from isotopic.kernels import normalized, row_pass
from isotopic.threads import use_threads

_OF_SAMPLES = (
    "weights_",
    "weights_posterior_",
    "weights_posterior_rate_",
    "_effective_weights",
    "_weights_explained",
    "sample_totals_",
    "_copies",
)


def over_blocks(model: Any, counts: BlockedCounts, task: Callable[[Any], Task[A]]) -> A:
    """Do what a task does with a model to all blocks; give the sum.

    The model that the task is given knows nothing of the samples that it was fitted to.
    """
    engine, pieces = counts.engine, counts.pieces
    other = copy(model)
    other.callbacks = None
    for name in _OF_SAMPLES:
        setattr(other, name, None)
    with use_threads(model.n_jobs):
        if engine.concurrent_blocks(len(pieces)) > 1:  # the threads are for the blocks
            other.n_jobs = 1
        return engine.total(task(other), pieces)


@dataclass
class Stacked:
    """Arrays of rows, one below the other."""

    parts: list[Array]

    def plus(self, later: Self) -> Self:
        """Put later rows below."""
        return type(self)(self.parts + later.parts)


@dataclass(frozen=True)
class Transform:
    """The task of inferring weights.

    Parameters
    ----------
    model : fitted model
    offsets : Offsets
        What is known of all samples.
    """

    model: Any
    offsets: Offsets

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Stacked:
        """Do it for one block."""
        offsets = self.offsets.rows(piece.rows)
        return Stacked([self.model._infer(X, offsets, piece.row_numbers).mean])


@dataclass
class Scored:
    """The log-likelihood of some samples, and how many of them are impossible."""

    log_likelihood: float
    impossible: int

    def plus(self, later: Self) -> Self:
        """Add those of other samples."""
        return type(self)(
            self.log_likelihood + later.log_likelihood, self.impossible + later.impossible
        )


@dataclass(frozen=True)
class Score:
    """The task of scoring.

    Parameters
    ----------
    model : fitted model
    times : ndarray of shape (samples,)
        How often each sample counts.
    offsets : Offsets
        What is known of all samples.
    """

    model: Any
    times: Array
    offsets: Offsets

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Scored:
        """Do it for one block."""
        offsets = self.offsets.rows(piece.rows)
        times = self.times[piece.rows]
        return score_rows(self.model, X.as_sparse(), times, offsets, piece.row_numbers)


def score_rows(
    model: Any,
    X: CountMatrix,
    times: Array,
    offsets: Offsets = NOTHING_KNOWN,
    which: Array | None = None,
) -> Scored:
    """Infer the weights of samples, and give their features probabilities by them."""
    weights, topics = model._infer(X, offsets, which).mean, model.components_.astype(X.dtype)
    shares = normalized(np.ascontiguousarray(weights * topics.sum(axis=1)))
    with use_threads(model.n_jobs):
        by_sample = row_pass(X, shares, normalized(topics), proportions=True)[1]
    some = times > 0
    impossible = int(np.count_nonzero(np.isneginf(by_sample[some])))
    return Scored(float(by_sample[some] @ times[some]), impossible)

"""How a limit on memory is kept: what stays, what goes to files, what is read again."""

import os
import weakref
from typing import Any
from uuid import uuid4

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.cache import INDEX_BYTES
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.engine import FEWEST_TOGETHER, LocalEngine
from isotopic.blocks.row_store import FolderStore, MemoryStore, Store
from isotopic.priors import Prior
from isotopic.threads import current_threads

# Arrays of the size of the topics that a fit holds at most: those of both sides of a step, the
# pass's own copies, and the sums of a few subtrees of blocks.
_TOPICS = 20

# Arrays with a row for each sample: the last three expected counts, and the new ones.
_ROWS = 4

# The same where priors learn from squares: these, and what was learned of each entry twice.
_ROWS_OF_SQUARES = 3

# Arrays that a fitted model keeps of the weights: a point is one, a posterior has parameters too.
_KEPT_OF_POINTS, _KEPT_OF_POSTERIORS = 1, 5

# Python, NumPy, SciPy and scikit-learn themselves.
_LIBRARIES = 200 * 10**6

# What a block takes that is read and worked on: in the form of its files, joined, converted and
# indexed; or straight in the last form; and what the allocator holds.
_COPIES_IN_PASSING, _STRAIGHT_IN_PASSING = 2.5, 2.0

# What may be used so that every thread has a block of its own: a share of the limit, or without one
# as much as the data takes. Each thread then has its own copies of the topics and of their sums.
_SHARE_IN_PASSING = 0.25
_TOPICS_OF_A_THREAD = 4

# Of an entry, besides its count: its feature, and its place in the index.
_FEATURE_AND_INDEX_BYTES = 4 + INDEX_BYTES

# For a start that is found with samples in memory: what it takes at most, whatever the limit; for
# each count, to be picked, indexed and decomposed; and arrays with a row for each sample.
_MOST_FOR_SAMPLES = 2**29
_BYTES_A_COUNT = 64
_ARRAYS_OF_SAMPLES = 12


class Memory:
    """What one fit may use.

    Parameters
    ----------
    X : BlockedCounts
    n_components : int
    weights : Prior
        Of the weights.

    Attributes
    ----------
    store : Store
        For what the samples need from one pass to the next.
    n_sampled : int
        How many samples may be in memory together, before the first pass.

    Raises
    ------
    ValueError
        If the limit is too small for the topics and the blocks, with what it would need.
    """

    def __init__(self, X: BlockedCounts, n_components: int, weights: Prior) -> None:
        self.X = X
        limit, on_disk, room = X.blocks.memory_limit, X.blocks.scratch is not None, None
        if limit is not None and not X.engine.shared:
            each = X.shape[0] * n_components * X.dtype.itemsize
            kept = each * (_KEPT_OF_POSTERIORS if weights.is_bayesian else _KEPT_OF_POINTS)
            rows = each * (_ROWS + (_ROWS_OF_SQUARES if weights.needs_squares else 0))
            if on_disk or not X.blocks.keep_weights:
                kept = 0
            needed = _needed(X, n_components)
            _check_limit(limit, needed, kept)
            on_disk = on_disk or needed + kept + rows > limit
            room = max(0, limit - needed - kept - (0 if on_disk else rows))
        if isinstance(X.engine, LocalEngine):
            X.engine.room.size = room
            X.engine.most_together = _together(X, n_components)
        self.n_sampled = _n_sampled(X, n_components, room)
        self.store: Store = MemoryStore()
        if on_disk or X.engine.shared:
            folder = FolderStore.new(X.blocks.scratch)
            self.store = folder
            weakref.finalize(self, folder.close)
            X.engine.check_sees(folder.folder)

    def kept(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Give an array for the fitted weights: in the scratch folder if there is one."""
        if self.X.blocks.scratch is None:
            return np.empty(shape, dtype)
        # Under a new name: an earlier model may still look at the files of its fit.
        path = os.path.join(self.X.blocks.scratch, f"weights-{name}-{uuid4().hex}.npy")
        mapped: Array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        return mapped


def _n_sampled(X: BlockedCounts, n_components: int, room: int | None) -> int:
    """Count the samples that fit, with what is made of them."""
    counts = sum(piece.form.entries for piece in X.pieces if piece.form is not None)
    each = _BYTES_A_COUNT * counts / X.shape[0]
    each += _ARRAYS_OF_SAMPLES * n_components * X.dtype.itemsize
    most = _MOST_FOR_SAMPLES if room is None else min(room, _MOST_FOR_SAMPLES)
    return min(X.shape[0], int(most / each))


def _together(X: BlockedCounts, n_components: int) -> int:
    """Choose how many blocks may be in memory besides those that stay."""
    limit, forms = X.blocks.memory_limit, (piece.form for piece in X.pieces)
    if limit is None:
        entries = sum(form.entries for form in forms if form is not None)
        usable = float(entries * (X.dtype.itemsize + _FEATURE_AND_INDEX_BYTES))
    else:
        usable = _SHARE_IN_PASSING * limit
    each = _in_passing(X) + _TOPICS_OF_A_THREAD * _topics_bytes(X, n_components)
    return max(FEWEST_TOGETHER, int(usable / each))


def _in_passing(X: BlockedCounts) -> float:
    """Give the bytes of the largest block while it is read and worked on."""
    straight = all(piece.comes_straight for piece in X.pieces)
    return (_STRAIGHT_IN_PASSING if straight else _COPIES_IN_PASSING) * X.largest_block


def _topics_bytes(X: BlockedCounts, n_components: int) -> int:
    return int(X.shape[1] * n_components * X.dtype.itemsize)


def _needed(X: BlockedCounts, n_components: int) -> int:
    """Add up what a fit cannot do without."""
    threads, topics = current_threads(), _topics_bytes(X, n_components)
    further = 0  # blocks at a time, beyond the fewest
    if FEWEST_TOGETHER < threads <= _together(X, n_components):
        further = threads - FEWEST_TOGETHER
    arrays = _TOPICS + _TOPICS_OF_A_THREAD * further
    passing = (FEWEST_TOGETHER + further) * _in_passing(X)
    return int(_LIBRARIES + arrays * topics + passing + 2 * X.sample_totals.nbytes)


def _check_limit(limit: int, needed: int, kept: int) -> None:
    """Raise if a limit cannot be kept."""
    if needed > limit:
        raise ValueError(
            f"memory_limit={limit:,} bytes is too small: topics and blocks of this fit need "
            f"about {needed:,}. Raise it, use fewer components or float32, or cut the data into "
            "smaller blocks"
        )
    if needed + kept > limit:
        raise ValueError(
            f"memory_limit={limit:,} bytes is too small for weights_, which take {kept:,} besides "
            f"the {needed:,} of the fit. Open the blocks with keep_weights=False, or with a "
            "scratch= folder for them"
        )

"""Memory: dividing a memory limit among cache, loaded blocks, weights and samples."""

import os
import tempfile
import weakref
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import numpy as np

from isotopic.arrays import Array
from isotopic.atomic import scratch_folder
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.engine import MIN_CONCURRENT, LocalEngine
from isotopic.blocks.row_store import FolderStore, MemoryStore, Store
from isotopic.counts import INDEX_BYTES
from isotopic.priors import Prior
from isotopic.threads import current_threads

# Arrays of the size of the topics that a fit holds at most: those of two steps, the copies of a
# pass, and the sums of a few subtrees of blocks.
_TOPICS = 20

# Arrays with a row for each sample: the last three expected counts, and the new ones.
_ROWS = 4

# More of these where priors learn from squares: the squares, and two arrays of self-contributions.
_ROWS_OF_SQUARES = 3

# Arrays of weights that a fitted model keeps: one for a point estimate, more for a posterior.
_KEPT_OF_POINTS, _KEPT_OF_POSTERIORS = 1, 5

# Python, NumPy, SciPy and scikit-learn themselves.
_LIBRARIES = 200 * 10**6

# The memory of a block while it is loaded and worked on, in multiples of its final size: as stored,
# joined, converted and indexed; or read in place; and what the allocator holds.
_COPIES_WHILE_LOADED, _IN_PLACE_WHILE_LOADED = 2.5, 2.0

# The memory for blocks of several threads: a share of the limit, or without a limit as much as the
# data takes. Each thread has its own copies of the topics and of their sums.
_SHARE_WHILE_LOADED = 0.25
_TOPICS_PER_THREAD = 4

# Bytes of an entry besides its count: its feature, and its place in the index.
_FEATURE_AND_INDEX_BYTES = 4 + INDEX_BYTES

# An initialisation that needs samples in memory: the most memory that it takes, even under a higher
# limit; bytes per count, which is loaded, indexed and decomposed; arrays with a row per sample.
_MOST_FOR_SAMPLES = 2**29
_BYTES_PER_COUNT = 64
_ARRAYS_PER_SAMPLE = 12


class Memory:
    """The memory of one fit, whose prior of the weights is ``weights``.

    Attributes
    ----------
    store : Store
        For what the samples need from one pass to the next.
    n_sampled : int
        How many samples may be in memory together, before the first pass.
    """

    def __init__(self, X: BlockedCounts, n_components: int, weights: Prior) -> None:
        self.X = X
        limit, on_disk, cache = X.blocks.memory_limit, X.blocks.scratch is not None, None
        if limit is not None and not X.engine.shared:
            each = X.shape[0] * n_components * X.dtype.itemsize
            kept = each * (_KEPT_OF_POSTERIORS if weights.is_bayesian else _KEPT_OF_POINTS)
            rows = each * (_ROWS + (_ROWS_OF_SQUARES if weights.needs_squares else 0))
            if on_disk or not X.blocks.keep_weights:
                kept = 0
            required = _required_bytes(X, n_components)
            _check_limit(limit, required, kept)
            on_disk = on_disk or required + kept + rows > limit
            cache = max(0, limit - required - kept - (0 if on_disk else rows))
        if isinstance(X.engine, LocalEngine):
            X.engine.cache.size = cache
            X.engine.max_concurrent = _max_concurrent(X, n_components)
        self.n_sampled = _n_sampled(X, n_components, cache)
        self.store: Store = MemoryStore()
        if on_disk or X.engine.shared:
            made = ExitStack()  # a folder that the next process deletes if this one is killed
            parent = X.blocks.scratch or tempfile.gettempdir()
            folder = FolderStore(os.fspath(made.enter_context(scratch_folder(parent))))
            made.callback(folder.close)
            self.store = folder
            weakref.finalize(self, made.close)
            X.engine.check_sees(folder.folder)

    def new_weights(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array for the fitted weights: in the scratch folder if there is one."""
        if self.X.blocks.scratch is None:
            return np.empty(shape, dtype)
        # Under a new name: an earlier model may still look at the files of its fit.
        path = os.path.join(self.X.blocks.scratch, f"weights-{name}-{uuid4().hex}.npy")
        mapped: Array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        return mapped


def _n_sampled(X: BlockedCounts, n_components: int, cache: int | None) -> int:
    """Return how many samples can be in memory together, with what is computed from them."""
    each = _BYTES_PER_COUNT * X.entries / X.shape[0]
    each += _ARRAYS_PER_SAMPLE * n_components * X.dtype.itemsize
    most = _MOST_FOR_SAMPLES if cache is None else min(cache, _MOST_FOR_SAMPLES)
    return min(X.shape[0], int(most / each))


def _max_concurrent(X: BlockedCounts, n_components: int) -> int:
    """Return how many blocks may be in memory besides those in the cache."""
    limit = X.blocks.memory_limit
    if limit is None:
        usable = float(X.entries * (X.dtype.itemsize + _FEATURE_AND_INDEX_BYTES))
    else:
        usable = _SHARE_WHILE_LOADED * limit
    each = _bytes_while_loaded(X) + _TOPICS_PER_THREAD * _topics_bytes(X, n_components)
    return max(MIN_CONCURRENT, int(usable / each))


def _bytes_while_loaded(X: BlockedCounts) -> float:
    """Return the bytes of the largest block while it is loaded and worked on."""
    in_place = all(piece.loads_in_place for piece in X.pieces)
    return (_IN_PLACE_WHILE_LOADED if in_place else _COPIES_WHILE_LOADED) * X.largest_block


def _topics_bytes(X: BlockedCounts, n_components: int) -> int:
    return int(X.shape[1] * n_components * X.dtype.itemsize)


def _required_bytes(X: BlockedCounts, n_components: int) -> int:
    """Return the bytes that a fit needs at least."""
    threads, topics = current_threads(), _topics_bytes(X, n_components)
    further = 0  # blocks at the same time, beyond the fewest
    if MIN_CONCURRENT < threads <= _max_concurrent(X, n_components):
        further = threads - MIN_CONCURRENT
    arrays = _TOPICS + _TOPICS_PER_THREAD * further
    loaded = (MIN_CONCURRENT + further) * _bytes_while_loaded(X)
    return int(_LIBRARIES + arrays * topics + loaded + 2 * X.sample_totals.nbytes)


def _check_limit(limit: int, required: int, kept: int) -> None:
    """Raise ValueError if a fit cannot stay within the limit."""
    if required > limit:
        raise ValueError(
            f"memory_limit={limit:,} bytes is too small: the topics and blocks of this fit need "
            f"about {required:,} bytes. Raise it, use fewer components or float32, or use smaller "
            "blocks (block_entries=; formats that are read as a whole also need scratch=)."
        )
    if required + kept > limit:
        raise ValueError(
            f"memory_limit={limit:,} bytes is too small: weights_ needs {kept:,} bytes besides the "
            f"{required:,} bytes of the fit. Raise it, or open the blocks with keep_weights=False "
            "or with a scratch= folder."
        )

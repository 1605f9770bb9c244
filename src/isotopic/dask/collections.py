"""Row blocks of Dask collections: arrays, bags of matrices, delayed matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
import distributed
import numpy as np
from dask.delayed import Delayed
from scipy import sparse

from isotopic.blocks.block import Block, BlockError
from isotopic.dask.cluster import Cluster, size_of


@dataclass(frozen=True)
class DelayedBlock:
    """A row block that a Dask graph computes."""

    name: str
    shape: tuple[int, int]
    delayed: Any  # of a matrix, or of a list of rows and matrices
    held: bool  # whether the workers have it already

    @property
    def entries(self) -> int:
        """Return a large number: the true one is unknown, and the block is never joined."""
        return 2**62

    def load(self) -> Any:
        """Compute the rows in this process."""
        return as_matrix(dask.compute(self.delayed, scheduler="synchronous")[0])


def blocks_of(collection: Any) -> Sequence[Block]:
    """Return the row blocks of a Dask array, of a bag of matrices, or of delayed matrices."""
    delayed = collection if isinstance(collection, (list, tuple)) else [collection]
    if all(isinstance(part, Delayed) for part in delayed):
        return _of_delayed(delayed, any(map(_has_futures, delayed)), "list")
    if hasattr(collection, "chunks"):
        return _of_array(collection)
    held = _has_futures(collection)
    return _of_delayed(_parts(collection, held), held, type(collection).__name__)


def _of_delayed(parts: Sequence[Any], held: bool, name: str) -> Sequence[Block]:
    """Return the blocks of delayed parts; these are computed once to find their shapes."""
    shapes = _computed([dask.delayed(_shape)(part) for part in parts])
    return [
        DelayedBlock(f"{i} of a Dask {name}", shape, part, held)
        for i, (shape, part) in enumerate(zip(shapes, parts, strict=True))
    ]


def _computed(delayed: list[Any]) -> list[Any]:
    """Return the values, computed with time limits if there is a cluster."""
    client = current_client()
    if client is None or client.asynchronous:
        return list(dask.compute(*delayed))
    cluster = Cluster(client)

    def attempt(_workers: Any) -> list[Any]:
        futures = client.compute(delayed)
        cluster.wait(futures, size_of(delayed))
        return cluster.gather(futures, direct=False)

    return cluster.retry(attempt)


def _of_array(array: Any) -> Sequence[Block]:
    """Return the blocks of an array: its chunks of rows."""
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions, samples x features, but has {array.ndim}.")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError("The chunk sizes of X are unknown. Call X.compute_chunk_sizes() first.")
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    held = _has_futures(array)
    return [
        DelayedBlock(f"{i} of a Dask array", (int(rows), int(array.shape[1])), part, held)
        for i, (rows, part) in enumerate(zip(array.chunks[0], _parts(array, held), strict=True))
    ]


def _parts(collection: Any, held: bool) -> list[Any]:
    """Return the delayed parts; an optimised graph would lose those that workers hold."""
    return list(np.ravel(collection.to_delayed(optimize_graph=not held)))


def _has_futures(collection: Any) -> bool:
    """Return whether workers hold parts of a collection, because it was persisted."""
    graph = dict(collection.__dask_graph__())
    return any(isinstance(value, distributed.Future) for value in graph.values())


def current_client() -> Any:
    """Return the client that Dask collections would be computed with; None if there is none."""
    try:
        return distributed.get_client()
    except ValueError:
        return None


def as_matrix(made: Any) -> Any:
    """Return the rows of a partition, stacked."""
    if sparse.issparse(made) or isinstance(made, np.ndarray):
        return made
    parts: list[Any] = [
        part if sparse.issparse(part) else np.atleast_2d(np.asarray(part)) for part in made
    ]
    if not parts:
        raise BlockError("it is empty")
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


def _shape(made: Any) -> tuple[int, int]:
    """Return the shape of a computed partition."""
    rows, features = as_matrix(made).shape
    return int(rows), int(features)

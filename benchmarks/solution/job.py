"""What a contestant is given and what it hands back. Needs NumPy and SciPy only."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from scipy import sparse

# A snapshot is taken when this much more time has passed than at the last one.
GROWTH = 1.1

Factors = tuple[np.ndarray | None, np.ndarray]


class Finished(Exception):  # noqa: N818 - not an error
    """The time is over: raised through the contestant's own loop."""


@dataclass(frozen=True)
class Job:
    """The data, the start and the settings, the same for all contestants.

    Attributes
    ----------
    X : csr_array of shape (samples, features), float64
    weights : ndarray of shape (samples, components)
        Where the weights start. (LDA's begin as each contestant has it.)
    topics : ndarray of shape (components, features)
        Where the topics start; for LDA the parameters of their posterior.
    prior : float
        The concentration of both Dirichlet priors of LDA.
    seconds : float
        How long to run.
    threads, seed : int
    """

    X: sparse.csr_array
    weights: np.ndarray
    topics: np.ndarray
    prior: float
    seconds: float
    threads: int
    seed: int

    @property
    def components(self) -> int:
        """The number of topics."""
        return len(self.topics)

    def save(self, file: Path) -> None:
        """Write the job for another process."""
        X = self.X
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
        np.savez(file, **arrays, **{k: v for k, v in vars(self).items() if k != "X"})

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read what :meth:`save` wrote."""
        with np.load(file) as kept:
            parts = (kept["data"], kept["indices"], kept["indptr"])
            X = sparse.csr_array(parts, shape=tuple(kept["shape"].tolist()))
            names = cls.__dataclass_fields__.keys() - {"X"}
            values = {n: kept[n] if kept[n].ndim else kept[n].item() for n in names}
        return cls(X, **values)

    def small(self) -> "Job":
        """Give a little job of the same kind: what compiles on first use is compiled then."""
        rng = np.random.default_rng(0)
        X = sparse.csr_array(rng.poisson(1.0, (150, 120)).astype(np.float64) + np.eye(150, 120))
        for part in ("indices", "indptr"):
            setattr(X, part, getattr(X, part).astype(np.int32))
        weights, topics = self.weights[:150], self.topics[:, :120]
        weights = np.resize(weights, (150, self.components))
        topics = np.resize(topics, (self.components, 120))
        return replace(self, X=X, weights=weights, topics=topics, seconds=0.0)


class Recorder:
    """A clock that stands still while it looks.

    Called by a contestant after each of its iterations, it keeps the factors now and then, and
    raises :class:`Finished` when the time is over and there were at least so many iterations.
    """

    def __init__(self, seconds: float, folder: Path | None = None, *, at_least: int = 1) -> None:
        self.budget, self.folder, self.at_least = seconds, folder, at_least
        self.calls = self.taken = 0
        self._elapsed, self._due = 0.0, 0.0

    def start(self) -> None:
        """Begin to count: all that comes before (conversions of the data) is free."""
        self._since = time.perf_counter()

    def __call__(self, factors: Callable[[], Factors]) -> None:
        """Count the time since the last call; ``factors`` are asked for while the clock stands."""
        self._elapsed += time.perf_counter() - self._since
        self.calls += 1
        if self._elapsed >= min(self._due, self.budget):
            self.keep(self._elapsed, *factors())
            self._due = GROWTH * self._elapsed
        if self._elapsed >= self.budget and self.calls >= self.at_least:
            raise Finished
        self._since = time.perf_counter()

    def keep(self, seconds: float, weights: np.ndarray | None, topics: np.ndarray) -> None:
        """Write a snapshot."""
        self.taken += 1
        if self.folder is not None:
            factors = {"weights": weights, "topics": topics}
            given = {name: side for name, side in factors.items() if side is not None}
            np.savez(self.folder / f"{self.taken:05d}.npz", seconds=seconds, **given)

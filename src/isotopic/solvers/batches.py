"""Mini-batches: parts of a problem that have some of its samples."""

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.priors import Posterior
from isotopic.problem import Problem

# The topics absorb counts once a batch, which costs something for each feature: a batch should have
# several entries for each.
_ENTRIES_A_FEATURE = 8
_FEWEST_ROWS = 64

_ROW_ARRAYS = ("mean", "effective", "terms", "parameters", "rates", "explained")


@dataclass(frozen=True)
class Batch:
    """Some samples of a problem.

    Attributes
    ----------
    rows : ndarray of int
    problem : Problem
    """

    rows: Array
    problem: Problem

    def weights(self, whole: Posterior) -> Posterior:
        """Give the weights of these samples."""
        arrays = {name: getattr(whole, name) for name in _ROW_ARRAYS}
        parts: dict[str, Any] = {
            name: None if array is None else array[self.rows] for name, array in arrays.items()
        }
        if whole.effective is whole.mean:
            parts["effective"] = parts["mean"]
        return Posterior(**parts)


@dataclass(frozen=True)
class _Cut:
    """How a problem was cut."""

    problem: Problem
    size: int
    seed: int
    batches: list[Batch]

    def is_of(self, problem: Problem, size: int, seed: int) -> bool:
        """Tell whether this is how to cut that problem."""
        same = self.problem.weights is problem.weights and self.problem.topics is problem.topics
        same = same and self.problem.n_components == problem.n_components
        return same and (self.size, self.seed) == (size, seed)


# The rows of each batch are copied, with an index by feature: once for all iterations.
_latest: WeakKeyDictionary[CountMatrix, _Cut] = WeakKeyDictionary()


def batches_of(problem: Problem, batch_size: int | None, seed: int) -> list[Batch]:
    """Cut a problem into batches of samples that are drawn at random.

    Parameters
    ----------
    problem : Problem
        With its data in memory.
    batch_size : int or None
        Samples in a batch. ``None``: as many as have several counts for each feature.
    seed : int
        Which samples stand together.
    """
    if not isinstance(problem.X, CountMatrix):
        raise ValueError(
            "mini-batches are drawn from samples in memory. For data in row blocks, call "
            "partial_fit, which takes one block after the other"
        )
    size = sensible_size(problem.X) if batch_size is None else batch_size
    last = _latest.get(problem.X)
    if last is None or not last.is_of(problem, size, seed):
        last = _Cut(problem, size, seed, _cut(problem, size, seed))
        _latest[problem.X] = last
    return last.batches


def sensible_size(X: CountMatrix) -> int:
    """Choose how many samples a batch should have."""
    n_samples, n_features = X.shape
    entries = len(X.values) if X.is_sparse else n_samples * n_features
    each = max(1.0, entries / n_samples)
    return int(np.clip(_ENTRIES_A_FEATURE * n_features / each, _FEWEST_ROWS, None))


def number_of_batches(X: CountMatrix, batch_size: int | None) -> int:
    """Tell into how many batches the samples are cut."""
    size = sensible_size(X) if batch_size is None else batch_size
    return max(1, round(X.shape[0] / size))


def _cut(problem: Problem, size: int, seed: int) -> list[Batch]:
    n_samples, n_batches = problem.X.shape[0], number_of_batches(problem.X, size)
    if n_batches == 1:
        return [Batch(np.arange(n_samples), problem)]
    order = np.random.default_rng(seed).permutation(n_samples)
    parts = [np.sort(rows) for rows in np.array_split(order, n_batches)]
    return [
        Batch(
            rows,
            Problem(
                problem.weights.rows(rows),
                problem.topics,
                problem.X.rows(rows),
                problem.n_components,
            ),
        )
        for rows in parts
    ]


def stacked(batches: list[Batch], parts: list[Posterior]) -> Posterior:
    """Put the weights of all batches together, in the order of the samples."""
    order = np.argsort(np.concatenate([batch.rows for batch in batches]))
    whole: dict[str, Any] = {}
    for name in _ROW_ARRAYS:
        arrays: list[Any] = [getattr(part, name) for part in parts]
        whole[name] = None if arrays[0] is None else np.concatenate(arrays)[order]
    if parts[0].effective is parts[0].mean:
        whole["effective"] = whole["mean"]
    return Posterior(**whole)


def check_joint(problem: Problem, name: str) -> None:
    """Raise if the topics are not normalised."""
    if problem.topics.learned and not problem.topics.is_normalized:
        raise ValueError(
            f"{name} needs normalised topics (Simplex or Dirichlet), not "
            f"{type(problem.topics).__name__}: others depend on all weights at once"
        )


def check_batch_size(batch_size: Any) -> None:
    """Raise if it is no number of samples."""
    whole = isinstance(batch_size, (int, np.integer)) and not isinstance(batch_size, bool)
    if batch_size is not None and not (whole and batch_size > 0):
        raise ValueError(f"batch_size must be a whole number of at least 1, not {batch_size!r}")

"""Mini-batches: parts of a problem that have some of its samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem

# The topics absorb counts once a batch, which costs something for each feature: a batch should have
# several entries for each.
_ENTRIES_PER_FEATURE = 8
_MIN_ROWS = 64

_ROW_ARRAYS = ("mean", "effective", "terms", "parameters", "rates", "explained")


# The rows of each batch are copied, with an index by feature: once for all iterations of a fit.
_latest_cut: WeakKeyDictionary[CountMatrix, tuple[Any, list[tuple[Array, CountMatrix]]]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True)
class Batch:
    """Some samples of a problem, by their row numbers."""

    rows: Array
    problem: Problem

    def weights(self, whole: Posterior) -> Posterior:
        """Return the weights of these samples."""
        parts: dict[str, Any] = {}
        for name in _ROW_ARRAYS:
            array = getattr(whole, name)
            parts[name] = None if array is None else array[self.rows]
        if whole.effective is whole.mean:
            parts["effective"] = parts["mean"]
        return Posterior(**parts)

    def expected_counts(self, weights: Posterior, topics: Posterior) -> Counts:
        """Make a pass over these samples, at their part of the weights of all."""
        return self.problem.expected_counts(
            self.weights(weights), topics, weights_only=not self.problem.topics.is_learned
        )


def batches_of(problem: Problem, batch_size: int | None, seed: int) -> list[Batch]:
    """Return random batches of the samples of a problem in memory."""
    X = problem.X
    n_batches = number_of_batches(X, batch_size)
    if n_batches == 1:
        return [Batch(np.arange(X.shape[0]), problem)]
    key, cut = _latest_cut.get(X, (None, []))
    if key != (n_batches, seed):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        parts = [np.sort(rows) for rows in np.array_split(order, n_batches)]
        cut = [(rows, X.rows(rows)) for rows in parts]
        _latest_cut[X] = (n_batches, seed), cut
    return [
        Batch(rows, replace(problem, weights=problem.weights.rows(rows), X=part))
        for rows, part in cut
    ]


def number_of_batches(X: CountMatrix, batch_size: int | None) -> int:
    """Return the number of batches; by default each has several counts for each feature."""
    n_samples, n_features = X.shape
    if batch_size is None:
        entries = len(X.values) if X.is_sparse else n_samples * n_features
        per_sample = max(1.0, entries / n_samples)
        batch_size = int(max(_ENTRIES_PER_FEATURE * n_features / per_sample, _MIN_ROWS))
    return max(1, round(n_samples / batch_size))


def stack_rows(parts: Sequence[Posterior], rows: Sequence[Array]) -> Posterior:
    """Return the weights of several groups of samples together, each at its row numbers."""
    order = np.argsort(np.concatenate(rows))
    joined: dict[str, Any] = {}
    for name in _ROW_ARRAYS:
        arrays: list[Any] = [getattr(part, name) for part in parts]
        joined[name] = None if arrays[0] is None else np.concatenate(arrays)[order]
    if all(part.effective is part.mean for part in parts):
        joined["effective"] = joined["mean"]
    return Posterior(**joined)


def check_batches(problem: Problem, name: str) -> None:
    """Raise ValueError unless expected counts of batches add up to those of all samples."""
    if not problem.divergence.is_likelihood:
        raise ValueError(
            f"{name} averages expected counts, which need the Kullback-Leibler divergence; this "
            f"problem has {problem.divergence!r}. Use solver='auto'."
        )
    if not isinstance(problem.X, CountMatrix):
        raise ValueError(
            f"{name} draws mini-batches from samples in memory, and X is in row blocks. Call "
            "partial_fit, which takes one block after the other."
        )
    if problem.topics.is_learned and not problem.topics.is_normalized:
        raise ValueError(
            f"{name} needs normalised topics (Simplex or Dirichlet), because others depend on all "
            f"weights at once; these are {type(problem.topics).__name__}. Use solver='auto'."
        )


def check_batch_settings(batch_size: Any, seed: Any) -> None:
    """Raise ValueError unless ``batch_size`` is a positive integer or None, and ``seed`` valid."""
    if not (isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0):
        raise ValueError(f"seed must be a whole number of at least 0, not {seed!r}.")
    whole = isinstance(batch_size, (int, np.integer)) and not isinstance(batch_size, bool)
    if batch_size is not None and not (whole and batch_size > 0):
        raise ValueError(f"batch_size must be a whole number of at least 1, not {batch_size!r}.")

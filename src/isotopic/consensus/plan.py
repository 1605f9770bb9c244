"""The runs of a consensus: fits from different starts to resampled data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from isotopic.arrays import Array
from isotopic.consensus.held_out import HeldOut, HiddenEntries
from isotopic.containers import NamedMatrix
from isotopic.estimators.digest import digest

#: How the data of a run differ from the data.
RESAMPLING = ("bootstrap", "subsample", "none")

_SUBSAMPLE = 0.8

# Parameters of a model that do not change what a fit finds.
_NOT_COMPARED = ("n_jobs", "callbacks", "verbose", "random_state", "n_components", "init")


@dataclass(frozen=True, eq=False)
class Plan:
    """What to fit.

    Attributes
    ----------
    model : estimator
    counts : csr_array
    feature_names : ndarray of objects or None
    resampling : {"bootstrap", "subsample", "none"}
    splits : list of HeldOut or HiddenEntries
        For the held-out scores; none of them if there are too few samples.
    seed : int
        Each run has a generator of its own, made of this, its kind and its numbers. So the result
        depends neither on the order of the runs nor on which other numbers are tried.
    """

    model: Any
    counts: Any
    feature_names: Array | None
    resampling: str
    splits: list[HeldOut] | list[HiddenEntries]
    seed: int

    def fit(self, number: int, run: int) -> dict[str, Any]:
        """Fit a run from a random start; return its topics, as distributions, and objective."""
        rng = self.generator(number, run)
        model = self.model_for(number, int(rng.integers(2**31))).set_params(init="random")
        counts = resample(self.counts, self.resampling, rng)
        model.fit(NamedMatrix(counts, self.feature_names))
        topics = np.asarray(model.components_, np.float64)
        sums = topics.sum(axis=1, keepdims=True)
        uniform = 1 / topics.shape[1]
        topics = np.where(sums > 0, topics / np.where(sums > 0, sums, 1), uniform)
        return {"topics": topics, "objective": float(model.objective_)}

    def score(self, number: int, split: int) -> dict[str, Any]:
        """Fit what a split shows as the model would, and score what it hides."""
        rng = np.random.default_rng([self.seed, 1, number, split])
        model = self.model_for(number, int(rng.integers(2**31)))
        return {"score": self.splits[split].fit_and_score(model, self.feature_names)}

    def generator(self, number: int, run: int) -> np.random.Generator:
        """Return the random numbers of a run: first its seed, then its data."""
        return np.random.default_rng([self.seed, 0, number, run])

    def model_for(self, number: int, seed: int) -> Any:
        """Return the model with a number of components and a seed, for one thread."""
        return clone(self.model).set_params(
            n_components=number, random_state=seed, n_jobs=1, verbose=0, callbacks=None
        )

    def digest(self) -> str:
        """Return a digest of everything that the results depend on."""
        parameters = self.model.get_params(deep=False)
        settings = {name: v for name, v in parameters.items() if name not in _NOT_COMPARED}
        run = [self.resampling, len(self.splits), self.seed]
        counts = self.counts.astype(np.float64)
        return digest([type(self.model).__name__, settings, counts, self.feature_names, run])


def thinned(counts: Any, max_total: float, rng: np.random.Generator) -> Any:
    """Return counts whose samples have a total of about ``max_total`` at most.

    Each count of a larger sample is kept with the same probability: Poisson counts stay Poisson.
    """
    totals = np.asarray(counts.sum(axis=1)).ravel()
    kept = np.minimum(1.0, max_total / np.maximum(totals, max_total))
    drawn = rng.binomial(counts.data.astype(np.int64), np.repeat(kept, np.diff(counts.indptr)))
    few = sparse.csr_array(
        (drawn.astype(np.float64), counts.indices.copy(), counts.indptr.copy()), counts.shape
    )
    few.eliminate_zeros()
    return few


def resample(counts: Any, how: str, rng: np.random.Generator) -> Any:
    """Return other counts: Poisson draws around them, some of the samples, or the same.

    Draws that are all zero are replaced by the counts themselves.
    """
    if how == "none":
        return counts
    if how == "subsample":
        return counts[_some_samples(counts, rng)]
    drawn = rng.poisson(counts.data).astype(np.float64)
    if not drawn.any():
        return counts
    return sparse.csr_array((drawn, counts.indices, counts.indptr), shape=counts.shape)


def resampled_values(counts: Any, how: str, rng: np.random.Generator) -> Array | None:
    """Return what :func:`resample` makes of each entry; ``None`` if it changes nothing.

    Samples that it leaves out have zeros.
    """
    if how == "subsample":
        is_kept = np.zeros(counts.shape[0], bool)
        is_kept[_some_samples(counts, rng)] = True
        return np.asarray(counts.data * np.repeat(is_kept, np.diff(counts.indptr)))
    return None if how == "none" else np.asarray(resample(counts, how, rng).data)


def _some_samples(counts: Any, rng: np.random.Generator) -> Array:
    n_samples = counts.shape[0]
    n_kept = max(1, round(_SUBSAMPLE * n_samples))
    return np.sort(rng.choice(n_samples, n_kept, replace=False))

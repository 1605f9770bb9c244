"""The two races: a dataset, a start for each repetition, and the one function that judges.

Both are minimised. The divergence judges NMF and PLSA, the perplexity of held-out words LDA.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks.data import start_for
from benchmarks.solution.job import Job
from isotopic import LDA, generalized_kl
from isotopic.evaluate import completion_score, split_counts

TEST_SHARE = 0.1


class Problem(Protocol):
    """A start for each repetition, and a judge."""

    def job(self, repetition: int, threads: int, seconds: float) -> Job:
        """Give what the contestants start with."""

    def objective(self, weights: np.ndarray | None, topics: np.ndarray) -> float:
        """Judge a snapshot."""


@dataclass(frozen=True)
class Divergence:
    r"""Generalized Kullback-Leibler divergence of counts from the product of the factors.

    Each row of the product is scaled to the total of its sample first, which is the best scale it
    can have. So factors of NMF and of PLSA with the same proportions are judged equal, and the
    value is a constant minus PLSA's log-likelihood.
    """

    counts: sparse.csr_array
    components: int

    @cached_property
    def data(self) -> sparse.csr_array:
        """The counts, without empty rows and columns."""
        return _trimmed(self.counts)

    def job(self, repetition: int, threads: int, seconds: float) -> Job:
        """Give the same random factors to everybody."""
        weights, topics = start_for(self.data, self.components, seed=repetition + 1)
        return Job(self.data, weights, topics, 0.0, seconds, threads, seed=repetition + 1)

    def objective(self, weights: np.ndarray | None, topics: np.ndarray) -> float:
        """Evaluate it; infinite where the factors are not numbers."""
        weights, topics = (np.asarray(side, np.float64) for side in (weights, topics))
        if not (np.isfinite(weights).all() and np.isfinite(topics).all()):
            return np.inf
        sums = topics.sum(axis=1)
        weights, topics = _proportions(weights * sums), _proportions(topics)
        totals = np.asarray(self.data.sum(axis=1)).reshape(-1, 1)
        return generalized_kl(self.data, totals * weights, topics)


@dataclass(frozen=True)
class Perplexity:
    r"""Perplexity of the second half of each test document, given its first half.

    .. math:: \exp\Big(-\frac{\sum_{dv} x^{(2)}_{dv} \log (HW)_{dv}}{\sum_{dv} x^{(2)}_{dv}}\Big)

    The topics :math:`W` are the snapshot's, as points. The weights :math:`H` are the posterior
    means that isotopic infers from the first half, with the prior of the fit. A tenth of the
    documents is held out and their tokens are split at random, the same way for everybody.
    """

    counts: sparse.csr_array
    components: int

    @property
    def prior(self) -> float:
        """The concentration of both Dirichlet priors."""
        return 1 / self.components

    @cached_property
    def parts(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """Training documents, and the two halves of the test documents."""
        rng = np.random.default_rng(0)
        X = _trimmed(self.counts)
        order = rng.permutation(X.shape[0])
        n_test = max(1, round(TEST_SHARE * len(order)))
        train, test = X[np.sort(order[n_test:])], X[np.sort(order[:n_test])]
        seen = np.flatnonzero(train.sum(axis=0))  # nobody can know the other words
        train, test = train[:, seen], test[:, seen]
        return train, *split_counts(test, random_state=rng)

    def job(self, repetition: int, threads: int, seconds: float) -> Job:
        """Give the same random posterior of the topics to everybody who can take it."""
        X = self.parts[0]
        rng = np.random.default_rng(repetition + 1)
        topics = rng.gamma(100.0, 0.01, (self.components, X.shape[1]))
        weights = np.ones((X.shape[0], self.components))
        return Job(X, weights, topics, self.prior, seconds, threads, seed=repetition + 1)

    def objective(self, weights: np.ndarray | None, topics: np.ndarray) -> float:
        """Evaluate it; infinite where the topics are not numbers."""
        topics = np.asarray(topics, np.float64)
        if not np.isfinite(topics).all():
            return np.inf
        _, first, second = self.parts
        topics = _proportions(topics)
        start = np.ones((first.shape[0], self.components)), topics
        settings = {"alpha": self.prior, "eta": None, "estimate": "smoothed"}
        model = LDA(self.components, init=start, max_iter=0, tol=0, **settings)
        with warnings.catch_warnings():  # a few samples that still move change no digit here
            warnings.simplefilter("ignore", ConvergenceWarning)
            return float(np.exp(-completion_score(model.fit(first), first, second)))


MEASURES: dict[str, type[Divergence | Perplexity]] = {
    "divergence": Divergence,
    "perplexity": Perplexity,
}


def _trimmed(X: sparse.csr_array) -> sparse.csr_array:
    """Leave out empty rows and columns: 64-bit numbers, 32-bit indices."""
    X = sparse.csr_array(X).astype(np.float64)
    X = X[np.flatnonzero(X.sum(axis=1))][:, np.flatnonzero(X.sum(axis=0))]
    X.sum_duplicates()
    indices, starts = (part.astype(np.int32) for part in (X.indices, X.indptr))
    return sparse.csr_array((X.data, indices, starts), shape=X.shape)


def _proportions(factor: np.ndarray) -> np.ndarray:
    """Scale each row to sum to one; a row of zeros stands for equal shares."""
    sums = factor.sum(axis=1, keepdims=True)
    equal = np.full_like(factor, 1 / factor.shape[1])
    return np.divide(factor, sums, out=equal, where=sums > 0)

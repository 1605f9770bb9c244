"""Choose the number of components by held-out likelihood and stability."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_array

from isotopic.arrays import Array
from isotopic.containers import NamedMatrix, read_container
from isotopic.estimators import LDA
from isotopic.evaluate import completion_score, split_counts
from isotopic.kernels import normalized
from isotopic.match import match
from isotopic.random import generator
from isotopic.table import Table
from isotopic.threads import use_threads


@dataclass(frozen=True, eq=False)
class Selection:
    """The result of :func:`select_components`.

    Attributes
    ----------
    n_components : ndarray of shape (n_numbers,)
        The numbers that were tried, in ascending order.
    scores : ndarray of shape (n_numbers, n_repeats)
        Mean log-likelihood of a held-out count.
    stabilities : ndarray of shape (n_numbers, n_pairs)
        Mean cosine similarity of the matched topics, for each pair of repetitions.
    seconds : ndarray of shape (n_numbers,)
        Time of the fits.
    """

    n_components: Array
    scores: Array
    stabilities: Array
    seconds: Array

    @property
    def best(self) -> int:
        """The number with the highest mean score."""
        return int(self.n_components[np.argmax(self.scores.mean(axis=1))])

    @property
    def simplest(self) -> int:
        """The smallest number whose score is within one standard error of the best.

        It is the standard error of the difference: in a repetition all numbers share one split.
        """
        behind = self.scores[np.argmax(self.scores.mean(axis=1))] - self.scores
        is_enough = behind.mean(axis=1) <= _standard_errors(behind)
        return int(self.n_components[np.argmax(is_enough)])

    @property
    def table(self) -> Table:
        """A row for each number: scores, perplexity and stability."""
        means = self.scores.mean(axis=1)
        return Table(
            n_components=self.n_components,
            score=means,
            score_error=_standard_errors(self.scores),
            perplexity=np.exp(-means),
            stability=self.stabilities.mean(axis=1),
            seconds=self.seconds,
        )

    def __repr__(self) -> str:
        return f"{self.table!r}\nbest: {self.best}, simplest as good: {self.simplest}"


def select_components(
    model: Any,
    X: Any,
    n_components: Iterable[int],
    *,
    n_repeats: int = 3,
    test_size: float = 0.1,
    random_state: Any = 0,
    callback: Callable[[int, int, float], None] | None = None,
) -> Selection:
    r"""Compare numbers of components by document completion.

    In each repetition some samples are held out, and the model is fitted to the others from a new
    start. The counts of a held-out sample are split into two halves at random; its weights are
    inferred from one half, and the other half is scored:

    .. math:: \sum_{dv} x_{dv} \log p_{dv} \Big/ \sum_{dv} x_{dv}, \qquad
        p_{dv} = \sum_k \mathrm{E}[h_{dk}] w_{kv}

    Unlike :meth:`~isotopic.NMF.score` this does not grow with the number of components. Weights
    without a prior get that of LDA for scoring, :math:`\mathrm{Dir}(1 / K)`: a point estimate may
    exclude what the other half contains. Features that do not occur in the fitted samples are left
    out of both halves. The stability of a number is how well the topics of two repetitions match
    (Hungarian method, cosine similarity).

    Parameters
    ----------
    model : estimator
        Any model. Its other parameters are kept, and it is not changed itself.
    X : array-like, sparse matrix, data frame or AnnData of shape (n_samples, n_features)
        Whole counts.
    n_components : iterable of int
        The numbers to try.
    n_repeats : int, default=3
        At least 2.
    test_size : float, default=0.1
        The share of samples that is held out.
    random_state : int, Generator, RandomState or None, default=0
    callback : callable or None, default=None
        Called after every fit with the number of components, the repetition, and the score.

    Returns
    -------
    selection : Selection

    Examples
    --------
    >>> from isotopic import LDA, datasets
    >>> from isotopic.select import select_components
    >>> X = datasets.load_kjv().data[:200]
    >>> selection = select_components(LDA(tol=1e-2), X, [2, 6], n_repeats=2)
    >>> selection.best
    6
    """
    numbers = sorted({int(number) for number in n_components})
    if not numbers or numbers[0] < 1:
        raise ValueError(f"n_components must be integers of at least 1, not {numbers}.")
    given = read_container(X)
    counts = sparse.csr_array(check_array(given.matrix, accept_sparse="csr", input_name="X"))
    if counts.nnz and counts.data.min() < 0:
        raise ValueError("X has negative entries; counts must be at least 0.")
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2 to measure stability, not {n_repeats}.")
    rng = generator(random_state)
    splits = [_Split.draw(counts, test_size, rng) for _ in range(n_repeats)]
    seeds = rng.integers(2**31, size=n_repeats)
    scores = np.empty((len(numbers), n_repeats))
    stabilities, seconds = [], []
    for row, number in enumerate(numbers):
        began, topics = time.perf_counter(), []
        for repeat, split in enumerate(splits):
            fitted = clone(model).set_params(n_components=number, random_state=int(seeds[repeat]))
            fitted.fit(NamedMatrix(split.train, given.feature_names))
            scores[row, repeat] = split.score(fitted)
            topics.append(fitted.components_)
            if callback is not None:
                callback(number, repeat, float(scores[row, repeat]))
        stabilities.append([match(a, b).mean for a, b in combinations(topics, 2)])
        seconds.append(time.perf_counter() - began)
    return Selection(np.array(numbers), scores, np.array(stabilities), np.array(seconds))


@dataclass(frozen=True, eq=False)
class _Split:
    """The samples to fit, and the two halves of the others."""

    train: Any
    seen: Any
    hidden: Any

    @classmethod
    def draw(cls, counts: Any, test_size: float, rng: np.random.Generator) -> "_Split":
        n_samples = counts.shape[0]
        n_test = int(np.ceil(test_size * n_samples)) if 0 < test_size < 1 else 0
        if not 0 < n_test < n_samples:
            raise ValueError(f"test_size={test_size} of {n_samples} samples leaves one part empty.")
        order = rng.permutation(n_samples)
        train, test = counts[np.sort(order[n_test:])], counts[np.sort(order[:n_test])]
        occurs = np.asarray(train.sum(axis=0)).ravel() > 0
        seen, hidden = split_counts(sparse.csr_array(test.multiply(occurs)), random_state=rng)
        if hidden.sum() == 0:
            raise ValueError(
                "The held-out samples have no counts. Hold out more samples (test_size)."
            )
        return cls(train, seen, hidden)

    def score(self, model: Any) -> float:
        """Return the mean log-likelihood of a count of the hidden half."""
        if not model.fitted_.weights_prior.is_bayesian:
            topics = normalized(model.components_)
            model = LDA(
                len(topics),
                alpha=1 / len(topics),
                eta=None,
                estimate="variational",
                init="random",
                fixed_topics=topics,
                max_iter=1,
                tol=0,
                n_jobs=model.n_jobs,
            ).fit(self.seen)
        with use_threads(model.n_jobs):
            names = getattr(model, "feature_names_in_", None)
            return completion_score(model, NamedMatrix(self.seen, names), self.hidden)


def _standard_errors(repeated: Array) -> Array:
    errors: Array = repeated.std(axis=1, ddof=1) / np.sqrt(repeated.shape[1])
    return errors

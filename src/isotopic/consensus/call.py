"""The function ``consensus``."""

import os
import warnings
from collections.abc import Iterable
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_array

from isotopic.arrays import Array
from isotopic.consensus.choice import Choice, choose_number
from isotopic.consensus.clusters import Clusters, cluster_components
from isotopic.consensus.held_out import HeldOut, HiddenEntries
from isotopic.consensus.plan import RESAMPLING, Plan, thinned
from isotopic.consensus.result import Consensus
from isotopic.consensus.runs import run_all, topics_of_runs
from isotopic.containers import forgotten_layers, is_anndata, read_container, select_layer
from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.random import Seed, generator
from isotopic.table import Table
from isotopic.transformed import warn_if_transformed

_SPLITS = 5

_NOT_COUNTS = (
    "Runs see data with the noise of counts, and held-out scores need whole counts, so what is "
    "stable depends on the scale of X. Pass the counts themselves."
)

# A few samples dominate if this part of them has more than this share of all counts.
_DOMINANT_SAMPLES, _DOMINANT_SHARE = 0.05, 0.5


def consensus(
    model: Any,
    X: Any,
    n_components: int | Iterable[int],
    *,
    n_runs: int = 20,
    resampling: str = "bootstrap",
    choose: int | None = None,
    test_size: float = 0.1,
    max_total: float | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    layer: str | None = None,
    verbose: int = 0,
) -> Consensus:
    """Fit a model many times, choose the number of components and compute consensus topics.

    Each run starts at random and sees resampled data. The components of all runs are clustered so
    that each cluster has one component of each run. The consensus topics are the medians of the
    clusters, without outliers, over the quarter of the runs with the lowest objectives (at least
    ten runs): the others ended in poorer local optima. The weights of the samples are inferred with
    these topics fixed.

    The stability of a component is the mean silhouette of its cluster (cosine distance): near 1 if
    every run finds the same, near 0 or below if runs disagree. Each number also gets a held-out
    score by document completion: the weights of held-out samples are inferred from one half of
    their counts and predict the other half. Where all counts of an entry share its noise
    (:class:`~isotopic.NegativeBinomialNMF`), whole entries are hidden instead, and scored as
    :func:`isotopic.evaluate.held_out_likelihood` does.

    The chosen number is the smallest stable one whose held-out score is behind that of the best
    stable one by no more than one standard error of their difference. (The same samples are held
    out for all numbers, so differences are known far better than scores.) A number is stable if its
    mean stability is at least 0.8 and each component's at least 0.2. If no number is stable, the
    choice is among those whose mean stability is within 0.1 of the highest.

    Parameters
    ----------
    model : estimator
        Any model. Its other parameters are kept, and it is not changed itself.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Counts.
    n_components : int or iterable of int
        One number, or those to choose from.
    n_runs : int, default=20
        Fits for each number; at least 2.
    resampling : {"bootstrap", "subsample", "none"}, default="bootstrap"
        The data of a run: counts drawn from Poisson distributions around those of ``X``, 80 % of
        its samples, or ``X`` itself (so that runs differ by their random starts only).
    choose : int or None, default=None
        The number to use instead of the chosen one. ``result.at(number)`` does the same later.
    test_size : float, default=0.1
        The share of samples, or of entries, that is held out for the score. With 0 there is no
        score, and stability alone chooses.
    max_total : float or None, default=None
        The total above which a sample counts as if it had this total, in the runs and scores. Else
        a few samples with most of the counts, such as hypermutated tumours, decide which components
        are found. Needs whole counts.
    random_state : int, Generator, RandomState or None, default=None
    n_jobs : int or None, default=None
        Fits at a time, each in a thread; ``None`` uses every core. The result is the same for any
        number.
    checkpoint : path or None, default=None
        A file that keeps finished fits. The same call goes on from it; so does one with more runs
        or other numbers. Needs an integer ``random_state``.
    layer : str or None, default=None
        The layer of AnnData with the counts; by default its ``X``.
    verbose : int, default=0
        If positive, show how many fits are done and the time left.

    Returns
    -------
    consensus : Consensus
        ``n_components``, ``reason``, ``model`` (fitted), ``table``, ``stability`` and more.

    Warns
    -----
    UserWarning
        If no number is stable, or if the chosen number, or the stable one with the best score, lies
        at the edge of the range.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, consensus
    >>> rng = np.random.default_rng(0)
    >>> topics = rng.dirichlet(np.full(30, 0.2), size=3)
    >>> X = rng.poisson(rng.gamma(0.5, 200, size=(100, 3)) @ topics)
    >>> found = consensus(NMF(), X, range(2, 6), n_runs=5, random_state=0)
    >>> found.n_components
    3
    >>> found.model.components_.shape
    (3, 30)
    """
    numbers = _numbers(n_components)
    _check(model, n_runs, resampling, choose, numbers, checkpoint, random_state)
    X = select_layer(X, layer)
    given = read_container(X)
    counts = _read(given.matrix, numbers)
    _warn_of_few_samples(counts, numbers)
    if not (is_anndata(X) and forgotten_layers(X)):  # there is a warning already
        warn_if_transformed(CountMatrix.of(counts, np.float64), _NOT_COUNTS)
    seed = int(generator(random_state).integers(2**62))
    complete = counts
    if max_total is not None:
        counts = _thinned(counts, max_total, seed)
    has_entry_noise = model._divergence.has_entry_noise
    splits = _splits(
        HiddenEntries if has_entry_noise else HeldOut, counts, test_size, seed, numbers
    )
    plan = Plan(model, counts, given.feature_names, resampling, splits, seed)
    done = run_all(
        plan, numbers, int(n_runs), n_jobs=n_jobs, checkpoint=checkpoint, verbose=verbose
    )
    clusters: dict[int, Clusters] = {}
    objectives = []
    for number in numbers:
        topics, values = topics_of_runs(done, number, int(n_runs))
        # Objectives of different samples cannot be compared.
        clusters[number] = cluster_components(topics, None if resampling == "subsample" else values)
        objectives.append(values.min())
    scores = np.array(
        [[done[f"score {k} {s}"]["score"] for s in range(len(splits))] for k in numbers]
    ).reshape(len(numbers), len(splits))
    table = _table(numbers, clusters, scores, np.array(objectives), not has_entry_noise)
    stability = np.asarray(table["stability"]), np.asarray(table["min_stability"])
    choice = choose_number(np.array(numbers), *stability, scores)
    if choose is not None:
        choice = Choice(choose, f"{choose} was asked for. The rule says: {choice.reason}")
    elif not choice.is_stable:
        warnings.warn(
            f"No number of components from {numbers[0]} to {numbers[-1]} is stable: different runs "
            "find different components. Components of the chosen number with a low stability may "
            "not be real. A smaller tol, more runs, and leaving out features that are everywhere "
            "raise stability.",
            stacklevel=2,
        )
    elif choice.is_edge:
        warnings.warn(
            f"The chosen number of components, {choice.number}, or the best stable one lies at the "
            f"edge of the range {numbers[0]} to {numbers[-1]}. Try a wider range.",
            stacklevel=2,
        )
    reason = choice.reason + _rarely_found(clusters[choice.number])
    if max_total is None:
        reason += _dominant_samples(complete)
    fit = partial(_consensus_model, model, X, complete, clusters, seed, n_jobs)
    return Consensus(choice.number, reason, fit(choice.number), table, clusters, fit)


def _rarely_found(clusters: Clusters) -> str:
    """Return a sentence about components that fewer than half of the runs found, if any."""
    n_runs, found = len(clusters.order), clusters.found
    rare = np.flatnonzero(2 * found < n_runs)
    if not len(rare):
        return ""
    listed = ", ".join(f"component {k} by {found[k]}" for k in rare[:5])
    more = f" and {len(rare) - 5} more" if len(rare) > 5 else ""
    return f" Fewer than half of the {n_runs} runs found these: {listed}{more}."


def _dominant_samples(counts: Any) -> str:
    """Return a sentence about samples with most of the counts, if a few have."""
    totals = np.sort(np.asarray(counts.sum(axis=1)).ravel())[::-1]
    n_largest = int(_DOMINANT_SAMPLES * len(totals))
    share = totals[:n_largest].sum() / totals.sum()
    if share <= _DOMINANT_SHARE:
        return ""
    return (
        f" The {n_largest} samples with the most counts have {share:.0%} of all counts, and decide "
        "most; max_total gives the others more say."
    )


def _thinned(counts: Any, max_total: Any, seed: int) -> Any:
    """Return counts with less of the largest samples."""
    is_number = isinstance(max_total, Real) and not isinstance(max_total, bool)
    if not is_number or not 1 <= float(max_total) < np.inf:
        raise ValueError(f"max_total must be a finite number of at least 1, not {max_total!r}.")
    if not np.array_equal(np.rint(counts.data), counts.data):
        raise ValueError("max_total needs whole counts, but X has other numbers.")
    return thinned(counts, float(max_total), np.random.default_rng([seed, 3]))


def _warn_of_few_samples(counts: Any, numbers: list[int]) -> None:
    """Warn if there are fewer samples with counts than components: any such split fits."""
    n_samples = int(np.count_nonzero(np.diff(counts.indptr)))
    if numbers[-1] > n_samples:
        warnings.warn(
            f"Fewer samples of X have counts ({n_samples}) than n_components={numbers[-1]}. So "
            "many components cannot be told apart: the samples themselves would fit exactly.",
            stacklevel=3,
        )


def _explain_all(topics: Array, counts: Any) -> Array:
    """Return the topics with every feature of the data.

    Features that no median contains get their share of all counts.
    """
    totals = np.asarray(counts.sum(axis=0)).ravel()
    is_lost = (totals > 0) & (topics.max(axis=0) == 0)
    if not is_lost.any():
        return topics
    topics = np.where(is_lost, totals / totals.sum(), topics)
    return np.asarray(topics / topics.sum(axis=1, keepdims=True))


def _consensus_model(
    model: Any,
    X: Any,
    counts: Any,
    clusters: dict[int, Clusters],
    seed: int,
    n_jobs: int | None,
    number: int,
) -> Any:
    """Return a model with the consensus topics, and the weights of the samples given them."""
    topics = _explain_all(clusters[number].topics, counts)
    made = clone(model).set_params(
        n_components=len(topics),
        fixed_topics=topics,
        seeds=None,  # they have done their work in the runs
        forbidden=None,
        init="random",
        random_state=seed % 2**31,
        n_jobs=n_jobs,
    )
    return made.fit(X)


def _table(
    numbers: list[int],
    clusters: dict[int, Clusters],
    scores: Any,
    objectives: Any,
    has_perplexity: bool,
) -> Table:
    stability = [clusters[number].stability for number in numbers]
    columns: dict[str, Any] = {
        "n_components": np.array(numbers),
        "stability": np.array([values.mean() for values in stability]),
        "min_stability": np.array([values.min() for values in stability]),
    }
    if scores.shape[1]:
        means = scores.mean(axis=1)
        columns["score"] = means
        columns["score_error"] = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        if has_perplexity:
            columns["perplexity"] = np.exp(-means)
    return Table(**columns, objective=objectives)


def _splits(kind: Any, counts: Any, test_size: float, seed: int, numbers: list[int]) -> list[Any]:
    """Return splits into counts to fit and counts to score; none if there are too few samples."""
    n_samples = counts.shape[0]
    if not 0 <= test_size < 1:
        raise ValueError(
            f"test_size must be at least 0 (no held-out score) and below 1, not {test_size!r}."
        )
    if test_size == 0:
        return []
    n_test = int(np.ceil(test_size * n_samples))
    largest = max(n_samples - n_test, counts.shape[1])
    is_whole = np.array_equal(np.rint(counts.data), counts.data)
    if n_samples - n_test < 2 or numbers[-1] > largest or not is_whole:
        return []
    return [
        kind.draw(counts, test_size, np.random.default_rng([seed, 2, split]))
        for split in range(_SPLITS)
    ]


def _read(X: Any, numbers: list[int]) -> Any:
    """Return whole or other counts as a sparse matrix by rows."""
    if _has_missing(X):
        raise ValueError(
            "X has missing entries (NaN), which resampled data and held-out scores cannot have. "
            "Fill them in, or leave these samples out."
        )
    counts = sparse.csr_array(check_array(X, accept_sparse="csr", input_name="X"), dtype=float)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if counts.nnz and counts.data.min() < 0:
        raise ValueError("X has negative entries; counts must be at least 0.")
    if not counts.nnz:
        raise ValueError("X has no counts: all its entries are zero.")
    if numbers[-1] > max(counts.shape):
        raise ValueError(
            f"n_components={numbers[-1]} is larger than the data: X has {counts.shape[0]} samples "
            f"and {counts.shape[1]} features."
        )
    return counts


def _has_missing(X: Any) -> bool:
    is_sparse: bool = sparse.issparse(X)
    values = np.asarray(X.data if is_sparse else X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _numbers(given: Any) -> list[int]:
    several = list(given) if isinstance(given, Iterable) else [given]
    whole = all(
        isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1 for n in several
    )
    if not several or not whole:
        raise ValueError(f"n_components must be integers of at least 1, not {given!r}.")
    return sorted({int(number) for number in several})


def _check(
    model: Any,
    n_runs: Any,
    resampling: Any,
    choose: Any,
    numbers: list[int],
    checkpoint: Any,
    random_state: Any,
) -> None:
    if not isinstance(model, BaseTopicModel):
        raise TypeError(f"model must be a model of this package, such as NMF(), not {model!r}.")
    if getattr(model, "fixed_topics", None) is not None:
        raise ValueError("model has fixed_topics; a consensus looks for topics. Use refit instead.")
    if isinstance(n_runs, bool) or not isinstance(n_runs, Integral) or int(n_runs) < 2:
        raise ValueError(
            f"n_runs must be an integer of at least 2 to measure stability, not {n_runs!r}."
        )
    if resampling not in RESAMPLING:
        raise ValueError(f"resampling must be one of {', '.join(RESAMPLING)}, not {resampling!r}.")
    if choose is not None and choose not in numbers:
        raise ValueError(f"choose={choose!r} is not among the numbers to try, {numbers}.")
    if checkpoint is not None and not isinstance(random_state, Integral):
        raise ValueError(
            "checkpoint needs an integer random_state, so that the same runs are made again; it is "
            f"{random_state!r}."
        )

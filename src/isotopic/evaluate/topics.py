"""Comparing topics: diversity, exclusivity, prevalence, proportions."""

from collections import Counter
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import rel_entr
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.containers import NamedMatrix, as_dense, read_container
from isotopic.elementwise import normalized
from isotopic.fitted import Fitted, fitted_of
from isotopic.fitted.value import names_of_topics


def diversity(topics: Any, n: int = 25) -> float:
    """Return the fraction of distinct terms among the top ``n`` terms of all topics.

    Parameters
    ----------
    topics : fitted model, or array-like of shape (n_components, n_features)
    n : int, default=25
        Number of top terms of each topic.

    Returns
    -------
    diversity : float
        One if no two topics share a top term, ``1 / n_components`` if all topics have the same
        (Dieng et al., *Topic modeling in embedding spaces*, 2020).

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = NMF(2, tol=1e-2, random_state=0).fit(X)
    >>> 0 < evaluate.diversity(model, 3) <= 1
    True
    """
    strongest = top_features(topics_of(topics), n)
    return len(np.unique(strongest)) / strongest.size


def exclusivity(topics: Any, n: int = 10) -> Array:
    r"""Return how exclusive the top terms of each topic are.

    .. math:: \frac1n \sum_{v \in \text{top } n \text{ of } k} \frac{t_{kv}}{\sum_j t_{jv}}

    Parameters
    ----------
    topics : fitted model, or array-like of shape (n_components, n_features)
    n : int, default=10
        Number of top terms of each topic.

    Returns
    -------
    exclusivity : ndarray of shape (n_components,)
        Between ``1 / n_components`` and one.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> evaluate.exclusivity(NMF(2, tol=1e-2, random_state=0).fit(X)).shape
    (2,)
    """
    shares = topics_of(topics)
    strongest = top_features(shares, n)
    own = np.take_along_axis(shares, strongest, axis=1)
    everyone = shares.sum(axis=0)[strongest]
    return np.asarray(np.divide(own, everyone, out=np.zeros_like(own), where=own > 0).mean(axis=1))


def prevalence(model: Any) -> Array:
    """Return the share of all counts that each topic explains.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    prevalence : ndarray of shape (n_components,)
        Sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> shares = evaluate.prevalence(NMF(2, tol=1e-2, random_state=0).fit(X))
    >>> shares.shape, round(float(shares.sum()), 6)
    ((2,), 1.0)
    """
    fitted = fitted_of(model)
    shares = proportions(fitted.weights.mean, fitted.topics.mean)
    counts = (fitted.sample_weight * fitted.sample_totals) @ shares
    return np.asarray(counts / counts.sum()) if counts.sum() > 0 else counts


def proportions(weights: Any, topics: Any) -> Array:
    """Return the share of each sample that each topic explains, in float64.

    Parameters
    ----------
    weights : array-like of shape (n_samples, n_components)
        On any scale: free weights, posterior means or proportions.
    topics : array-like of shape (n_components, n_features)
        The weights are multiplied by the sums of the topics.

    Returns
    -------
    proportions : ndarray of shape (n_samples, n_components)
        Rows sum to one. A sample whose weights are all zero has equal shares.

    Examples
    --------
    >>> from isotopic import evaluate
    >>> evaluate.proportions([[3.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]).tolist()
    [[0.75, 0.25]]
    """
    shares, factor = (
        np.asarray(as_dense(read_container(given, name)).matrix, np.float64)
        for name, given in (("weights", weights), ("topics", topics))
    )
    return normalized(np.ascontiguousarray(shares * factor.sum(axis=1)))


def topics_of(given: Any) -> Array:
    """Return topics, of a model or an array, as distributions over the features."""
    form = "a fitted model or an array of components x features"
    topics = as_matrix("topics", named_topics(given).matrix, form, "topic", "feature")
    return normalized(np.ascontiguousarray(topics / max(topics.max(), 1.0)))  # sums stay finite


def named_topics(given: Any, what: str = "topics") -> NamedMatrix:
    """Return the topics of a model, or those that were given, with the names of the features."""
    fitted = getattr(given, "fitted_", given)
    if isinstance(fitted, Fitted):
        return NamedMatrix(fitted.topics.mean, fitted.feature_names, _distinct_names(fitted))
    if hasattr(given, "get_params"):  # any estimator with components_
        check_is_fitted(given, "components_")
        return NamedMatrix(given.components_, getattr(given, "feature_names_in_", None))
    return as_dense(read_container(given, what))


def _distinct_names(fitted: Fitted) -> Array | None:
    """Return the names of the topics; one that several topics have, with their numbers."""
    if fitted.topic_names is None:
        return None
    names = names_of_topics(fitted).tolist()
    several = {name for name, n in Counter(names).items() if n > 1}
    distinct = [f"{name} ({k})" if name in several else name for k, name in enumerate(names)]
    return np.array(distinct, dtype=object)


def as_matrix(name: str, given: Any, form: str, row: str, column: str) -> Array:
    """Return a validated matrix of finite, non-negative numbers; the words name it in errors."""
    matrix = as_numbers(name, as_dense(read_container(given, name)).matrix)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} must be {form}, but has the shape {matrix.shape}.")
    bad = first_not_finite(matrix)
    if bad is not None:
        raise ValueError(
            f"{name} must be finite and non-negative, but {row} {bad[0]}, {column} {bad[1]} is "
            f"{matrix[bad]}."
        )
    return matrix


def top_features(topics: Array, n: int) -> Array:
    """Return the top features of each topic, largest first; ties keep their order."""
    return np.argsort(-topics, axis=1, kind="stable")[:, : check_positive_integer(n)]


def distinctive_features(topics: Array, shares: Array | None, n: int) -> Array:
    """Return the features of each topic that are frequent in it and rarer in the mean topic.

    These have the largest terms in the Kullback-Leibler divergence of the topic from the mean;
    ``shares`` are those of the topics in it, by default all the same.
    """
    proportions = normalized(topics)
    parts = np.full(len(topics), 1 / len(topics)) if shares is None else shares
    return top_features(rel_entr(proportions, parts @ proportions), n)


def check_positive_integer(n: Any) -> int:
    """Return ``n`` as an int; raise if it is not an integer of at least 1."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be an integer of at least 1, not {n!r}.")
    return int(n)

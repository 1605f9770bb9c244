r"""Features that distinguish a topic from the others, with standard errors.

Given the weights, the counts of a feature :math:`v` follow a Poisson regression with one rate for
each topic, :math:`x_{dv} \sim \operatorname{Poisson}(\sum_k l_{dk} f_{kv})`, where
:math:`l_{dk}` is the part of sample :math:`d`'s total that belongs to topic :math:`k`. The
likelihood of the rates gives their ratios and the standard errors of these ratios (Carbonetto et
al., *GoM DE: interpreting structure in sequence count data*, 2023).
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse, special

from isotopic._core import native
from isotopic.arrays import Array, as_numbers, check_level
from isotopic.containers import align_table, sample_names_of
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.evaluate.shrinkage import shrink
from isotopic.evaluate.topics import proportions, top_features
from isotopic.fitted import Fitted, fitted_of, read_feature_names
from isotopic.table import Table
from isotopic.threads import current_threads

# Rates start no lower than this part of the overall rate of their feature.
_LEAST_START = 1e-3

# Entries of the covariances that are kept at a time.
_ENTRIES_AT_A_TIME = 2**22


@dataclass(frozen=True, eq=False)
class Differential:
    """How each feature's rate differs between topics.

    Attributes
    ----------
    rates : ndarray of shape (n_components, n_features)
        The share of the feature in the counts of the topic.
    lfc : ndarray of shape (n_components, n_features)
        Base-2 logarithm of the ratio of the rate to that which it is compared with (the log-fold
        change).
    se : ndarray of shape (n_components, n_features)
        Standard error of ``lfc``; infinite if there is nothing to compare: the feature never
        occurs, or the topic is the chosen one itself.
    z : ndarray of shape (n_components, n_features)
        The z-score: the signed root of twice the log-likelihood that two different rates gain over
        a common one. With many counts it is ``lfc / se``. If one of the topics hardly has the
        feature, ``lfc`` has a large standard error, and yet the rates surely differ: this says so.
    versus : ndarray of int of shape (n_components, n_features)
        The topic that it is compared with; -1 for the mean topic.
    shrunken_lfc, shrunken_sd : ndarray of shape (n_components, n_features)
        Mean and standard deviation of the posterior of ``lfc`` by adaptive shrinkage: the
        log-fold changes of all features and topics tell how large such changes usually are.
    lfsr : ndarray of shape (n_components, n_features)
        Local false sign rate: the probability that the sign of ``lfc`` is wrong, or that the rates
        do not differ.
    feature_names : ndarray of str or None
        The names of the features, if the model has some.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> found = evaluate.differential(NMF(2, tol=1e-2, random_state=0).fit(X), X)
    >>> found.lfc.shape, found.z.shape
    ((2, 8), (2, 8))
    """

    rates: Array
    lfc: Array
    se: Array
    z: Array
    versus: Array
    shrunken_lfc: Array
    shrunken_sd: Array
    lfsr: Array
    feature_names: Array | None = None

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the lower and upper ends of the confidence interval of ``lfc``."""
        check_level(level)
        half = special.ndtri((1 + level) / 2) * self.se
        return self.lfc - half, self.lfc + half


def differential(
    model: Any,
    X: Any,
    *,
    versus: str | int = "nearest",
    weights: Any = None,
    pseudo_count: float = 0.5,
) -> Differential:
    r"""Return how each feature's rate differs between topics.

    For each feature the penalised log-likelihood of its rates

    .. math:: \sum_d x_d \log(l_d \cdot f) - l_d \cdot f \;+\;
        \epsilon \sum_k \Big(\log f_k - \frac{f_k}{\bar f}\Big)

    is maximised; it is concave. The second part is a Gamma prior with its mode at the feature's
    overall rate :math:`\bar f`, equivalent to :math:`\epsilon` counts in each topic, so that
    features without counts do not differ. The observed information about :math:`\log f` is

    .. math:: I_{kj} = \sum_d x_d \varphi_{dk} \varphi_{dj} + \epsilon \, \delta_{kj}

    with the responsibilities :math:`\varphi_{dk} = l_{dk} f_k / l_d \cdot f`, and its inverse is
    the covariance from which the standard errors are computed.

    Parameters
    ----------
    model : fitted model
        With at least two components.
    X : array-like, sparse matrix, data frame or AnnData of shape (n_samples, n_features)
        The fitted counts; or other samples, together with ``weights``.
    versus : {"nearest", "mean"} or int, default="nearest"
        What a topic is compared with, for each feature: the topic with the nearest rate, so that
        all other topics differ at least as much (the least extreme log-fold change); the mean of
        all topics, weighted by their prevalence; or one topic.
    weights : array-like of shape (n_samples, n_components) or None, default=None
        The weights of ``X``, such as ``model.transform(X)``. The default is ``model.weights_``.
    pseudo_count : float, default=0.5
        The strength :math:`\epsilon > 0` of the prior, in counts. Jeffreys' choice is 0.5.

    Returns
    -------
    differential : Differential

    Notes
    -----
    The weights are treated as known, so the standard errors do not include their uncertainty.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> evaluate.differential(NMF(2, tol=1e-2, random_state=0).fit(X), X).lfc.shape
    (2, 8)
    """
    fitted = fitted_of(model)
    if not (isinstance(pseudo_count, Real) and 0 < float(pseudo_count) < np.inf):
        raise ValueError(f"pseudo_count must be a positive number, not {pseudo_count!r}.")
    n_topics = fitted.n_components
    if n_topics < 2:
        raise ValueError(
            "The model has a single topic, so there is nothing to compare. Fit at least two."
        )
    _check_versus(versus, n_topics)
    counts = CountMatrix.of(X, np.float64, feature_names=fitted.feature_names).as_sparse()
    if weights is not None:
        weights = align_table("weights", weights, samples=sample_names_of(X))
    exposures = np.ascontiguousarray(_exposures(fitted, counts, weights))
    overall = counts.feature_totals / max(counts.total, 1.0)
    columns = sparse.csr_array(
        (counts.values, counts.features, counts.row_starts), shape=counts.shape
    ).tocsc()
    totals = exposures.sum(axis=0)
    shares = totals / max(totals.sum(), 1.0)
    start = np.maximum(normalized(fitted.topics.mean.astype(np.float64)), _LEAST_START * overall)
    rates = np.where(overall > 0, start, 0.0).T.copy()
    lfc, se, z = (np.empty(rates.shape) for _ in range(3))
    other = np.empty(rates.shape, np.intp)
    at_a_time = max(1, _ENTRIES_AT_A_TIME // n_topics**2)
    for begin in range(0, len(rates), at_a_time):
        part = slice(begin, begin + at_a_time)
        covariance = _fit_rates(columns, part, exposures, overall[part], pseudo_count, rates[part])
        lfc[part], se[part], z[part], other[part] = _compare(
            rates[part], covariance, versus, shares
        )
    # The error that makes a normal estimate as sure as the likelihood ratio is.
    known = shrink(lfc.T, np.divide(lfc, z, out=se.copy(), where=z != 0).T)
    return Differential(
        rates.T, lfc.T, se.T, z.T, other.T, known.mean, known.sd, known.lfsr, fitted.feature_names
    )


def _fit_rates(
    columns: Any, part: slice, exposures: Array, overall: Array, pseudo_count: float, rates: Array
) -> Array:
    """Fit the rates of some features in place; return the covariances of their logarithms."""
    n_features, n_topics = rates.shape
    starts = columns.indptr[part.start : part.start + n_features + 1].astype(np.int64)
    entries = slice(starts[0], starts[-1])
    covariance = np.full((n_features, n_topics**2), np.nan)
    native.fit_rates(
        starts - starts[0],
        columns.indices[entries].astype(np.int32),
        np.ascontiguousarray(columns.data[entries], dtype=np.float64),
        exposures,
        exposures.sum(axis=0),
        np.ascontiguousarray(overall),
        float(pseudo_count),
        rates,
        covariance,
        current_threads(),
    )
    return covariance.reshape(n_features, n_topics, n_topics)


def _compare(
    rates: Array, covariance: Array, versus: str | int, shares: Array
) -> tuple[Array, Array, Array, Array]:
    """Return changes, standard errors, z-scores and the topics compared with, by feature."""
    logs = np.log(rates, out=np.zeros_like(rates), where=rates > 0)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    if versus == "mean":
        other = np.full(rates.shape, -1)
        means = (rates @ shares)[:, np.newaxis]
        parts = np.divide(rates * shares, means, out=np.zeros_like(rates), where=means > 0)
        with_mean = np.einsum("vkj,vj->vk", covariance, parts)
        square = variance - 2 * with_mean + np.einsum("vk,vk->v", with_mean, parts)[:, np.newaxis]
        change = logs - np.log(means, out=np.zeros_like(means), where=means > 0)
        gain = _gain_over_mean(change, square)
    else:
        other = np.full(rates.shape, versus) if versus != "nearest" else _nearest(logs)
        both = np.take_along_axis(covariance, other[:, :, np.newaxis], axis=2)[:, :, 0]
        second = np.take_along_axis(variance, other, axis=1)
        square = variance + second - 2 * both
        square[other == np.arange(rates.shape[1])] = np.nan
        change = logs - np.take_along_axis(logs, other, axis=1)
        gain = _gain_over_common(change, variance, second, square)
    known = square > 0
    se = np.sqrt(square, out=np.full(square.shape, np.inf), where=known)
    z = np.sign(change) * np.sqrt(2 * np.maximum(gain, 0), out=np.zeros_like(se), where=known)
    return change / np.log(2), se / np.log(2), z, other


def _nearest(logs: Array) -> Array:
    """Return the topic with the nearest rate, for each feature and topic."""
    distance = np.abs(logs[:, :, np.newaxis] - logs[:, np.newaxis])
    np.einsum("vkk->vk", distance)[:] = np.inf
    return np.asarray(distance.argmin(axis=2))


def _gain_over_common(change: Array, first: Array, second: Array, square: Array) -> Array:
    """Return the log-likelihood that two rates gain over a common one.

    Each rate is like that of as many counts as its variance says (a logarithm has the variance of
    one over its counts); their dependence makes them fewer.
    """
    fewer = np.divide(square, first + second, out=np.ones_like(square), where=first + second > 0)
    counts, others = (np.divide(1, v * fewer, out=np.ones_like(v), where=v > 0)
                      for v in (first, second))  # fmt: skip
    # Relative to the second rate: exposures are counts / rates, the common rate is their mean.
    common = np.log((counts + others) / (counts * np.exp(-change) + others))
    return np.asarray(counts * (change - common) - others * common)


def _gain_over_mean(change: Array, square: Array) -> Array:
    """Return the log-likelihood that a rate gains over the mean.

    A rate below the mean is like that of few counts; above, the logarithm is nearly normal.
    """
    counts = np.divide(1, square, out=np.zeros_like(square), where=square > 0)
    below = np.expm1(np.maximum(-change, 0)) + change
    return np.asarray(counts * np.where(change < 0, below, change**2 / 2))


def _check_versus(versus: Any, n_topics: int) -> None:
    is_topic = isinstance(versus, Integral) and not isinstance(versus, bool)
    is_name = isinstance(versus, str) and versus in ("nearest", "mean")
    if is_name or (is_topic and 0 <= int(versus) < n_topics):
        return
    raise ValueError(
        f"versus must be 'nearest', 'mean' or a topic between 0 and {n_topics - 1}, but is "
        f"{versus!r}."
    )


def distinctive_terms(
    model: Any,
    X: Any,
    n: int = 10,
    *,
    versus: str | int = "nearest",
    weights: Any = None,
    feature_names: Any = None,
    level: float = 0.95,
    pseudo_count: float = 0.5,
) -> Table:
    """Return the features that most clearly distinguish each topic from others.

    A feature is listed only if its rate is larger in the topic: if the interval of its log-fold
    change is above zero. So a topic may have fewer than ``n`` features, or none.

    Parameters
    ----------
    model, X, versus, weights, pseudo_count
        As for :func:`differential`.
    n : int, default=10
        The most features of each topic.
    feature_names : array-like of str of shape (n_features,) or None, default=None
        The default is the names of the fitted ``X``, or else ``x0``, ``x1``, ...
    level : float, default=0.95
        Level of the confidence interval.

    Returns
    -------
    table : Table
        With the columns ``topic``, ``rank``, ``term``, ``lfc`` (base-2 log-fold change),
        ``se``, ``z``, ``lower`` and ``upper`` (its interval), ``shrunken_lfc``, ``lfsr`` (the local
        false sign rate) and ``rate``. Sorted by ``lower``, which prefers large differences with
        small standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.repeat([[9, 8, 0, 0], [0, 0, 7, 9]], 10, axis=0)
    >>> table = evaluate.distinctive_terms(NMF(2, tol=1e-2, random_state=0).fit(X), X, 2)
    >>> len(table["term"])
    4
    """
    names = read_feature_names(fitted_of(model), feature_names)
    found = differential(model, X, versus=versus, weights=weights, pseudo_count=pseudo_count)
    lower, upper = found.interval(level)
    order = top_features(lower, n)
    topic, place = np.nonzero(np.take_along_axis(lower, order, axis=1) > 0)
    feature = order[topic, place]

    def column(values: Array) -> Array:
        return values[topic, feature]

    return Table(
        topic=topic,
        rank=place + 1,
        term=names[feature],
        lfc=column(found.lfc),
        se=column(found.se),
        z=column(found.z),
        lower=column(lower),
        upper=column(upper),
        shrunken_lfc=column(found.shrunken_lfc),
        lfsr=column(found.lfsr),
        rate=column(found.rates),
    )


def _exposures(fitted: Fitted, counts: CountMatrix, weights: Any) -> Array:
    """Return the part of each sample's total that belongs to each topic."""
    n_topics, n_features = fitted.topics.mean.shape
    if counts.shape[1] != n_features:
        raise ValueError(f"X has {counts.shape[1]} features, but the model has {n_features}.")
    if weights is None:
        if not (
            len(fitted.weights.mean) == counts.shape[0]
            and np.allclose(fitted.sample_totals, counts.sample_totals, rtol=1e-4)
        ):
            raise ValueError(
                "X is not the data that the model was fitted to. For other samples, pass "
                "weights=model.transform(X)."
            )
        weights = fitted.weights.mean
    shares = as_numbers("weights", weights)
    if shares.shape != (counts.shape[0], n_topics):
        raise ValueError(
            f"weights must have the shape {(counts.shape[0], n_topics)}, but has {shares.shape}."
        )
    return np.asarray(counts.sample_totals[:, np.newaxis] * proportions(shares, fitted.topics.mean))

r"""Features that distinguish a topic from the others, with standard errors.

Given the weights, the counts of a feature :math:`v` follow a Poisson regression with one rate for
each topic, :math:`x_{dv} \sim \operatorname{Poisson}(\sum_k l_{dk} f_{kv})`, where
:math:`l_{dk}` is the part of sample :math:`d`'s total that belongs to topic :math:`k`. The
likelihood of the rates gives their ratios and the standard errors of these ratios (Carbonetto et
al., *GoM DE: interpreting structure in sequence count data*, 2023).
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse, special

from isotopic.arrays import Array, as_numbers
from isotopic.containers import align_table, sample_names_of
from isotopic.counts import CountMatrix
from isotopic.evaluate.topics import proportions, top_features
from isotopic.fitted import Fitted, fitted_of, read_feature_names
from isotopic.kernels import expected_counts
from isotopic.table import Table
from isotopic.threads import one_blas_thread

# EM comes near the maximum, then Newton's method reaches it. It stops when the predicted gain of a
# step is below the rounding error of the likelihood.
_EM_STEPS, _NEWTON_STEPS = 20, 100
_ROUNDING = 1e-14
_SHORTEST_STEP = 2.0**-20


@dataclass(frozen=True, eq=False)
class Differential:
    """How each feature's rate differs between topics.

    Attributes
    ----------
    rates : ndarray of shape (n_components, n_features)
        The share of the feature in the counts of the topic.
    lfc : ndarray of shape (n_components, n_features)
        Base-2 logarithm of the ratio of the rate to that of the topic with the nearest rate: all
        other topics differ at least as much (the least extreme log-fold change).
    se : ndarray of shape (n_components, n_features)
        Standard error of ``lfc``; infinite if the feature never occurs.
    versus : ndarray of int of shape (n_components, n_features)
        The topic with the nearest rate, which it is compared with.
    feature_names : ndarray of str or None
        The names of the features, if the model has some.
    """

    rates: Array
    lfc: Array
    se: Array
    versus: Array
    feature_names: Array | None = None

    @property
    def z(self) -> Array:
        """The z-score ``lfc / se``."""
        return np.asarray(self.lfc / self.se)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the lower and upper ends of the confidence interval of ``lfc``."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1 (exclusive), but is {level!r}.")
        half = special.ndtri((1 + level) / 2) * self.se
        return self.lfc - half, self.lfc + half


def differential(
    model: Any, X: Any, *, weights: Any = None, pseudo_count: float = 0.5
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
    """
    fitted = fitted_of(model)
    if not (isinstance(pseudo_count, Real) and 0 < float(pseudo_count) < np.inf):
        raise ValueError(f"pseudo_count must be a positive number, but is {pseudo_count!r}.")
    n_topics = fitted.n_components
    if n_topics < 2:
        raise ValueError(
            "The model has a single topic, so there is nothing to compare. Fit at least two."
        )
    counts = CountMatrix.of(X, np.float64, feature_names=fitted.feature_names).as_sparse()
    if weights is not None:
        weights = align_table("weights", weights, samples=sample_names_of(X))
    exposures = _exposures(fitted, counts, weights)
    totals, overall = exposures.sum(axis=0), counts.feature_totals / max(counts.total, 1.0)
    cost = totals[:, np.newaxis] + pseudo_count / np.where(overall > 0, overall, 1.0)
    rates = np.tile(overall, (n_topics, 1))
    for _ in range(_EM_STEPS):
        rates = (expected_counts(counts, exposures, rates).topics + pseudo_count) / cost
    rates = np.where(overall > 0, rates, 0.0)
    covariance = np.full((counts.shape[1], n_topics, n_topics), np.nan)
    columns = sparse.csr_array(
        (counts.values, counts.features, counts.row_starts), shape=counts.shape
    ).tocsc()
    with one_blas_thread:  # many small systems
        for v in np.flatnonzero(overall):
            entries = slice(columns.indptr[v], columns.indptr[v + 1])
            x, own = columns.data[entries], exposures[columns.indices[entries]]
            cost = totals + pseudo_count / overall[v]
            rates[:, v], covariance[v] = fit_rates(x, own, cost, pseudo_count, rates[:, v])
    return replace(_least_extreme(rates, covariance), feature_names=fitted.feature_names)


def fit_rates(
    x: Array, exposures: Array, cost: Array, pseudo_count: float, start: Array
) -> tuple[Array, Array]:
    """Return the rates that maximise the likelihood of one feature, and their covariance.

    ``x`` are its nonzero counts, ``exposures`` the counts of these samples that belong to each
    topic, and ``cost`` those of all samples, plus the part of the prior. The covariance is that of
    the logarithms of the rates.
    """

    def likelihood(rates: Array) -> float:
        seen = float(x @ np.log(exposures @ rates))
        return seen + pseudo_count * float(np.log(rates).sum()) - float(cost @ rates)

    rates, value = start, likelihood(start)
    for _ in range(_NEWTON_STEPS):
        shares = exposures * rates
        shares = shares / shares.sum(axis=1, keepdims=True)
        information = (shares.T * x) @ shares
        information[np.diag_indices_from(information)] += pseudo_count
        gradient = x @ shares + pseudo_count - rates * cost
        step = np.linalg.solve(information, gradient)
        if gradient @ step <= _ROUNDING * abs(value):
            rates = rates * (1 + step)
            break
        length = min(1.0, -0.9 / step.min()) if step.min() < 0 else 1.0  # rates stay positive
        while likelihood(rates * (1 + length * step)) < value and length > _SHORTEST_STEP:
            length /= 2
        rates = rates * (1 + length * step)
        value = likelihood(rates)
    return rates, np.linalg.inv(information)


def distinctive_terms(
    model: Any,
    X: Any,
    n: int = 10,
    *,
    weights: Any = None,
    feature_names: Any = None,
    level: float = 0.95,
    pseudo_count: float = 0.5,
) -> Table:
    """Return the features that most clearly distinguish each topic from all others.

    Parameters
    ----------
    model, X, weights, pseudo_count
        As for :func:`differential`.
    n : int, default=10
        Number of features of each topic.
    feature_names : array-like of str of shape (n_features,) or None, default=None
        The default is the names of the fitted ``X``, or else ``x0``, ``x1``, ...
    level : float, default=0.95
        Level of the confidence interval.

    Returns
    -------
    table : Table
        With the columns ``topic``, ``rank``, ``term``, ``lfc`` (base-2 log-fold change against the
        nearest other topic), ``se``, ``z``, ``lower`` and ``upper`` (its interval) and ``rate``.
        Sorted by ``lower``, which prefers large differences with small standard errors.
    """
    names = read_feature_names(fitted_of(model), feature_names)
    found = differential(model, X, weights=weights, pseudo_count=pseudo_count)
    lower, upper = found.interval(level)
    order = top_features(lower, n)

    def column(values: Array) -> Array:
        return np.take_along_axis(values, order, axis=1).ravel()

    return Table(
        topic=np.repeat(np.arange(len(order)), order.shape[1]),
        rank=np.tile(np.arange(1, order.shape[1] + 1), len(order)),
        term=names[order.ravel()],
        lfc=column(found.lfc),
        se=column(found.se),
        z=column(found.z),
        lower=column(lower),
        upper=column(upper),
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


def _least_extreme(rates: Array, covariance: Array) -> Differential:
    """Return the comparison of each topic with the topic of the nearest rate, for each feature."""
    n_topics, n_features = rates.shape
    logs = np.log2(rates, out=np.zeros_like(rates), where=rates > 0)
    lfc, se = np.zeros_like(rates), np.full_like(rates, np.inf)
    versus = np.zeros(rates.shape, dtype=np.intp)
    features = np.arange(n_features)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    for topic in range(n_topics):
        distance = np.abs(logs[topic] - logs)
        distance[topic] = np.inf
        other = distance.argmin(axis=0)
        both = covariance[features, topic, other]
        known = ~np.isnan(both)
        square = variance[:, topic] + variance[features, other] - 2 * both
        se[topic, known] = np.sqrt(square[known]) / np.log(2)
        lfc[topic], versus[topic] = logs[topic] - logs[other, features], other
    return Differential(rates, lfc, se, versus)

"""The paper's objectives as functions of data and factors."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import Beta, dense_row_blocks, exact_values
from isotopic.kernels import read_factors
from isotopic.priors import Dirichlet, Free, Gamma, Lasso, Prior, Simplex
from isotopic.problem import Problem

__all__ = [
    "beta_divergence",
    "gamma_poisson_bound",
    "generalized_kl",
    "lasso_kl",
    "lda_bound",
    "plsa_log_likelihood",
]


def generalized_kl(X: Any, weights: Any, topics: Any) -> float:
    r"""Return the generalized Kullback-Leibler divergence, which NMF minimises (equation 1).

    .. math:: \sum_{dv} x_{dv} \log\frac{x_{dv}}{(HW)_{dv}} - x_{dv} + (HW)_{dv}

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
    weights : array-like of shape (samples, components)
    topics : array-like of shape (components, features)

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import generalized_kl
    >>> X = np.array([[1.0, 2.0]])
    >>> float(generalized_kl(X, np.ones((1, 1)), X))
    0.0
    """
    return _objective(X, Free(), Free(), weights, topics)


def beta_divergence(X: Any, weights: Any, topics: Any, beta: str | float) -> float:
    r"""Return the beta divergence, the objective of :class:`~isotopic.BetaNMF`.

    .. math:: \sum_{dv} \frac{x_{dv}^\beta + (\beta - 1) \hat x_{dv}^\beta -
        \beta x_{dv} \hat x_{dv}^{\beta-1}}{\beta (\beta - 1)}, \qquad \hat x = HW

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
    weights : array-like of shape (samples, components)
    topics : array-like of shape (components, features)
    beta : float or {"itakura-saito", "kullback-leibler", "frobenius"}

    Returns
    -------
    divergence : float
        Infinite if ``X`` has zeros and ``beta`` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import beta_divergence
    >>> X = np.array([[1.0, 2.0]])
    >>> float(beta_divergence(X, np.ones((1, 1)), np.array([[1.0, 4.0]]), 2))
    2.0
    """
    X, weights, topics = read_factors(X, weights, topics)
    divergence, counts = Beta.parse(beta), CountMatrix.of(X, np.float64)
    weights, topics = weights.astype(np.float64), topics.astype(np.float64)
    return sum(
        float(exact_values(divergence.beta, x, weights[rows] @ topics).sum())
        for rows, x in dense_row_blocks(counts)
    )


def lasso_kl(X: Any, weights: Any, topics: Any, strength: float) -> float:
    r"""Return the Lasso-penalised divergence :math:`D_{KL}(X \| HW) + \lambda \|H\|_1` (Section 6).

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
    weights : array-like of shape (samples, components)
    topics : array-like of shape (components, features)
    strength : float
        The :math:`\lambda` of the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import lasso_kl
    >>> X = np.array([[1.0, 2.0]])
    >>> round(float(lasso_kl(X, np.ones((1, 1)), X, 0.5)), 6)
    0.5
    """
    return _objective(X, Lasso(strength), Free(), weights, topics)


def plsa_log_likelihood(X: Any, weights: Any, topics: Any) -> float:
    r"""Return the log-likelihood :math:`\sum_{dv} x_{dv} \log(HW)_{dv}` of PLSA, up to a constant.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
    weights : array-like of shape (samples, components)
        Rows sum to one.
    topics : array-like of shape (components, features)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import plsa_log_likelihood
    >>> X = np.array([[1.0, 1.0]])
    >>> round(float(plsa_log_likelihood(X, np.ones((1, 1)), np.array([[0.5, 0.5]]))), 4)
    -1.3863
    """
    _check_normalized("weights", weights)
    _check_normalized("topics", topics)
    return -_objective(X, Simplex(), Simplex(), weights, topics)


def lda_bound(X: Any, topics: Any, alpha: Any, posterior: Any, *, eta: Any = None) -> float:
    r"""Return the variational lower bound of LDA, maximised over the responsibilities.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
    topics : array-like of shape (components, features)
        The topics, whose rows sum to one. If ``eta`` is given, the parameters of their posterior.
    alpha : float or array-like of shape (components,)
        Concentration of the proportions' prior.
    posterior : array-like of shape (samples, components)
        Parameters of the proportions' posterior (the paper's beta).
    eta : float, array-like or None, default=None
        Concentration of the topics' prior; ``None`` if the topics have no prior.

    Notes
    -----
    Equation (17) of the paper, which is also that of the Dirichlet-Poisson model.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import LDA, lda_bound
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> settings = {"alpha": 0.1, "eta": None, "estimate": "variational"}
    >>> model = LDA(2, **settings, tol=1e-3, random_state=0).fit(X)
    >>> bound = lda_bound(X, model.components_, 0.1, model.weights_posterior_)
    >>> bool(np.isclose(bound, -model.objective_))
    True
    """
    if eta is None:
        _check_normalized("topics", topics)
    prior = Simplex() if eta is None else Dirichlet(eta)
    return -_objective(X, Dirichlet(alpha), prior, posterior, topics)


def gamma_poisson_bound(X: Any, topics: Any, shape: Any, rate: Any, posterior: Any) -> float:
    r"""Return the Gamma-Poisson model's lower bound, maximised over the responsibilities.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (samples, features)
    topics : array-like of shape (components, features)
        Rows sum to one.
    shape, rate : float or array-like of shape (components,)
        Shape and rate of the weights' Gamma prior.
    posterior : array-like of shape (samples, components)
        Shapes of the weights' posterior (the paper's beta); its rates are ``1 + rate``.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import GammaPoisson, gamma_poisson_bound
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = GammaPoisson(2, shape=0.5, rate=0.1, tol=1e-3, random_state=0).fit(X)
    >>> bound = gamma_poisson_bound(X, model.components_, 0.5, 0.1, model.weights_posterior_)
    >>> bool(np.isclose(bound, -model.objective_))
    True
    """
    _check_normalized("topics", topics)
    return -_objective(X, Gamma(shape, rate), Simplex(), posterior, topics)


def _objective(X: Any, weights: Prior, topics: Prior, at_weights: Any, at_topics: Any) -> float:
    X, *sides = read_factors(X, at_weights, at_topics)
    counts = CountMatrix.of(X, np.float64)
    first, second = (np.asarray(side, np.float64) for side in sides)
    if first.ndim != 2 or second.ndim != 2:
        raise ValueError(
            f"weights and topics must be matrices, but have {first.ndim} and {second.ndim} "
            "dimensions."
        )
    for name, side, prior in (("weights", first, weights), ("topics", second, topics)):
        if not np.all((side > 0 if prior.is_bayesian else side >= 0) & (side < np.inf)):
            what = "positive" if prior.is_bayesian else "non-negative"
            raise ValueError(f"{name} must be finite and {what} everywhere.")
    shapes = (counts.shape[0], first.shape[-1]), (first.shape[-1], counts.shape[1])
    if (first.shape, second.shape) != shapes:
        raise ValueError(
            f"The shapes of X {counts.shape}, weights {first.shape} and topics {second.shape} do "
            "not match: weights must be samples x components, topics components x features."
        )
    problem = Problem(weights, topics, counts, first.shape[1])
    state = problem.evaluate(
        weights.at(first, 1.0), topics.at(np.asfortranarray(second), 1.0), passes=0
    )
    return state.objective


def _check_normalized(name: str, factor: Any) -> None:
    sums: Array = np.asarray(factor, np.float64).sum(axis=-1)
    if not np.allclose(sums, 1, rtol=0, atol=1e-6):
        raise ValueError(
            f"Each row of {name} must sum to one, but the sums range from {sums.min()} to "
            f"{sums.max()}."
        )

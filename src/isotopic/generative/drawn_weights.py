"""Processes that draw the weights from a prior, then counts for given topics."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isotopic.generative.draws import Draw, Floats, Latent, draw_counts, normalized_rows
from isotopic.generative.validation import check_distributions, check_n_samples, check_positive
from isotopic.random import Seed, generator


def dirichlet_poisson(
    topics: ArrayLike,
    n_samples: int,
    alpha: ArrayLike,
    *,
    scale: ArrayLike = 1.0,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw Poisson counts whose weights are proportions with a Dirichlet prior.

    .. math::

        h_d \sim \operatorname{Dirichlet}(\alpha), \qquad
        z_{dkv} \sim \operatorname{Poisson}(s_d h_{dk} w_{kv}), \qquad x_{dv} = \sum_k z_{dkv}

    The model of the section "Connection between NMF and LDA". Its likelihood and its variational
    bound are those of LDA up to a constant. As in the paper, the mean total of a sample is 1 unless
    ``scale`` is given.

    Parameters
    ----------
    topics : array-like of shape (components, features)
        Non-negative; each row sums to 1.
    n_samples : int
        Number of samples to draw.
    alpha : float or array-like of shape (components,)
        The concentration of each component, positive; a number applies to all components.
    scale : float or array-like of shape (samples,), default=1.0
        The mean total :math:`s_d` of each sample, positive. It multiplies the rates and is not
        part of the weights.
    random_state, return_latent
        As in :func:`poisson`.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights`` (the proportions) and
        ``contributions`` (dense).
    """
    topics = check_distributions("topics", topics)
    n_samples = check_n_samples(n_samples)
    alpha = check_positive("alpha", alpha, len(topics))
    scale = check_positive("scale", scale, n_samples)
    rng = generator(random_state)
    weights = rng.dirichlet(alpha, size=n_samples)
    return _draw_poisson(rng, scale[:, None], weights, topics, return_latent)


def gamma_poisson(
    topics: ArrayLike,
    n_samples: int,
    shape: ArrayLike,
    rate: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw Poisson counts whose weights have a Gamma prior.

    .. math::

        h_{dk} \sim \operatorname{Gamma}(\alpha_k, a_k), \qquad
        z_{dkv} \sim \operatorname{Poisson}(h_{dk} w_{kv}), \qquad x_{dv} = \sum_k z_{dkv}

    with the shape :math:`\alpha` and the rate :math:`a`: the model of the appendix "Gamma-Poisson
    model". With one rate for all components it is :func:`dirichlet_negative_binomial`.

    Parameters
    ----------
    topics, n_samples, random_state, return_latent
        As in :func:`dirichlet_poisson`.
    shape, rate : float or array-like of shape (components,)
        The prior of each component's weight, positive; a number applies to all components. Its
        mean is ``shape / rate``.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights`` and ``contributions`` (dense).
    """
    topics = check_distributions("topics", topics)
    n_samples = check_n_samples(n_samples)
    shape = check_positive("shape", shape, len(topics))
    rate = check_positive("rate", rate, len(topics))
    rng = generator(random_state)
    weights = rng.gamma(shape, 1 / rate, size=(n_samples, len(topics)))
    return _draw_poisson(rng, 1.0, weights, topics, return_latent)


def dirichlet_negative_binomial(
    topics: ArrayLike,
    n_samples: int,
    alpha: ArrayLike,
    rate: float,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw the proportions and the total of each sample separately, then multinomial counts.

    .. math::

        h_d \sim \operatorname{Dirichlet}(\alpha), \qquad
        N_d \sim \operatorname{PoissonGamma}\Big(\sum_k \alpha_k, a\Big), \qquad
        x_d \sim \operatorname{Multinomial}(N_d, p_d), \qquad
        p_{dv} = \sum_k h_{dk} w_{kv}

    Poisson-Gamma is the negative binomial distribution of :math:`\sum_k \alpha_k` successes of
    probability :math:`a / (1 + a)`, with the mean :math:`\sum_k \alpha_k / a`. Model (ii) of
    Buntine's Lemma 1 in the appendix "Gamma-Poisson model": the same counts as
    :func:`gamma_poisson` with ``shape=alpha`` and this one rate.

    Parameters
    ----------
    topics, n_samples, alpha, random_state, return_latent
        As in :func:`dirichlet_poisson`.
    rate : float
        The rate :math:`a`, positive. The two models agree only if all components share it.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights`` (the proportions) and
        ``totals``.
    """
    topics = check_distributions("topics", topics)
    n_samples = check_n_samples(n_samples)
    alpha = check_positive("alpha", alpha, len(topics))
    (rate,) = check_positive("rate", rate, 1)
    rng = generator(random_state)
    weights = rng.dirichlet(alpha, size=n_samples)
    totals = rng.negative_binomial(alpha.sum(), rate / (1 + rate), size=n_samples)
    return draw_counts(rng, weights, topics, totals, return_latent=return_latent)


def _draw_poisson(
    rng: np.random.Generator, scale: Any, weights: Floats, topics: Floats, return_latent: bool
) -> Draw:
    """Draw Poisson counts, then the contributions to them: multinomial for each count.

    The contributions need much more memory than the counts. Drawn after the counts they have the
    same distribution as if they were drawn first, and the counts do not depend on whether they are.
    """
    counts = draw_counts(rng, scale * weights, topics)
    if not return_latent:
        return counts
    X: Any = counts
    sample, feature = X.nonzero()
    shares = normalized_rows(weights[sample] * topics[:, feature].T)
    contributions = np.zeros((len(weights), *topics.shape), dtype=np.int64)
    contributions[sample, :, feature] = rng.multinomial(X.data, shares)
    return X, Latent(weights, contributions=contributions)

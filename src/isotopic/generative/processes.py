"""The processes: those for given weights, then those with a prior of the weights."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from isotopic.generative.draws import (
    Assignments,
    CountArray,
    Draw,
    Floats,
    Latent,
    draw_categorical,
    draw_counts,
    normalized_rows,
)
from isotopic.generative.validation import (
    check_distributions,
    check_factors,
    check_n_samples,
    check_positive,
    check_totals,
)
from isotopic.random import Seed, generator


def poisson(
    weights: ArrayLike, topics: ArrayLike, *, random_state: Seed = None, return_latent: bool = False
) -> Draw:
    r"""Draw independent Poisson counts.

    .. math:: x_{dv} \sim \operatorname{Poisson}\Big(\sum_k h_{dk} w_{kv}\Big)

    with the weights :math:`h` and the topics :math:`w`. Model (i) of the first lemma of the
    appendix "Equivalent generative models", whose maximum likelihood is NMF with the
    Kullback-Leibler divergence.

    Parameters
    ----------
    weights : array-like of shape (samples, components)
        Non-negative.
    topics : array-like of shape (components, features)
        Non-negative.
    random_state : int, Generator, RandomState or None, default=None
        A :class:`numpy.random.Generator` is used directly; a ``RandomState`` seeds a new one; an
        ``int`` makes the draw reproducible; ``None`` gives a different draw each time.
    return_latent : bool, default=False
        Whether to also return the latent variables. The counts are the same either way.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the field ``weights``. Only if ``return_latent``.

    Examples
    --------
    >>> from isotopic import generative
    >>> generative.poisson([[5.0, 1.0]], [[0.9, 0.1], [0.2, 0.8]], random_state=0).shape
    (1, 2)
    """
    weights, topics = check_factors(weights, topics)
    return draw_counts(generator(random_state), weights, topics, return_latent=return_latent)


def poisson_contributions(
    weights: ArrayLike, topics: ArrayLike, *, random_state: Seed = None, return_latent: bool = False
) -> Draw:
    r"""Draw Poisson counts as sums of the contributions of the components.

    .. math::

        z_{dkv} \sim \operatorname{Poisson}(h_{dk} w_{kv}), \qquad x_{dv} = \sum_k z_{dkv}

    Model (ii) of the first lemma of the appendix "Equivalent generative models": the same counts
    as :func:`poisson`, with one draw for each component.

    Parameters
    ----------
    weights, topics, random_state, return_latent
        As in :func:`poisson`.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights`` and ``contributions`` (dense).

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.poisson_contributions([[5.0, 1.0]], topics, random_state=0)
    >>> X.shape
    (1, 2)
    """
    weights, topics = check_factors(weights, topics)
    rng = generator(random_state)
    return draw_counts(rng, weights, topics, by_component=True, return_latent=return_latent)


def multinomial(
    weights: ArrayLike,
    topics: ArrayLike,
    totals: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw multinomial counts, for given totals.

    .. math::

        x_d \sim \operatorname{Multinomial}(N_d, p_d), \qquad
        p_{dv} \propto \sum_k h_{dk} w_{kv}

    Model (i) of the second lemma of the appendix "Equivalent generative models". It is
    :func:`poisson` given the total of each row.

    Parameters
    ----------
    weights, topics, random_state, return_latent
        As in :func:`poisson`. Neither factor needs to be normalised.
    totals : int or array-like of int of shape (samples,)
        The sum of each row of counts.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights`` and ``totals``.

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.multinomial([[5.0, 1.0]], topics, [12], random_state=0)
    >>> X.shape
    (1, 2)
    """
    weights, topics = check_factors(weights, topics)
    totals = check_totals(totals, weights, topics)
    rng = generator(random_state)
    return draw_counts(rng, weights, topics, totals, return_latent=return_latent)


def multinomial_contributions(
    weights: ArrayLike,
    topics: ArrayLike,
    totals: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw multinomial counts as sums of the contributions of the components.

    .. math::

        z_d \sim \operatorname{Multinomial}(N_d, p_{dkv} \propto h_{dk} w_{kv}),
        \qquad x_{dv} = \sum_k z_{dkv}

    Model (ii) of the second lemma of the appendix "Equivalent generative models": the same counts
    as :func:`multinomial`.

    Parameters
    ----------
    weights, topics, totals, random_state, return_latent
        As in :func:`multinomial`.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights``, ``totals`` and
        ``contributions`` (dense).

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.multinomial_contributions([[5.0, 1.0]], topics, [12], random_state=0)
    >>> X.shape
    (1, 2)
    """
    weights, topics = check_factors(weights, topics)
    totals = check_totals(totals, weights, topics)
    rng = generator(random_state)
    return draw_counts(rng, weights, topics, totals, by_component=True, return_latent=return_latent)


def word_by_word(
    weights: ArrayLike,
    topics: ArrayLike,
    totals: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw counts token by token: first the component of a token, then its feature.

    For each token :math:`n = 1, \ldots, N_d` of sample :math:`d`

    .. math::

        z_n \sim \operatorname{Categorical}(h_d), \qquad
        \nu_n \sim \operatorname{Categorical}(w_{z_n}), \qquad
        x_{dv} = \sum_n 1_{\nu_n = v}

    Model (iii) of the second lemma of the appendix "Equivalent generative models", the process of
    PLSA: the same counts as :func:`multinomial`. With weights drawn from a Dirichlet distribution
    it is the process of LDA.

    Parameters
    ----------
    weights, totals, random_state, return_latent
        As in :func:`multinomial`. The weights of a sample are normalised to sum to 1.
    topics : array-like of shape (components, features)
        Non-negative; each row sums to 1.

    Returns
    -------
    X, latent
        As in :func:`poisson`. ``latent`` has the fields ``weights``, ``totals`` and
        ``assignments``.

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.word_by_word([[5.0, 1.0]], topics, [12], random_state=0)
    >>> X.shape
    (1, 2)
    """
    weights, topics = check_factors(weights, check_distributions("topics", topics))
    totals = check_totals(totals, weights, topics)
    rng = generator(random_state)
    sample = np.repeat(np.arange(len(weights)), totals)
    component = draw_categorical(rng, normalized_rows(weights), sample)
    feature = draw_categorical(rng, topics, component)
    X: CountArray = sparse.csr_array(
        (np.ones(len(sample), dtype=np.int64), (sample, feature)),
        shape=(len(weights), topics.shape[1]),
    )
    latent = Latent(weights, totals, assignments=Assignments(sample, component, feature))
    return (X, latent) if return_latent else X


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

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.dirichlet_poisson(topics, 4, 0.5, scale=20.0, random_state=0)
    >>> X.shape
    (4, 2)
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

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.gamma_poisson(topics, 4, 0.5, 0.1, random_state=0)
    >>> X.shape
    (4, 2)
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

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X = generative.dirichlet_negative_binomial(topics, 4, 0.5, 0.1, random_state=0)
    >>> X.shape
    (4, 2)
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

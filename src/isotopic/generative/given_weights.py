"""Processes that draw counts for given weights and topics."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from isotopic.generative.draws import (
    Assignments,
    CountArray,
    Draw,
    Latent,
    draw_categorical,
    draw_counts,
    normalized_rows,
)
from isotopic.generative.validation import check_distributions, check_factors, check_totals
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

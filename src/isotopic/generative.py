r"""Draw counts from every process of the paper.

Different stories about how a count came to be give the same counts. One says how many times each
feature occurs (Poisson, or multinomial when the row's total is given), another how many of those
each component contributed, a third draws every single token. The appendix "Equivalent generative
models" proves that they agree; each function here tells one of them, so that one can be checked
against another.

Given weights and topics:

- :func:`poisson`: counts, independent of each other;
- :func:`poisson_contributions`: the same, as sums over components;
- :func:`multinomial`: counts, for a given total of each sample;
- :func:`multinomial_contributions`: the same, as sums over components;
- :func:`word_by_word`: the same, one token after another (PLSA).

Given topics and a prior of the weights:

- :func:`dirichlet_poisson`: Dirichlet proportions (the likelihood of LDA);
- :func:`gamma_poisson`: Gamma weights;
- :func:`dirichlet_negative_binomial`: the same, with proportions and totals drawn apart.

``weights`` is samples x components, ``topics`` components x features, and the counts returned are
samples x features.
"""

import operator
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from isotopic.random import Seed, generator

__all__ = [
    "Assignments",
    "Latent",
    "dirichlet_negative_binomial",
    "dirichlet_poisson",
    "gamma_poisson",
    "multinomial",
    "multinomial_contributions",
    "poisson",
    "poisson_contributions",
    "word_by_word",
]

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Dense draws are made in blocks of rows of about this many numbers (8 MB), then kept sparse.
_BLOCK_SIZE = 2**20

# How far from 1 a distribution's sum may be; what is left is divided away.
_SUM_TOLERANCE = 1e-6


class Assignments(NamedTuple):
    """The single tokens: token ``n`` is ``feature[n]`` of ``sample[n]``, from ``component[n]``."""

    sample: Integers
    component: Integers
    feature: Integers


class Latent(NamedTuple):
    """What a process knows beyond its counts; ``None`` where it has no such variable.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
        The weights, whether given or drawn. Proportions where the process draws proportions.
    totals : ndarray of shape (samples,) or None
        The number of tokens of each sample, in processes that fix it before the counts.
    contributions : ndarray of shape (samples, components, features) or None
        How much of each count each component contributed; the counts are its sum over components.
    assignments : Assignments or None
        The component and the feature of every token.
    """

    weights: Floats
    totals: Integers | None = None
    contributions: Integers | None = None
    assignments: Assignments | None = None


# In quotes, because SciPy's arrays take type arguments only in recent versions.
CountArray: TypeAlias = "sparse.csr_array[np.int64, tuple[int, int]]"
Draw: TypeAlias = "CountArray | tuple[CountArray, Latent]"


def poisson(
    weights: ArrayLike,
    topics: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
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
        A :class:`numpy.random.Generator` is used as it is; a ``RandomState`` seeds a new one; an
        ``int`` gives the same draw every time; ``None`` gives a new one.
    return_latent : bool, default=False
        Whether to return the latent variables too. The counts are the same either way.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the field ``weights``. Only if ``return_latent``.
    """
    weights, topics = _factors(weights, topics)
    X = _poisson_counts(generator(random_state), weights, topics)
    return _drawn(X, Latent(weights), return_latent)


def poisson_contributions(
    weights: ArrayLike,
    topics: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw Poisson counts as sums of what each component contributes.

    .. math::

        z_{dkv} \sim \operatorname{Poisson}(h_{dk} w_{kv}), \qquad x_{dv} = \sum_k z_{dkv}

    Model (ii) of the first lemma of the appendix "Equivalent generative models": the same counts
    as :func:`poisson`, at the price of one draw for each component.

    Parameters
    ----------
    weights, topics, random_state, return_latent
        As in :func:`poisson`.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights`` and ``contributions``, the latter dense. Only if
        ``return_latent``.
    """
    weights, topics = _factors(weights, topics)
    rng = generator(random_state)
    blocks = (
        rng.poisson(_joint_rates(block, topics)) for (block,) in _blocks(topics.size, weights)
    )
    X, contributions = _sum_over_components(blocks, keep=return_latent)
    return _drawn(X, Latent(weights, contributions=contributions), return_latent)


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
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights`` and ``totals``. Only if ``return_latent``.
    """
    weights, topics = _factors(weights, topics)
    totals = _totals(totals, weights, topics)
    X = _multinomial_counts(generator(random_state), weights, topics, totals)
    return _drawn(X, Latent(weights, totals), return_latent)


def multinomial_contributions(
    weights: ArrayLike,
    topics: ArrayLike,
    totals: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw multinomial counts as sums of what each component contributes.

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
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights``, ``totals`` and ``contributions``, the last dense. Only if
        ``return_latent``.
    """
    weights, topics = _factors(weights, topics)
    totals = _totals(totals, weights, topics)
    rng = generator(random_state)
    blocks = (
        rng.multinomial(
            block_totals, _normalized(_joint_rates(block, topics).reshape(len(block), -1))
        ).reshape(len(block), *topics.shape)
        for block, block_totals in _blocks(topics.size, weights, totals)
    )
    X, contributions = _sum_over_components(blocks, keep=return_latent)
    return _drawn(X, Latent(weights, totals, contributions), return_latent)


def word_by_word(
    weights: ArrayLike,
    topics: ArrayLike,
    totals: ArrayLike,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw every token by itself: first its component, then its feature.

    For each token :math:`n = 1, \ldots, N_d` of sample :math:`d`

    .. math::

        z_n \sim \operatorname{Categorical}(h_d), \qquad
        \nu_n \sim \operatorname{Categorical}(w_{z_n}), \qquad
        x_{dv} = \sum_n 1_{\nu_n = v}

    Model (iii) of the second lemma of the appendix "Equivalent generative models", and the story
    that PLSA tells: the same counts as :func:`multinomial`. With weights that are themselves drawn
    from a Dirichlet distribution it is the story of LDA.

    Parameters
    ----------
    weights, totals, random_state, return_latent
        As in :func:`multinomial`. The weights of a sample are taken in proportion to their sum.
    topics : array-like of shape (components, features)
        Non-negative; each row sums to 1.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights``, ``totals`` and ``assignments``. Only if ``return_latent``.
    """
    weights, topics = _factors(weights, _distributions("topics", topics))
    totals = _totals(totals, weights, topics)
    rng = generator(random_state)
    sample = np.repeat(np.arange(len(weights)), totals)
    component = _categorical(rng, _normalized(weights), sample)
    feature = _categorical(rng, topics, component)
    X: CountArray = sparse.csr_array(
        (np.ones(len(sample), dtype=np.int64), (sample, feature)),
        shape=(len(weights), topics.shape[1]),
    )
    assignments = Assignments(sample, component, feature)
    return _drawn(X, Latent(weights, totals, assignments=assignments), return_latent)


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

    The model of the section "Connection between NMF and LDA", which has, up to a constant, the
    likelihood and the variational bound of LDA. As in the paper, the total of a sample has the
    mean 1 unless ``scale`` says otherwise.

    Parameters
    ----------
    topics : array-like of shape (components, features)
        Non-negative; each row sums to 1.
    n_samples : int
        How many samples to draw.
    alpha : float or array-like of shape (components,)
        The concentration of each component, positive; one number stands for all.
    scale : float or array-like of shape (samples,), default=1.0
        The mean total :math:`s_d` of each sample, positive. It multiplies the rates and is not
        part of the weights.
    random_state, return_latent
        As in :func:`poisson`.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights`` (the proportions) and ``contributions``, the latter dense. Only
        if ``return_latent``.
    """
    topics = _distributions("topics", topics)
    n_samples = _n_samples(n_samples)
    alpha = _positive("alpha", alpha, len(topics))
    scale = _positive("scale", scale, n_samples)
    rng = generator(random_state)
    weights = rng.dirichlet(alpha, size=n_samples)
    X = _poisson_counts(rng, scale[:, None] * weights, topics)
    return _drawn_with_contributions(rng, X, weights, topics, return_latent)


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
    topics : array-like of shape (components, features)
        Non-negative; each row sums to 1.
    n_samples : int
        How many samples to draw.
    shape, rate : float or array-like of shape (components,)
        The prior of each component's weight, positive; one number stands for all. Its mean is
        ``shape / rate``.
    random_state, return_latent
        As in :func:`poisson`.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights`` and ``contributions``, the latter dense. Only if
        ``return_latent``.
    """
    topics = _distributions("topics", topics)
    n_samples = _n_samples(n_samples)
    shape = _positive("shape", shape, len(topics))
    rate = _positive("rate", rate, len(topics))
    rng = generator(random_state)
    weights = rng.gamma(shape, 1 / rate, size=(n_samples, len(topics)))
    X = _poisson_counts(rng, weights, topics)
    return _drawn_with_contributions(rng, X, weights, topics, return_latent)


def dirichlet_negative_binomial(
    topics: ArrayLike,
    n_samples: int,
    alpha: ArrayLike,
    rate: float,
    *,
    random_state: Seed = None,
    return_latent: bool = False,
) -> Draw:
    r"""Draw the proportions and the total of each sample apart, then multinomial counts.

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
    topics : array-like of shape (components, features)
        Non-negative; each row sums to 1.
    n_samples : int
        How many samples to draw.
    alpha : float or array-like of shape (components,)
        The concentration of each component, positive; one number stands for all.
    rate : float
        The rate :math:`a`, positive. The two models agree only where the components share it.
    random_state, return_latent
        As in :func:`poisson`.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (samples, features), int64
        The counts.
    latent : Latent
        With the fields ``weights`` (the proportions) and ``totals``. Only if ``return_latent``.
    """
    topics = _distributions("topics", topics)
    n_samples = _n_samples(n_samples)
    alpha = _positive("alpha", alpha, len(topics))
    (rate,) = _positive("rate", rate, 1)
    rng = generator(random_state)
    weights = rng.dirichlet(alpha, size=n_samples)
    totals = rng.negative_binomial(alpha.sum(), rate / (1 + rate), size=n_samples)
    X = _multinomial_counts(rng, weights, topics, totals)
    return _drawn(X, Latent(weights, totals), return_latent)


# Drawing


def _poisson_counts(rng: np.random.Generator, weights: Floats, topics: Floats) -> CountArray:
    return _stack(rng.poisson(block @ topics) for (block,) in _blocks(topics.shape[1], weights))


def _multinomial_counts(
    rng: np.random.Generator, weights: Floats, topics: Floats, totals: Integers
) -> CountArray:
    return _stack(
        rng.multinomial(block_totals, _normalized(block @ topics))
        for block, block_totals in _blocks(topics.shape[1], weights, totals)
    )


def _categorical(rng: np.random.Generator, distributions: Floats, which: Integers) -> Integers:
    """Draw once from ``distributions[i]`` for each ``i`` in ``which``."""
    times = np.bincount(which, minlength=len(distributions))
    draws = [
        rng.choice(len(p), size=n, p=p) for n, p in zip(times, distributions, strict=True) if n
    ]
    drawn = np.empty(len(which), dtype=np.int64)
    if draws:
        drawn[np.argsort(which, kind="stable")] = np.concatenate(draws)
    return drawn


def _share_out(
    rng: np.random.Generator, X: CountArray, weights: Floats, topics: Floats
) -> Integers:
    """Draw the contributions given their sums, which are multinomial for each count."""
    sample, feature = X.nonzero()
    shares = _normalized(weights[sample] * topics[:, feature].T)
    contributions = np.zeros((len(weights), *topics.shape), dtype=np.int64)
    contributions[sample, :, feature] = rng.multinomial(X.data, shares)
    return contributions


def _joint_rates(weights: Floats, topics: Floats) -> Floats:
    """Return the rate of each sample, component and feature."""
    return weights[:, :, None] * topics


def _normalized(rates: Floats) -> Floats:
    """Divide each row by its sum. A row of zeros, which only a total of 0 may have, is kept."""
    sums = rates.sum(axis=1, keepdims=True)
    return rates / np.where(sums > 0, sums, 1)


# Rows


def _blocks(entries_per_row: int, *arrays: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Cut the arrays into the same row blocks, each of a bounded number of entries to draw."""
    rows = max(1, _BLOCK_SIZE // entries_per_row)
    for start in range(0, len(arrays[0]), rows):
        yield tuple(array[start : start + rows] for array in arrays)


def _stack(blocks: Iterable[Integers]) -> CountArray:
    stacked: CountArray = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
    return stacked


def _sum_over_components(
    blocks: Iterable[Integers], *, keep: bool
) -> tuple[CountArray, Integers | None]:
    """Return the counts that the blocks of contributions add up to and, if kept, all of them."""
    kept: list[Integers] = []

    def sums() -> Iterator[Integers]:
        for block in blocks:
            if keep:
                kept.append(block)
            yield block.sum(axis=1)

    X = _stack(sums())
    return X, np.concatenate(kept) if keep else None


# Results


def _drawn(X: CountArray, latent: Latent, return_latent: bool) -> Draw:
    return (X, latent) if return_latent else X


def _drawn_with_contributions(
    rng: np.random.Generator, X: CountArray, weights: Floats, topics: Floats, return_latent: bool
) -> Draw:
    """Add the contributions only if they are asked for: they are much larger than the counts.

    Drawn after the counts they have the distribution that they would have drawn before them, and
    the counts do not depend on whether somebody wants to see them.
    """
    contributions = _share_out(rng, X, weights, topics) if return_latent else None
    return _drawn(X, Latent(weights, contributions=contributions), return_latent)


# Arguments


def _non_negative(name: str, matrix: ArrayLike) -> Floats:
    checked: Floats = check_array(
        matrix, dtype=np.float64, ensure_non_negative=True, input_name=name
    )
    return checked


def _factors(weights: ArrayLike, topics: ArrayLike) -> tuple[Floats, Floats]:
    weights, topics = _non_negative("weights", weights), _non_negative("topics", topics)
    if weights.shape[1] != topics.shape[0]:
        raise ValueError(
            "weights (samples x components) and topics (components x features) disagree about the "
            f"number of components: their shapes are {weights.shape} and {topics.shape}"
        )
    return weights, topics


def _distributions(name: str, matrix: ArrayLike) -> Floats:
    rows = _non_negative(name, matrix)
    sums = rows.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _SUM_TOLERANCE:
        raise ValueError(
            f"each row of {name} must sum to 1 in this process; row {worst} sums to {sums[worst]}"
        )
    return _normalized(rows)


def _totals(totals: ArrayLike, weights: Floats, topics: Floats) -> Integers:
    given = np.asarray(totals)
    if given.shape not in ((), (len(weights),)):
        raise ValueError(
            f"totals must be one number or one for each of the {len(weights)} samples; "
            f"its shape is {given.shape}"
        )
    if not (np.isfinite(given) & (given >= 0) & (given == np.floor(given))).all():
        raise ValueError("totals must be non-negative whole numbers")
    totals = np.full(len(weights), given, dtype=np.int64)
    impossible = (totals > 0) & (weights @ topics.sum(axis=1) == 0)
    if impossible.any():
        raise ValueError(
            f"sample {int(np.argmax(impossible))} has a positive total, but its weights and the "
            "topics leave every feature without probability"
        )
    return totals


def _positive(name: str, values: ArrayLike, size: int) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if given.shape not in ((), (size,)):
        raise ValueError(f"{name} must be one number or {size}; its shape is {given.shape}")
    if not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(f"{name} must be positive and finite")
    return np.broadcast_to(given, size)


def _n_samples(n_samples: int) -> int:
    n_samples = operator.index(n_samples)
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, not {n_samples}")
    return n_samples

"""What a draw returns, and drawing in row blocks of bounded size."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Dense draws are made in row blocks of about this many numbers (8 MB) and then stored sparsely.
_BLOCK_SIZE = 2**20


class Assignments(NamedTuple):
    """All tokens: token ``n`` is ``feature[n]`` in ``sample[n]``, drawn from ``component[n]``.

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X, latent = generative.word_by_word(
    ...     [[5.0, 1.0]], topics, [12], random_state=0, return_latent=True
    ... )
    >>> len(latent.assignments.feature)
    12
    """

    sample: Integers
    component: Integers
    feature: Integers


class Latent(NamedTuple):
    """The latent variables of a draw; ``None`` for those that the process does not have.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
        The weights, given or drawn; proportions if the process draws proportions.
    totals : ndarray of shape (samples,) or None
        The number of tokens of each sample, in processes that fix it before the counts.
    contributions : ndarray of shape (samples, components, features) or None
        The part of each count that each component contributed; it sums to the counts.
    assignments : Assignments or None
        The component and the feature of every token.

    Examples
    --------
    >>> from isotopic import generative
    >>> topics = [[0.9, 0.1], [0.2, 0.8]]
    >>> X, latent = generative.gamma_poisson(
    ...     topics, 4, 0.5, 0.1, random_state=0, return_latent=True
    ... )
    >>> latent.weights.shape
    (4, 2)
    """

    weights: Floats
    totals: Integers | None = None
    contributions: Integers | None = None
    assignments: Assignments | None = None


# In quotes, since SciPy's arrays accept type arguments only in recent versions.
CountArray: TypeAlias = "sparse.csr_array[np.int64, tuple[int, int]]"
Draw: TypeAlias = "CountArray | tuple[CountArray, Latent]"


def draw_counts(
    rng: np.random.Generator,
    weights: Floats,
    topics: Floats,
    totals: Integers | None = None,
    *,
    by_component: bool = False,
    return_latent: bool = False,
) -> Draw:
    """Draw Poisson counts with the rates ``weights @ topics``; multinomial counts for given totals.

    With ``by_component``, the contributions of the components are drawn and summed.
    """
    n_rows = max(1, _BLOCK_SIZE // (topics.size if by_component else topics.shape[1]))
    blocks, kept = [], []
    for start in range(0, len(weights), n_rows):
        rows = slice(start, start + n_rows)
        rates = weights[rows, :, None] * topics if by_component else weights[rows] @ topics
        if totals is None:
            drawn = rng.poisson(rates)
        else:
            shares = normalized_rows(rates.reshape(len(rates), -1))
            drawn = rng.multinomial(totals[rows], shares).reshape(rates.shape)
        if by_component and return_latent:
            kept.append(drawn)
        blocks.append(sparse.csr_array(drawn.sum(axis=1) if by_component else drawn))
    X: CountArray = sparse.vstack(blocks, format="csr")
    latent = Latent(weights, totals, np.concatenate(kept) if kept else None)
    return (X, latent) if return_latent else X


def draw_categorical(rng: np.random.Generator, distributions: Floats, which: Integers) -> Integers:
    """Draw once from ``distributions[i]`` for each ``i`` in ``which``."""
    times = np.bincount(which, minlength=len(distributions))
    draws = [
        rng.choice(len(p), size=n, p=p) for n, p in zip(times, distributions, strict=True) if n
    ]
    drawn = np.empty(len(which), dtype=np.int64)
    if draws:
        drawn[np.argsort(which, kind="stable")] = np.concatenate(draws)
    return drawn


def normalized_rows(rates: Floats) -> Floats:
    """Return the rows divided by their sums; a row of zeros stays zero (its total must be 0)."""
    sums = rates.sum(axis=1, keepdims=True)
    return rates / np.where(sums > 0, sums, 1)

"""What a draw returns, and drawing in row blocks of bounded size."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Dense draws are made in row blocks of about this many numbers (8 MB) and then stored sparsely.
_BLOCK_SIZE = 2**20


class Assignments(NamedTuple):
    """All tokens: token ``n`` is ``feature[n]`` in ``sample[n]``, drawn from ``component[n]``."""

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
    """

    weights: Floats
    totals: Integers | None = None
    contributions: Integers | None = None
    assignments: Assignments | None = None


# In quotes, since SciPy's arrays accept type arguments only in recent versions.
CountArray: TypeAlias = "sparse.csr_array[np.int64, tuple[int, int]]"
Draw: TypeAlias = "CountArray | tuple[CountArray, Latent]"


def result(X: CountArray, latent: Latent, return_latent: bool) -> Draw:
    """Return the counts, with the latent variables if they are asked for."""
    return (X, latent) if return_latent else X


def result_with_contributions(
    rng: np.random.Generator, X: CountArray, weights: Floats, topics: Floats, return_latent: bool
) -> Draw:
    """Return the counts, and draw their contributions only if they are asked for.

    Contributions need much more memory than counts. Drawn after the counts they have the same
    distribution as if they were drawn first, and the counts do not depend on ``return_latent``.
    """
    contributions = draw_contributions(rng, X, weights, topics) if return_latent else None
    return result(X, Latent(weights, contributions=contributions), return_latent)


def draw_poisson(rng: np.random.Generator, weights: Floats, topics: Floats) -> CountArray:
    """Draw independent Poisson counts with the rates ``weights @ topics``."""
    return stack_rows(
        rng.poisson(block @ topics) for (block,) in row_blocks(topics.shape[1], weights)
    )


def draw_multinomial(
    rng: np.random.Generator, weights: Floats, topics: Floats, totals: Integers
) -> CountArray:
    """Draw multinomial counts with the given totals."""
    return stack_rows(
        rng.multinomial(block_totals, normalized_rows(block @ topics))
        for block, block_totals in row_blocks(topics.shape[1], weights, totals)
    )


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


def draw_contributions(
    rng: np.random.Generator, X: CountArray, weights: Floats, topics: Floats
) -> Integers:
    """Draw the contributions given the counts: multinomial for each count."""
    sample, feature = X.nonzero()
    shares = normalized_rows(weights[sample] * topics[:, feature].T)
    contributions = np.zeros((len(weights), *topics.shape), dtype=np.int64)
    contributions[sample, :, feature] = rng.multinomial(X.data, shares)
    return contributions


def joint_rates(weights: Floats, topics: Floats) -> Floats:
    """Return the rate of each sample, component and feature."""
    return weights[:, :, None] * topics


def normalized_rows(rates: Floats) -> Floats:
    """Return the rows divided by their sums; a row of zeros stays zero (its total must be 0)."""
    sums = rates.sum(axis=1, keepdims=True)
    return rates / np.where(sums > 0, sums, 1)


def row_blocks(entries_per_row: int, *arrays: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the same row blocks of all arrays, each with a bounded number of entries to draw."""
    rows = max(1, _BLOCK_SIZE // entries_per_row)
    for start in range(0, len(arrays[0]), rows):
        yield tuple(array[start : start + rows] for array in arrays)


def stack_rows(blocks: Iterable[Integers]) -> CountArray:
    """Return the blocks as one sparse array."""
    stacked: CountArray = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
    return stacked


def sum_over_components(
    blocks: Iterable[Integers], *, keep: bool
) -> tuple[CountArray, Integers | None]:
    """Return the sums of the contributions over components and, if ``keep``, the contributions."""
    kept: list[Integers] = []

    def sums() -> Iterator[Integers]:
        for block in blocks:
            if keep:
                kept.append(block)
            yield block.sum(axis=1)

    X = stack_rows(sums())
    return X, np.concatenate(kept) if keep else None

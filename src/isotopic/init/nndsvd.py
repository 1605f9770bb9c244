"""NNDSVD: topics from a singular value decomposition (Boutsidis & Gallopoulos, 2008)."""

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.init.allocation import counts_from_topics, profiles
from isotopic.init.singular_vectors import singular_vectors


def nndsvd(X: CountMatrix, n_components: int, rng: np.random.Generator) -> tuple[Array, Array]:
    r"""Share the counts out by the non-negative parts of singular vectors.

    The singular vectors are those of

    .. math:: x_{dv} / \sqrt{n_d}, \qquad n_d = \sum_v x_{dv}.

    The positive or the negative parts of a pair make a topic, whichever have the larger product of
    norms. Divided by the root of its total, a sample has the same Poisson noise as any other, and a
    few large samples do not take all components. Zeros are filled as in the variant NNDSVDa, here
    from the overall profile. The weights are inferred from the counts: that usually starts a fit
    lower than the left singular vectors do.
    """
    return counts_from_topics(X, singular_topics(X, n_components, rng), n_components, rng)


def singular_topics(X: CountMatrix, n_components: int, rng: np.random.Generator) -> Array:
    """Return the non-negative parts of singular vectors, at most ``n_components``."""
    if not X.total > 0:
        return np.zeros((0, X.shape[1]))
    rows = X.as_sparse()  # singular vectors of equal values are chosen by the last digit
    equal_noise = profiles(rows)
    roots = np.sqrt(rows.sample_totals / rows.total)
    equal_noise.data *= np.repeat(roots, np.diff(rows.row_starts))
    left, _, right = singular_vectors(equal_noise, n_components, rng)
    del equal_noise
    left, right = left.T, right.T
    # Of each pair, take the parts with the sign whose product of squared norms is larger.
    positive = np.square(np.maximum(left, 0)).sum(axis=1)
    positive = positive * np.square(np.maximum(right, 0)).sum(axis=1)
    negative = np.square(np.maximum(-left, 0)).sum(axis=1)
    negative = negative * np.square(np.maximum(-right, 0)).sum(axis=1)
    signs = np.where(positive >= negative, 1, -1)
    topics: Array = np.maximum(signs[:, np.newaxis] * right, 0)
    return topics

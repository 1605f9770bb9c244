"""Random problems for the tests."""

import numpy as np
from scipy import sparse

from isotopic import LDA


def random_counts(rng, n_samples=12, n_features=9, mean=1.0):
    """Small counts in which no row and no column is empty."""
    X = rng.poisson(mean, (n_samples, n_features)).astype(float)
    X[:, 0] += 1
    X[0] += 1
    return X


def random_factors(rng, n_samples, n_components, n_features):
    """Weights of any scale and topics that sum to one."""
    weights = rng.gamma(2.0, size=(n_samples, n_components)) + 0.1
    return weights, rng.dirichlet(np.ones(n_features), n_components)


def sparse_counts(rng, n_samples, n_features, density, dtype=float):
    """Sparse counts with Zipf-like columns; some rows and columns may be empty."""
    popularity = 1 / np.arange(1, n_features + 1)
    dense = rng.poisson(
        density * n_features * popularity / popularity.sum(), (n_samples, n_features)
    )
    return sparse.csr_array(dense[:, rng.permutation(n_features)].astype(dtype))


def paper_lda(*args, **settings):
    """LDA as in the paper: variational, topics without a prior, and from a random start."""
    return LDA(*args, **{"estimate": "variational", "eta": None, "init": "random"} | settings)

"""The kernel in six lines of NumPy, of the same signature."""

import numpy as np
from scipy.special import xlogy

from isotopic import Counts


def expected_counts(X, weights, topics):
    product = weights @ topics
    ratio = np.divide(X, product, out=np.zeros_like(product), where=X > 0)
    by_weights = weights * (ratio @ topics.T)
    by_topics = topics * (weights.T @ ratio)
    return Counts(by_weights, by_topics, xlogy(X, product).sum())

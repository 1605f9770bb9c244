"""Some rows of the data, and what is summed of them."""

from typing import Any, Protocol

import numpy as np

from isotopic.arrays import Array
from isotopic.divergences.beta import Beta


class Block(Protocol):
    """Rows of the data next to the two powers of their product."""

    def over_features(self) -> tuple[Array, Array]:
        """Sum what is asked and what is given with the topics (rows x components)."""

    def over_samples(self, asking: Array, giving: Array) -> tuple[Array, Array]:
        """Sum the two with weights, of which each has its own (components x features)."""

    def values(self) -> Array:
        """Give the divergence of each row."""


class DenseBlock:
    """Rows whose product is made, for any beta.

    Parameters
    ----------
    divergence : Beta
    x : ndarray of shape (rows, features)
    weights : ndarray of shape (rows, components)
    topics : ndarray of shape (components, features)
    saturated : ndarray of shape (rows,)
        What :meth:`Beta.saturated` gave for these rows.
    missing : tuple of ndarray or None
        The rows and the features of the missing entries, where ``x`` is one.
    """

    def __init__(
        self,
        divergence: Beta,
        x: Array,
        weights: Array,
        topics: Array,
        saturated: Array,
        missing: tuple[Array, Array] | None,
    ) -> None:
        product = weights @ topics
        if missing is not None:
            product[missing] = 1
        out_of_reach = None
        if divergence.beta < 1 and product.min() == 0:
            out_of_reach = np.any((product == 0) & (x > 0), axis=1)
        floor = divergence.floor(product.dtype)
        np.maximum(product, product.dtype.type(floor), out=product)
        self.topics = topics
        self.asked, self.given = divergence.powers(x, product)
        self._values = divergence.values(x, product, self.asked, self.given, saturated)
        if out_of_reach is not None:
            self._values[out_of_reach] = np.inf
        if missing is not None:
            self.asked[missing], self.given[missing] = 0, 0

    def over_features(self) -> tuple[Array, Array]:
        """Multiply with the topics."""
        return self.asked @ self.topics.T, self.given @ self.topics.T

    def over_samples(self, asking: Array, giving: Array) -> tuple[Array, Array]:
        """Multiply with the weights."""
        return asking.T @ self.asked, giving.T @ self.given

    def values(self) -> Array:
        """Give the divergence of each row."""
        return self._values


class GramBlock:
    r"""Rows of sparse data for ``beta=2``, where sums over the product are those of Gram matrices.

    .. math:: (WT) T^\top = W (T T^\top), \qquad W^\top (WT) = (W^\top W) T

    Parameters
    ----------
    x : sparse array of shape (rows, features)
    weights : ndarray of shape (rows, components)
    topics : ndarray of shape (components, features)
    saturated : ndarray of shape (rows,)
        Half the sum of squares of each row.
    """

    def __init__(self, x: Any, weights: Array, topics: Array, saturated: Array) -> None:
        self.x, self.weights, self.topics, self.saturated = x, weights, topics, saturated
        self.sums = x @ topics.T, weights @ (topics @ topics.T)

    def over_features(self) -> tuple[Array, Array]:
        """Multiply the data with the topics, and the weights with the topics' Gram matrix."""
        return self.sums

    def over_samples(self, asking: Array, giving: Array) -> tuple[Array, Array]:
        """Multiply the data with the weights, and the weights' Gram matrix with the topics."""
        return (self.x.T @ asking).T, (giving.T @ self.weights) @ self.topics

    def values(self) -> Array:
        """Expand the square."""
        asked, given = self.sums
        entries = self.weights.astype(np.float64, copy=False) * (0.5 * given - asked)
        return np.asarray(self.saturated + entries.sum(axis=1))

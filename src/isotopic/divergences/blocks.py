"""Some rows of the data, and what is summed of them."""

from typing import Any, Protocol

import numpy as np

from isotopic.arrays import Array
from isotopic.divergences.beta import Beta


class Block(Protocol):
    """Rows of the data next to the two powers of their product.

    Attributes
    ----------
    sums : tuple of ndarray of shape (rows, components)
        What is asked and what is given, summed with the topics.
    values : ndarray of shape (rows,)
        The divergence of each row.
    """

    sums: tuple[Array, Array]
    values: Array

    def over_samples(self, asking: Array, giving: Array) -> tuple[Array, Array]:
        """Sum the two with weights, of which each has its own (components x features)."""


class DenseRows:
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
        self.asked, self.given = divergence.powers(x, product)
        if missing is not None:
            self.asked[missing], self.given[missing] = 0, 0
        self.sums = self.asked @ topics.T, self.given @ topics.T
        if divergence.by_entry:
            self.values = divergence.values_by_entry(x, product)
        else:
            self.values = divergence.values(saturated, weights, *self.sums)
        if out_of_reach is not None:
            self.values[out_of_reach] = np.inf

    def over_samples(self, asking: Array, giving: Array) -> tuple[Array, Array]:
        """Multiply with the weights."""
        return asking.T @ self.asked, giving.T @ self.given


class GramRows:
    r"""Rows for ``beta=2``, where sums over the product are those of Gram matrices.

    .. math:: (WT) T^\top = W (T T^\top), \qquad W^\top (WT) = (W^\top W) T

    Parameters
    ----------
    divergence : Beta
    x : ndarray or sparse array of shape (rows, features)
    weights : ndarray of shape (rows, components)
    topics : ndarray of shape (components, features)
    saturated : ndarray of shape (rows,)
        Half the sum of squares of each row.
    """

    def __init__(
        self, divergence: Beta, x: Any, weights: Array, topics: Array, saturated: Array
    ) -> None:
        self.x, self.weights, self.topics = x, weights, topics
        self.sums = x @ topics.T, weights @ (topics @ topics.T)
        self.values = divergence.values(saturated, weights, *self.sums)

    def over_samples(self, asking: Array, giving: Array) -> tuple[Array, Array]:
        """Multiply the data with the weights, and the weights' Gram matrix with the topics."""
        return (self.x.T @ asking).T, (giving.T @ self.weights) @ self.topics

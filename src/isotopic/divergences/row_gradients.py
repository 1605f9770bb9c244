"""The gradient of a divergence on some rows of the data."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isotopic.arrays import Array

if TYPE_CHECKING:
    from isotopic.divergences.majorized import Majorized


class RowGradients(Protocol):
    """The two parts of the gradient on some rows.

    Attributes
    ----------
    sums : tuple of ndarray of shape (rows, components)
        Numerator and denominator, multiplied by the topics.
    values : ndarray of shape (rows,)
        The divergence of each row.
    """

    sums: tuple[Array, Array]
    values: Array

    def sum_over_samples(
        self, numerator_weights: Array, denominator_weights: Array
    ) -> tuple[Array, Array]:
        """Return both parts multiplied by weights of their own (components x features)."""


class DenseRows:
    """Gradients from the product of the factors, which is formed for these rows.

    Parameters
    ----------
    divergence : Majorized
    x : ndarray of shape (rows, features)
    weights : ndarray of shape (rows, components)
    topics : ndarray of shape (components, features)
    saturated : ndarray of shape (rows,)
        The part of each row's divergence that depends on the data alone.
    missing : tuple of ndarray or None
        The rows and the features of the missing entries, where ``x`` is one.
    """

    def __init__(
        self,
        divergence: "Majorized",
        x: Array,
        weights: Array,
        topics: Array,
        saturated: Array,
        missing: tuple[Array, Array] | None,
    ) -> None:
        product = weights @ topics
        if missing is not None:
            product[missing] = 1
        unreachable = None
        if divergence.needs_positive_product and product.min() == 0:
            unreachable = np.any((product == 0) & (x > 0), axis=1)
        floor = divergence.smallest_product(product.dtype)
        np.maximum(product, product.dtype.type(floor), out=product)
        self.numerator, self.denominator = divergence.gradient(x, product)
        if missing is not None:
            self.numerator[missing], self.denominator[missing] = 0, 0
        self.sums = self.numerator @ topics.T, self.denominator @ topics.T
        self.values = divergence.row_values(x, product, saturated, weights, self.sums, missing)
        if unreachable is not None:
            self.values[unreachable] = np.inf

    def sum_over_samples(
        self, numerator_weights: Array, denominator_weights: Array
    ) -> tuple[Array, Array]:
        """Multiply each part by its weights."""
        return numerator_weights.T @ self.numerator, denominator_weights.T @ self.denominator


class GramRows:
    r"""Gradients of half the squared distance, from Gram matrices: the product is never formed.

    .. math:: (WT) T^\top = W (T T^\top), \qquad W^\top (WT) = (W^\top W) T

    Parameters
    ----------
    x : ndarray or sparse array of shape (rows, features)
    weights : ndarray of shape (rows, components)
    topics : ndarray of shape (components, features)
    saturated : ndarray of shape (rows,)
        Half the sum of squares of each row.
    """

    def __init__(self, x: Any, weights: Array, topics: Array, saturated: Array) -> None:
        self.x, self.weights, self.topics = x, weights, topics
        self.sums = x @ topics.T, weights @ (topics @ topics.T)
        self.values = squared_distances(saturated, weights, *self.sums)

    def sum_over_samples(
        self, numerator_weights: Array, denominator_weights: Array
    ) -> tuple[Array, Array]:
        """Multiply the data by its weights, and the Gram matrix of the others by the topics."""
        numerator = (self.x.T @ numerator_weights).T
        return numerator, (denominator_weights.T @ self.weights) @ self.topics


def squared_distances(
    saturated: Array, weights: Array, numerator: Array, denominator: Array
) -> Array:
    """Return half the squared distance of each row, from its sums."""
    halves = np.einsum("dk,dk->d", weights, denominator / 2 - numerator, dtype=np.float64)
    return np.asarray(saturated + halves)

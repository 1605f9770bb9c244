"""Leading singular vectors of sparse data: a randomised subspace, in a few products."""

from typing import Any

import numpy as np
from scipy import linalg, sparse

from isotopic.arrays import Array
from isotopic.kernels import in_waves
from isotopic.threads import one_blas_thread

# Products with the matrix and its transpose that turn random directions to the singular vectors,
# and the directions in addition to those that are wanted (Halko, Martinsson & Tropp, 2011).
_ROUNDS = 3
_MORE_DIRECTIONS = 10

# Directions shorter than this (squared, relative to the longest) are rounding.
_NO_LENGTH = 1e-12

# The rows of a product that one thread computes at a time.
_ROWS = 1024


def singular_vectors(
    matrix: sparse.csr_array, rank: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    r"""Return approximate leading singular vectors and values, as many as the matrix has.

    Random directions :math:`\Omega` are replaced by an orthonormal basis of :math:`A^T A \Omega`
    a few times. Only :math:`A^T A` is used, so neither the order of the rows nor the splitting of
    a row into :math:`\sqrt{p}` and :math:`\sqrt{1 - p}` times itself changes more than rounding.

    Parameters
    ----------
    matrix : csr_array of shape (samples, features), float64
    rank : int
        The number of singular vectors that are wanted.
    rng : Generator
        Its state changes.

    Returns
    -------
    left : ndarray of shape (samples, found)
    values : ndarray of shape (found,)
    right : ndarray of shape (features, found)
    """
    directions = min(rank + _MORE_DIRECTIONS, *matrix.shape)
    turned = matrix.T.tocsr()
    with one_blas_thread:
        basis = rng.standard_normal((matrix.shape[1], directions))
        inside = np.empty((matrix.shape[0], directions))
        for _ in range(_ROUNDS):
            inside = _product(matrix, basis, inside)
            basis = _orthonormal(_product(turned, inside, basis))
        del turned
        inside = _product(matrix, basis, inside)
        squares, vectors = _principal_axes(inside)
        values = np.sqrt(squares[:rank])
        vectors = vectors[:, :rank]
        return _product(inside, vectors / values), values, _product(basis, vectors)


def _orthonormal(columns: Array) -> Array:
    """Return an orthonormal basis of what the columns span, in their memory if it is as large."""
    squares, vectors = _principal_axes(columns)
    return _product(columns, vectors / np.sqrt(squares), columns)


def _principal_axes(columns: Array) -> tuple[Array, Array]:
    """Return the squared lengths along the principal axes, longest first, and the axes."""
    gram = np.zeros((columns.shape[1],) * 2)
    for part in in_waves(lambda rows: columns[rows].T @ columns[rows], _blocks(len(columns))):
        gram += part
    squares, axes = linalg.eigh(gram, overwrite_a=True, check_finite=False)
    squares, axes = squares[::-1], axes[:, ::-1]
    kept = squares > _NO_LENGTH * max(squares[0], 0.0)
    return squares[kept], axes[:, kept]


def _product(matrix: Any, columns: Array, to: Array | None = None) -> Array:
    """Return ``matrix @ columns``, computed by rows; the bits do not depend on the threads.

    It is written to the array ``to``, which may be the matrix, if that has its shape.
    """
    shape = matrix.shape[0], columns.shape[1]
    product = to if to is not None and to.shape == shape else np.empty(shape)

    def compute(rows: slice) -> None:
        if isinstance(matrix, np.ndarray):
            np.matmul(matrix[rows], columns, out=product[rows])
        else:
            product[rows] = matrix[rows] @ columns

    for _ in in_waves(compute, _blocks(len(product))):
        pass
    return product


def _blocks(n_rows: int) -> list[slice]:
    return [slice(at, min(at + _ROWS, n_rows)) for at in range(0, n_rows, _ROWS)]

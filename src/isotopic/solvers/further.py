"""Taking the factors that updates make further along their way."""

import numpy as np

from isotopic.arrays import Array

# How many times as large as the update makes it an entry may become: a way that leads further is
# not to be trusted.
_FURTHEST = 100.0


def further(latest: Array, previous: Array, momentum: Array | float, floor: Array | float) -> Array:
    r"""Give :math:`\text{latest} \cdot (\text{latest} / \text{previous})^\text{momentum}`.

    Momentum alone would drive entries to zero, from where no update brings them back.

    Parameters
    ----------
    latest, previous : ndarray of shape (rows, components)
        A factor, with the components of a sample or of a feature in a row.
    momentum, floor : float or ndarray of shape (rows,)
        Entries stay at least ``floor`` times the sum of their row; what is zero stays zero.
    """
    power, least = (np.reshape(given, (-1, 1)).astype(latest.dtype) for given in (momentum, floor))
    change = np.divide(latest, previous, out=np.zeros_like(latest), where=previous > 0)
    grown = np.minimum(np.minimum(change, _FURTHEST**2) ** power, _FURTHEST)
    kept = np.minimum(latest.sum(axis=1, keepdims=True) * least, np.where(latest > 0, np.inf, 0))
    return np.asarray(np.maximum(latest * grown, kept).astype(latest.dtype))

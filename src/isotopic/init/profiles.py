"""The samples as profiles: what strategies look at, free of the scale of the counts."""

from typing import Any

import numpy as np
from scipy import sparse

from isotopic.counts import CountMatrix


def profiles(X: CountMatrix) -> Any:
    """Divide each sample by its total.

    Returns
    -------
    ndarray or sparse array of shape (samples, features), float64
        Like ``X``. Samples without counts stay zero.
    """
    totals = np.where(X.sample_totals > 0, X.sample_totals, 1)
    if not X.is_sparse:
        return X.dense / totals[:, np.newaxis]
    values = X.values / np.repeat(totals, np.diff(X.row_starts))
    return sparse.csr_array((values, X.features, X.row_starts), shape=X.shape)

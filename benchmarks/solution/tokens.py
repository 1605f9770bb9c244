"""Counts as lists of words, for those who read text."""

from itertools import pairwise

import numpy as np
from scipy import sparse


def words(X: sparse.csr_array) -> list[list[str]]:
    """Write each sample as its tokens; a feature's word is its number."""
    names = np.array([str(i) for i in range(X.shape[1])], dtype=object)
    counts = X.data.astype(np.int64)
    return [
        np.repeat(names[X.indices[begin:end]], counts[begin:end]).tolist()
        for begin, end in pairwise(X.indptr)
    ]

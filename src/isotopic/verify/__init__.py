"""Check the claims of the paper numerically."""

from typing import Any

from isotopic.datasets import load_kjv
from isotopic.random import Seed
from isotopic.verify import appendices_a_to_c, appendices_d_to_f, extensions, main_text
from isotopic.verify.evidence import Evidence
from isotopic.verify.table import Claim, VerificationTable

__all__ = ["Claim", "VerificationTable", "verify"]

# In the paper's order, and then what goes beyond it.
CHECKS = (
    *main_text.checks,
    *appendices_a_to_c.checks,
    *appendices_d_to_f.checks,
    *extensions.checks,
)


def verify(
    X: Any = None, n_components: int = 5, *, n_iter: int = 20, random_state: Seed = 0
) -> VerificationTable:
    """Check the algorithms, lemmas, corollaries and theorems of the paper on data.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData (samples x features), default=None
        Non-negative counts. The default is the bundled corpus, :func:`isotopic.datasets.load_kjv`.
        If there are more than 2,000 samples, 2,000 evenly spaced ones are used.
    n_components : int, default=5
        Number of components.
    n_iter : int, default=20
        Number of iterations for which two algorithms are compared.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the common start of all models and of the random points.

    Returns
    -------
    table : VerificationTable
        A tuple of claims with the fields ``where``, ``claim``, ``deviation``, ``tolerance`` and
        ``passed``. It prints as a table, and its own ``passed`` says whether all of them hold.

    Notes
    -----
    Iterates of two models are compared on the data. Checks that need all responsibilities, or a fit
    at its fixed point, use a part of the data: the 15 most frequent features, the 12 samples with
    the most counts of them, and at most 3 components. Distributions are computed for two components
    and up to three tokens, and do not depend on the data. Fixed points are found by iterating, so
    an algorithm may move the fixed point of another one by ten times as much as its own algorithm
    still moves it.

    The deviation of factors is the largest difference of an entry, divided by the largest entry.
    The deviation of objectives is their difference, divided by the sum of all counts or by the
    objective, whichever is larger. The deviation of draws is their total variation distance.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import verify
    >>> X = np.repeat([[9, 1], [2, 8], [5, 5]], 4, axis=1)
    >>> table = verify(X, n_components=2, n_iter=5)
    >>> table.passed
    True
    >>> table[0].where
    'Algorithm 1'
    """
    evidence = Evidence.of(load_kjv().data if X is None else X, n_components, n_iter, random_state)
    return VerificationTable(check(evidence) for check in CHECKS)

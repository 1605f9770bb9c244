"""The paper's claims as numbers."""

from typing import Any

from isotopic.datasets import load_kjv
from isotopic.random import Seed
from isotopic.verify import appendices_a_to_c, appendices_d_to_f, main_text
from isotopic.verify.evidence import Evidence
from isotopic.verify.table import Claim, VerificationTable

__all__ = ["Claim", "VerificationTable", "verify"]

# In the paper's order.
CHECKS = (*main_text.checks, *appendices_a_to_c.checks, *appendices_d_to_f.checks)


def verify(
    X: Any = None, n_components: int = 5, *, n_iter: int = 20, random_state: Seed = 0
) -> VerificationTable:
    """Check every algorithm, lemma, corollary and theorem of the paper on data.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (samples, features), default=None
        Non-negative counts; ``None`` is the bundled corpus, :func:`isotopic.datasets.load_kjv`.
        Of more than 2,000 samples, 2,000 that are evenly spaced are used.
    n_components : int, default=5
        How many components.
    n_iter : int, default=20
        How many iterations of two algorithms are compared.
    random_state : int, Generator, RandomState or None, default=0
        Of the common start of all models, and of the points that are tried.

    Returns
    -------
    table : VerificationTable
        A tuple of claims with the fields ``where``, ``claim``, ``deviation``, ``tolerance`` and
        ``passed``. It prints as a table, and its own ``passed`` says whether all of them hold.

    Notes
    -----
    Iterates of two models are compared on the data. Where the responsibilities have to be written
    out, or a fit has to stand still, it is on the part of the data that has the 15 most frequent
    features, the 12 samples with the most of them, and at most 3 components. Distributions are
    computed for two components and counts of up to three words, and do not depend on the data.
    A fixed point is found by iterating; ten times what its own algorithm still moves it by is not
    held against another one.

    Factors deviate by the largest difference of an entry, divided by the largest entry; objectives
    by their difference, divided by the total of the counts or by themselves, whichever is larger;
    draws by their total variation.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import verify
    >>> table = verify(np.random.default_rng(0).poisson(2.0, size=(30, 20)), n_components=3)
    >>> table.passed
    True
    >>> table[0].where
    'Algorithm 1'
    """
    evidence = Evidence.of(load_kjv().data if X is None else X, n_components, n_iter, random_state)
    return VerificationTable(check(evidence) for check in CHECKS)

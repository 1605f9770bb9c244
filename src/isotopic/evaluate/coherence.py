"""Whether the strongest terms of a topic occur together."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.evaluate.topics import top_features, topics_of


def coherence(topics: Any, X: Any, *, measure: str = "npmi", n: int = 10) -> Array:
    r"""Mean over the pairs of a topic's strongest terms of how often they occur together.

    With :math:`D(v)` the number of samples that have the term, :math:`D(v, w)` those that have
    both, and :math:`p` these as shares of all samples, a pair adds

    .. math:: \text{NPMI} = \log\frac{p(v, w)}{p(v) p(w)} \Big/ -\log p(v, w), \qquad
        \text{UMass} = \log\frac{D(v, w) + 1}{D(w)}

    where :math:`w` is the stronger one. NPMI is -1 for terms that never meet, 0 for independent
    ones, 1 for terms that never go alone (Bouma 2009; Mimno et al. 2011).

    Parameters
    ----------
    topics : fitted model, or array-like of shape (n_components, n_features)
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Where the terms are looked for: the data of the fit, or any other over the same features.
    measure : {"npmi", "umass"}, default="npmi"
    n : int, default=10
        How many terms of each topic; at least 2.

    Returns
    -------
    coherence : ndarray of shape (n_components,)
        Higher is better. Pairs whose stronger term is not in ``X`` at all have no UMass and are
        left out of the mean; it is NaN if no other pair is left.
    """
    if not (isinstance(measure, str) and measure in MEASURES):
        raise ValueError(f"measure must be 'npmi' or 'umass', not {measure!r}")
    shares = topics_of(topics)
    occurs = _occurrence(X)
    if occurs.shape[1] != shares.shape[1]:
        raise ValueError(f"X has {occurs.shape[1]} features and the topics have {shares.shape[1]}")
    if n == 1 or shares.shape[1] == 1:
        raise ValueError("coherence is about pairs: at least two features and n=2 are needed")
    return np.array(
        [
            _mean(MEASURES[measure](_together(occurs, terms), occurs.shape[0]))
            for terms in top_features(shares, n)
        ]
    )


def _occurrence(X: Any) -> Any:
    """Give samples x features, one where a feature occurs, by column."""
    counts = CountMatrix.of(X).as_sparse()
    ones = np.ones(len(counts.values))
    return sparse.csr_array((ones, counts.features, counts.row_starts), shape=counts.shape).tocsc()


def _together(occurs: Any, terms: Array) -> Array:
    """Count the samples that have both, of all pairs of terms."""
    columns = occurs[:, terms]
    return np.asarray((columns.T @ columns).toarray())


def _npmi(together: Array, n_samples: int) -> Array:
    first, second = np.triu_indices(len(together), 1)
    joint, alone = together[first, second] / n_samples, np.diag(together) / n_samples
    always = joint == 1  # the limit of terms that never go alone
    some = (joint > 0) & ~always
    pairs = np.where(always, 1.0, -1.0)
    independent = (alone[first] * alone[second])[some]
    pairs[some] = np.log(joint[some] / independent) / -np.log(joint[some])
    return pairs


def _umass(together: Array, n_samples: int) -> Array:
    stronger, weaker = np.triu_indices(len(together), 1)
    known = np.diag(together)[stronger] > 0
    stronger, weaker = stronger[known], weaker[known]
    return np.asarray(np.log((together[stronger, weaker] + 1) / np.diag(together)[stronger]))


MEASURES: dict[str, Callable[[Array, int], Array]] = {"npmi": _npmi, "umass": _umass}


def _mean(pairs: Array) -> float:
    return float(pairs.mean()) if len(pairs) else np.nan

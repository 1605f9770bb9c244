"""Topic coherence: whether the top terms of a topic occur in the same samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.evaluate.topics import named_topics, top_features, topics_of


def coherence(topics: Any, X: Any, *, measure: str = "npmi", n: int = 10) -> Array:
    r"""Return the coherence of each topic: the mean over pairs of its top terms.

    Let :math:`D(v)` be the number of samples that contain a term, :math:`D(v, w)` the number that
    contain both, and :math:`p` these numbers divided by the number of samples. A pair contributes

    .. math:: \text{NPMI} = \log\frac{p(v, w)}{p(v) p(w)} \Big/ -\log p(v, w), \qquad
        \text{UMass} = \log\frac{D(v, w) + 1}{D(w)}

    where :math:`w` is the higher-ranked term. NPMI is -1 for terms that never occur together, 0 for
    independent terms, and 1 for terms that only occur together (Bouma 2009; Mimno et al. 2011).

    Parameters
    ----------
    topics : fitted model, or array-like of shape (n_components, n_features)
    X : array-like, sparse matrix, data frame or AnnData of shape (n_samples, n_features)
        The reference data: the data of the fit, or any other with the same features.
    measure : {"npmi", "umass"}, default="npmi"
    n : int, default=10
        Number of top terms of each topic, at least 2.

    Returns
    -------
    coherence : ndarray of shape (n_components,)
        Higher is better. UMass is undefined for pairs whose higher-ranked term does not occur in
        ``X``: they are left out, and the coherence is NaN if no pair is left.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> evaluate.coherence(NMF(2, tol=1e-2, random_state=0).fit(X), X, n=3).shape
    (2,)
    """
    if not (isinstance(measure, str) and measure in MEASURES):
        raise ValueError(f"measure must be 'npmi' or 'umass', not {measure!r}.")
    shares, names = topics_of(topics), named_topics(topics).feature_names
    counts = CountMatrix.of(X, feature_names=names, than="the topics").as_sparse()
    occurs = sparse.csr_array(
        (np.ones(len(counts.values)), counts.features, counts.row_starts), shape=counts.shape
    ).tocsc()
    if occurs.shape[1] != shares.shape[1]:
        raise ValueError(
            f"X has {occurs.shape[1]} features, but the topics have {shares.shape[1]}."
        )
    if n == 1 or shares.shape[1] == 1:
        raise ValueError(
            "Coherence is a mean over pairs of terms: use n >= 2 and data with at least 2 features."
        )
    coherences = []
    for terms in top_features(shares, n):
        columns = occurs[:, terms]
        together = (columns.T @ columns).toarray()  # samples that contain both terms of a pair
        pairs = MEASURES[measure](together, occurs.shape[0])
        coherences.append(pairs.mean() if len(pairs) else np.nan)
    return np.array(coherences)


def _npmi(together: Array, n_samples: int) -> Array:
    first, second = np.triu_indices(len(together), 1)
    joint, alone = together[first, second] / n_samples, np.diag(together) / n_samples
    always = joint == 1  # both terms are in every sample: the limit
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

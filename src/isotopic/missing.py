r"""Missing entries: counts that were not seen.

The E step shares out what it expects in their place. Where the weights have a scale an entry is a
Poisson count, and the expectation is the product :math:`(\text{weights topics})_{dv}` itself.
Where they are proportions, the observed counts of a sample are :math:`n_d` draws among the entries
that can be observed; with :math:`m_d` the probability of the missing ones,
:math:`n_d / (1 - m_d)` draws were made in all. Both are the EM algorithm with the missing counts
as latent variables, so no prior, solver or objective needs to know of them. For NMF and PLSA the
two give the same products, as they do on complete data.
"""

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix


def fill_in(
    X: CountMatrix,
    weights: Array,
    by_feature: Array,
    weight_counts: Array,
    topic_counts: Array | None,
    log_likelihoods: Array,
    proportions: bool,
) -> None:
    """Add what is expected in place of the missing entries, to all three sums.

    Parameters
    ----------
    X : CountMatrix of shape (samples, features)
        With ``missing`` entries.
    weights : ndarray of shape (samples, components)
    by_feature : ndarray of shape (features, components)
        The topics, turned.
    weight_counts, topic_counts, log_likelihoods : ndarray
        Of the observed entries; changed in place. ``topic_counts`` (features x components) may be
        absent.
    proportions : bool
        Whether the weights of a sample sum to one.
    """
    missing = X.missing
    assert missing is not None
    reach = missing @ by_feature  # the part of each topic that a sample cannot show
    unseen = np.einsum("dk,dk->d", weights, reach, dtype=np.float64)
    if proportions:
        draws = X.sample_totals / (1 - unseen)
        log_likelihoods -= X.sample_totals * np.log1p(-unseen)
    else:
        draws = np.ones(len(unseen)) if X.copies is None else X.copies
        log_likelihoods += draws * unseen
    filled = weights * draws.astype(weights.dtype)[:, np.newaxis]
    weight_counts += filled * reach
    if topic_counts is not None:
        topic_counts += by_feature * (missing.T @ filled)

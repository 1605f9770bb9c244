r"""Missing entries: counts that were not observed.

Where the weights have a scale, an entry is a Poisson count, and what is not seen is left out: the
weights of a sample see only the part of the topics that it can show, :math:`\sum_{v\,\text{seen}}
t_{kv}`, and topics with a scale only the samples that show a feature. Normalised topics cannot
leave features out, because they must sum to one over all of them: they are given the counts that
are expected there, :math:`\sum_{d\,\text{unseen}} w_{dk} t_{kv}`, which is the EM algorithm with
these counts as latent variables. (For Dirichlet topics that is a looser bound.)

Where the weights are proportions, the observed counts of a sample are :math:`n_d` draws among the
entries that can be observed. With :math:`m_d` the probability of the missing ones,
:math:`n_d / (1 - m_d)` draws were made in all, and both sides are given what is expected of them.

For NMF and PLSA the two give the same products, as they do on complete data.
"""

from typing import Any

import numpy as np

from isotopic.arrays import Array


class Missing:
    """The missing entries of a matrix.

    Parameters
    ----------
    pattern : sparse array of shape (samples, features)
        Ones at the missing entries, in float64: what is left of a whole is computed from it.
    """

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern
        self.unknown = (
            np.diff(pattern.indptr) == pattern.shape[1]
        )  # samples without any observed entry
        self._last: tuple[Array, Array] | None = None

    def rows(self, which: Array) -> "Missing":
        """Return the missing entries of some samples."""
        part = Missing(self.pattern[which])
        if self._last is not None:
            part._last = self._last[0], self._last[1][which]
        return part

    def reach(self, topics: Array) -> Array:
        """Return the part of each topic at the missing entries (samples x components)."""
        if self._last is None or self._last[0] is not topics:  # used several times in an update
            wide = np.ascontiguousarray(topics.T, dtype=np.float64)
            self._last = topics, np.asarray(self.pattern @ wide)
        return self._last[1]

    def sums(self, weights: Array, copies: Array | None = None) -> Array:
        """Return the weights summed over samples that miss a feature (components x features)."""
        wide = weights.astype(np.float64, copy=False)
        if copies is not None:
            wide = wide * copies[:, np.newaxis]
        return np.asarray((self.pattern.T @ wide).T)


def fill_in(
    missing: Missing,
    sample_totals: Array,
    weights: Array,
    topics: Array,
    weight_counts: Array,
    topic_counts: Array | None,
    log_likelihoods: Array,
) -> None:
    """Add the counts that are expected at the missing entries to all three sums.

    Parameters
    ----------
    missing : Missing
    sample_totals : ndarray of shape (samples,)
        The observed counts :math:`n_d`.
    weights : ndarray of shape (samples, components)
        (Effective) proportions.
    topics : ndarray of shape (components, features)
        (Effective) topics.
    weight_counts, topic_counts, log_likelihoods : ndarray
        Of the observed entries; changed in place. ``topic_counts`` may be absent.
    """
    reach = missing.reach(topics)
    seen = 1 - np.einsum("dk,dk->d", weights, reach)
    # Rounding cannot tell smaller shares from zero; samples without counts add nothing.
    seen = np.where(sample_totals > 0, np.maximum(seen, np.finfo(np.float64).eps), 1.0)
    log_likelihoods -= sample_totals * np.log(seen)
    draws = weights * (sample_totals / seen)[:, np.newaxis]
    weight_counts += draws * reach
    if topic_counts is not None:
        topic_counts += topics * missing.sums(draws)

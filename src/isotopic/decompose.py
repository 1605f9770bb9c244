"""Explain topics by reference topics: each is known, a mix of a few, or new."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import nnls

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.match import cosine_similarity
from isotopic.references import Reference, as_reference, read_named, read_reference
from isotopic.refit import refit_counts
from isotopic.table import Table

# A topic is compared as if it were estimated from this many counts: a reference topic is added to a
# mix only if it improves the fit to them.
_COUNTS = 2000.0

# A mix must have a cosine higher by this than the most similar reference topic alone.
_GAIN = 0.05

# A reference topic stays in a mix only if the cosine would fall by more than this without it.
_LEAST_GAIN = 0.01


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Topics, and what they are in terms of reference topics.

    Attributes
    ----------
    weights : ndarray of shape (n_topics, n_reference_topics)
        The shares of reference topics in each topic; rows sum to one, with exact zeros.
    cosine : ndarray of shape (n_topics,)
        The cosine similarity of each topic and its mix.
    verdict : ndarray of str
        ``"known"``: one reference topic is similar enough. ``"mix"``: a few of them together are.
        ``"new"``: neither; the mix is the nearest one.
    topic_names, reference_names : ndarray of str

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import decompose
    >>> reference = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> list(decompose(reference[:1], reference).table["verdict"])
    ['known']
    """

    weights: Array
    cosine: Array
    verdict: Array
    topic_names: Array
    reference_names: Array

    @property
    def names(self) -> list[list[str]]:
        """The names of the reference topics in each topic, the largest share first."""
        return [[str(self.reference_names[k]) for k in _largest(row)] for row in self.weights]

    @property
    def table(self) -> Table:
        """A row for each topic: reference topics, their shares, the cosine and the verdict."""
        shares = [[f"{row[k]:.2f}" for k in _largest(row)] for row in self.weights]
        return Table(
            topic=self.topic_names,
            names=np.array([" + ".join(names) for names in self.names], dtype=object),
            shares=np.array([" + ".join(row) for row in shares], dtype=object),
            cosine=self.cosine,
            verdict=self.verdict,
        )

    def __repr__(self) -> str:
        return repr(self.table)


def decompose(
    topics: Any, reference: Any, *, threshold: float = 0.9, max_topics: int = 4
) -> Decomposition:
    """Explain each topic by one reference topic, or by a mix of a few.

    Parameters
    ----------
    topics : fitted model, data frame, array or path
        Topics x features.
    reference : fitted model, data frame, array or path
        Reference topics, such as a table of COSMIC signatures; aligned by feature names as in
        :func:`refit`.
    threshold : float, default=0.9
        The cosine similarity from which on a topic is explained.
    max_topics : int, default=4
        The most reference topics in a mix. Each of them raises the cosine by more than 0.01.

    Returns
    -------
    decomposition : Decomposition
        Its ``table`` has names, shares, cosine and verdict. A topic is ``"known"`` if the cosine to
        one reference topic is at least the threshold and a mix is not better by more than 0.05; it
        is a ``"mix"`` if the mix reaches the threshold; else it is ``"new"``.

    Examples
    --------
    >>> from isotopic import decompose
    >>> reference = [[5, 3, 1, 0, 0], [0, 0, 2, 4, 3], [1, 0, 0, 0, 9]]
    >>> decompose([[5, 3, 1, 0, 0], [10, 6, 4, 4, 3], [0, 9, 0, 1, 0]], reference)
    topic  names  shares       cosine  verdict
    0      0      1.00              1  known
    1      0 + 1  0.67 + 0.33       1  mix
    2      0      1.00          0.504  new
    """
    if not (isinstance(threshold, Real) and 0 < float(threshold) <= 1):
        raise ValueError(f"threshold must be above 0 and at most 1, not {threshold!r}.")
    whole = isinstance(max_topics, Integral) and not isinstance(max_topics, bool)
    if not whole or int(max_topics) < 1:
        raise ValueError(f"max_topics must be an integer of at least 1, not {max_topics!r}.")
    found = read_named(topics, "topics")
    ours = as_reference("topics", found)
    known = read_reference(reference, found)
    similar = cosine_similarity(ours.topics, known.topics)
    nearest = similar.argmax(axis=1)
    alone = similar[np.arange(len(similar)), nearest]
    mixes = _mixes(ours.topics, known, int(max_topics))
    cosine = _row_cosines(ours.topics, mixes @ known.topics)
    is_known = (alone >= threshold) & (cosine - alone <= _GAIN)
    # One reference topic, if it is enough, and where the most similar one beats the mix.
    is_alone = is_known | (alone > cosine)
    mixes[is_alone] = 0
    mixes[is_alone, nearest[is_alone]] = 1
    cosine = np.where(is_alone, alone, cosine)
    verdict = np.where(is_known, "known", np.where(cosine >= threshold, "mix", "new"))
    return Decomposition(mixes, cosine, verdict.astype(object), ours.names, known.names)


def _mixes(topics: Array, known: Reference, max_topics: int) -> Array:
    """Return the shares of reference topics in each topic, with at most ``max_topics`` of them."""
    penalty = 1 + np.log(len(known.topics))
    shares = np.zeros((len(topics), len(known.topics)))
    left = np.arange(len(topics))
    while len(left):
        counts = CountMatrix.of(_COUNTS * topics[left], np.float64).as_sparse()
        found = refit_counts(counts, known, left, penalty=penalty, certainty=0, dispersion=1)
        weights = found.weights
        shares[left] = weights / weights.sum(axis=1, keepdims=True)
        left = left[np.count_nonzero(weights, axis=1) > max_topics]
        penalty *= 1.5
    pairs = zip(topics, shares, strict=True)
    return np.array([_pruned(topic, mix, known.topics) for topic, mix in pairs])


def _pruned(topic: Array, shares: Array, known: Array) -> Array:
    """Return a mix without the reference topics that hardly raise its cosine."""
    part, cosine = np.flatnonzero(shares), _row_cosines(topic, shares @ known)
    while len(part) > 1:
        smaller = [np.delete(part, k) for k in range(len(part))]
        mixes = [nnls(known[some].T, topic)[0] for some in smaller]
        rebuilt = [mix @ known[some] for mix, some in zip(mixes, smaller, strict=True)]
        cosines = _row_cosines(topic, np.array(rebuilt))
        best = int(np.argmax(cosines))
        if cosine - cosines[best] > _LEAST_GAIN:
            break
        part, cosine, shares = smaller[best], cosines[best], np.zeros_like(shares)
        shares[part] = mixes[best] / mixes[best].sum()
    return shares


def _row_cosines(a: Array, b: Array) -> Array:
    cosines = (a * b).sum(axis=-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
    return np.asarray(np.minimum(cosines, 1.0))


def _largest(shares: Array) -> list[int]:
    """Return the topics that are present, the largest share first."""
    order = np.argsort(-shares, kind="stable")
    return [int(k) for k in order if shares[k] > 0]

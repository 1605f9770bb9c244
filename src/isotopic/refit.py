"""Find which reference topics each sample contains, and how much of each: refit."""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse, special, stats

from isotopic._core import native
from isotopic.arrays import Array, check_level
from isotopic.containers import NamedMatrix
from isotopic.counts import CountMatrix
from isotopic.names import EmptySampleWarning, stacklevel_of_caller
from isotopic.references import Reference, read_named, read_reference
from isotopic.table import Table
from isotopic.threads import current_threads, use_threads
from isotopic.transformed import warn_if_transformed

# The part of each reference topic that is uniform while topics are selected. A table of signatures
# has zeros where few counts were seen; one stray count must not exclude a topic.
_BACKGROUND = 1e-3

_NOT_COUNTS = (
    "refit compares what topics gain with the noise of counts, so the number of topics that it "
    "finds depends on the scale of X. Pass the counts themselves."
)

# Samples whose reconstruction is computed at a time.
_ROWS_AT_A_TIME = 1024


@dataclass(frozen=True, eq=False)
class Refit:
    """The reference topics that each sample contains.

    Attributes
    ----------
    weights : ndarray of shape (n_samples, n_topics)
        The counts of each sample that each reference topic explains; exactly zero for a topic that
        is absent.
    lower, upper : ndarray of shape (n_samples, n_topics)
        An interval for each weight (profile likelihood); zero for a topic that is absent.
    p_values : ndarray of shape (n_samples, n_topics)
        Of the likelihood-ratio test that a topic is absent, given the other topics of the sample; 1
        for a topic that is absent.
    probabilities : ndarray of shape (n_samples, n_topics)
        The approximate probability that a topic is present, against the best choice of topics
        without it: 0.5 if others explain the sample equally well. 0 for a topic that is absent.
    dispersion : ndarray of shape (n_samples,)
        How much more the counts vary than Poisson counts around the reconstruction; at least 1.
    cosine : ndarray of shape (n_samples,)
        The cosine similarity of each sample and its reconstruction; NaN for a sample of zeros.
    divergence : ndarray of shape (n_samples,)
        The Kullback-Leibler divergence of each sample from its reconstruction. Infinite if the
        chosen topics exclude a count.
    topics : ndarray of shape (n_topics, n_features)
        The reference, over the features of the data, each topic with a sum of one.
    topic_names, sample_names : ndarray of str
    level : float
        The level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import refit
    >>> reference = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> found = refit(np.array([[70, 20, 10]]), reference)
    >>> found.weights.shape, len(found.table["topic"])
    ((1, 2), 1)
    """

    weights: Array
    lower: Array
    upper: Array
    p_values: Array
    probabilities: Array
    dispersion: Array
    cosine: Array
    divergence: Array
    topics: Array
    topic_names: Array
    sample_names: Array
    level: float

    def named_matrix(self) -> NamedMatrix:
        """Return the weights with their names, as functions read them that take weights."""
        return NamedMatrix(self.weights, self.topic_names, self.sample_names)

    @property
    def table(self) -> Table:
        """A row for each topic that a sample contains, by sample and then by weight."""
        rows, columns = np.nonzero(self.weights)
        order = np.lexsort((columns, -self.weights[rows, columns], rows))
        at = rows[order], columns[order]
        totals = self.weights.sum(axis=1)
        return Table(
            sample=self.sample_names[at[0]],
            topic=self.topic_names[at[1]],
            weight=self.weights[at],
            share=self.weights[at] / totals[at[0]],
            lower=self.lower[at],
            upper=self.upper[at],
            p_value=self.p_values[at],
            probability=self.probabilities[at],
        )

    @property
    def samples(self) -> Table:
        """A row for each sample: its number of topics, and how well they reconstruct it."""
        return Table(
            sample=self.sample_names,
            n_topics=np.count_nonzero(self.weights, axis=1),
            cosine=self.cosine,
            divergence=self.divergence,
            dispersion=self.dispersion,
        )

    def __repr__(self) -> str:
        present = np.count_nonzero(self.weights, axis=1)
        mean = np.nanmean(self.cosine) if np.any(~np.isnan(self.cosine)) else np.nan
        return (
            f"<Refit of {len(self.weights)} samples to {len(self.topics)} reference topics: "
            f"{present.mean():.1f} topics for each sample, mean cosine {mean:.3f}>"
        )


def refit(
    X: Any,
    reference: Any,
    *,
    penalty: float | None = None,
    certainty: float = 0.95,
    dispersion: float | str = "estimate",
    max_total: float | None = None,
    opportunity: Any = None,
    level: float = 0.95,
    n_jobs: int | None = None,
) -> Refit:
    r"""Find which reference topics each sample contains, and how much of each.

    For each sample a set :math:`S` of topics is chosen that maximises

    .. math:: \max_{w \ge 0} \sum_v \Big(x_v \log \sum_{k \in S} w_k t_{kv}
        - \sum_{k \in S} w_k t_{kv}\Big) - \phi \, \text{penalty} \, |S|

    by stepwise selection: from the best single topic on, topics are removed, added and exchanged
    until no such step improves the sum; then once more from a larger set. All other weights are
    exactly zero.

    A topic can gain much and still be wrong, because others would explain the same counts. So for
    each topic the best choice without it is found, in which others may take its place. If that
    choice is worse by :math:`m`, the topic is present with a probability of about
    :math:`1 / (1 + e^{-m / \phi})`. Topics of a smaller probability than ``certainty`` are left
    out, but never the largest topic of a sample.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or path of shape (n_samples, n_features)
        Counts.
    reference : fitted model, data frame, array or path
        Topics x features. If both sides have names of features, they are aligned by name. A table
        of features x topics, as COSMIC publishes signatures, is recognised and transposed.
    penalty : float or None, default=None
        The log-likelihood that a topic must gain to be chosen. ``None`` is ``log(n_topics) +
        log(total) / 2``, where ``total`` is the sum of the sample, as in the extended Bayesian
        information criterion (Chen & Chen 2008): the first term for the choice among that many
        topics, the second for a weight.
    certainty : float, default=0.95
        The least probability of a topic that is kept; at least 0 and below 1. 0 keeps all of them:
        the sample is explained best, but by topics that may stand for similar ones.
    dispersion : {"estimate"} or float, default="estimate"
        The factor :math:`\phi` by which counts vary more than Poisson counts do. The default
        estimates it for each sample (Pearson's statistic by degree of freedom, at least 1), so that
        large samples, which no reference fits exactly, do not get many small topics. 1: Poisson.
    max_total : float or None, default=None
        The total of a sample above which it counts as if it had this total (hypermutated samples).
        Its weights still add up to its own total.
    opportunity : array-like of shape (n_features,) or None, default=None
        A factor for each feature by which the reference topics are multiplied: how often the
        feature can occur where the data were measured (an exome, a panel), relative to where the
        reference was (the genome).
    level : float, default=0.95
        The level of the intervals.
    n_jobs : int or None, default=None
        The number of threads; ``None``: every core. The results have the same bits for any number.

    Returns
    -------
    refit : Refit
        ``weights`` (samples x reference topics), ``table`` and more.

    Notes
    -----
    The tests and intervals take the set of the other topics as given; they do not know that it was
    selected. While topics are selected, each is mixed with 0.1 % of a uniform topic.

    Examples
    --------
    >>> from isotopic import refit
    >>> found = refit([[60, 30, 10, 0]], [[6, 3, 1, 0], [0, 0, 5, 5], [3, 3, 3, 1]])
    >>> found.weights.round(3)
    array([[100.,   0.,   0.]])
    """
    data = read_named(X, "X")
    counts = CountMatrix.of(data.matrix, np.float64).as_sparse()
    known = read_reference(reference, data, opportunity)
    warn_if_transformed(counts, _NOT_COUNTS)
    _warn_of_empty_samples(counts)
    names = data.sample_names
    if names is None:
        names = np.array([str(i) for i in range(counts.shape[0])], dtype=object)
    with use_threads(n_jobs):
        return refit_counts(
            counts,
            known,
            names,
            penalty=penalty,
            certainty=certainty,
            dispersion=dispersion,
            max_total=max_total,
            level=level,
        )


def refit_counts(
    counts: CountMatrix,
    known: Reference,
    sample_names: Array,
    *,
    penalty: float | None,
    certainty: float,
    dispersion: float | str,
    max_total: float | None = None,
    level: float = 0.95,
) -> Refit:
    """Return what :func:`refit` finds in sparse counts over the features of the reference."""
    n_samples, n_topics = counts.shape[0], len(known.topics)
    fixed = None if dispersion == "estimate" else _number("dispersion", dispersion, 1.0)
    check_level(level)
    least_margin = _least_margin(certainty)
    values, scale = counts.values, np.ones(n_samples)
    if max_total is not None:
        most = _number("max_total", max_total)
        scale = most / np.maximum(counts.sample_totals, most)
        values = values * np.repeat(scale, np.diff(counts.row_starts))
    by = 1.0 if fixed is None else fixed
    penalties = _penalties(penalty, n_topics, scale * counts.sample_totals)
    weights, losses, margins, lower, upper = (np.empty((n_samples, n_topics)) for _ in range(5))
    found = np.empty(n_samples)
    native.select_topics(
        counts.row_starts,
        counts.features,
        values,
        np.ascontiguousarray(known.topics.T),
        by * penalties,
        _BACKGROUND,
        by * float(stats.chi2.isf(1 - level, 1)) / 2,
        by * least_margin,
        fixed is None,
        weights,
        losses,
        margins,
        lower,
        upper,
        found,
        current_threads(),
    )
    weights, lower, upper = (table / scale[:, np.newaxis] for table in (weights, lower, upper))
    found *= by
    p_values = np.where(weights > 0, _p_values(losses / found[:, np.newaxis]), 1.0)
    probabilities = np.where(weights > 0, special.expit(margins / by), 0.0)
    cosine, divergence = _reconstruction(counts, weights, known.topics)
    return Refit(
        weights,
        lower,
        upper,
        p_values,
        probabilities,
        found,
        cosine,
        divergence,
        known.topics,
        known.names,
        sample_names,
        float(level),
    )


def _warn_of_empty_samples(counts: CountMatrix) -> None:
    n_empty = np.count_nonzero(counts.sample_totals == 0)
    if n_empty:
        warnings.warn(
            f"{n_empty:,} of {counts.shape[0]:,} samples have no counts: they contain no topic, "
            "and their cosine is NaN.",
            EmptySampleWarning,
            stacklevel=stacklevel_of_caller(),
        )


def _penalties(given: Any, n_topics: int, totals: Array) -> Array:
    """Return the log-likelihood that a topic must gain in each sample."""
    if given is not None:
        return np.full(len(totals), _number("penalty", given))
    return np.asarray(np.log(n_topics) + np.log(np.maximum(totals, 1)) / 2)


def _least_margin(certainty: Any) -> float:
    """Return how much better a choice must be than those without a topic, in log-likelihood."""
    is_number = isinstance(certainty, Real) and not isinstance(certainty, bool)
    if not is_number or not 0 <= float(certainty) < 1:
        raise ValueError(
            f"certainty must be at least 0 (keep all topics) and below 1, not {certainty!r}."
        )
    return float(special.logit(float(certainty)))


def _p_values(losses: Array) -> Array:
    """Return p-values of likelihood ratios; half of them are zero where a weight cannot be less."""
    return np.asarray(0.5 * stats.chi2.sf(2 * np.maximum(losses, 0), 1))


def _reconstruction(counts: CountMatrix, weights: Array, topics: Array) -> tuple[Array, Array]:
    """Return the cosine and the Kullback-Leibler divergence of each sample's reconstruction."""
    n_samples = counts.shape[0]
    cosine, divergence = np.full(n_samples, np.nan), np.zeros(n_samples)
    matrix = sparse.csr_array(
        (counts.values, counts.features, counts.row_starts), shape=counts.shape
    )
    for begin in range(0, n_samples, _ROWS_AT_A_TIME):
        rows = slice(begin, begin + _ROWS_AT_A_TIME)
        x, mean = matrix[rows].toarray(), weights[rows] @ topics
        norms = np.linalg.norm(x, axis=1) * np.linalg.norm(mean, axis=1)
        np.divide((x * mean).sum(axis=1), norms, out=cosine[rows], where=norms > 0)
        with np.errstate(divide="ignore"):
            ratio = np.divide(x, mean, out=np.ones_like(x), where=x > 0)
        divergence[rows] = (x * np.log(ratio) - x + mean).sum(axis=1)
    return np.minimum(cosine, 1.0), np.maximum(divergence, 0.0)


def _number(name: str, given: Any, least: float = 0.0) -> float:
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if not is_number or not least <= float(given) < np.inf or float(given) == 0 == least:
        wanted = "positive finite number" if least == 0 else f"finite number of at least {least:g}"
        raise ValueError(f"{name} must be a {wanted}, not {given!r}.")
    return float(given)

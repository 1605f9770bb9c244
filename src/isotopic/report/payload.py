"""Collect everything that the page shows.

``ReportData.payload`` is where the data of a new panel is added; see ``PANELS`` in ``write.py``.
"""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import sample_names_of
from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.evaluate import proportions
from isotopic.fitted import Fitted, fitted_of, read_feature_names
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.inference import infer
from isotopic.kernels import normalized
from isotopic.report import samples, summary, topics
from isotopic.report.limits import Limits
from isotopic.report.readings import describe_readings
from isotopic.threads import use_threads

# Samples that are listed for each topic: those with its largest share.
_BEST = 6

# Sums of the same float32 counts in different orders agree to this relative tolerance.
_ROUNDING = 1e-5


class ReportData:
    """A fitted model and its validated data, from which payloads of any size are made."""

    def __init__(
        self, model: BaseTopicModel, X: Any, feature_names: Any, sample_names: Any, documents: Any
    ) -> None:
        fitted = fitted_of(model)
        self.model, self.fitted = model, fitted
        self.feature_names = read_feature_names(fitted, feature_names)
        self.X: CountMatrix = model.read_counts(X)
        if self.X.total == 0:
            raise ValueError(
                "X has no counts: all entries are zero. A report needs at least one count."
            )
        n_samples = self.X.shape[0]
        if sample_names is None:
            sample_names = sample_names_of(X)
        if sample_names is None:
            sample_names = map("sample {}".format, range(n_samples))
        self.sample_names = _as_texts("sample_names", sample_names, n_samples)
        self.documents: Array | None = None
        if documents is not None:
            self.documents = _as_texts("documents", documents, n_samples)
        self.is_fitted_data = _has_totals_of(fitted, self.X)
        if self.is_fitted_data:
            weights, self.explained = fitted.weights, explained_counts(fitted)[0]
        else:
            with use_threads(model.n_jobs):
                weights = infer(fitted, self.X)
            self.explained = fitted.weights_prior.implied_counts(
                weights, self.X.sample_totals, fitted.pair.topics_totals(fitted.topics)
            )
        self.effective_weights = weights.effective
        self.proportions = proportions(weights.mean, model.components_)
        self.readings = describe_readings(model)

    def payload(self, title: str, limits: Limits) -> dict[str, Any]:
        """Return what the page shows; its scripts know it as ``report``."""
        model, X = self.model, self.X
        frequencies = X.feature_totals / X.total
        topic = topics.describe_topics(
            normalized(model.components_), self.explained.sum(axis=0), frequencies, limits.terms
        )
        sample = self._describe_samples(frequencies, limits)
        used = np.union1d(topic["terms"], sample["own"]["terms"]).astype(np.int64)
        topic["terms"] = np.searchsorted(used, topic["terms"])
        topic["distinct"] = np.searchsorted(used, topic["distinct"])
        sample["own"]["terms"] = np.searchsorted(used, sample["own"]["terms"])
        return {
            "title": samples.shorten([title], 300)[0],
            "model": summary.describe_model(model),
            "data": summary.describe_data(X) | {"fitted": self.is_fitted_data},
            "convergence": summary.describe_convergence(model, limits.history),
            "readings": self.readings,
            "terms": {
                "names": samples.shorten(self.feature_names[used], limits.name),
                "totals": X.feature_totals[used],
            },
            "topics": topic,
            "samples": sample,
            "left_out": self._left_out(len(used), sample, limits),
            "shown_terms": limits.terms,
        }

    def _describe_samples(self, frequencies: Array, limits: Limits) -> dict[str, Any]:
        """Return what the page shows of the samples; terms are indices of features."""
        which, spread = samples.choose_samples(self.proportions, limits)
        rows, shares, explained = self.X.rows(which), self.proportions[which], self.explained[which]
        best = np.argsort(-shares, axis=0, kind="stable")[:_BEST]
        order = np.argsort(-explained, axis=1, kind="stable")[:, : limits.mixture]
        counts = np.take_along_axis(explained, order, axis=1)
        large = (counts > 0) & (counts >= limits.share * explained.sum(axis=1, keepdims=True))
        effective, texts = self.effective_weights[which], None
        if self.documents is not None:
            length = min(limits.text, max(1, limits.all_text // len(which)))
            texts = samples.shorten(self.documents[which], length)
        return {
            "rows": which,
            "spread": spread,
            "names": samples.shorten(self.sample_names[which], limits.name),
            "totals": rows.sample_totals,
            "explained": explained.sum(axis=1),
            "best": best.T.tolist(),
            "best_proportions": np.take_along_axis(shares, best, axis=0).T.tolist(),
            # The topics with at least the least share, largest first.
            "mixtures": {
                "starts": np.append(0, np.cumsum(large.sum(axis=1))),
                "topics": order[large],
                "counts": counts[large],
            },
            "own": samples.distinctive_terms(
                rows, effective, self.fitted.topics.effective, frequencies, limits.sample_terms
            ),
            "documents": texts,
        }

    def _left_out(self, n_terms: int, sample: dict[str, Any], limits: Limits) -> list[str]:
        """Return sentences that say what the page leaves out."""
        n_samples, n_features = self.X.shape
        kept = len(sample["rows"])
        sentences = []
        if kept < n_samples:
            sentences.append(
                f"The report contains {kept:,} of {n_samples:,} samples: those with the largest "
                "share of each topic, and others at equal steps. The figures for topics are "
                "computed from all samples."
            )
        if n_terms < n_features:
            sentences.append(
                f"The report contains {n_terms:,} of {n_features:,} features: the {limits.terms} "
                "most relevant of each topic for every position of the slider, and the "
                f"{limits.sample_terms} most distinctive of each sample."
            )
        n_topics = len(self.fitted.topics.mean)
        largest = "" if n_topics <= limits.mixture else f"{limits.mixture} largest "
        sentences.append(
            f"A sample lists its {largest}topics with a share of at least {limits.share:.1%}."
        )
        documents = self.documents
        if documents is not None and sample["documents"] != documents[sample["rows"]].tolist():
            sentences.append("Long documents are shortened.")
        names = map(str, (*self.feature_names, *self.sample_names))
        if max(map(len, names)) > limits.name:
            sentences.append(f"Names are shortened to {limits.name} characters.")
        return sentences


def _has_totals_of(fitted: Fitted, X: CountMatrix) -> bool:
    """Return whether these are the fitted counts, judged by their row and column sums."""
    if X.shape[0] != len(fitted.sample_totals):
        return False
    found, expected = X.sample_totals, fitted.sample_totals
    if fitted.copies is None:
        found = np.append(found, X.feature_totals)
        expected = np.append(expected, fitted.feature_totals)
    return np.allclose(found, expected, rtol=_ROUNDING, atol=0)


def _as_texts(name: str, values: Any, n: int) -> Array:
    """Return one text for each sample."""
    if isinstance(values, (str, bytes)):
        raise TypeError(
            f"{name} must be a sequence with one entry for each sample, not a single string."
        )
    texts = np.array(list(map(str, values)), dtype=object)
    if len(texts) != n:
        raise ValueError(f"{name} has {len(texts)} entries, but X has {n} samples.")
    return texts

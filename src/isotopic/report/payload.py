"""Collect everything that the page shows.

``ReportData.payload`` is where the data of a new panel is added; see ``panels.py``.
"""

from functools import cached_property
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import gene_symbols_of, sample_names_of
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.estimators.base import BaseTopicModel
from isotopic.evaluate import proportions
from isotopic.fitted import Fitted, fitted_of, read_feature_names
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.inference import infer
from isotopic.fitted.offsets import read_new_covariates
from isotopic.io import CUT, CountData
from isotopic.match import hellinger_similarity
from isotopic.names import symbols_in_names
from isotopic.report import rows, samples, summary, topics
from isotopic.report.chunks import Archive, Sidecar, compress_tree
from isotopic.report.effects import describe_effects
from isotopic.report.fields import FIELDS, describe_spectrum, find_field
from isotopic.report.limits import Limits
from isotopic.report.metadata import describe_metadata, read_metadata
from isotopic.report.readings import describe_readings
from isotopic.report.relations import describe_relations
from isotopic.report.stability import describe_consensus
from isotopic.report.texts import shortened_archive, text_archive
from isotopic.threads import use_threads

# Samples that are listed for each topic: those with its largest share.
_BEST = 6

# Sums of the same float32 counts in different orders agree to this relative tolerance.
_ROUNDING = 1e-5


class ReportData:
    """A fitted model and its validated data, from which payloads of any size are made."""

    def __init__(
        self,
        model: BaseTopicModel,
        X: Any,
        feature_names: Any = None,
        sample_names: Any = None,
        documents: Any = None,
        metadata: Any = None,
        field: str | None = None,
        consensus: Any = None,
        covariates: Any = None,
    ) -> None:
        fitted = fitted_of(model)
        self.consensus = describe_consensus(consensus, model.components_)
        self.model, self.fitted = model, fitted
        if feature_names is None:
            feature_names = gene_symbols_of(X)
        self.feature_names = read_feature_names(fitted, feature_names)
        self.X: CountMatrix = model.validate_counts(X)
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
        if documents is None and isinstance(X, CountData):
            documents = X.documents
        if documents is not None:
            self.documents = _as_texts("documents", documents, n_samples)
        symbols = symbols_in_names(self.feature_names)
        if symbols is not None:
            self.feature_names = symbols
        names = list(map(str, self.feature_names))
        if field is None and symbols is not None:
            field = "cells"
        self.field = FIELDS[find_field(field, X, names, documents)]
        self.spectrum = describe_spectrum(names)
        self.metadata = read_metadata(metadata, X, n_samples)
        self.is_fitted_data = _has_totals_of(fitted, self.X)
        if self.is_fitted_data:
            weights, self.explained = fitted.weights, explained_counts(fitted)[0]
        else:
            offsets = read_new_covariates(fitted.offsets, covariates, X, n_samples)
            with use_threads(model.n_jobs):
                weights = infer(fitted, self.X, offsets)
            self.explained = offsets.given_covariates(fitted.weights_prior).implied_counts(
                weights, self.X.sample_totals, fitted.pair.topics_totals(fitted.topics)
            )
        self.effective_weights = weights.effective
        self.proportions = proportions(weights.mean, model.components_)
        self.readings = describe_readings(model)
        self.effects = describe_effects(fitted)
        self.shares = normalized(model.components_)
        self.distances = 1 - hellinger_similarity(self.shares, self.shares)
        self._topics: dict[int, dict[str, Any]] = {}  # by the number of terms

    def payload(self, title: str, limits: Limits) -> dict[str, Any]:
        """Return what the page shows at once; its scripts know it as ``report``."""
        model, X = self.model, self.X
        frequencies = X.feature_totals / X.total
        topic = dict(self._describe_topics(limits.terms))
        sample = self._describe_samples(frequencies, limits)
        used = _number_terms(topic, sample, X)
        return {
            "words": self.field.words(),
            "title": samples.shorten([title], 300)[0],
            "model": summary.describe_model(model),
            "data": summary.describe_data(X) | {"fitted": self.is_fitted_data},
            "convergence": summary.describe_convergence(model, limits.history),
            "consensus": self.consensus,
            "effects": self.effects,
            "readings": self.readings,
            "terms": {
                "features": used,
                "names": samples.shorten(self.feature_names[used], limits.name),
                "totals": X.feature_totals[used],
            },
            "metadata": describe_metadata(self.metadata, sample["rows"]),
            "topic_names": _names_of(self.fitted, limits),
            "topics": topic,
            "relations": self.relations,
            "spectrum": self._describe_spectrum(),
            "samples": sample,
            "left_out": self._left_out(len(used), sample, limits),
            "shown_terms": limits.terms,
        }

    def _describe_topics(self, n_terms: int) -> dict[str, Any]:
        """Return what the page shows of the topics; terms are indices of features."""
        if n_terms not in self._topics:
            frequencies = self.X.feature_totals / self.X.total
            counts = self.explained.sum(axis=0)
            self._topics[n_terms] = topics.describe_topics(
                self.shares, counts, frequencies, self.distances, n_terms
            )
        return self._topics[n_terms]

    @cached_property
    def relations(self) -> dict[str, Any]:
        """How the topics relate to each other."""
        return describe_relations(self.distances, self.proportions)

    def _describe_spectrum(self) -> dict[str, Any] | None:
        """Return the topics as spectra of mutation types, if these are the features."""
        if self.spectrum is None:
            return None
        return self.spectrum | {"shares": self.shares[:, self.spectrum["features"]].ravel()}

    def _describe_samples(self, frequencies: Array, limits: Limits) -> dict[str, Any]:
        """Return what the page shows of the samples; terms are indices of features."""
        which, spread = samples.choose_samples(self.proportions, limits)
        shares, explained = self.proportions[which], self.explained[which]
        counted = self.X.rows(which)
        best = np.argsort(-shares, axis=0, kind="stable")[:_BEST]
        order = np.argsort(-explained, axis=1, kind="stable")[:, : limits.mixture]
        counts = np.take_along_axis(explained, order, axis=1)
        totals = explained.sum(axis=1, keepdims=True)
        large = (counts > 0) & (counts >= limits.share * totals)
        listed = rows.as_steps((counts / np.maximum(totals, np.finfo(float).tiny))[large])
        own = None
        if len(counted.values) > limits.entries:
            effective = self.effective_weights[which], self.fitted.topics.effective
            own = samples.distinctive_terms(counted, *effective, frequencies, limits.sample_terms)
        return {
            "rows": which,
            "spread": spread,
            "names": samples.shorten(self.sample_names[which], limits.name),
            "totals": counted.sample_totals,
            "explained": explained.sum(axis=1),
            "best": best.T.tolist(),
            "best_proportions": np.take_along_axis(shares, best, axis=0).T.tolist(),
            # The topics with at least the least share, largest first.
            "mixtures": {
                "starts": np.append(0, np.cumsum(large.sum(axis=1))),
                "topics": order[large],
                "shares": listed,  # logarithms in steps
            },
            # Only if the counts of all samples are too many for the page.
            "own": own,
        }

    def archives(
        self, payload: dict[str, Any], limits: Limits, sidecar_name: str
    ) -> tuple[dict[str, Archive], Sidecar | None]:
        """Return what the page reads when it is needed, and the file for what is too large.

        The payload is told where everything is.
        """
        sample = payload["samples"]
        which, features = sample["rows"], payload["terms"]["features"]
        inside, beside = {}, {}
        weights = rows.listed_weights(self.effective_weights[which], sample["mixtures"])
        numbers = np.zeros(self.X.shape[1], dtype=np.int64)
        numbers[features] = np.arange(len(features))
        if sample["own"] is None:
            inside["rows"] = rows.row_archive(self.X.rows(which), numbers, weights)
            values = rows.topic_values(self.fitted.topics.effective[:, features])
            inside["values"] = Archive([0, len(which)], [compress_tree(values)])
        payload["texts"] = None
        if self.documents is not None:
            texts = text_archive(self.documents[which])
            length = None
            if texts.size > limits.text:
                beside["texts"] = texts
                texts, length = shortened_archive(self.documents[which], limits.text)
                payload["left_out"].append(
                    f"Documents are shortened to {length:,} characters; {sidecar_name}, the file "
                    "beside this page, has them whole."
                )
            inside["texts"] = texts
            payload["texts"] = {"shown": length}
        sidecar = Sidecar(sidecar_name, beside) if beside else None
        payload["archives"] = {kind: {"bounds": at.bounds} for kind, at in inside.items()}
        payload["sidecar"] = None if sidecar is None else sidecar.about
        return inside, sidecar

    def _left_out(self, n_terms: int, sample: dict[str, Any], limits: Limits) -> list[str]:
        """Return sentences that say what the page leaves out."""
        n_samples, n_features = self.X.shape
        kept, word = len(sample["rows"]), self.field
        sentences = []
        if kept < n_samples:
            sentences.append(
                f"The report contains {kept:,} of {n_samples:,} {word.samples}: those with the "
                f"largest share of each {word.topic}, and others at equal steps. The figures for "
                f"{word.topics} are computed from all {word.samples}."
            )
        if sample["own"] is not None:
            sentences.append(
                f"The report contains {n_terms:,} of {n_features:,} {word.terms}: the "
                f"{limits.terms} most relevant of each {word.topic} for every position of the "
                f"slider, and the {limits.sample_terms} most distinctive of each {word.sample}. A "
                "search finds these."
            )
        n_topics = len(self.fitted.topics.mean)
        largest = "" if n_topics <= limits.mixture else f"{limits.mixture} largest "
        sentences.append(
            f"A {word.sample} lists its {largest}{word.topics} with a share of at least "
            f"{limits.share:.1%}."
        )
        n_cut = 0 if self.documents is None else sum(text.endswith(CUT) for text in self.documents)
        if n_cut > 0:
            sentences.append(
                f"The texts of {n_cut:,} {word.samples} end in \u2026: they were cut when they "
                "were read (keep_text=True keeps them whole). A search finds what is shown."
            )
        names = map(str, (*self.feature_names, *self.sample_names))
        if max(map(len, names)) > limits.name:
            sentences.append(f"Names are shortened to {limits.name} characters.")
        return sentences


def _names_of(fitted: Fitted, limits: Limits) -> list[str] | None:
    """Return the names that topics were given; those without one have an empty name."""
    names = fitted.topic_names
    return None if names is None else samples.shorten(names, limits.name)


def _number_terms(topic: dict[str, Any], sample: dict[str, Any], X: CountMatrix) -> Array:
    """Return the features that the page names, and replace features by their places among them."""
    own = sample["own"]
    of_samples = np.flatnonzero(X.feature_totals > 0) if own is None else own["terms"]
    used = np.union1d(topic["terms"], of_samples).astype(np.int64)
    for part, key in (
        (topic, "terms"),
        (topic, "distinct"),
        (topic, "salient"),
        *([(own, "terms")] if own else []),
    ):
        part[key] = np.searchsorted(used, part[key])
    return used


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

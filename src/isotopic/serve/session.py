"""A model that is edited: its versions, what changed, and what the page asks for."""

import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.evaluate import proportions
from isotopic.fitted import fitted_of, read_feature_names
from isotopic.fitted.effects import typical_covariates
from isotopic.io.source import Options
from isotopic.io.words import Analyzer
from isotopic.report.compare import ComparedFit, Comparison
from isotopic.report.comparison_page import render_comparison
from isotopic.report.limits import Limits
from isotopic.report.payload import ReportData
from isotopic.report.write import payload_within, render

# Versions that can be undone, letters of a text, topics that are told of a word.
_VERSIONS, _LONGEST_TEXT, _TOPICS_OF_WORD = 20, 200_000, 4

# Samples that are named because they changed most.
_CHANGED = 5

# Bytes of compressed documents in a page that never leaves this machine.
_TEXTS = 200_000_000

#: Saves a version in a folder of this name, and returns where it is.
Saver = Callable[["Version", str, bool], str]


@dataclass(frozen=True, eq=False)
class Version:
    """A fitted model with the data that it explains, and what made it.

    Attributes
    ----------
    model : fitted estimator
    X : sparse array of shape (n_samples, n_features)
    feature_names : ndarray of str
    what : str
        What was done: ``"topic 3 was split"``. Empty for the fit as it was given.
    change : dict or None
        How it differs from the version before.
    """

    model: Any
    X: Any
    feature_names: Array
    what: str = ""
    change: dict[str, Any] | None = None


class Session:
    """The versions of a model, and the operations of the page. One thread works at a time.

    Parameters
    ----------
    model : fitted estimator
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The data that it was fitted to.
    feature_names, sample_names, documents, metadata : optional
        As for :func:`isotopic.report.write_report`.
    title : str or None
    reading : mapping of str to object
        How texts are split into words, as for :func:`isotopic.read_counts`.
    save : callable or None
        Saves a version; ``None``: the page cannot save.
    save_as : str
        The name of the folder that the page suggests.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        feature_names: Any = None,
        sample_names: Any = None,
        documents: Any = None,
        metadata: Any = None,
        title: str | None = None,
        reading: Mapping[str, Any] | None = None,
        save: Saver | None = None,
        save_as: str = "",
    ) -> None:
        data = ReportData(model, X, feature_names, sample_names, documents, metadata)
        if not data.is_fitted_data:
            raise ValueError("X is not the data that the model was fitted to.")
        if data.X.missing is not None:
            raise ValueError("A model of data with missing entries cannot be edited on the page.")
        self._given: dict[str, Any] = {
            "sample_names": data.sample_names,
            "documents": data.documents,
            "metadata": dict(data.metadata) or None,
        }
        self.title, self.save, self.save_as = title, save, save_as
        self._reading = dict(reading or {})
        names = read_feature_names(fitted_of(model), data.feature_names)
        first = Version(model, data.X.named_matrix().matrix, names)
        self.versions = [first]
        self.saved = first
        self._first = model
        self._rendered: tuple[Version, bytes] | None = None
        self._lock = threading.RLock()

    @property
    def current(self) -> Version:
        """The version that the page shows."""
        return self.versions[-1]

    @property
    def is_changed(self) -> bool:
        """Whether something was done that has not been undone."""
        return len(self.versions) > 1

    # What the page shows.

    def page(self) -> bytes:
        """Return the page of the current version."""
        with self._lock:
            if self._rendered is None or self._rendered[0] is not self.current:
                self._rendered = self.current, self._render(self.current)
            return self._rendered[1]

    def change_page(self) -> bytes:
        """Return the comparison of the current version with the one before."""
        with self._lock:
            if not self.is_changed:
                raise ValueError("Nothing has changed yet, so there is nothing to compare.")
            before, after = (self._compared(v, name) for v, name in self._last_two())
            return render_comparison(before, after, f"Before and after: {self.current.what}")

    def _render(self, version: Version) -> bytes:
        data = ReportData(version.model, version.X, version.feature_names, **self._given)
        title = self.title or f"{type(version.model).__name__}: {version.model.n_components} topics"
        payload, limits = payload_within(data, title, replace(Limits(), text=_TEXTS))
        archives, _ = data.archives(payload, limits, "")
        payload["live"] = {
            "steps": [each.what for each in self.versions[1:]],
            "change": version.change,
            "save_as": self.save_as if self.save is not None else None,
        }
        style, script = (
            files("isotopic.serve").joinpath(name).read_text(encoding="utf-8")
            for name in ("live.css", "live.js")
        )
        return render(payload, archives, style=style, script=script, connect="'self'")

    def _compared(self, version: Version, name: str) -> ComparedFit:
        given = {key: self._given[key] for key in ("sample_names", "documents")}
        return ComparedFit(version.model, version.X, name, version.feature_names, **given)

    def _last_two(self) -> list[tuple[Version, str]]:
        return list(zip(self.versions[-2:], ("before", "after"), strict=True))

    # What the page asks for.

    def run(self, request: Any) -> dict[str, Any]:
        """Do what a request asks for, and return the answer; raise ValueError if it makes no sense.

        ``request`` has an ``action``, one of :data:`ACTIONS`, and what that needs.
        """
        if not isinstance(request, dict) or request.get("action") not in ACTIONS:
            known = ", ".join(ACTIONS)
            raise ValueError(f"A request needs an action, one of {known}.")
        with self._lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = ACTIONS[request["action"]](self, request)
        return answer | {"warnings": sorted({str(warning.message) for warning in caught})}

    def _merge(self, request: dict[str, Any]) -> dict[str, Any]:
        topics = request.get("topics")
        model = self.current.model.merge([topics], self.current.X)
        named = " and ".join(map(str, sorted(topics)))  # type: ignore[arg-type]
        return self._add(request, model, f"topics {named} were merged", min(topics or [0]))

    def _split(self, request: dict[str, Any]) -> dict[str, Any]:
        topic = request.get("topic")
        model = self.current.model.split(topic, self.current.X, n=request.get("n", 2))
        return self._add(request, model, f"topic {topic} was split", topic)

    def _drop(self, request: dict[str, Any]) -> dict[str, Any]:
        topic = request.get("topic")
        model = self.current.model.drop([topic], self.current.X)
        return self._add(request, model, f"topic {topic} was dropped", None)

    def _drop_features(self, request: dict[str, Any]) -> dict[str, Any]:
        given, version = request.get("features"), self.current
        if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
            raise ValueError("features must be a list of words.")
        dropped = np.isin(version.feature_names.astype(str), given)
        unknown = [word for word in given if word not in set(version.feature_names[dropped])]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a feature of this model.")
        model = version.model.drop_features(np.flatnonzero(dropped).tolist(), version.X)
        names = version.feature_names[~dropped]
        fewer = version.X[:, np.flatnonzero(~dropped)]
        what = f"{', '.join(given[:3])}{', ...' if len(given) > 3 else ''} left out"
        return self._add(request, model, what, None, fewer, names)

    def _rename(self, request: dict[str, Any]) -> dict[str, Any]:
        topic, name = request.get("topic"), request.get("name")
        version = self.current
        model = version.model.label({topic: name})
        self._push(replace(version, model=model, what=f"topic {topic} was named", change=None))
        return {"reload": False}

    def _refit(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._add({"refit": True}, self.current.model, "refitted", request.get("topic"))

    def _undo(self, request: dict[str, Any]) -> dict[str, Any]:
        if not self.is_changed:
            raise ValueError("There is nothing to undo.")
        undone = self.versions.pop()
        return {"reload": True, "topic": None, "undone": undone.what}

    def _infer(self, request: dict[str, Any]) -> dict[str, Any]:
        text = request.get("text")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("There is no text. Paste some words.")
        if len(text) > _LONGEST_TEXT:
            raise ValueError(f"The text has {len(text):,} letters; {_LONGEST_TEXT:,} are allowed.")
        return infer_text(self.current, text, self._reading)

    def _save(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.save is None:
            raise ValueError("This page cannot save. In Python, explorer.model is the new model.")
        folder = request.get("folder")
        if not isinstance(folder, str):
            raise ValueError("folder must be the name of a folder.")
        where = self.save(self.current, folder, request.get("overwrite") is True)
        self.saved = self.current
        return {"saved": where}

    def _add(
        self,
        request: dict[str, Any],
        model: Any,
        what: str,
        topic: int | None,
        X: Any = None,
        names: Array | None = None,
    ) -> dict[str, Any]:
        """Add a version, refitted from where it is if that was asked for."""
        old = self.current
        X, names = (old.X, old.feature_names) if names is None else (X, names)
        if request.get("refit") is True:
            model = refitted(model, X, self._first)
        new = Version(model, X, names, what)
        pair = self._compared(old, "before"), self._compared(new, "after")
        self._push(replace(new, change=describe_change(Comparison(*pair))))
        return {"reload": True, "topic": topic, "what": what}

    def _push(self, version: Version) -> None:
        self.versions.append(version)
        if len(self.versions) > _VERSIONS:
            del self.versions[1]  # the fit itself is kept


ACTIONS: dict[str, Callable[[Session, dict[str, Any]], dict[str, Any]]] = {
    "merge": Session._merge,
    "split": Session._split,
    "drop": Session._drop,
    "drop_features": Session._drop_features,
    "rename": Session._rename,
    "refit": Session._refit,
    "undo": Session._undo,
    "infer": Session._infer,
    "save": Session._save,
}


def refitted(model: Any, X: Any, first: Any) -> Any:
    """Return the model, fitted from where it is; it learns what the ``first`` model learned."""
    fitted = fitted_of(model)
    if fitted.offsets.covariates is not None:
        raise ValueError(
            "A model with covariates is not refitted here, since the page does not have them. Fit "
            "it in Python, or with isotopic fit."
        )
    new = type(model)(**model.get_params(deep=False))
    for name in model._prior_settings:
        if isinstance(getattr(first, name), str):  # such as alpha="auto"
            setattr(new, name, getattr(first, name))
    new.set_params(init=fitted, n_init=1, warm_start=False)
    offsets = {
        "sample_weight": fitted.copies,
        "size_factors": fitted.offsets.size_factors,
        "fixed_weights": fitted.offsets.fixed_weights,
    }
    new.fit(X, **{name: value for name, value in offsets.items() if value is not None})
    new.init = model.init if isinstance(model.init, str) else "auto"  # smaller when it is saved
    return new.label(fitted.topic_names)


def describe_change(found: Comparison) -> dict[str, Any]:
    """Return what moved: of the counts, of the topics, and of the samples that changed most."""
    changes, order = found.changes, found.partners
    matched = np.flatnonzero(order >= 0)
    alike = found.similarity[matched, order[matched]]
    most = np.argsort(-changes, kind="stable")[:_CHANGED]
    names = found.sides[0].sample_names[found.samples[0][most]]
    least = int(np.argmin(alike))
    return {
        "moved": 1 - found.stays,
        "mean": float(changes.mean()),
        "least": {"topic": int(order[matched[least]]), "similarity": float(alike[least])},
        "samples": [[str(n)[:80], float(c)] for n, c in zip(names, changes[most], strict=True)],
        "objectives": [float(side.model.objective_) for side in found.sides],
        "topics": [len(side.model.components_) for side in found.sides],
    }


def infer_text(version: Version, text: str, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the topics of a text, and the probabilities of the topics of each known word."""
    names = version.feature_names.astype(str)
    analyzer = Analyzer(Options(**{**reading, "vocabulary": names.tolist()}))
    words = analyzer(text)
    places = {name: i for i, name in enumerate(names)}
    columns = [places[word] for word in words if word in places]
    if not columns:
        raise ValueError(f"None of the {len(words)} words of this text is a feature of the model.")
    features, counts = np.unique(columns, return_counts=True)
    at = np.zeros(len(features), int), features
    row: Any = sparse.csr_array((counts.astype(float), at), shape=(1, len(names)))
    model = version.model
    typical = typical_covariates(model.fitted_)  # nothing else is known of a pasted text
    explained = model.posterior(row, covariates=typical)[0]
    shares = proportions(model.transform(row, covariates=typical), model.components_)[0]
    told = []
    for feature, chances in zip(explained.features, explained.probabilities, strict=True):
        best = np.argsort(-chances, kind="stable")[:_TOPICS_OF_WORD]
        told.append([int(feature), [[int(k), float(chances[k])] for k in best if chances[k] > 0]])
    order = np.argsort(-shares, kind="stable")
    return {
        "topics": [[int(k), float(shares[k])] for k in order if shares[k] >= 0.01][:10],
        "words": told,
        "known": len(columns),
        "unknown": len(words) - len(columns),
    }

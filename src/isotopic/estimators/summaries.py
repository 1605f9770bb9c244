"""What a fitted model says of itself: tables of its topics and samples, and a page in notebooks."""

from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotopic import evaluate
from isotopic.arrays import Array
from isotopic.estimators.inference import Inference
from isotopic.evaluate.topics import top_features
from isotopic.kernels import normalized
from isotopic.table import Table

_MOST_TOPICS_SHOWN = 30
_LONGEST_TERM = 40


class Describing(Inference):
    """Tables of a fitted model."""

    def topic_info(
        self, X: Any = None, *, n: int = 10, feature_names: Any = None, measure: str = "npmi"
    ) -> Table:
        """Describe the topics, the most prevalent first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
            Where the coherence is looked for. The model does not keep its data: without ``X``
            there is no coherence.
        n : int, default=10
            How many terms stand for a topic.
        feature_names : array-like of str of shape (n_features,) or None, default=None
            By default those of the ``X`` that was fitted, else ``x0``, ``x1``, ...
        measure : {"npmi", "umass"}, default="npmi"
            Of the coherence.

        Returns
        -------
        table : Table
            With the columns ``topic``, ``prevalence`` (share of all counts), ``coherence`` (with
            ``X``), ``exclusivity``, and ``terms``, the strongest ones.
        """
        check_is_fitted(self)
        names = self._feature_names(feature_names)
        strongest = top_features(normalized(self.components_), n)
        prevalence = evaluate.prevalence(self)
        order = np.argsort(-prevalence, kind="stable")
        columns = {"topic": np.arange(len(strongest)), "prevalence": prevalence}
        if X is not None:
            columns["coherence"] = evaluate.coherence(self, X, measure=measure, n=n)
        columns["exclusivity"] = evaluate.exclusivity(self, n=n)
        columns["terms"] = _joined(names, strongest)
        return Table({name: column[order] for name, column in columns.items()})

    def document_info(self, X: Any = None, *, sample_names: Any = None) -> Table:
        """Describe samples: those that were fitted, or others.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
            Other samples, whose weights are inferred; by default those that were fitted.
        sample_names : array-like of shape (n_samples,) or None, default=None
            By default their numbers.

        Returns
        -------
        table : Table
            With the columns ``sample``, ``total`` (its counts), ``topic`` (that explains most of
            it), ``share`` (how much), and ``effective_topics``: the exponential of the entropy of
            its proportions, one if a single topic explains it all. A sample without counts has
            the topic -1.
        """
        check_is_fitted(self)
        weights, totals = self.weights_, self.sample_totals_
        if X is not None:
            counts = self._read_new(X)
            weights, totals = self._infer(counts).mean, counts.sample_totals
        shares = evaluate.proportions(weights, self.components_)
        sample = np.arange(len(shares)) if sample_names is None else np.asarray(sample_names)
        if sample.shape != (len(shares),):
            raise ValueError(f"{sample.size} sample_names were given for {len(shares)} samples")
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        topic = np.where(totals > 0, shares.argmax(axis=1), -1)
        return Table(
            sample=sample,
            total=np.array(totals),
            topic=topic,
            share=np.where(totals > 0, shares.max(axis=1), np.nan),
            effective_topics=np.where(totals > 0, np.exp(-(shares * logs).sum(axis=1)), np.nan),
        )

    def distinctive_terms(
        self, X: Any, n: int = 10, *, feature_names: Any = None, level: float = 0.95
    ) -> Table:
        """List the features that most surely tell each topic from all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The counts that were fitted.
        n : int, default=10
            How many of each topic.
        feature_names : array-like of str of shape (n_features,) or None, default=None
        level : float, default=0.95
            Of the confidence interval.

        Returns
        -------
        table : Table
            See :func:`isotopic.evaluate.distinctive_terms`.
        """
        return evaluate.distinctive_terms(self, X, n, feature_names=feature_names, level=level)

    def _repr_html_inner(self) -> str:
        """Give scikit-learn's diagram, and below it the topics of a fitted model."""
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        if not hasattr(self, "components_"):
            return diagram
        return diagram + self._topics_as_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the same where a notebook asks for all forms at once."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and hasattr(self, "components_"):
            bundle["text/html"] += self._topics_as_html()
        return bundle

    def _topics_as_html(self) -> str:
        info = self.topic_info(n=8)
        shown = min(len(info), _MOST_TOPICS_SHOWN)
        rows = "".join(
            f"<tr><td>{topic}</td><td>{share:.1%}</td><td style='text-align:left'>{terms}</td></tr>"
            for topic, share, terms in zip(
                info["topic"][:shown],
                info["prevalence"][:shown],
                map(escape, info["terms"][:shown]),
                strict=True,
            )
        )
        rest = f"<caption>{shown} of {len(info)} topics</caption>" if shown < len(info) else ""
        head = "<tr><th>topic</th><th>share</th><th style='text-align:left'>terms</th></tr>"
        samples, features = len(self.weights_), self.components_.shape[1]
        state = "converged" if self.converged_ else "not converged"
        return (
            f"<div><p>{samples:,} samples, {features:,} features; {self.n_iter_} iterations, "
            f"{state}; objective {self.objective_:.6g}</p>"
            f"<table>{rest}<thead>{head}</thead><tbody>{rows}</tbody></table></div>"
        )

    # What the estimator itself has.
    converged_: bool
    n_iter_: int
    objective_: float


def _joined(names: Array, strongest: Array) -> Array:
    """Write the terms of each topic in a line."""
    lines = np.empty(len(strongest), dtype=object)
    for topic, terms in enumerate(strongest):
        lines[topic] = ", ".join(_short(str(names[v])) for v in terms)
    return lines


def _short(term: str) -> str:
    return term if len(term) <= _LONGEST_TERM else term[: _LONGEST_TERM - 1] + "…"

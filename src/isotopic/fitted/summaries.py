"""Tables of the topics and of the samples of a fitted model."""

from html import escape
from numbers import Integral
from typing import Any

import numpy as np

from isotopic import evaluate
from isotopic.arrays import Array
from isotopic.elementwise import normalized
from isotopic.evaluate.topics import top_features
from isotopic.fitted.value import Fitted, names_of_topics, read_feature_names
from isotopic.table import Table

_MOST_TOPICS_SHOWN = 30
_LONGEST_TERM = 40


def top_terms(fitted: Fitted, n: int = 10, feature_names: Any = None) -> Table:
    """Return the strongest features of each topic, as its columns topic, rank, term and weight."""
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be an integer of at least 1, not {n!r}.")
    names = read_feature_names(fitted, feature_names)
    shares = normalized(fitted.topics.mean)
    order = top_features(shares, int(n))
    n_topics, n_terms = order.shape
    of_term = np.repeat(np.arange(n_topics), n_terms)
    return Table(
        topic=of_term,
        **_name_column(fitted, of_term),
        rank=np.tile(np.arange(1, n_terms + 1), n_topics),
        term=names[order.ravel()],
        weight=np.take_along_axis(shares, order, axis=1).ravel(),
    )


def topic_info(
    fitted: Fitted, X: Any = None, n: int = 10, feature_names: Any = None, measure: str = "npmi"
) -> Table:
    """Return the prevalence, exclusivity, (with ``X``) coherence and terms of each topic."""
    names = read_feature_names(fitted, feature_names)
    strongest = top_features(normalized(fitted.topics.mean), n)
    prevalence = evaluate.prevalence(fitted)
    order = np.argsort(-prevalence, kind="stable")
    topics = np.arange(len(strongest))
    columns = {"topic": topics, **_name_column(fitted, topics), "prevalence": prevalence}
    if X is not None:
        columns["coherence"] = evaluate.coherence(fitted, X, measure=measure, n=n)
    columns["exclusivity"] = evaluate.exclusivity(fitted, n=n)
    terms = np.empty(len(strongest), dtype=object)
    for topic, features in enumerate(strongest):
        terms[topic] = ", ".join(_shortened(str(names[v])) for v in features)
    columns["terms"] = terms
    return Table({name: column[order] for name, column in columns.items()})


def document_info(
    fitted: Fitted,
    weights: Array | None = None,
    sample_totals: Array | None = None,
    sample_names: Any = None,
) -> Table:
    """Return the main topic of each sample, its share, and the effective number of topics.

    ``weights`` and ``sample_totals`` are those of other samples; ``None``: those that were fitted.
    """
    totals = fitted.sample_totals if sample_totals is None else sample_totals
    if weights is None and sample_names is None:
        sample_names = fitted.sample_names
    shares = evaluate.proportions(
        fitted.weights.mean if weights is None else weights, fitted.topics.mean
    )
    names = np.arange(len(shares)) if sample_names is None else np.asarray(sample_names)
    if names.shape != (len(shares),):
        raise ValueError(
            f"sample_names must have one name for each of the {len(shares)} samples, not "
            f"{names.size}."
        )
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    main = np.where(totals > 0, shares.argmax(axis=1), -1)
    return Table(
        sample=names,
        total=_whole(totals),
        topic=main,
        **_name_column(fitted, main),
        share=np.where(totals > 0, shares.max(axis=1), np.nan),
        effective_topics=np.where(totals > 0, np.exp(-(shares * logs).sum(axis=1)), np.nan),
    )


def _whole(totals: Array) -> Array:
    """Return a copy of numbers, as integers if they are whole."""
    is_whole = np.all(totals == np.rint(totals)) and totals.max(initial=0) < 2**53
    return np.array(totals, dtype=np.int64 if is_whole else np.float64)


def _name_column(fitted: Fitted, topics: Array) -> dict[str, Array]:
    """Return the column of names, if topics have some; a sample without counts has no topic."""
    if fitted.topic_names is None:
        return {}
    return {"name": np.append(names_of_topics(fitted), "")[topics]}


def topics_as_html(fitted: Fitted) -> str:
    """Return the topics as an HTML table, for notebooks."""
    info = topic_info(fitted, n=8)
    shown = min(len(info), _MOST_TOPICS_SHOWN)
    rows = "".join(
        f"<tr><td>{topic}</td><td>{share:.1%}</td><td style='text-align:left'>{terms}</td></tr>"
        for topic, share, terms in zip(
            map(escape, names_of_topics(fitted)[info["topic"][:shown]]),
            info["prevalence"][:shown],
            map(escape, info["terms"][:shown]),
            strict=True,
        )
    )
    rest = f"<caption>{shown} of {len(info)} topics</caption>" if shown < len(info) else ""
    head = "<tr><th>topic</th><th>share</th><th style='text-align:left'>terms</th></tr>"
    state = "converged" if fitted.converged else "not converged"
    return (
        f"<div><p>{len(fitted.weights.mean):,} samples, {fitted.n_features:,} features; "
        f"{fitted.n_iter} iterations, {state}; objective {fitted.objective:.6g}</p>"
        f"<table>{rest}<thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )


def _shortened(term: str) -> str:
    return term if len(term) <= _LONGEST_TERM else term[: _LONGEST_TERM - 1] + "…"

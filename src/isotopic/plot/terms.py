"""The top terms of topics, as bar charts and as a heat map."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate.topics import distinctive_features, top_features, topics_of
from isotopic.plot.given import chosen_topics, prevalence_of
from isotopic.plot.style import INK, Axes, axes, colours_for, remove_frame
from isotopic.plot.text import names_of_features, readable, topic_names

_WIDTH = 0.9  # of the longest bar, relative to a column


def top_terms(
    model: Any,
    n: int = 8,
    *,
    order: str = "share",
    topics: Any = None,
    feature_names: Any = None,
    columns: int = 5,
    colours: Sequence[str] | None = None,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the top terms of each topic, with bars for their shares.

    All bars have the same scale, so that topics dominated by few terms stand out.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        A model, or its topics.
    n : int, default=8
        Number of terms of each topic.
    order : {"share", "distinctive"}, default="share"
        Which terms come first: those with the largest share of the topic, or those that are
        frequent in it and rarer in others, without what is frequent everywhere, such as genes of
        ribosomes. Bars show shares in both cases.
    topics : int, list of int or None, default=None
        The topics to draw, in this order. The default is all, the most prevalent first.
    feature_names : array-like of str of shape (n_features,) or None, default=None
    columns : int, default=5
        Topics side by side.
    colours : list of str or None, default=None
        One for each component.
    names : list of str or None, default=None
        Names of the components.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    shares = topics_of(model)
    terms = names_of_features(model, feature_names)
    common = prevalence_of(model)
    if topics is None and common is not None:
        topics = np.argsort(-common, kind="stable")
    chosen = chosen_topics(topics, len(shares))
    colour, name = colours_for(len(shares), colours), topic_names(names, len(shares), model)
    if order not in ("share", "distinctive"):
        raise ValueError(f"order must be 'share' or 'distinctive', not {order!r}.")
    is_share = order == "share"
    strongest = top_features(shares, n) if is_share else distinctive_features(shares, common, n)
    columns, height = min(columns, len(chosen)), strongest.shape[1] + 2
    rows = -(-len(chosen) // columns)
    ax = axes(ax, 2.1 * columns, 0.2 * height * rows + 0.2)
    longest = shares[chosen].max()
    for place, topic in enumerate(chosen):
        left, top = place % columns, -height * (place // columns)
        title = name[topic] if common is None else f"{name[topic]}, {common[topic]:.1%}"
        ax.text(left, top, title, weight="bold", color=INK, va="center", fontsize="small")
        places = top - 1 - np.arange(strongest.shape[1])
        weight = shares[topic, strongest[topic]]
        ax.barh(places, _WIDTH * weight / longest, 0.86, left, color=colour[topic], alpha=0.45)
        for y, term in zip(places, terms[strongest[topic]], strict=True):
            ax.text(left + 0.015, y, readable(term), va="center", color=INK, fontsize="small")
    remove_frame(ax)
    ax.set(xlim=(-0.01, columns), ylim=(-height * rows + 0.9, 0.8))
    return ax


def heatmap(
    model: Any,
    n: int = 5,
    *,
    topics: Any = None,
    feature_names: Any = None,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of the shares of terms in topics.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        A model, or its topics.
    n : int, default=5
        Number of top terms of each topic. A term is shown once, at the topic with its largest
        share.
    topics : list of int or None, default=None
        The topics to draw, in this order.
    feature_names : array-like of str of shape (n_features,) or None, default=None
    names : list of str or None, default=None
        Names of the components.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        The colours have a square-root scale, so that rare terms are visible.
    """
    shares = topics_of(model)
    terms = names_of_features(model, feature_names)
    chosen = chosen_topics(topics, len(shares))
    name = topic_names(names, len(shares), model)
    columns = _ordered_terms(shares[chosen], n)
    ax = axes(ax, 0.19 * len(columns) + 1.8, 0.26 * len(chosen) + 1.3)
    from matplotlib.colors import PowerNorm  # noqa: PLC0415 - an extra

    table = shares[np.ix_(chosen, columns)]
    mesh = ax.pcolormesh(
        table,
        cmap="Blues",
        norm=PowerNorm(0.5, 0, max(table.max(), np.finfo(float).tiny)),
        edgecolors="white",
        linewidth=0.4,
    )
    ax.set_yticks(np.arange(len(chosen)) + 0.5, [name[topic] for topic in chosen])
    ax.set_xticks(np.arange(len(columns)) + 0.5, [readable(term) for term in terms[columns]])
    for label in ax.get_xticklabels():
        label.set(rotation=60, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0, labelsize="small")
    ax.spines[:].set_visible(False)
    ax.invert_yaxis()
    bar = ax.figure.colorbar(mesh, ax=ax, label="share of the topic", pad=0.01, aspect=25)
    bar.outline.set_visible(False)
    return ax


def _ordered_terms(shares: Array, n: int) -> Array:
    """Return the top terms, ordered by the topic with their largest share, then by share."""
    terms = np.unique(top_features(shares, n))
    home = shares[:, terms].argmax(axis=0)
    return np.asarray(terms[np.lexsort((-shares[home, terms], home))])

"""Topics and terms as a table of colours."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate.topics import top_features, topics_of
from isotopic.plot.canvas import Axes, axes
from isotopic.plot.given import chosen_topics
from isotopic.plot.text import feature_names as names_of_features
from isotopic.plot.text import readable, topic_names


def heatmap(
    model: Any,
    n: int = 5,
    *,
    topics: Any = None,
    feature_names: Any = None,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the shares of terms in topics as colours.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        Or its topics.
    n : int, default=5
        The strongest terms of each topic that are shown, each once, where it is strongest.
    topics : list of int or None, default=None
        Which topics, in that order.
    feature_names : array-like of str of shape (n_features,) or None, default=None
    names : list of str or None, default=None
        Of the components.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        Its colours are on a square-root scale, so that rare terms are seen too.
    """
    shares = topics_of(model)
    terms = names_of_features(model, feature_names)
    chosen = chosen_topics(topics, len(shares))
    name = topic_names(names, len(shares))
    columns = _staircase(shares[chosen], n)
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


def _staircase(shares: Array, n: int) -> Array:
    """Order the strongest terms by the topic in which they are strongest, strongest first."""
    terms = np.unique(top_features(shares, n))
    home = shares[:, terms].argmax(axis=0)
    return np.asarray(terms[np.lexsort((-shares[home, terms], home))])

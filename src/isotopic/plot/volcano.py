"""Volcano plot of the features that distinguish a topic."""

from typing import Any

import numpy as np

from isotopic.evaluate import Differential
from isotopic.plot.given import chosen_topics
from isotopic.plot.labels import place_labels
from isotopic.plot.style import INK, Axes, axes, palette, simplify_frame
from isotopic.plot.text import readable

# Features with a lower false sign rate are drawn as sure.
_SURE = 0.05
_UNSURE = "#BDBDBD"


def volcano(
    found: Differential,
    topic: int,
    *,
    feature_names: Any = None,
    n: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the log-fold change of each feature in a topic against its z-score.

    Log-fold changes are shrunken, so that features with few counts stay near zero. Features whose
    local false sign rate is below 0.05 are blue, those with a name orange, and all others grey.

    Parameters
    ----------
    found : Differential
        The result of :func:`isotopic.evaluate.differential`.
    topic : int
    feature_names : array-like of str of shape (n_features,) or None, default=None
        By default those of the model, else ``x0``, ``x1``, ...
    n : int, default=10
        Number of labelled features: those with the largest lower ends of their intervals.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    given = found.feature_names if feature_names is None else feature_names
    numbered = map("x{}".format, range(found.lfc.shape[1]))
    names = np.asarray(list(numbered) if given is None else given, dtype=object)
    chosen = chosen_topics(topic, len(found.lfc))[0]
    lfc, z = found.shrunken_lfc[chosen], np.abs(found.z[chosen])
    if names.shape != lfc.shape:
        raise ValueError(
            f"feature_names has {names.size} entries, but there are {lfc.size} features."
        )
    named = np.argsort(-found.interval()[0][chosen], kind="stable")[:n]
    sure = found.lfsr[chosen] < _SURE
    ax = axes(ax, 6, 4.2)
    ax.scatter(lfc, z, s=8, c=np.where(sure, palette(1)[0], _UNSURE), alpha=0.5, linewidths=0)
    ax.scatter(lfc[named], z[named], s=16, color=palette(6)[5], linewidths=0)
    simplify_frame(ax, grid="both")
    ax.set(xlabel=f"log2-fold change against {_other(found, chosen)}", ylabel="|z|")
    ax.set_yscale("symlog")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_ylim(bottom=0)
    ax.set_title(f"topic {chosen}", loc="left", fontsize="medium", color=INK)
    ax.margins(x=0.12, y=0.12)
    lines = [readable(names[v], 20, cut="middle") for v in named]
    places = np.column_stack([lfc[named], z[named]])
    radii, order = np.full(len(named), 3.0), np.argsort(-z[named], kind="stable")
    others = np.column_stack([lfc, z])
    place_labels(ax, places, lines, radii=radii, order=order, others=others)
    return ax


def _other(found: Differential, topic: int) -> str:
    """Return the words for what a topic is compared with."""
    others = np.unique(found.versus[topic])
    if others.tolist() == [-1]:
        return "the mean topic"
    return "the nearest other topic" if len(others) > 1 else f"topic {others[0]}"

"""Volcano plot of the features that distinguish a topic."""

from typing import Any

import numpy as np

from isotopic.evaluate import Differential
from isotopic.plot.labels import place_labels
from isotopic.plot.style import FAINT, INK, Axes, axes, palette, simplify_frame
from isotopic.plot.text import readable


def volcano(
    found: Differential,
    topic: int,
    *,
    feature_names: Any = None,
    n: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the log-fold change of each feature in a topic against its z-score.

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
    lfc, z = found.lfc[topic], np.abs(found.z[topic])
    if names.shape != lfc.shape:
        raise ValueError(
            f"feature_names has {names.size} entries, but there are {lfc.size} features."
        )
    named = np.argsort(-found.interval()[0][topic], kind="stable")[:n]
    ax = axes(ax, 6, 4.2)
    ax.scatter(lfc, z, s=8, color=FAINT, alpha=0.5, linewidths=0)
    ax.scatter(lfc[named], z[named], s=16, color=palette(6)[5], linewidths=0)
    simplify_frame(ax, grid="both")
    ax.set(xlabel="log2-fold change against the nearest other topic", ylabel="|z|", yscale="symlog")
    ax.set_ylim(bottom=0)
    ax.set_title(f"topic {topic}", loc="left", fontsize="medium", color=INK)
    ax.margins(x=0.12)
    lines = [readable(names[v], 20) for v in named]
    places = np.column_stack([lfc[named], z[named]])
    place_labels(ax, places, lines, radii=np.full(len(named), 3.0), order=np.arange(len(named)))
    return ax

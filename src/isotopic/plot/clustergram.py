"""The components of many runs, side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from isotopic.consensus import Clusters, Consensus
from isotopic.match import cosine_similarity
from isotopic.plot.style import FAINT, PAPER, Axes, axes
from isotopic.plot.text import readable, topic_names


def consensus(found: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the cosine similarities of the components of all runs, by cluster.

    Stable components are bright squares on the diagonal. Bright squares elsewhere are components
    that are similar to each other. The labels show the stability. ``plot.selection(found)`` draws
    stability and held-out score against the number of components.

    Parameters
    ----------
    found : Consensus or Clusters
        Of a consensus, the number that was chosen is drawn.
    names : sequence of str or None, default=None
        Names of the components; by default their numbers.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    clusters = found.clusters[found.n_components] if isinstance(found, Consensus) else found
    if not isinstance(clusters, Clusters):
        raise TypeError(
            f"plot.consensus draws the result of consensus, not {type(found).__name__}."
        )
    n_runs, n_components, n_features = clusters.components.shape
    labels = topic_names(names, n_components)
    rows = clusters.components.transpose(1, 0, 2).reshape(-1, n_features)
    ax = axes(ax, 6, 5)
    ax.imshow(
        cosine_similarity(rows, rows), vmin=0, vmax=1, cmap="viridis", interpolation="nearest"
    )
    for edge in n_runs * np.arange(1, n_components) - 0.5:
        ax.axhline(edge, color=PAPER, linewidth=0.5)
        ax.axvline(edge, color=PAPER, linewidth=0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    for k, (label, stability) in enumerate(zip(labels, clusters.stability, strict=True)):
        text = readable(f"{label} ({stability:.2f})")
        ax.text(-1.5, n_runs * (k + 0.5) - 0.5, text, ha="right", va="center", fontsize=8)
    ax.set_xlabel(f"{n_components} components of {n_runs} runs")
    ax.spines[:].set_color(FAINT)
    ax.figure.colorbar(ax.images[0], ax=ax, label="cosine similarity")
    return ax

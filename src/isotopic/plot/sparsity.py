"""What a penalty does, from weak to strong."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isotopic.plot.canvas import Axes, axes, quiet
from isotopic.plot.colours import palette


def sparsity_path(
    models: Mapping[float, Any],
    *,
    threshold: float = 1e-6,
    name: str = "strength of the penalty",
    ax: Axes | None = None,
) -> Axes:
    """Draw how sparse both sides become as a penalty grows.

    Parameters
    ----------
    models : dict from strengths to fitted models
        At least two.
    threshold : float, default=1e-6
        An entry counts as zero if its share of its row is below this. (Multiplicative updates come
        near zero and seldom reach it.)
    name : str, default="strength of the penalty"
        Of the horizontal axis.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        With a line each for the weights and the topics: the share of entries that are zero.
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError("a path needs a dict from strengths to at least two fitted models")
    strengths = np.array(sorted(models))
    sides = {
        side: [_zeros(getattr(models[strength], side), threshold) for strength in strengths]
        for side in ("weights_", "components_")
    }
    ax = axes(ax, 6, 3.8)
    for (side, share), colour, marker in zip(sides.items(), palette(2), "os", strict=True):
        label = "weights" if side == "weights_" else "topics"
        ax.plot(strengths, share, color=colour, marker=marker, markersize=5, label=label)
    positive = strengths[strengths > 0]
    if len(positive) > 1 and positive.max() / positive.min() > 20:
        ax.set_xscale("symlog", linthresh=positive.min()) if strengths[0] <= 0 else ax.set_xscale(
            "log"
        )
    quiet(ax)
    ax.set(ylim=(-0.02, 1.02), xlabel=name)
    ax.set_ylabel("share of entries that are zero")
    ax.legend(frameon=False)
    return ax


def _zeros(side: Any, threshold: float) -> float:
    sums = side.sum(axis=1, keepdims=True)
    return float(np.mean(side <= threshold * np.where(sums > 0, sums, 1)))

"""Sparsity as a function of the strength of a penalty."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isotopic.plot.canvas import Axes, axes, simplify_frame
from isotopic.plot.colours import palette


def sparsity_path(
    models: Mapping[float, Any],
    *,
    threshold: float = 1e-6,
    name: str = "strength of the penalty",
    ax: Axes | None = None,
) -> Axes:
    """Draw the sparsity of both factors against the strength of a penalty.

    Parameters
    ----------
    models : dict from strengths to fitted models
        At least two.
    threshold : float, default=1e-6
        An entry counts as zero if its share of its row is at most this. (Multiplicative updates
        approach zero but rarely reach it.)
    name : str, default="strength of the penalty"
        Label of the horizontal axis.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        With a line for the weights and one for the topics: the fraction of zero entries.
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError("models must be a dict from strengths to at least two fitted models.")
    strengths = np.array(sorted(models))
    sides = {
        side: [_zero_fraction(getattr(models[strength], side), threshold) for strength in strengths]
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
    simplify_frame(ax)
    ax.set(ylim=(-0.02, 1.02), xlabel=name)
    ax.set_ylabel("fraction of zero entries")
    ax.legend(frameon=False)
    return ax


def _zero_fraction(side: Any, threshold: float) -> float:
    sums = side.sum(axis=1, keepdims=True)
    return float(np.mean(side <= threshold * np.where(sums > 0, sums, 1)))

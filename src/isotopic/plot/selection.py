"""Scores of numbers of components."""

from typing import Any

import numpy as np

from isotopic.plot.canvas import Axes, axes, simplify_frame
from isotopic.plot.colours import FAINT, palette


def selection(table: Any, *, chosen: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the held-out score and the stability for numbers of components.

    Parameters
    ----------
    table : mapping or data frame, or an object with such a ``table``
        With the columns ``n_components`` and ``score`` (higher is better), and optionally
        ``score_error`` and ``stability`` (1 if all fits find the same topics).
    chosen : int or None, default=None
        The number to mark. The default is the one with the highest score.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        The axes of the score. Those of the stability are ``ax.figure.axes[-1]``.
    """
    table = getattr(table, "table", table)
    missing = [name for name in ("n_components", "score") if name not in table]
    if missing:
        raise ValueError(f"The table has no column {missing[0]!r}, only {list(table)}.")
    numbers, score = (np.asarray(table[name]) for name in ("n_components", "score"))
    order = np.argsort(numbers, kind="stable")
    error = np.asarray(table["score_error"])[order] if "score_error" in table else None
    numbers, score = numbers[order], score[order]
    ax = axes(ax, 6, 3.8)
    blue, orange = palette(2)
    ax.errorbar(numbers, score, error, color=blue, marker="o", markersize=5, capsize=2)
    simplify_frame(ax)
    ax.set_xlabel("components")
    ax.set_ylabel("held-out log-likelihood of a count", color=blue)
    ax.set_xticks(numbers if len(numbers) <= 12 else numbers[:: -(-len(numbers) // 12)])
    chosen = int(numbers[np.argmax(score)]) if chosen is None else chosen
    ax.axvline(chosen, color=FAINT, linewidth=1, linestyle=":", zorder=0)
    if "stability" in table:
        right = ax.twinx()
        stability = np.asarray(table["stability"])[order]
        right.plot(numbers, stability, color=orange, marker="s", markersize=4, linestyle="--")
        right.set_ylim(0, 1.02)
        right.set_ylabel("stability (cosine of matched topics)", color=orange)
        right.spines[["top", "left"]].set_visible(False)
        right.spines[["right", "bottom"]].set_color(FAINT)
        right.tick_params(color=FAINT)
    return ax

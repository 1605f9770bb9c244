"""How many components."""

from typing import Any

import numpy as np

from isotopic.plot.canvas import Axes, axes, quiet
from isotopic.plot.colours import FAINT, palette


def selection(table: Any, *, chosen: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the held-out score and the stability of numbers of components.

    Parameters
    ----------
    table : mapping or data frame, or an object with such a ``table``
        With the columns ``n_components``, ``score`` (higher is better), and if they are there
        ``score_error`` and ``stability`` (1 if every fit finds the same topics).
    chosen : int or None, default=None
        The number to mark; by default that with the highest score.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        Of the score. That of the stability is ``ax.figure.axes[-1]``, if there is any.
    """
    table = getattr(table, "table", table)
    missing = [name for name in ("n_components", "score") if name not in table]
    if missing:
        raise ValueError(f"the table has no column {missing[0]!r}; it has {list(table)}")
    numbers, score = (np.asarray(table[name]) for name in ("n_components", "score"))
    order = np.argsort(numbers, kind="stable")
    error = np.asarray(table["score_error"])[order] if "score_error" in table else None
    numbers, score = numbers[order], score[order]
    ax = axes(ax, 6, 3.8)
    blue, orange = palette(2)
    ax.errorbar(numbers, score, error, color=blue, marker="o", markersize=5, capsize=2)
    quiet(ax)
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

"""Curves: convergence of fits, scores of numbers of components, sparsity along a penalty."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.consensus.choice import MEAN_STABILITY, are_stable
from isotopic.plot.style import FAINT, INK, PAPER, Axes, axes, palette, simplify_frame
from isotopic.plot.text import readable

_AGAINST = {"passes": "passes over the data", "seconds": "seconds", "iteration": "iterations"}
_LINES = ("-", "--", "-.", ":")


def convergence(
    models: Any,
    *,
    against: str = "passes",
    value: str = "objective",
    best: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the convergence of one or several fits.

    Parameters
    ----------
    models : fitted model, list of them, or dict from names to them
        Or their ``history_``.
    against : {"passes", "seconds", "iteration"}, default="passes"
    value : {"objective", "residual"}, default="objective"
        The objective minus the best one, or the optimality residual, on a logarithmic scale.
        Objectives of different models cannot be compared.
    best : float or None, default=None
        The objective that is subtracted. The default is the lowest of all fits. Points at the best
        objective are not shown.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    if against not in _AGAINST:
        raise ValueError(f"against must be one of {list(_AGAINST)}, not {against!r}.")
    if value not in ("objective", "residual"):
        raise ValueError(f"value must be 'objective' or 'residual', not {value!r}.")
    histories = {name: _history(model) for name, model in _named(models).items()}
    if value == "objective":
        lowest = min(float(history["objective"].min()) for history in histories.values())
        best = lowest if best is None else best
    ax = axes(ax, 6, 3.8)
    for i, (name, history) in enumerate(histories.items()):
        y = history[value] - (best if value == "objective" else 0.0)
        ax.plot(
            history[against],
            np.where(y > 0, y, np.nan),
            color=palette(len(histories))[i],
            linestyle=_LINES[i // 7 % len(_LINES)],
            label=readable(name, 40),
        )
    simplify_frame(ax, grid="both")
    ax.set(xlabel=_AGAINST[against], yscale="log")
    ax.set_ylabel("optimality residual" if value == "residual" else "objective minus the best")
    if len(histories) > 1 or isinstance(models, Mapping):
        ax.legend(frameon=False, fontsize="small")
    return ax


def _named(models: Any) -> dict[Any, Any]:
    if isinstance(models, Mapping):
        named = dict(models)
    elif isinstance(models, (list, tuple)):
        named = {f"{i}: {type(model).__name__}": model for i, model in enumerate(models)}
    else:
        named = {"fit": models}
    if not named:
        raise ValueError("There is no model to draw: pass at least one fitted model.")
    return named


def _history(model: Any) -> Any:
    history = getattr(model, "history_", model)
    if not (isinstance(history, np.ndarray) and history.dtype.names):
        raise TypeError(f"Expected a fitted model or its history_, but got {model!r:.80}.")
    if len(history) == 0:
        raise ValueError("The model has no history to draw: it was fitted without iterations.")
    return history


def selection(table: Any, *, chosen: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the held-out score and the stability for numbers of components.

    The bars are the standard errors of the scores. They say how well the scores themselves are
    known. The same samples are held out for all numbers, so that their differences, by which a
    consensus chooses, are known far better.

    Parameters
    ----------
    table : mapping or data frame, or an object with such a ``table``
        With the columns ``n_components`` and ``score`` (higher is better), and optionally
        ``score_error``, ``stability`` (1 if all fits find the same topics) and ``min_stability``,
        that of the least stable topic.
    chosen : int or None, default=None
        The number to mark. The default is the one that a consensus chose, else the one with the
        highest score.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        The axes of the score. Those of the stability are ``ax.figure.axes[-1]``.
    """
    if hasattr(table, "table"):  # the result of a consensus
        chosen = table.n_components if chosen is None else chosen
        table = table.table
    missing = [name for name in ("n_components", "score") if name not in table]
    if missing:
        raise ValueError(f"The table has no column {missing[0]!r}, only {list(table)}.")
    numbers, score = (np.asarray(table[name]) for name in ("n_components", "score"))
    order = np.argsort(numbers, kind="stable")
    error = np.asarray(table["score_error"])[order] if "score_error" in table else None
    numbers, score = numbers[order], score[order]
    ax = axes(ax, 6, 3.8)
    blue, orange = palette(2)
    ax.plot(numbers, score, color=blue, marker="o", markersize=5)
    if error is not None:
        ax.errorbar(numbers, score, error, color=blue, linestyle="", alpha=0.3)
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
        right.set_ylim(min(0, float(stability.min()) - 0.02), 1.02)
        lowest = (
            np.asarray(table["min_stability"])[order] if "min_stability" in table else stability
        )
        _draw_threshold(right, are_stable(stability, lowest), orange)
        right.set_ylabel("stability of the topics", color=orange)
        right.spines[["top", "left"]].set_visible(False)
        right.spines[["right", "bottom"]].set_color(FAINT)
        right.tick_params(color=FAINT)
    return ax


def _draw_threshold(ax: Axes, stable: Array, colour: str) -> None:
    """Draw the stability from which a number is stable; say it if none is."""
    ax.axhline(MEAN_STABILITY, color=colour, linewidth=0.8, alpha=0.6)
    found = "stable above this line" if stable.any() else "no number is stable"
    at, is_above = _free_place(ax, MEAN_STABILITY)
    ax.annotate(
        found,
        xy=(at, MEAN_STABILITY),
        xycoords=ax.get_yaxis_transform(),
        xytext=(0, 3 if is_above else -3),
        textcoords="offset points",
        ha="left" if at < 0.5 else "right",
        va="bottom" if is_above else "top",
        color=INK,
        fontsize="x-small",
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )


def _free_place(ax: Axes, height: float) -> tuple[float, bool]:
    """Return where along the axes, and whether above, words at a height are farthest from lines."""
    to_axes = ax.transAxes.inverted()
    curves = [
        to_axes.transform(line.get_transform().transform(line.get_xydata()))
        for panel in ax.figure.axes
        for line in panel.lines
        if line.get_marker() != "None" and panel.bbox.bounds == ax.bbox.bounds
    ]
    level = to_axes.transform(ax.transData.transform((0, height)))[1]

    def clearance(place: tuple[float, bool]) -> float:
        at, is_above = place
        under = np.linspace(at, 0.35 if at < 0.5 else 0.65, 20)
        middle = level + (0.03 if is_above else -0.03)
        return min(float(np.abs(np.interp(under, *curve.T) - middle).min()) for curve in curves)

    places = [(0.99, True), (0.01, True), (0.99, False), (0.01, False)]
    return max(places, key=clearance)


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
        if strengths[0] > 0:
            ax.set_xscale("log")
        else:
            ax.set_xscale("symlog", linthresh=positive.min())
    simplify_frame(ax)
    ax.set(ylim=(-0.02, 1.02), xlabel=name)
    ax.set_ylabel("fraction of zero entries")
    ax.legend(frameon=False)
    return ax


def _zero_fraction(side: Any, threshold: float) -> float:
    sums = side.sum(axis=1, keepdims=True)
    return float(np.mean(side <= threshold * np.where(sums > 0, sums, 1)))

"""Convergence of fits."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isotopic.plot.canvas import Axes, axes, simplify_frame
from isotopic.plot.colours import colours_for
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
        raise ValueError(f"against must be one of {list(_AGAINST)}, but is {against!r}.")
    if value not in ("objective", "residual"):
        raise ValueError(f"value must be 'objective' or 'residual', but is {value!r}.")
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
            color=colours_for(len(histories), None)[i],
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

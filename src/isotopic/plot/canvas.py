"""Axes to draw on."""

from typing import Any, TypeAlias

from isotopic.plot.colours import FAINT

# matplotlib's Axes; matplotlib is imported when something is drawn.
Axes: TypeAlias = Any


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Give the axes themselves, or new ones on a figure of that size in inches."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install isotopic[plot]") from error
    if ax is None:
        return plt.figure(figsize=(width, height), layout="constrained").add_subplot()
    return ax


def bare(ax: Axes) -> None:
    """Take the frame and the ticks away."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def quiet(ax: Axes, *, grid: str | None = "y") -> None:
    """Leave two sides of the frame, and a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT)
    if grid:
        ax.grid(axis=grid, color="#DDDDDD", linewidth=0.6)
        ax.set_axisbelow(True)

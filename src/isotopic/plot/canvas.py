"""Creating and styling axes."""

from typing import Any, TypeAlias

from isotopic.plot.colours import FAINT

# matplotlib's Axes; matplotlib is imported only when something is drawn.
Axes: TypeAlias = Any


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or new ones on a figure of this size in inches."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib. Install it with: pip install isotopic[plot]"
        ) from error
    if ax is None:
        return plt.figure(figsize=(width, height), layout="constrained").add_subplot()
    return ax


def remove_frame(ax: Axes) -> None:
    """Remove the frame and the ticks."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def simplify_frame(ax: Axes, *, grid: str | None = "y") -> None:
    """Keep two sides of the frame and add a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT)
    if grid:
        ax.grid(axis=grid, color="#DDDDDD", linewidth=0.6)
        ax.set_axisbelow(True)

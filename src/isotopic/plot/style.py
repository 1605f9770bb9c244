"""Axes, frames, and colours that colour-blind readers can distinguish too."""

from collections.abc import Sequence
from typing import Any, TypeAlias

# matplotlib's Axes; matplotlib is imported only when something is drawn.
Axes: TypeAlias = Any

# Made by tools/make_palette.py: Okabe and Ito's, then always the one farthest from all others.
# fmt: off
_COLOURS = [
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#78005A",
    "#4B4B00", "#00F0C3", "#3C1EA5", "#875A69", "#8769F0", "#D2C3FF", "#87C369", "#B40F3C",
    "#FFC396", "#B43C96", "#B4A596", "#5A4BC3", "#004B87", "#C378FF", "#FF78D2", "#87874B",
]
# fmt: on

N_COLOURS = len(_COLOURS)

INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"


def palette(n: int) -> list[str]:
    """Return ``n`` colours; after 24 they repeat.

    The first ones are as different as possible, also for colour-blind readers. More than about a
    dozen colours are hard to distinguish, so the plots also use order, white lines and numbers.

    Examples
    --------
    >>> from isotopic.plot import palette
    >>> palette(3)
    ['#0072B2', '#E69F00', '#009E73']
    """
    return [_COLOURS[i % len(_COLOURS)] for i in range(n)]


def colours_for(n: int, given: Sequence[str] | None) -> list[str]:
    """Return the given colours, checked to be ``n``, or those of the palette."""
    if given is None:
        return palette(n)
    colours = list(given)
    if len(colours) != n:
        raise ValueError(f"colours has {len(colours)} entries, but there are {n} topics.")
    return colours


def text_on(colour: str) -> str:
    """Return black or white, whichever is legible on the colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else PAPER


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or new ones on a figure of this size in inches."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib. Install it with: pip install 'isotopic[plot]'"
        ) from error
    if ax is None:
        return plt.figure(figsize=(width, height), layout="constrained").add_subplot()
    return ax


def make_room(ax: Axes) -> None:
    """Let the layout of a figure make room for what is drawn outside of its only axes.

    Figures that have a layout, or several axes, are left as they are.
    """
    figure = ax.figure
    is_whole = hasattr(figure, "set_layout_engine")  # not a part of another figure
    if is_whole and figure.get_layout_engine() is None and figure.axes == [ax]:
        figure.set_layout_engine("constrained")


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

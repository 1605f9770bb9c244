"""Colours that colour-blind readers can tell apart too."""

from collections.abc import Sequence

# Made by tools/make_palette.py: Okabe and Ito's, then always the one farthest from all before it.
_COLOURS = [
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#78005A",
    "#4B4B00",
    "#00F0C3",
    "#3C1EA5",
    "#875A69",
    "#8769F0",
    "#D2C3FF",
    "#87C369",
    "#B40F3C",
    "#FFC396",
    "#B43C96",
    "#B4A596",
    "#5A4BC3",
    "#004B87",
    "#C378FF",
    "#FF78D2",
    "#87874B",
]

INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"


def palette(n: int) -> list[str]:
    """Give ``n`` colours; after 24 they come again.

    The first ones are as different as can be, for normal eyes and for those without one kind of
    cones. Beyond about a dozen no colours are easy to tell apart: the plots also use order, white
    lines and numbers.

    Examples
    --------
    >>> from isotopic.plot import palette
    >>> palette(3)
    ['#0072B2', '#E69F00', '#009E73']
    """
    return [_COLOURS[i % len(_COLOURS)] for i in range(n)]


def colours_for(n: int, given: Sequence[str] | None) -> list[str]:
    """Take the colours that were given, one for each of ``n``, or those of the palette."""
    if given is None:
        return palette(n)
    colours = list(given)
    if len(colours) != n:
        raise ValueError(f"{len(colours)} colours were given for {n} topics")
    return colours


def text_on(colour: str) -> str:
    """Give black or white, whichever can be read on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else PAPER

"""Mutational signatures in the style of COSMIC."""

import re
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate.topics import topics_of
from isotopic.plot.given import chosen_topics
from isotopic.plot.style import FAINT, INK, Axes, axes, palette, text_on
from isotopic.plot.text import names_of_features, readable, topic_names

# COSMIC's colours of the six classes of substitutions.
SBS_COLOURS = {
    "C>A": "#03BCEE",
    "C>G": "#010101",
    "C>T": "#E32926",
    "T>A": "#CAC9C9",
    "T>C": "#A1CE63",
    "T>G": "#EBC6C4",
}
_SBS = re.compile(r"([ACGT])\[([CT]>[ACGT])\]([ACGT])")
_CLASS = re.compile(r"[ACGT]{2}>|\d+:(?:Del|Ins):[CTRM]")  # doublets (DBS), indels (ID)
_GAP = 0.35  # between signatures, relative to the height of one


def spectra(
    model: Any,
    *,
    topics: Any = None,
    feature_names: Any = None,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each topic as a spectrum of mutation types, coloured by class.

    The 96 single-base substitutions, named like ``A[C>A]A``, are ordered by class and context, and
    have the usual colours. Doublets (``AC>CA``) and indels (``1:Del:C:0``) are also coloured by
    class; other features keep their order.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        A model, or its topics.
    topics : int, list of int or None, default=None
        The topics to draw, in this order.
    feature_names : array-like of str of shape (n_features,) or None, default=None
        The mutation types.
    names : list of str or None, default=None
        Names of the signatures.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        With a row of bars for each topic, each with its own scale at the left.
    """
    shares = topics_of(model)
    types = [str(name) for name in names_of_features(model, feature_names)]
    chosen, name = chosen_topics(topics, len(shares)), topic_names(names, len(shares))
    order, classes, labels = _order_types(types)
    kinds = list(dict.fromkeys(classes))
    colour = (
        SBS_COLOURS
        if set(kinds) <= set(SBS_COLOURS)
        else dict(zip(kinds, palette(len(kinds)), strict=True))
    )
    n = len(order)
    ax = axes(ax, max(6.0, 0.105 * n + 1), 0.95 * len(chosen) + 1.1)
    ticks = []
    for row, topic in enumerate(chosen):
        heights, floor = shares[topic, order], -row * (1 + _GAP)
        top = heights.max()
        ax.bar(np.arange(n), heights / top, 0.75, floor, color=[colour[c] for c in classes])
        ax.hlines(floor, -0.7, n - 0.3, color=FAINT, linewidth=0.7)
        ax.text(n - 0.6, floor + 0.97, name[topic], ha="right", va="top", weight="bold", color=INK)
        ticks += [(floor, "0"), (floor + 1, f"{top:.1%}")]
    _draw_classes(ax, classes, colour)
    bottom = -(len(chosen) - 1) * (1 + _GAP)
    ax.set(xlim=(-0.8, n - 0.2), ylim=(bottom - 0.05, 1.45))
    ax.set_yticks(*map(list, zip(*ticks, strict=True)))
    shown = np.arange(n) if n <= 100 else np.empty(0, int)
    ax.set_xticks(shown, [readable(labels[i], 14) for i in shown])
    ax.tick_params(axis="x", rotation=90, length=0, labelsize=5.5, pad=1)
    ax.tick_params(axis="y", color=FAINT, labelsize="x-small")
    ax.spines[:].set_visible(False)
    return ax


def _order_types(types: list[str]) -> tuple[Array, list[str], list[str]]:
    """Return the order of the bars, and the class and the label of each."""
    parts = [_SBS.fullmatch(name) for name in types]
    if all(parts):
        keys = [(part[2], part[1], part[3]) for part in parts if part]
        order = sorted(range(len(types)), key=keys.__getitem__)
        labels = [f"{keys[i][1]}{keys[i][0][0]}{keys[i][2]}" for i in order]
        return np.array(order), [keys[i][0] for i in order], labels
    found = [_CLASS.match(name) for name in types]
    classes = [match[0] if match else "" for match in found]
    first = {kind: i for i, kind in reversed(list(enumerate(classes)))}
    order = sorted(range(len(types)), key=lambda i: first[classes[i]])
    return np.array(order), [classes[i] for i in order], [types[i] for i in order]


def _draw_classes(ax: Axes, classes: list[str], colour: dict[str, str]) -> None:
    """Draw the names of the classes above the first row."""
    for kind in dict.fromkeys(classes):
        if not kind:
            continue
        places = [i for i, other in enumerate(classes) if other == kind]
        left, width = places[0] - 0.45, len(places) - 0.1
        ax.barh(1.28, width, 0.2, left, color=colour[kind])
        ax.text(
            left + width / 2,
            1.275,
            kind,
            ha="center",
            va="center",
            fontsize="small" if width > 3 * len(kind) / 2 else 4.5,
            weight="bold",
            color=text_on(colour[kind]),
        )

"""Mutational signatures in the style of COSMIC."""

from itertools import groupby
from typing import Any

import numpy as np

from isotopic.containers import NamedMatrix
from isotopic.evaluate.topics import named_topics, topics_of
from isotopic.fitted import Fitted
from isotopic.mutation_types import Bar, arrange, strands_of
from isotopic.plot.given import chosen_topics
from isotopic.plot.style import FAINT, INK, Axes, axes, palette, text_on
from isotopic.plot.text import names_of_features, readable, topic_names
from isotopic.references import read_named

_GAP = 0.42  # between signatures, relative to the height of one: with space for a name
_MOST_LABELLED = 100
_MOST_DRAWN = 100


def spectra(
    model: Any,
    *,
    topics: Any = None,
    feature_names: Any = None,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each topic as a spectrum of mutation types, in the order and colours of COSMIC.

    Substitutions (SBS96, such as ``A[C>A]A``) are ordered by class and context; with strands
    (SBS192 and SBS288, such as ``T:A[C>A]A``), those of a context are next to each other and
    coloured by strand. Doublets (DBS78, such as ``AC>CA``) and indels (ID83, such as
    ``1:Del:C:0``) have their classes. Other features keep their order.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        A model, or its topics. A table with the mutation types in its rows, as COSMIC publishes
        them, is turned.
    topics : int, list of int or None, default=None
        The topics to draw, in this order.
    feature_names : array-like of str of shape (n_features,) or None, default=None
        The mutation types.
    names : list of str or None, default=None
        Names of the signatures; by default those of the rows of a frame, else their numbers.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        With a row of bars for each topic, each with its own scale at the left.
    """
    model = _topics_by_type(model)
    shares = topics_of(model)
    if topics is None and len(shares) > _MOST_DRAWN:
        raise ValueError(
            f"There are {len(shares)} spectra to draw. Choose some of them, such as "
            "topics=[0, 1, 2]."
        )
    types = [str(name) for name in names_of_features(model, feature_names)]
    given = _row_names(model) if names is None else names
    chosen, name = chosen_topics(topics, len(shares)), topic_names(given, len(shares), model)
    bars = arrange(types, palette(1)[0])
    order, n = [bar.feature for bar in bars], len(bars)
    ax = axes(ax, min(max(6.0, 0.105 * n + 1), 16.0), 0.95 * len(chosen) + 1.1)
    ticks = []
    for row, topic in enumerate(chosen):
        heights, floor = shares[topic, order], -row * (1 + _GAP)
        top = heights.max()
        ax.bar(np.arange(n), heights / top, 0.75, floor, color=[bar.colour for bar in bars])
        ax.hlines(floor, -0.7, n - 0.3, color=FAINT, linewidth=0.7)
        ax.text(
            n - 0.6,
            floor + 1.03,
            name[topic],
            ha="right",
            va="bottom",
            weight="bold",
            fontsize="small",
            color=INK,
        )
        ticks += [(floor, "0"), (floor + 1, f"{top:.1%}")]
    _draw_classes(ax, bars)
    bottom = -(len(chosen) - 1) * (1 + _GAP)
    has_groups = any(bar.group for bar in bars)
    ax.set(xlim=(-0.8, n - 0.2), ylim=(bottom - 0.05, 1.85 if has_groups else 1.6))
    ax.set_ylabel("share of mutations" if bars[0].kind else "share", fontsize="small")
    ax.set_yticks(*map(list, zip(*ticks, strict=True)))
    shown = np.arange(n) if n <= _MOST_LABELLED else np.empty(0, int)
    ax.set_xticks(shown, [readable(bars[i].label, 14) for i in shown])
    short = all(bar.label[:1].isdigit() and len(bar.label) <= 2 for bar in bars)  # 1, 2, 6+
    ax.tick_params(axis="x", rotation=0 if short else 90, length=0, labelsize=5.5, pad=1)
    ax.tick_params(axis="y", color=FAINT, labelsize="x-small")
    ax.spines[:].set_visible(False)
    _draw_strands(ax, strands_of(types))
    return ax


def _topics_by_type(model: Any) -> Any:
    """Return topics x mutation types: a table of mutation types x topics is transposed."""
    if isinstance(model, Fitted) or hasattr(model, "get_params"):
        return model
    table = read_named(model, "model")
    is_turned = _are_types(table.sample_names) and not _are_types(table.feature_names)
    if not is_turned:
        return table
    return NamedMatrix(table.matrix.T, table.sample_names, table.feature_names)


def _are_types(names: Any) -> bool:
    """Return whether these are known mutation types."""
    return names is not None and bool(arrange([str(name) for name in names], INK)[0].kind)


def _row_names(model: Any) -> Any:
    """Return the names of the rows of a frame of topics; None for models and arrays."""
    return None if hasattr(model, "get_params") else named_topics(model).sample_names


def _draw_classes(ax: Axes, bars: list[Bar]) -> None:
    """Draw the classes above the first row, and the groups of classes above them."""
    at = 0
    for kind, several in groupby(bars, key=lambda bar: bar.kind):
        members = list(several)
        left, width = at - 0.45, len(members) - 0.1
        at += len(members)
        if not kind:
            continue
        first = members[0]
        ax.barh(1.43, width, 0.2, left, color=first.strip)
        ax.text(
            left + width / 2,
            1.425,
            first.title,
            ha="center",
            va="center",
            fontsize="small" if width > len(first.title) else 4.5,
            weight="bold",
            color=text_on(first.strip),
        )
    at = 0
    for group, several in groupby(bars, key=lambda bar: bar.group):
        size = len(list(several))
        if group:
            middle = at + (size - 1) / 2
            ax.text(middle, 1.67, group, ha="center", va="center", fontsize="x-small", color=INK)
        at += size


def _draw_strands(ax: Axes, strands: dict[str, str]) -> None:
    """Draw the legend of the strands below the bars."""
    if not strands:
        return
    handles = [ax.bar(0, 0, color=colour, label=name) for name, colour in strands.items()]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        ncols=len(handles),
        frameon=False,
        fontsize="x-small",
    )

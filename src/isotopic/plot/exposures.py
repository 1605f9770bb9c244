"""Exposures: how many counts of each sample each topic explains, as stacked bars."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import as_dense, read_container
from isotopic.evaluate.shares import read_shares
from isotopic.evaluate.topics import as_matrix, check_positive_integer
from isotopic.fitted import Fitted, fitted_of
from isotopic.plot.style import (
    FAINT,
    INK,
    N_COLOURS,
    Axes,
    axes,
    colours_for,
    make_room,
    palette,
    simplify_frame,
)
from isotopic.plot.text import readable, topic_names

_OTHER = "#D0D0D0"
_MOST_NAMED = 40  # samples


def exposures(
    weights: Any,
    *,
    n: int = 60,
    n_topics: int = 12,
    relative: bool = False,
    colours: Sequence[str] | None = None,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a stacked bar for each sample: the counts that each topic explains.

    The samples with the most counts come first. The topics that explain most counts have colours
    of their own; the rest is grey.

    Parameters
    ----------
    weights : Refit, fitted model, or array-like of shape (n_samples, n_components)
        The result of :func:`isotopic.refit`, a model, or weights, such as a frame of exposures.
    n : int, default=60
        Maximum number of samples.
    n_topics : int, default=12
        Maximum number of topics with a colour.
    relative : bool, default=False
        Whether all bars have the same height.
    colours : list of str or None, default=None
        One for each topic that has a colour.
    names : list of str or None, default=None
        Names of the topics; by default those of the reference or of the frame.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    counts, samples, own_names = _read(weights)
    label = topic_names(own_names if names is None else names, counts.shape[1])
    n, n_topics = check_positive_integer(n), check_positive_integer(n_topics)
    totals = counts.sum(axis=1)
    order = np.argsort(-totals, kind="stable")[:n]
    drawn = counts[order]
    if relative:
        sums = totals[order, np.newaxis]
        drawn = np.divide(drawn, sums, out=np.zeros_like(drawn), where=sums > 0)
    strength = drawn.sum(axis=0)
    topics = [k for k in np.argsort(-strength, kind="stable")[:n_topics] if strength[k] > 0]
    colour = colours_for(len(topics), colours) if colours else _colours(topics, counts)
    ax = axes(ax, max(5.0, 0.14 * len(order) + 2.6), 3.4)
    floor, at = np.zeros(len(order)), np.arange(len(order))
    for k, own in zip(topics, colour, strict=True):
        ax.bar(at, drawn[:, k], 0.85, floor, color=own, label=label[k])
        floor = floor + drawn[:, k]
    rest = drawn.sum(axis=1) - floor
    if np.any(rest > 1e-12 * max(floor.max(), 1e-300)):
        ax.bar(at, rest, 0.85, floor, color=_OTHER, label="other topics")
    simplify_frame(ax)
    ax.set(xlim=(-0.7, len(order) - 0.3), ylabel="share" if relative else "counts")
    if samples is not None and len(order) <= _MOST_NAMED:
        ax.set_xticks(
            at, [readable(samples[i], 20, cut="middle") for i in order], rotation=90, fontsize=6
        )
    else:
        ax.set_xticks([])
        words = f"{len(order)} of {len(counts)} samples, the largest first"
        ax.set_xlabel(words, color=INK)
    ax.tick_params(axis="x", color=FAINT, length=0)
    make_room(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    return ax


def _colours(topics: list[int], counts: Array) -> list[str]:
    """Return the colours of topics: by number as in all plots, or by size if they would repeat."""
    n, place = counts.shape[1], np.arange(counts.shape[1])
    if n > N_COLOURS:
        place[np.argsort(-counts.sum(axis=0), kind="stable")] = np.arange(n)
    return [palette(n)[place[k]] for k in topics]


def _read(given: Any) -> tuple[Array, Any, Any]:
    """Return the counts by sample and topic, and the names of both if they have some."""
    if isinstance(given, Fitted) or hasattr(given, "get_params"):
        fitted, shares = fitted_of(given), read_shares(given)
        counts = shares.matrix * fitted.sample_totals[:, np.newaxis]
        return counts, shares.sample_names, shares.topic_names
    named = as_dense(read_container(given, "weights"))
    form = "a refit, a fitted model or an array of samples x components"
    counts = as_matrix("weights", named.matrix, form, "sample", "component")
    return counts, named.sample_names, named.feature_names

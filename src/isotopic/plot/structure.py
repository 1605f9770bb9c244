"""Structure plot: stacked proportions of samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial import KDTree

from isotopic.arrays import Array
from isotopic.containers import align_table
from isotopic.evaluate.topics import check_positive_integer
from isotopic.plot.given import shares_of
from isotopic.plot.style import FAINT, PAPER, Axes, axes, colours_for, make_room
from isotopic.plot.text import readable, topic_names
from isotopic.random import Seed, generator

# Room in points for a letter, and for the name of a group if names stand upright or are aslant.
_LETTER, _UPRIGHT, _ASLANT = 5.5, 10.0, 20.0
_STYLES: dict[bool, dict[str, Any]] = {
    True: {"rotation": 90, "fontsize": "x-small"},
    False: {"rotation": 30, "rotation_mode": "anchor", "ha": "right", "fontsize": "small"},
}

# Optimal leaf ordering of this many samples takes a tenth of a second; its cost is cubic.
_TREE = 400


def structure(
    model: Any,
    *,
    groups: Any = None,
    n: int = 2000,
    colours: Sequence[str] | None = None,
    names: Any = None,
    legend: bool = True,
    random_state: Seed = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a structure plot: a thin stacked bar of proportions for each sample.

    Within each group, similar samples are next to each other, by hierarchical clustering with
    optimal leaf ordering. The most frequent topic is at the bottom.

    Parameters
    ----------
    model : fitted model, Refit, or array-like of shape (n_samples, n_components)
        A model, or weights on any scale.
    groups : array-like of shape (n_samples,) or None, default=None
        The group of each sample; a Series is aligned by name. Groups are drawn side by side, sorted
        by name, or in the order of the categories of a pandas Categorical. Of very many only the
        largest have a name.
    n : int, default=2000
        Maximum number of samples to draw, chosen at random.
    colours : list of str or None, default=None
        One for each component.
    names : list of str or None, default=None
        Names of the components, for the legend.
    legend : bool, default=True
    random_state : int, Generator, RandomState or None, default=0
        Seed of the choice of samples.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    given, n = shares_of(model), check_positive_integer(n)
    groups = align_table("groups", groups, samples=given.sample_names)
    shares, names = given.matrix, given.topic_names if names is None else names
    labels, kinds = _read_groups(groups, len(shares))
    some = np.arange(len(shares))
    if len(some) > n:
        some = np.sort(generator(random_state).choice(len(shares), size=n, replace=False))
    shares, labels = shares[some], labels[some]
    kinds = [kind for kind in kinds if np.any(labels == kind)]
    parts = [np.flatnonzero(labels == kind) for kind in kinds]
    ax = axes(ax, 10, 3.2 if groups is None else 3.8)
    parts = [part[sample_order(shares[part])] for part in parts]
    drawn = shares[np.concatenate(parts)]
    colour, name = colours_for(shares.shape[1], colours), topic_names(names, shares.shape[1])
    layers = np.argsort(-drawn.mean(axis=0), kind="stable")
    edges, top = np.arange(len(drawn) + 1), np.zeros(len(drawn))
    for topic in layers:
        ax.stairs(
            top + drawn[:, topic],
            edges,
            baseline=top,
            fill=True,
            color=colour[topic],
            label=name[topic],
            linewidth=0,
            antialiased=False,  # avoids seams between neighbours
        )
        top = top + drawn[:, topic]
    _style_axes(ax, [len(part) for part in parts], [] if groups is None else kinds)
    if legend:
        _draw_legend(ax)
    return ax


def sample_order(shares: Array) -> Array:
    """Return an order in which similar samples are next to each other."""
    n = len(shares)
    if n < 3:
        return np.arange(n)
    if n <= _TREE:
        return np.asarray(leaves_list(linkage(shares, "average", optimal_ordering=True)))
    # Order some samples; place each of the others with the nearest of them.
    guides = shares[np.linspace(0, n - 1, _TREE).astype(int)]
    guides = guides[sample_order(guides)]
    nearest = KDTree(guides).query(shares)[1]
    return np.lexsort((shares[:, shares.mean(axis=0).argmax()], nearest))


def _read_groups(groups: Any, n: int) -> tuple[Array, list[str]]:
    """Return the group of each sample, and all groups in order."""
    if groups is None:
        return np.full(n, ""), [""]
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must have one entry for each of the {n} samples, but has the shape "
            f"{labels.shape}."
        )
    categories = getattr(getattr(groups, "cat", groups), "categories", None)
    kinds = np.unique(labels.astype(str)) if categories is None else categories
    return labels.astype(str), [str(kind) for kind in kinds]


def _points_wide(ax: Axes) -> float:
    """Return the width of axes in typographic points."""
    return float(ax.get_window_extent().width * 72 / ax.figure.dpi)


def _style_axes(ax: Axes, sizes: list[int], kinds: list[Any]) -> None:
    ends = np.cumsum(sizes)
    ax.set(xlim=(0, ends[-1]), ylim=(0, 1), ylabel="proportion", yticks=[0, 0.5, 1])
    ax.spines[:].set_visible(False)
    ax.vlines(ends[:-1], 0, 1, color=PAPER, linewidth=2)
    if not kinds:
        ax.set_xticks([])
        ax.set_xlabel(f"{ends[-1]:,} samples")
        return
    middles = ends - np.asarray(sizes) / 2
    at = middles / ends[-1] * _points_wide(ax)
    names, style = [readable(kind, 28, cut="middle") for kind in kinds], {}
    room = _LETTER * np.array([len(name) for name in names])
    if np.any(np.diff(at) < (room[1:] + room[:-1]) / 2):
        is_upright = len(at) * _ASLANT > _points_wide(ax)
        shown = _apart(at, np.asarray(sizes), _UPRIGHT if is_upright else _ASLANT)
        middles, names = middles[shown], [names[i] for i in shown]
        style = _STYLES[is_upright]
    ax.set_xticks(middles, names, **style)
    if len(names) < len(kinds):
        ax.set_xlabel(f"{len(kinds)} groups; the largest have a name")
    ax.tick_params(axis="x", length=0)
    ax.tick_params(axis="y", color=FAINT)


def _apart(at: Array, sizes: Array, distance: float) -> Array:
    """Return the places, large groups first, that keep a distance, in their order."""
    kept: list[int] = []
    for i in np.argsort(-sizes, kind="stable").tolist():
        if all(abs(at[i] - at[j]) >= 0.95 * distance for j in kept):
            kept.append(i)
    return np.sort(kept)


def _draw_legend(ax: Axes) -> None:
    """Draw the legend at the right, the topmost topic first."""
    handles, labels = ax.get_legend_handles_labels()
    columns = -(-len(handles) // 14)
    make_room(ax)
    ax.legend(
        handles[::-1],
        labels[::-1],
        loc="center left",
        bbox_to_anchor=(1.005, 0.5),
        frameon=False,
        ncols=columns,
        fontsize="small",
        handlelength=1,
        handleheight=1,
        labelspacing=0.25,
    )

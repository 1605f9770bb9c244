"""Effects of covariates, and topics over time: curves with bands, and intervals of groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate import over_time as table_over_time
from isotopic.plot.given import chosen_topics
from isotopic.plot.style import Axes, axes, colours_for, simplify_frame
from isotopic.plot.text import readable, topic_names

# How many topics are drawn by default: more bands cannot be told apart.
_MOST_TOPICS = 8


def effects(
    model: Any,
    covariate: str,
    *,
    topics: Any = None,
    values: Any = None,
    others: str = "average",
    level: float = 0.9,
    colours: Sequence[str] | None = None,
    names: Any = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the expected proportions of topics at values of a covariate, with intervals.

    Over a number or time they are curves with bands; between groups, points with bars.

    Parameters
    ----------
    model : fitted model with covariates
    covariate : str
    topics : int, list of int or None, default=None
        The topics to draw; by default the eight with the largest differences.
    values, others, level
        See the model's ``effects``.
    colours : list of str or None, default=None
        One for each component.
    names : list of str or None, default=None
        Names of the components.
    legend : bool, default=True
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    table = model.effects(covariate, values=values, others=others, level=level)
    return _draw(model, table, covariate, "proportion", topics, colours, names, legend, ax)


def over_time(
    weights: Any,
    time: Any,
    *,
    period: Any = None,
    topics: Any = None,
    level: float = 0.9,
    colours: Sequence[str] | None = None,
    names: Any = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean shares of topics over time, with intervals.

    Parameters
    ----------
    weights : fitted model, or array-like of shape (n_samples, n_components)
    time, period, level
        See :func:`isotopic.evaluate.over_time`, which makes the table that is drawn.
    topics : int, list of int or None, default=None
        The topics to draw; by default the eight whose means differ most.
    colours : list of str or None, default=None
        One for each component.
    names : list of str or None, default=None
        Names of the components.
    legend : bool, default=True
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    table = table_over_time(weights, time, period=period, level=level)
    return _draw(weights, table, "time", "mean", topics, colours, names, legend, ax)


def _draw(
    model: Any,
    table: Any,
    over: str,
    what: str,
    topics: Any,
    colours: Any,
    names: Any,
    legend: bool,
    ax: Axes | None,
) -> Axes:
    """Draw a column of a table with its interval over another column."""
    n = int(table["topic"].max()) + 1
    values = table[over][::n]
    means, lower, upper = (table[name].reshape(-1, n) for name in (what, "lower", "upper"))
    chosen = _most_varying(means) if topics is None else chosen_topics(topics, n)
    colour, name = colours_for(n, colours), topic_names(names, n, model)
    ax = axes(ax, 7, 3.8)
    is_group = values.dtype.kind == "O"
    places = np.arange(len(values)) if is_group else values
    for number, topic in enumerate(chosen):
        line = {"color": colour[topic], "label": name[topic]}
        if is_group:
            at = places + 0.6 * ((number + 0.5) / len(chosen) - 0.5)
            reach = np.abs([means[:, topic] - lower[:, topic], upper[:, topic] - means[:, topic]])
            ax.errorbar(at, means[:, topic], reach, fmt="o", markersize=5, capsize=2, **line)
            continue
        ax.plot(places, means[:, topic], marker="o" if len(places) < 25 else "", ms=3, **line)
        ax.fill_between(
            places, lower[:, topic], upper[:, topic], color=colour[topic], alpha=0.18, linewidth=0
        )
    if is_group:
        ax.set_xticks(places, [readable(value) for value in values])
    ax.set(xlabel=readable(over), ylabel="proportion")
    ax.set_ylim(bottom=0)
    simplify_frame(ax)
    if legend:
        ax.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), frameon=False, fontsize="small")
    return ax


def _most_varying(means: Array) -> Array:
    """Return the topics whose means differ most, in their own order."""
    apart = means.max(axis=0) - means.min(axis=0)
    return np.sort(np.argsort(-apart, kind="stable")[:_MOST_TOPICS])

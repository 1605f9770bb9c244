"""Effects of covariates, and topics over time: curves with bands, and intervals of groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate import over_time as table_over_time
from isotopic.evaluate.topics import check_positive_integer
from isotopic.plot.given import chosen_topics
from isotopic.plot.style import FAINT, Axes, axes, colours_for, simplify_frame
from isotopic.plot.text import readable, topic_names

# With more letters than this, the names of groups side by side would overlap.
_MOST_LETTERS = 50

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
    columns: int = 4,
    ax: Axes | None = None,
) -> Axes:
    """Draw the expected proportions of topics at values of a covariate, with intervals.

    Over a number or time they are curves with bands, each in a panel of its own; between groups,
    points with bars.

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
        Where several topics share axes.
    columns : int, default=4
        Panels side by side.
    ax : matplotlib Axes or None, default=None
        With axes, all topics are drawn there, one over the other.

    Returns
    -------
    ax : matplotlib Axes
        Of several panels the first; ``ax.figure.axes`` are all of them.
    """
    table = model.effects(covariate, values=values, others=others, level=level)
    curves = _Curves.of(model, table, covariate, "proportion", topics, colours, names)
    return curves.draw(ax, columns=columns, legend=legend)


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
    columns: int = 4,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean shares of topics over time, with intervals, each in a panel of its own.

    Parameters
    ----------
    weights : fitted model, or array-like of shape (n_samples, n_components)
    time, period, level
        See :func:`isotopic.evaluate.over_time`, which makes the table that is drawn. The name of a
        column of a data frame is the label of the axis.
    topics : int, list of int or None, default=None
        The topics to draw; by default the eight whose means differ most.
    colours : list of str or None, default=None
        One for each component.
    names : list of str or None, default=None
        Names of the components.
    legend : bool, default=True
        Where several topics share axes.
    columns : int, default=4
        Panels side by side.
    ax : matplotlib Axes or None, default=None
        With axes, all topics are drawn there, one over the other.

    Returns
    -------
    ax : matplotlib Axes
        Of several panels the first; ``ax.figure.axes`` are all of them.
    """
    table = table_over_time(weights, time, period=period, level=level)
    curves = _Curves.of(weights, table, "time", "mean", topics, colours, names)
    label = getattr(time, "name", None)  # of a column of a data frame
    if label is not None:
        curves = replace(curves, over=str(label))
    return curves.draw(ax, columns=columns, legend=legend)


@dataclass(frozen=True)
class _Curves:
    """Columns of a table with intervals over another column, for each of some topics."""

    over: str
    places: Array
    means: Array  # places x topics, as the ends of the intervals
    lower: Array
    upper: Array
    topics: Array
    colours: Sequence[str]
    names: Sequence[str]

    @classmethod
    def of(
        cls, model: Any, table: Any, over: str, what: str, topics: Any, colours: Any, names: Any
    ) -> "_Curves":
        """Return the curves of a table; by default of the topics that vary most."""
        n = int(table["topic"].max()) + 1
        means, lower, upper = (table[name].reshape(-1, n) for name in (what, "lower", "upper"))
        chosen = _most_varying(means) if topics is None else chosen_topics(topics, n)
        style = colours_for(n, colours), topic_names(names, n, model)
        return cls(over, table[over][::n], means, lower, upper, chosen, *style)

    def draw(self, ax: Axes | None, *, columns: int, legend: bool) -> Axes:
        """Draw points of groups, or curves: in panels, or all on the given axes."""
        is_group = self.places.dtype.kind == "O"
        if ax is None and not is_group and len(self.topics) > 1:
            return self._draw_panels(check_positive_integer(columns))
        ax = axes(ax, 7, 3.8)
        for number, topic in enumerate(self.topics):
            if is_group:
                self._draw_groups(ax, topic, (number + 0.5) / len(self.topics) - 0.5)
            else:
                self._draw_curve(ax, topic)
        if is_group:
            labels = [readable(value) for value in self.places]
            ax.set_xticks(np.arange(len(labels)), labels)
            if sum(map(len, labels)) > _MOST_LETTERS:
                for label in ax.get_xticklabels():
                    label.set(rotation=45, ha="right", rotation_mode="anchor")
        ax.set(xlabel=readable(self.over), ylabel="proportion")
        ax.set_ylim(bottom=0)
        simplify_frame(ax)
        if legend:
            at = {"loc": "center left", "bbox_to_anchor": (1.005, 0.5)}
            ax.legend(**at, frameon=False, fontsize="small")
        return ax

    def _draw_panels(self, columns: int) -> Axes:
        """Draw each topic in a panel with the same axes, before faint lines of the others."""
        columns = min(columns, len(self.topics))
        rows = -(-len(self.topics) // columns)
        figure = axes(None, 2.4 * columns, 1.8 * rows + 0.4).figure
        figure.clear()
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, topic in zip(panels, self.topics, strict=False):
            others = self.topics[self.topics != topic]
            panel.plot(self.places, self.means[:, others], color=FAINT, alpha=0.35, linewidth=0.7)
            self._draw_curve(panel, topic)
            panel.set_title(self.names[topic], fontsize="small", loc="left")
            panel.set_ylim(bottom=0)
            panel.tick_params(labelsize="small")
            simplify_frame(panel)
        for panel in panels[len(self.topics) :]:
            panel.remove()
        figure.supxlabel(readable(self.over), fontsize="medium")
        figure.supylabel("proportion", fontsize="medium")
        return panels[0]

    def _draw_curve(self, ax: Axes, topic: int) -> None:
        colour, places = self.colours[topic], self.places
        marker = "o" if len(places) < 25 else ""
        line = {"color": colour, "label": self.names[topic]}
        ax.plot(places, self.means[:, topic], marker=marker, ms=3, **line)
        ends = self.lower[:, topic], self.upper[:, topic]
        ax.fill_between(places, *ends, color=colour, alpha=0.18, linewidth=0)

    def _draw_groups(self, ax: Axes, topic: int, shift: float) -> None:
        means = self.means[:, topic]
        reach = np.abs([means - self.lower[:, topic], self.upper[:, topic] - means])
        at = np.arange(len(self.places)) + 0.6 * shift
        line = {"color": self.colours[topic], "label": self.names[topic]}
        ax.errorbar(at, means, reach, fmt="o", markersize=5, capsize=2, **line)


def _most_varying(means: Array) -> Array:
    """Return the topics whose means differ most, in their own order."""
    apart = means.max(axis=0) - means.min(axis=0)
    return np.sort(np.argsort(-apart, kind="stable")[:_MOST_TOPICS])

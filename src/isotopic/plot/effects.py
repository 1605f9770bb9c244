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

# How many labels the axis of a number has, alone and in a panel.
_MOST_TICKS, _MOST_TICKS_OF_PANEL = 8, 4


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

    Each topic has a panel of its own: over a number or time, a curve with a band; between groups,
    a point with a bar for each.

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
        if ax is None and len(self.topics) > 1:
            panels = self._draw_group_panels if is_group else self._draw_panels
            return panels(check_positive_integer(columns))
        ax = axes(ax, 7, 3.8)
        for number, topic in enumerate(self.topics):
            if is_group:
                shift = (number + 0.5) / len(self.topics) - 0.5
                means, reach = self._interval(topic)
                where = np.arange(len(self.places)) + 0.6 * shift
                ax.errorbar(where, means, reach, label=self.names[topic], **self._points(topic))
            else:
                self._draw_curve(ax, topic)
        if is_group:
            labels = [readable(value) for value in self.places]
            ax.set_xticks(np.arange(len(labels)), labels)
            ax.set_xlim(-0.5, len(labels) - 0.5)
            if sum(map(len, labels)) > _MOST_LETTERS:
                for label in ax.get_xticklabels():
                    label.set(rotation=45, ha="right", rotation_mode="anchor")
        else:
            self._set_ticks(ax, _MOST_TICKS)
        ax.set(xlabel=readable(self.over), ylabel="proportion")
        ax.set_ylim(bottom=0, auto=None)  # what is drawn later widens the limits again
        simplify_frame(ax)
        if legend:
            at = {"loc": "center left", "bbox_to_anchor": (1.005, 0.5)}
            ax.legend(**at, frameon=False, fontsize="small")
        return ax

    def _draw_panels(self, columns: int) -> Axes:
        """Draw each topic in a panel with the same axes, before faint lines of the others."""
        panels = self._make_panels(columns, height=1.8)
        for panel, topic in zip(panels, self.topics, strict=False):
            others = self.topics[self.topics != topic]
            panel.plot(self.places, self.means[:, others], color=FAINT, alpha=0.35, linewidth=0.7)
            self._draw_curve(panel, topic)
        panels[0].set_ylim(bottom=0)  # shared, so only once all intervals are drawn
        self._set_ticks(panels[0], _MOST_TICKS_OF_PANEL)
        panels[0].figure.supxlabel(readable(self.over), fontsize="medium")
        panels[0].figure.supylabel("proportion", fontsize="medium")
        return panels[0]

    def _draw_group_panels(self, columns: int) -> Axes:
        """Draw each topic in a panel with the same axes and a row for each group."""
        rows = np.arange(len(self.places))
        panels = self._make_panels(columns, height=0.24 * len(rows) + 0.6, grid="x")
        for panel, topic in zip(panels, self.topics, strict=False):
            means, reach = self._interval(topic)
            panel.errorbar(means, rows, xerr=reach, **self._points(topic))
        panels[0].set_xlim(left=0)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        panels[0].set_yticks(rows, [readable(value) for value in self.places])
        panels[0].figure.supxlabel("proportion", fontsize="medium")
        panels[0].figure.supylabel(readable(self.over), fontsize="medium")
        return panels[0]

    def _make_panels(self, columns: int, *, height: float, grid: str = "y") -> list[Axes]:
        """Return axes of a new figure, one for each topic, with its name."""
        n = len(self.topics)
        columns = min(columns, n)
        rows = -(-n // columns)
        figure = axes(None, 2.4 * columns, height * rows + 0.4).figure
        figure.clear()
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, topic in zip(panels, self.topics, strict=False):
            panel.set_title(self.names[topic], fontsize="small", loc="left")
            panel.tick_params(labelsize="small")
            simplify_frame(panel, grid=grid)
        for panel in panels[n:]:
            panel.remove()
        return list(panels[:n])

    def _set_ticks(self, ax: Axes, most: int) -> None:
        """Label few places of the axis of numbers, and whole ones unless all are close together."""
        if self.places.dtype.kind == "M":
            return
        from matplotlib.ticker import FixedLocator, MaxNLocator  # noqa: PLC0415 - an extra

        are_whole = bool(np.all(self.places == np.rint(self.places)))
        if are_whole and len(self.places) <= most:
            ax.xaxis.set_major_locator(FixedLocator(self.places.tolist()))
        else:
            is_whole = are_whole or np.ptp(self.places) > most
            ax.xaxis.set_major_locator(
                MaxNLocator(most, steps=[1, 2, 5, 10], integer=bool(is_whole))
            )

    def _draw_curve(self, ax: Axes, topic: int) -> None:
        colour, places = self.colours[topic], self.places
        marker = "o" if len(places) < 25 else ""
        line = {"color": colour, "label": self.names[topic]}
        ax.plot(places, self.means[:, topic], marker=marker, ms=3, **line)
        ends = self.lower[:, topic], self.upper[:, topic]
        ax.fill_between(places, *ends, color=colour, alpha=0.18, linewidth=0)

    def _interval(self, topic: int) -> tuple[Array, Array]:
        """Return the means of a topic, and how far its intervals reach below and above them."""
        means = self.means[:, topic]
        return means, np.abs([means - self.lower[:, topic], self.upper[:, topic] - means])

    def _points(self, topic: int) -> dict[str, Any]:
        return {"color": self.colours[topic], "fmt": "o", "markersize": 5, "capsize": 2}


def _most_varying(means: Array) -> Array:
    """Return the topics whose means differ most, in their own order."""
    apart = means.max(axis=0) - means.min(axis=0)
    return np.sort(np.argsort(-apart, kind="stable")[:_MOST_TOPICS])

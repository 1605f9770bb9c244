"""Topics as places on a map."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from isotopic.arrays import Array
from isotopic.evaluate.topics import top_features, topics_of
from isotopic.plot.canvas import Axes, axes
from isotopic.plot.colours import FAINT, INK, colours_for, text_on
from isotopic.plot.given import prevalence_of
from isotopic.plot.text import feature_names as names_of_features
from isotopic.plot.text import readable

_LARGEST = 1500.0  # area of the most prevalent topic's circle, in square points


def topic_map(
    model: Any,
    *,
    n_terms: int = 3,
    feature_names: Any = None,
    colours: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw topics as circles: near each other if they are alike, and as large as prevalent.

    The places are the principal coordinates of the Jensen-Shannon distances between the topics.
    The axes say how much of the squared distances each of them keeps.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        Or its topics, which are then drawn equally large.
    n_terms : int, default=3
        How many of its strongest terms are written to each topic; none with 0.
    feature_names : array-like of str of shape (n_features,) or None, default=None
    colours : list of str or None, default=None
        For each component.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        The area of each circle is proportional to the prevalence of its topic.
    """
    topics = topics_of(model)
    terms = names_of_features(model, feature_names)
    places, kept = principal_coordinates(squareform(pdist(topics, "jensenshannon")))
    common = prevalence_of(model, topics)
    sizes = np.full(len(topics), 1 / len(topics)) if common is None else common
    areas = _LARGEST * sizes / max(sizes.max(), np.finfo(float).tiny)
    colour = colours_for(len(topics), colours)
    ax = axes(ax, 7.5, 6)
    ax.scatter(*places.T, s=areas, c=colour, alpha=0.85, linewidths=0, zorder=2)
    _frame(ax, places, kept)
    for topic, (x, y) in enumerate(places):
        small = areas[topic] < 120
        ax.annotate(
            str(topic),
            (x, y),
            (0, np.sqrt(areas[topic] / np.pi) + 4 if small else 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize="small",
            weight="bold",
            color=INK if small else text_on(colour[topic]),
            zorder=3,
        )
    if n_terms:
        strongest = terms[top_features(topics, n_terms)]
        lines = [", ".join(readable(term, 14) for term in row) for row in strongest]
        _label(ax, places, areas, lines)
    return ax


def principal_coordinates(distances: Array) -> tuple[Array, Array]:
    """Place points in two dimensions (classical scaling), and say how much each one keeps.

    The sign of each coordinate is such that its largest entry is positive.
    """
    n = len(distances)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]  # below zero: not Euclidean
    places = np.zeros((n, 2))
    width = min(2, n)
    places[:, :width] = vectors[:, :width] * np.sqrt(values[:width])
    largest = np.abs(places).argmax(axis=0)
    places *= np.where(places[largest, [0, 1]] < 0, -1, 1)
    kept = np.zeros(2)
    kept[:width] = values[:width] / max(values.sum(), np.finfo(float).tiny)
    return places, kept


def _frame(ax: Axes, places: Array, kept: Array) -> None:
    for axis, share in zip("xy", kept, strict=True):
        getattr(ax, f"set_{axis}label")(f"{share:.0%} of the distances", color=FAINT)
    ax.axhline(0, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.axvline(0, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    reach = max(np.ptp(places), 1e-3)
    low, high = places.min(axis=0) - 0.14 * reach, places.max(axis=0) + 0.14 * reach
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _label(ax: Axes, places: Array, areas: Array, lines: list[str]) -> None:
    """Write a line below or above each circle, wherever it covers the least."""
    ax.figure.draw_without_rendering()
    points = ax.transData.transform(places) * 72 / ax.figure.dpi
    radii = np.sqrt(areas / np.pi)
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(points, radii, strict=True)]
    for topic in np.argsort(-areas, kind="stable"):
        (x, y), radius, width = points[topic], radii[topic], 4.2 * len(lines[topic])
        tries: list[Any] = []
        for shift in (-radius - 6, radius + (14 if areas[topic] < 120 else 6), -radius - 15):
            box = (x - width / 2, y + shift - 5, x + width / 2, y + shift + 5)
            tries.append((sum(_overlap(box, other) for other in taken), len(tries), shift, box))
        _, _, shift, box = min(tries)
        taken.append(box)
        ax.annotate(
            lines[topic],
            places[topic],
            (0, shift),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7.5,
            color=INK,
            zorder=4,
        )


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(high, 0.0)

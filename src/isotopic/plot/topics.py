"""Map of topics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import rel_entr

from isotopic.arrays import Array
from isotopic.evaluate.topics import top_features, topics_of
from isotopic.match import hellinger_similarity, principal_coordinates
from isotopic.plot.given import prevalence_of
from isotopic.plot.labels import move_apart, place_labels
from isotopic.plot.style import FAINT, Axes, axes, colours_for, text_on
from isotopic.plot.text import names_of_features, readable, topic_names

# Area of the most prevalent topic's circle in square points, on axes of usual size and at least.
_LARGEST, _LEAST = 1500.0, 250.0
_USUAL_AXES = 480.0 * 380.0  # square points
_HALF_LABEL, _LINE = 45.0, 9.0  # of a label, in points
_TINY = np.finfo(float).tiny


def topic_map(
    model: Any,
    *,
    n_terms: int = 3,
    feature_names: Any = None,
    colours: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw topics as circles: similar topics are close, prevalent topics are large.

    The places are the principal coordinates of the Hellinger distances between the topics. The
    labels of the axes say how much of the squared distances each keeps. Overlapping circles are
    moved apart.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        A model, or its topics, which are then drawn equally large.
    n_terms : int, default=3
        Number of distinctive terms that are written next to each topic; 0 for none.
    feature_names : array-like of str of shape (n_features,) or None, default=None
    colours : list of str or None, default=None
        One for each component.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
        The area of each circle is proportional to the prevalence of its topic.
    """
    topics = topics_of(model)
    terms = names_of_features(model, feature_names)
    places, kept = principal_coordinates(1 - hellinger_similarity(topics, topics))
    common = prevalence_of(model)
    sizes = np.full(len(topics), 1 / len(topics)) if common is None else common
    colour = colours_for(len(topics), colours)
    ax = axes(ax, 7.5, 6)
    room = np.prod(_size_in_points(ax)) / _USUAL_AXES
    areas = np.clip(_LARGEST * room, _LEAST, _LARGEST) * sizes / max(sizes.max(), _TINY)
    radii = np.sqrt(areas / np.pi)
    large_first = np.argsort(-areas, kind="stable")
    _frame(ax, places, kept, margin=radii.max())
    places = move_apart(ax, places, radii)
    ax.scatter(
        *places[large_first].T,
        s=areas[large_first],
        c=[colour[topic] for topic in large_first],
        edgecolors="white",
        linewidths=0.8,
        alpha=0.85,
        zorder=2,
    )
    for topic, (x, y) in enumerate(places):
        number = {"ha": "center", "va": "center", "fontsize": "small", "weight": "bold"}
        ax.text(x, y, str(topic), color=text_on(colour[topic]), zorder=3, **number)
    named = topic_names(None, len(topics), model)
    if n_terms:
        # The contribution of a term to the KL divergence of the topic from the mean topic.
        contributions = rel_entr(topics, (sizes / sizes.sum()) @ topics)
        strongest = terms[top_features(contributions, n_terms)]
        lines = [", ".join(readable(term, 14) for term in row) for row in strongest]
        for topic, name in enumerate(named):  # a name says it better than terms
            lines[topic] = lines[topic] if name == f"topic {topic}" else name
        place_labels(ax, places, lines, radii=radii + 1, order=large_first)
    return ax


def _size_in_points(ax: Axes) -> Array:
    """Return the width and height of axes in typographic points, in the layout of the figure."""
    ax.figure.draw_without_rendering()
    return np.array(ax.get_window_extent().size * 72 / ax.figure.dpi)


def _frame(ax: Axes, places: Array, kept: Array, margin: float) -> None:
    """Label the axes, and set limits that leave a margin around circles and their labels."""
    for axis, share in zip("xy", kept, strict=True):
        getattr(ax, f"set_{axis}label")(f"{share:.0%} of the distances", color=FAINT)
    ax.axhline(0, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.axvline(0, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    size = _size_in_points(ax)
    margins = np.minimum(np.array([margin + _HALF_LABEL, margin + 2 * _LINE]), 0.35 * size)
    reach = np.maximum(np.ptp(places, axis=0), 1e-3)
    around = reach * margins / (size - 2 * margins)
    low, high = places.min(axis=0) - around, places.max(axis=0) + around
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))

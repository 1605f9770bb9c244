"""Placing labels next to points with little overlap."""

import numpy as np

from isotopic.arrays import Array
from isotopic.plot.style import FAINT, INK, Axes

_SIZE = 7.5  # font size in points
_LETTER, _CAPITAL = 0.56, 0.68  # approximate widths of letters, relative to the size
_MOVES = 100  # maximum number of rounds that move circles apart
_FAR = 2.0  # cost of a point of distance, in square points of overlap
_OUTSIDE = 5.0  # cost of a square point outside of the axes
_HIDDEN = 8.0  # cost of a point of the plot that a label covers
_LINES = 6  # how many lines above or below its point a label may be

Box = tuple[float, float, float, float]


def place_labels(
    ax: Axes,
    places: Array,
    lines: list[str],
    *,
    radii: Array,
    order: Array,
    others: Array | None = None,
) -> None:
    """Write a label next to each point: below it if possible, else where it overlaps least.

    The axes have their limits. Places are in data coordinates, radii in typographic points;
    ``order`` is that in which labels are placed, and ``others`` are further points to leave free.
    """
    ax.figure.draw_without_rendering()  # the layout decides where the points are
    points = ax.transData.transform(places) * 72 / ax.figure.dpi
    free = points if others is None else ax.transData.transform(others) * 72 / ax.figure.dpi
    inside = ax.get_window_extent().extents * 72 / ax.figure.dpi
    taken: list[Box] = [
        (x - r, y - r, x + r, y + r) for (x, y), r in zip(points, radii, strict=True)
    ]
    for i in order:
        width, gap = _width(lines[i]), radii[i] + 0.7 * _SIZE
        aside = radii[i] + width / 2 + 2
        near = [(0, -gap), (0, gap), (aside, 0), (-aside, 0)]
        heights = (sign * gap * line / 2 for line in range(2, 2 * _LINES) for sign in (-1, 1))
        far = [(x, y) for y in heights for x in (aside, -aside, 0)]
        shifts = [*near, *far]
        centres = points[i] + shifts
        half = np.array([width / 2, 0.6 * _SIZE])
        boxes = [(*low, *high) for low, high in zip(centres - half, centres + half, strict=True)]
        covered = np.array([sum(_overlap(box, other) for other in taken) for box in boxes])
        covered += [_OUTSIDE * _area_outside(box, inside) for box in boxes]
        covered += [_HIDDEN * _count_inside(box, free) for box in boxes]
        best = int(np.argmin(covered + _FAR * np.hypot(*np.transpose(shifts))))
        taken.append(boxes[best])
        leader = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkA": 0}
        ax.annotate(
            lines[i],
            places[i],
            shifts[best],
            textcoords="offset points",
            fontsize=_SIZE,
            color=INK,
            zorder=4,
            arrowprops=None if best < len(near) else {**leader, "shrinkB": radii[i]},
            ha="center",
            va="center",
        )


def move_apart(ax: Axes, places: Array, radii: Array) -> Array:
    """Return places at which the circles overlap by at most a third.

    The units are those of :func:`place_labels`.
    """
    ax.figure.draw_without_rendering()
    points = ax.transData.transform(places) * 72 / ax.figure.dpi
    first, second = np.triu_indices(len(points), 1)
    needed = 0.67 * (radii[first] + radii[second])
    for _ in range(_MOVES):
        way = points[second] - points[first]
        length = np.linalg.norm(way, axis=1)
        close = length < needed
        if not close.any():
            break
        # Circles at the same place move sideways.
        way[length == 0], length[length == 0] = (1.0, 0.0), 1.0
        push = way * (close * np.maximum(needed - length, 0.1) / length / 2)[:, np.newaxis]
        np.add.at(points, second, push)
        np.add.at(points, first, -push)
    return np.asarray(ax.transData.inverted().transform(points * ax.figure.dpi / 72))


def _width(line: str) -> float:
    """Return the approximate width of a label in points."""
    return _SIZE * sum(_CAPITAL if letter.isupper() else _LETTER for letter in line)


def _overlap(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(high, 0.0)


def _area_outside(box: Box, inside: Array) -> float:
    """Return how much of a box, in square points, is outside of another."""
    left, bottom, right, top = inside
    return (box[2] - box[0]) * (box[3] - box[1]) - _overlap(box, (left, bottom, right, top))


def _count_inside(box: Box, points: Array) -> int:
    low, high = box[:2], box[2:]
    return int(np.count_nonzero(np.all((points > low) & (points < high), axis=1)))

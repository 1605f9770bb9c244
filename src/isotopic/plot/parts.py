"""Topics of image data."""

from typing import Any

import numpy as np

from isotopic.evaluate.topics import topics_of
from isotopic.plot.given import chosen_topics
from isotopic.plot.style import INK, Axes, axes, remove_frame


def image_parts(
    model: Any,
    shape: tuple[int, int],
    *,
    topics: Any = None,
    columns: int | None = None,
    cmap: str = "gray_r",
    ax: Axes | None = None,
) -> Axes:
    """Draw topics over pixels as a mosaic of images.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n_components, n_features)
        A model, or its topics.
    shape : tuple of int
        Height and width of an image; features are its pixels, row by row.
    topics : int, list of int or None, default=None
        The topics to draw, in this order.
    columns : int or None, default=None
        Images side by side. The default makes the mosaic about as wide as high.
    cmap : str, default="gray_r"
        Colour map; each image has its own scale.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    ax : matplotlib Axes
    """
    shares = topics_of(model)
    height, width = shape
    if height * width != shares.shape[1]:
        raise ValueError(
            f"images of {height} x {width} have {height * width} pixels, but there are "
            f"{shares.shape[1]} features."
        )
    chosen = chosen_topics(topics, len(shares))
    columns = min(columns or int(np.ceil(np.sqrt(1.6 * len(chosen)))), len(chosen))
    rows = -(-len(chosen) // columns)
    gap = max(2, round(0.2 * height))  # with space for a number
    mosaic = np.full((rows * (height + gap), columns * (width + gap)), np.nan)
    ax = axes(ax, 1.1 * columns, 1.1 * rows * (height + gap) / (width + gap))
    for place, topic in enumerate(chosen):
        top, left = (place // columns) * (height + gap) + gap, place % columns * (width + gap)
        image = shares[topic].reshape(shape)
        mosaic[top : top + height, left : left + width] = image / image.max()
        ax.text(left - 0.4, top - 0.7, str(topic), va="bottom", fontsize="small", color=INK)
    ax.imshow(mosaic[:, :-gap], cmap=cmap, vmin=0, vmax=1, interpolation="nearest")
    remove_frame(ax)
    ax.set_facecolor("#E8E8E8")
    return ax

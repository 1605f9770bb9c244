"""How topics relate: a tree by their terms, and which of them occur in the same samples."""

from typing import Any

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from isotopic.arrays import Array

# Distances (0 to 1) and correlations (-1 to 1) are stored in steps of a byte.
_STEPS = 250


def topic_tree(distances: Array) -> dict[str, Any]:
    """Return a tree of the topics: the order of its leaves, and how they are merged.

    Clusters are merged by their average distance, and each is turned so that neighbouring leaves
    are as near as possible. Merge ``i`` joins ``first[i]`` and ``second[i]`` at ``height[i]`` to
    the cluster ``n_topics + i``.
    """
    if len(distances) < 2:
        return {"order": list(range(len(distances))), "first": [], "second": [], "height": []}
    symmetric = (distances + distances.T) / 2
    np.fill_diagonal(symmetric, 0.0)
    tree = hierarchy.linkage(squareform(symmetric), "average", optimal_ordering=True)
    return {
        "order": hierarchy.leaves_list(tree).tolist(),
        "first": tree[:, 0].astype(int).tolist(),
        "second": tree[:, 1].astype(int).tolist(),
        "height": tree[:, 2].tolist(),
    }


def correlate(shares: Array) -> Array:
    """Return the correlation of each pair of columns; zero for a column that is constant."""
    centred = shares - shares.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(scale > 0, scale, 1)
    return np.asarray(np.clip(centred.T @ centred, -1, 1))


def describe_relations(distances: Array, shares: Array) -> dict[str, Any]:
    """Return what the page shows of the topics' relations; ``shares`` are those of the samples."""
    return topic_tree(distances) | {
        "steps": _STEPS,
        "distances": np.rint(_STEPS * np.clip(distances, 0, 1)).ravel(),
        "correlations": np.rint(_STEPS * (1 + correlate(shares)) / 2).ravel(),
    }

"""What the page shows of a consensus: how stable each topic is."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.consensus import Consensus


def describe_consensus(found: Any, topics: Array) -> dict[str, Any] | None:
    """Return the stability of each topic, the runs that found it, and why there are so many.

    ``None`` without a consensus. Raise if it belongs to a model with other topics.
    """
    if found is None:
        return None
    if not isinstance(found, Consensus):
        raise TypeError(
            f"consensus must be the result of isotopic.consensus, not {type(found).__name__}."
        )
    if found.n_components != len(topics):
        raise ValueError(
            f"consensus has {found.n_components} components, and the model {len(topics)}. Report "
            "on its own model, found.model."
        )
    own = found.model.components_
    if own.shape != topics.shape or not np.allclose(own, topics, rtol=1e-4, atol=0):
        raise ValueError(
            "The topics of the model are not those of the consensus, or not in its order. Report "
            "on its own model, found.model."
        )
    rows = found.components
    columns: dict[str, Array] = {
        name: rows[name] for name in ("stability", "found", "spread", "outliers")
    }
    return {
        "reason": found.reason,
        "runs": int(rows["runs"][0]),
        **{name: column.tolist() for name, column in columns.items()},
    }

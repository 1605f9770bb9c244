"""What the page shows of covariates: their coefficients for each topic, with intervals."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.fitted import Fitted, effects
from isotopic.report.samples import shorten

_LEVEL = 0.9

# Characters of a name: an interaction of long names is long.
_LONGEST = 200


def describe_effects(fitted: Fitted) -> dict[str, Any] | None:
    """Return the coefficients by covariate and topic, and how far the axis of each reaches.

    ``None`` if the model has learned none. The first covariate is the intercept.
    """
    if not effects.has_effects(fitted):
        return None
    covariates = effects.covariates_of(fitted)
    table = effects.effect_table(fitted, None, None, "average", _LEVEL)
    names = covariates.design.names
    ends = np.maximum(np.abs(table["lower"]), np.abs(table["upper"]))
    reach = ends.reshape(len(names), -1).max(axis=1)
    # Groups have one unit, so that their bars can be compared; each number has a unit of its own.
    is_group = _is_zero_or_one(covariates.matrix, covariates.design.scales)
    reach[is_group] = reach[is_group].max(initial=0)
    return {
        "names": shorten(names, _LONGEST),
        "level": _LEVEL,
        "reach": reach,
        **{name: table[name] for name in ("coefficient", "se", "lower", "upper")},
    }


def _is_zero_or_one(matrix: Array, scales: Array) -> Array:
    """Return for each standardised column whether it was made of zeros and ones."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    has_two_values = ((matrix == low) | (matrix == high)).all(axis=0)
    return np.asarray(has_two_values & np.isclose((high - low) * scales, 1))

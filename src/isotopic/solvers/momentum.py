"""How far to follow the way of the expected counts, and how low to let them fall."""

from dataclasses import dataclass
from typing import Any

import numpy as np

FIRST_MOMENTUM = 0.5
_LEAST_MOMENTUM = 0.1
_GROWTH = 1.1
_SHRINKAGE = 0.95

# The share of a sample's, or a feature's, counts that the first floor holds, over all components.
FLOOR = 0.02


@dataclass(frozen=True)
class Schedule:
    """Change momentum and floor after each step, for one fit or for many samples at a time.

    The momentum grows until a step fails. The floor, a part of the first one, shrinks with every
    step and stays in proportion to what an update would move: otherwise it would soon be all that
    is left to improve.

    Parameters
    ----------
    most_momentum : float
    floor_to_residual : float
        The largest floor for a residual of one.
    """

    most_momentum: float
    floor_to_residual: float

    def after_success(self, momentum: Any, floor: Any, residual: Any) -> tuple[Any, Any]:
        """Go further."""
        return (
            np.minimum(_GROWTH * momentum, self.most_momentum),
            np.minimum(_SHRINKAGE * floor, self.floor_to_residual * residual),
        )

    def after_failure(self, momentum: Any, floor: Any) -> tuple[Any, Any]:
        """Go half as far."""
        return np.maximum(momentum / 2, _LEAST_MOMENTUM), floor / 2

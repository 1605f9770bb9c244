"""How far to extrapolate, how low entries may fall, and what a failed step changes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

FIRST_MOMENTUM = 0.5
_MIN_MOMENTUM = 0.1
_GROWTH = 1.1
_SHRINKAGE = 0.95

# The share of a sample's, or a feature's, counts that the first floor holds, over all components.
FLOOR = 0.02


@dataclass(frozen=True)
class Schedule:
    """The rule for extrapolated steps, of one fit or of many samples at once.

    A step that raises the objective has failed: it is taken back, and the next one is plain. The
    momentum grows by a tenth until a step fails, then it is halved. The floor, a share of the first
    one, shrinks with every step and stays in proportion to the residual: otherwise it would soon be
    all that is left to improve.

    Parameters
    ----------
    max_momentum : float
    floor_to_residual : float
        The largest floor for a residual of one.
    """

    max_momentum: float
    floor_to_residual: float

    def next(self, momentum: Any, floor: Any, residual: Any, failed: Any) -> tuple[Any, Any]:
        """Return momentum and floor for the next step, numbers or arrays with one for each row."""
        grown = np.minimum(_GROWTH * momentum, self.max_momentum)
        lowered = np.minimum(_SHRINKAGE * floor, self.floor_to_residual * residual)
        return (
            np.where(failed, np.maximum(momentum / 2, _MIN_MOMENTUM), grown),
            np.where(failed, floor / 2, lowered),
        )

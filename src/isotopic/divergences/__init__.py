"""What the data may be compared with the model by, other than the main kernel's divergence."""

from isotopic.divergences.beta import NAMED, Beta, exact_values
from isotopic.divergences.sweep import Sweep, Sweeper, row_blocks

__all__ = ["NAMED", "Beta", "Sweep", "Sweeper", "exact_values", "row_blocks"]

"""A factor that is known."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Posterior, Prior, Totals, as_column
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class Fixed(Prior):
    """A known factor: it absorbs nothing. Used to infer the weights of new samples."""

    posterior: Posterior = field(repr=False)
    is_normalized: bool  # type: ignore[misc]
    learned: ClassVar[bool] = False
    scale_tendency: ClassVar[str] = "bounded"

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the known factor."""
        return self.posterior

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the known factor."""
        return self.posterior

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Return zero: there is nothing left to do."""
        return 0.0

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r"""Return :math:`\text{factor} \cdot \text{mass}`: any counts would do."""
        return np.asarray(posterior.mean * as_column(mass))

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Raise ValueError if the known factor has another shape."""
        if self.posterior.mean.shape != shape:
            raise ValueError(
                f"The fixed factor has shape {self.posterior.mean.shape}; expected {shape}."
            )

    def rows(self, which: Array) -> "Fixed":
        """Return some rows of the known factor."""
        mean = np.asfortranarray(self.posterior.mean[which])
        point = self.posterior.effective is self.posterior.mean
        effective = mean if point else np.asfortranarray(self.posterior.effective[which])
        return Fixed(Posterior(mean, effective), self.is_normalized)

"""What a prior is, and what it gives."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from isotopic.arrays import Array

# The other side's sums: a number, or one for each component, shaped to broadcast over this side.
Totals: TypeAlias = Array | float


@dataclass(frozen=True)
class Posterior:
    """What is known of one side.

    Attributes
    ----------
    mean : ndarray
        The factor itself, or its posterior mean.
    effective : ndarray
        What the next pass multiplies: the factor itself, or ``exp(E[log])``.
    terms : ndarray or None
        What this side adds to the objective, in parts that are to be added up. Those of the
        weights are one for each sample.
    parameters, rates : ndarray or None
        Of a Bayesian side: Dirichlet parameters, or Gamma shapes and rates.
    explained : ndarray or None
        Of a Bayesian side: ``parameters`` minus the prior's, the counts it stands for.
    scale : ndarray or None
        What each row was divided by to have unit norm: the other side's part of the product.
    """

    mean: Array
    effective: Array
    terms: Array | None = None
    parameters: Array | None = None
    rates: Array | None = None
    explained: Array | None = None
    scale: Array | None = None

    @property
    def term(self) -> float:
        """What this side adds to the objective."""
        return 0.0 if self.terms is None else float(self.terms.sum())


class Evidence(NamedTuple):
    """What a prior learns its settings from.

    Attributes
    ----------
    counts : ndarray
        The expected counts of its side.
    squares : ndarray or None
        The sums of squared responsibilities, where they are asked for.
    totals : Totals
        The other side's sums.
    copies : ndarray or None
        How often each row counts.
    """

    counts: Array
    squares: Array | None
    totals: Totals
    copies: Array | None = None


class Prior(Protocol):
    """What solvers and problems ask of a prior."""

    @property
    def is_normalized(self) -> bool:
        """Whether rows sum to one, so that the other side's totals are one."""

    @property
    def norm(self) -> float | None:
        """The ``p`` for which rows have unit l_p norm; ``None`` if they have a scale."""

    @property
    def is_bayesian(self) -> bool:
        """Whether this side is a distribution rather than a point."""

    @property
    def learned(self) -> bool:
        """Whether this side moves at all."""

    @property
    def scale(self) -> str:
        """What this side thinks of its own scale.

        ``"free"``, ``"pulled"`` to zero, ``"pushed"`` to infinity, or ``"held"``.
        """

    @property
    def copies(self) -> Array | None:
        """How often each row counts; ``None``: once."""

    @property
    def sizes(self) -> Array | None:
        """What each row of the factor was multiplied with; ``None``: one."""

    @property
    def held_rows(self) -> int:
        """How many of the first rows are given and do not move."""

    @property
    def linear_penalty(self) -> float | None:
        """Strength of an l1 penalty; None: other."""

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take ``values`` as the factor, or as the posterior's parameters."""

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Make the optimal use of expected counts (the M step).

        The counts are handed over: their memory may become the factor's.
        """

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure in counts how far the posterior is from what it would make of these counts.

        With ``copies`` a row's counts are those of so many samples like it.
        """

    def slope(self, factor: Array) -> Totals:
        """Give the derivative of this side's penalty at each entry of a row that counts once."""

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Find counts that the posterior could have been made of; ``mass`` is their row sums."""

    @property
    def learns(self) -> bool:
        """Whether it learns settings of its own from the counts, as the fit goes on."""

    @property
    def needs_squares(self) -> bool:
        """Whether it learns from the squares of the responsibilities too."""

    def with_updated_hyperparameters(self, evidence: Evidence) -> "Prior":
        """Give the prior with the settings that the counts speak for."""

    @property
    def learns_from_statistics(self) -> bool:
        """Whether settings are learned from sums over rows, which may be made part by part."""

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Add up over rows what an update of the settings needs."""

    def with_statistics(self, tally: Array) -> "Prior":
        """Give the prior with settings updated by a tally over all rows."""

    def changed_since(self, before: Any) -> bool:
        """Tell whether another update with the same counts would matter after this one."""

    def self_contribution_of(self, evidence: Evidence) -> Array | None:
        """Give what it learns of each entry of the side, if anything."""

    def with_self_contribution(self, entries: Any) -> "Prior":
        """Give the prior with this learned of each entry: an array, or what gives its rows."""

    def hyperprior_term(self, columns: int) -> float:
        """Give what settings that are learned add to the objective, for so many columns."""

    def kept(self, learned: "Prior") -> "Prior":
        """Give this prior with what ``learned``, which is of the same kind, has learned."""

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Give the effective factor as samples see it that it was not made of."""

    def initial_totals(self, counts: Array) -> Totals:
        """Give row sums that this side can be made to have, before it is made of the counts."""

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Tell how fast the penalty would grow with the scale of each component.

        That is the derivative of this side's term by the logarithm of a common factor.
        """

    def next_to(self, pull: Totals) -> "Prior":
        """Give the prior next to another side that pulls so much."""

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Draw a factor of the shape of ``like``; without a distribution it is ``like`` itself."""

    def rows(self, which: Array) -> "Prior":
        """Give the prior of some rows only."""

    def check(self, shape: tuple[int, int]) -> None:
        """Raise if the settings do not fit a side of that shape."""


class Side:
    """What a side is unless it says otherwise."""

    is_normalized: ClassVar[bool] = False
    is_bayesian: ClassVar[bool] = False
    learned: ClassVar[bool] = True
    scale: ClassVar[str] = "held"
    copies: ClassVar[Array | None] = None
    sizes: ClassVar[Array | None] = None
    held_rows: ClassVar[int] = 0
    linear_penalty: ClassVar[float | None] = None

    def slope(self, factor: Array) -> Totals:
        """There is no penalty."""
        return 0.0

    learns: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = False

    def with_updated_hyperparameters(self, evidence: Evidence) -> Any:
        """Nothing to learn."""
        return self

    learns_from_statistics: ClassVar[bool] = False

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Nothing to add up."""
        return np.zeros(0)

    def with_statistics(self, tally: Array) -> Any:
        """Nothing to learn."""
        return self

    def changed_since(self, before: Any) -> bool:
        """One update says it all."""
        return False

    def self_contribution_of(self, evidence: Evidence) -> Array | None:
        """Nothing is learned of single entries."""
        return None

    def with_self_contribution(self, entries: Any) -> Any:
        """Nothing is learned of single entries."""
        return self

    def hyperprior_term(self, columns: int) -> float:
        """Nothing is learned, so nothing was expected of it."""
        return 0.0

    def kept(self, learned: Prior) -> Any:
        """Nothing was learned."""
        return self

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Show the same to all samples."""
        return posterior.effective

    @property
    def norm(self) -> float | None:
        """The ``p`` for which rows have unit l_p norm."""
        return 1.0 if self.is_normalized else None

    def initial_totals(self, counts: Array) -> Totals:
        """Any scale will do."""
        return 1.0

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Nothing pulls."""
        return 0.0

    def next_to(self, pull: Totals) -> Any:
        """Stay the same: what pulls at the other side does not matter."""
        return self

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Nothing to draw from: take what there is."""
        return like

    def rows(self, which: Array) -> Any:
        """Every row has the same."""
        return self

    def check(self, shape: tuple[int, int]) -> None:
        """Nothing to check."""

    def __eq__(self, other: object) -> bool:
        """Tell whether both are of one kind and have the same settings, arrays included."""
        return type(self) is type(other) and all(
            _equal(value, vars(other)[name]) for name, value in vars(self).items()
        )

    def __hash__(self) -> int:
        return hash(type(self))


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) if isinstance(a, Side) else np.array_equal(a, b)


def as_column(values: Array) -> Array:
    """Shape one number for each row to broadcast over the row."""
    return np.asarray(values)[:, np.newaxis]

"""Priors of point estimates with closed-form updates, and factors that are known."""

from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import numpy as np

from isotopic.arrays import Array
from isotopic.elementwise import distance, normalized, row_sums
from isotopic.priors.base import Posterior, Prior, Totals, as_column
from isotopic.registry import register


class LinearPenalty(Prior):
    r"""A penalty whose slope does not depend on the factor, or none.

    The update is :math:`\text{counts} / (\text{totals} + \text{slope})`.
    """

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the counts divided by the totals plus the slope."""
        return self.at(divided(counts, totals + self.slope(counts)), totals)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the factor itself, with its penalty."""
        return Posterior(values, values, self.penalty(values))

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Return :math:`\sum |\text{counts} - \text{factor} (\text{totals} + \text{slope})|`."""
        factor = posterior.mean
        return scaled_distance(counts, factor, totals + self.slope(factor), copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r"""Return :math:`\text{factor} \cdot (\text{totals} + \text{slope})`."""
        return np.asarray(posterior.mean * (totals + self.slope(posterior.mean)))


@register
@dataclass(frozen=True, eq=False)
class Free(LinearPenalty):
    r"""Non-negative and nothing more: :math:`\text{counts} / \text{totals}` (Algorithm 1).

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Free, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, weights=Free(), tol=1e-2, random_state=0).fit(X)
    >>> model.weights_.shape
    (20, 2)
    """

    linear_penalty: ClassVar[float] = 0.0


@register
@dataclass(frozen=True, eq=False)
class Lasso(LinearPenalty):
    r"""Non-negative with the penalty :math:`\lambda \sum |\cdot|`.

    The update is :math:`\text{counts} / (\text{totals} + \lambda)`. If the topics are normalised,
    that is :math:`1 / (1 + \lambda)` times the unpenalised update in every iteration, so the
    penalty causes no sparsity (Lemma 6.1).

    Parameters
    ----------
    strength : float, default=1.0
        The factor :math:`\lambda \ge 0` of the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Lasso, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, weights=Lasso(0.1), tol=1e-2, random_state=0).fit(X)
    >>> model.weights_.shape
    (20, 2)
    """

    strength: float = 1.0

    def __post_init__(self) -> None:
        check_strength(self.strength)

    @property
    def linear_penalty(self) -> float:  # type: ignore[override]
        """The strength."""
        return self.strength

    def penalty(self, factor: Array) -> Array:
        r"""Return :math:`\lambda` times the sum of each row."""
        return self.strength * row_sums(factor)

    def slope(self, factor: Array) -> Totals:
        r"""Return :math:`\lambda`."""
        return self.strength

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        r"""Return :math:`\lambda` times the sum of each column, with rows counted as copies."""
        wide = posterior.mean.astype(np.float64, copy=False)
        return self.strength * (wide.sum(axis=0) if copies is None else copies @ wide)


@register
@dataclass(frozen=True, eq=False)
class Simplex(Prior):
    r"""Non-negative rows that sum to one: :math:`\propto \text{counts}` (Algorithms 2 and 4).

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Simplex, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, topics=Simplex(), tol=1e-2, random_state=0).fit(X)
    >>> model.components_.shape
    (2, 8)
    """

    is_normalized: ClassVar[bool] = True
    linear_penalty: ClassVar[float] = 0.0

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the counts, normalised."""
        factor = normalized(counts, in_place=True)
        return Posterior(factor, factor)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the values, normalised; a row of zeros becomes uniform."""
        factor = normalized(values)
        return Posterior(factor, factor)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Return :math:`\sum |\text{counts} - \text{factor} \cdot \text{row sum of counts}|`."""
        return distance(counts, posterior.mean, row_scale=row_sums(counts))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r"""Return :math:`\text{factor} \cdot \text{mass}`."""
        return np.asarray(posterior.mean * as_column(mass))


@register
@dataclass(frozen=True, eq=False)
class Fixed(Prior):
    """A known factor: it absorbs nothing. Used to infer the weights of new samples."""

    posterior: Posterior = field(repr=False)
    is_normalized: bool  # type: ignore[misc]
    is_learned: ClassVar[bool] = False
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
        r"""Return :math:`\text{factor} \cdot \text{mass}`; a fixed factor suits all counts."""
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
        is_point = self.posterior.effective is self.posterior.mean
        effective = mean if is_point else np.asfortranarray(self.posterior.effective[which])
        return Fixed(Posterior(mean, effective), self.is_normalized)


def divided(counts: Array, totals: Totals) -> Array:
    """Return counts / totals; a component without totals has no counts and stays at zero."""
    if np.isscalar(totals):
        return counts if totals == 1 else counts / counts.dtype.type(totals)
    totals = np.asarray(totals, counts.dtype)
    return counts / np.where(totals > 0, totals, 1)


def scaled_distance(counts: Array, factor: Array, totals: Totals, copies: Array | None) -> float:
    r"""Return :math:`\sum |\text{counts} - \text{factor} \cdot \text{totals}|` over all copies."""
    scale = np.asarray(totals, np.float64)
    if scale.shape == counts.shape and scale.ndim == 2:  # one for each entry
        factor, scale = (factor * scale).astype(counts.dtype), np.ones(())
    if scale.ndim == 2:  # one for each row, as a column
        return distance(counts, factor, row_scale=scale[:, 0] * (1.0 if copies is None else copies))
    column_scale = np.broadcast_to(scale, counts.shape[1])
    return distance(counts, factor, row_scale=copies, column_scale=column_scale)


def check_strength(strength: float) -> None:
    """Raise ValueError unless the strength is a finite number of at least zero."""
    if not (isinstance(strength, Real) and 0 <= strength < np.inf):
        raise ValueError(f"strength must be a finite number of at least 0, not {strength!r}.")

"""Bayesian: the ability of a prior to have a posterior distribution, not only a point estimate."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isotopic.arrays import Array, as_numbers
from isotopic.elementwise import distance
from isotopic.priors.base import Posterior, Prior, Totals


class Bayesian(Prior):
    """A prior whose factor is a distribution; absorbed counts are added to its parameters.

    A subclass also returns ``parameters`` and ``explained`` in its posteriors.
    """

    is_bayesian: ClassVar[bool] = True
    is_variational: ClassVar[bool] = False  # the effective factor is ``exp(E[log factor])``
    forbidden: Any = None  # a mask of entries that are always zero

    @property
    def prior_counts(self) -> Any:
        """The prior's parameters: what is added to the counts of each entry."""
        raise NotImplementedError

    @property
    def prior_rate(self) -> Any:
        """What the prior adds to the totals."""
        return 0.0

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r"""Return :math:`\text{parameters} - \text{prior parameters}`."""
        assert posterior.explained is not None
        return posterior.explained

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Return :math:`\sum |\text{counts} - (\text{parameters} - \text{prior})|`."""
        assert posterior.explained is not None
        return distance(counts, posterior.explained, row_scale=copies)

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Return the quantile of each entry's posterior."""
        raise NotImplementedError

    def seeded(self, pseudo_counts: Array) -> Self:
        """Return the prior that has seen these counts before the data."""
        raise NotImplementedError

    def forbidding(self, entries: Array) -> Self:
        """Return the prior that also keeps these entries at zero."""
        known = entries if self.forbidden is None else entries | np.asarray(self.forbidden)
        return self._with({"forbidden": known})

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Raise ValueError if a setting does not fit, or if a whole row is forbidden."""
        super().check_shape(shape)
        if self.forbidden is None:
            return
        if np.shape(self.forbidden) != shape:
            raise ValueError(
                f"forbidden has the shape {np.shape(self.forbidden)}; it must be that of the "
                f"factor, {shape}."
            )
        excluded = np.all(self.forbidden, axis=1)
        if np.any(excluded):
            row = int(np.argmax(excluded))
            raise ValueError(f"forbidden excludes every entry of row {row}. Allow at least one.")

    def merged(self, groups: Array) -> Prior:
        """Raise: the sum of components usually has another kind of prior."""
        raise ValueError(
            f"Cannot merge components with {type(self).__name__} weights: the sum of two of them "
            "has another kind of prior."
        )

    def why_posterior_differs(self, other: "Bayesian") -> str:
        """Return why the posteriors of two priors of the weights differ; empty if they do not."""
        if not (self.is_variational and other.is_variational):
            return "only variational estimates of the weights are equivalent"
        if not np.all(np.equal(self.prior_counts, other.prior_counts)):
            return "the concentrations of their weights differ"
        if any(np.unique(prior.prior_rate).size > 1 for prior in (self, other)):
            return "the posteriors agree only if all components have the same rate"
        return ""


def check_settings(learn: Any, forbidden: Any, **positive: ArrayLike) -> None:
    """Raise unless ``learn`` is valid, ``forbidden`` is a boolean mask and all others positive."""
    for name, value in positive.items():
        array = as_numbers(name, value)
        is_empty = array.size == 0 and array.ndim < 2  # there may be settings of no samples at all
        if is_empty or not np.all((array > 0) & (array < np.inf)):
            raise ValueError(f"{name} must be positive and finite, not {value!r:.100}.")
    if forbidden is not None and np.asarray(forbidden).dtype != np.bool_:
        raise TypeError(
            "forbidden must be a boolean array that is True where an entry is always zero; its "
            f"dtype is {np.asarray(forbidden).dtype}."
        )
    if not (learn is None or (isinstance(learn, str) and learn in ("symmetric", "asymmetric"))):
        raise ValueError(f"learn must be 'symmetric', 'asymmetric' or None, not {learn!r}.")


def set_zero(entries: ArrayLike | None, *arrays: Array) -> None:
    """Set the entries of the arrays to zero, in place."""
    if entries is not None:
        for array in arrays:
            array[np.asarray(entries)] = 0


def with_ones(parameters: Array, entries: ArrayLike | None) -> Array:
    """Return the parameters with ones at entries that do not exist: they add nothing."""
    if entries is None:
        return parameters
    parameters = parameters.copy("K")
    parameters[np.asarray(entries)] = 1
    return parameters


def as_terms(entries: Array, rows: Array) -> Array:
    """Return the terms of entries and rows; added row by row if both have one for each row."""
    return entries + rows if entries.shape == rows.shape else np.append(entries, rows)


def summed_by_group(setting: Any, groups: Array) -> Array:
    """Return the sums of a setting of each component over the components that are merged."""
    array = np.asarray(setting, np.float64)
    if array.ndim == 2 and len(array) == 1:  # as it is learned
        array = array[0]
    whole = np.broadcast_to(array, (*array.shape[:-1], len(groups)))
    sums = np.zeros((*array.shape[:-1], groups.max() + 1))
    for component, group in enumerate(groups):
        sums[..., group] += whole[..., component]
    return sums


def shared_by_parts(setting: Any, parents: Array, n_components: int) -> Array:
    """Return a setting of each component, divided equally among the parts of the component."""
    array = np.asarray(setting, np.float64)
    if array.ndim == 2 and len(array) == 1:  # as it is learned
        array = array[0]
    whole = np.broadcast_to(array, (*array.shape[:-1], n_components))
    return np.asarray((whole / np.bincount(parents, minlength=n_components))[..., parents])

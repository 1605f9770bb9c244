"""Prior, the base class of all priors, and Posterior, the factor that a prior returns."""

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from isotopic.arrays import Array, check_numbers
from isotopic.elementwise import distance, normalized, row_sums
from isotopic.kernels import ReadyTopics, ready
from isotopic.registry import register
from isotopic.row_inference import RowRule

# Where quotients and powers of settings and counts stay finite, by the precision of the data.
SETTING_RANGE = {
    np.dtype(np.float32): (1e-15, 1e15),
    np.dtype(np.float64): (1e-100, 1e100),
}

# The sums of the other factor: one number, or an array that broadcasts over this factor.
Totals: TypeAlias = Array | float


@register
@dataclass(frozen=True)
class Posterior:
    """A factor as its prior returned it: a point estimate, or a distribution.

    Attributes
    ----------
    mean : ndarray
        The factor itself, or its posterior mean.
    effective : ndarray
        What the next E step multiplies: the factor itself, or ``exp(E[log factor])``.
    terms : ndarray or None
        This factor's part of the objective, as numbers to be summed; one per row for the weights.
    parameters, rates : ndarray or None
        Of a Bayesian prior: Dirichlet parameters, or Gamma shapes and rates.
    explained : ndarray or None
        Of a Bayesian prior: ``parameters`` minus the prior's own, the counts it has absorbed.
    scale : ndarray or None
        What each row was divided by to get unit norm; the other factor is multiplied by it.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import LDA, Posterior
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> weights = LDA(2, tol=1e-2, random_state=0).fit(X).fitted_.weights
    >>> isinstance(weights, Posterior), weights.mean.shape, weights.parameters.shape
    (True, (20, 2), (20, 2))
    """

    mean: Array
    effective: Array
    terms: Array | None = None
    parameters: Array | None = None
    rates: Array | None = None
    explained: Array | None = None
    scale: Array | None = None

    @cached_property
    def prepared(self) -> ReadyTopics:
        """The effective factor, as topics that the core reads."""
        return ready(self.effective)

    @cached_property
    def explains(self) -> Array:
        """Which features have a positive probability in some topic."""
        return np.asarray(np.any(self.effective, axis=0))

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # no caches

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        made = cls(**content)
        if made.mean.ndim != 2 or made.mean.dtype not in (np.float32, np.float64):
            raise ValueError("mean must be a table of floats.")
        checked: set[int] = set()  # the mean and the effective factor can be one array
        for name, array in vars(made).items():
            if array is None or id(array) in checked:
                continue
            checked.add(id(array))
            try:
                check_numbers(name, array, -np.inf if name in ("terms", "explained") else 0.0)
            except ValueError:
                if name not in ("parameters", "rates") or array.ndim != 2:
                    raise
                check_numbers(name, _without_fixed(array))
            if name not in ("terms", "scale") and array.shape != made.mean.shape:
                raise ValueError(
                    f"{name} has shape {array.shape}, which does not match {made.mean.shape}."
                )
        return made

    @property
    def term(self) -> float:
        """The factor's part of the objective."""
        return 0.0 if self.terms is None else float(self.terms.sum())


class Prior:
    r"""Base class of all priors: what one factor, weights or topics, may be.

    The E step hands each prior the expected counts of its factor and the ``totals``, the sums of
    the other factor. The prior returns the factor :math:`h` that minimises

    .. math:: -\text{counts} \cdot \log h + \text{totals} \cdot h + \text{penalty}(h).

    A new prior is a dataclass with ``frozen=True, eq=False`` that defines :meth:`absorb`, and
    :meth:`penalty` and :meth:`slope` if it has a penalty. All other members have defaults. Settings
    that are arrays must broadcast to the factor: one value for each column, or one for each entry.
    Optional abilities have base classes of their own: :class:`~isotopic.priors.Bayesian` (a
    posterior distribution) and :class:`~isotopic.priors.LearnsHyperparameters`.

    Examples
    --------
    >>> from isotopic import Dirichlet, Prior
    >>> isinstance(Dirichlet(0.1), Prior)
    True
    """

    # --- The mathematics of the prior: what a subclass writes ---------------------------------

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the minimum of the majorizer (the M step); may reuse the memory of ``counts``."""
        raise NotImplementedError(f"{type(self).__name__} must define absorb(counts, totals).")

    def penalty(self, factor: Array) -> Array | None:
        """Return the penalty of each row, or ``None`` if there is none."""
        return None

    def slope(self, factor: Array) -> Totals:
        """Return the derivative of the penalty with respect to each entry."""
        return 0.0

    # --- What kind of factor it is ------------------------------------------------------------

    is_normalized: ClassVar[bool] = False  # rows sum to one
    is_bayesian: ClassVar[bool] = False  # a distribution, not a point estimate: see Bayesian
    is_learned: ClassVar[bool] = True  # whether the fit changes it at all
    learns_from_batches: ClassVar[bool] = False  # whether partial_fit updates hyperparameters

    # The strength of an l1 penalty: 0.0 for none, None if the prior is something else. With a
    # number, the prior can only rescale its factor: coordinate descent applies, and models convert
    # exactly.
    linear_penalty: ClassVar[float | None] = None

    @property
    def norm(self) -> float | None:
        """The ``p`` for which rows have unit l_p norm; ``None`` if rows can have any scale."""
        return 1.0 if self.is_normalized else None

    @property
    def scale_tendency(self) -> str:
        """What the prior does to the scale of its factor, if only the scale could change.

        ``"free"``: nothing. ``"shrinks"``: lowers it to zero. ``"grows"``: raises it without
        limit. ``"bounded"``: keeps it at some finite value.
        """
        if self.is_bayesian or self.norm is not None:
            return "bounded"
        return "free" if type(self).penalty is Prior.penalty else "shrinks"

    # --- What follows from the mathematics ----------------------------------------------------

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return ``values`` as a posterior: they are the factor, or Bayesian parameters."""
        factor = normalized(values) if self.is_normalized else values
        return Posterior(factor, factor, self.penalty(factor.astype(np.float64, copy=False)))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r"""Return counts of which :meth:`absorb` would make this posterior.

        :math:`h \cdot (\text{totals} + \text{slope})`; for a normalised factor the Lagrange
        multiplier replaces the totals, so that the row sums are ``mass``.
        """
        factor = posterior.mean.astype(np.float64, copy=False)
        penalized = self._factor_times_slope(factor)
        if self.is_normalized:
            return np.asarray(factor * as_column(mass - penalized.sum(axis=1)) + penalized)
        return np.asarray(factor * totals + penalized)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Return :math:`\sum |\text{counts} - \text{implied counts}|`, zero at the optimum.

        With ``copies``, row ``i`` has the sample weight ``copies[i]``.
        """
        mass = row_sums(counts) if copies is None else row_sums(counts) / copies
        implied = self.implied_counts(posterior, mass, totals)
        return distance(counts, implied.astype(counts.dtype), row_scale=copies)

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        r"""Return the derivative of the penalty with respect to the log-scale of each component.

        :math:`\sum_i h_{ik} \cdot \text{slope}_{ik}`, each row counted ``copies[i]`` times.
        """
        penalized = self._factor_times_slope(posterior.mean.astype(np.float64, copy=False))
        return penalized.sum(axis=0) if copies is None else np.asarray(copies @ penalized)

    def initial_totals(self, counts: Array) -> Totals:
        """Return row sums that this factor can have, before it has absorbed its counts."""
        return 1.0

    def row_rule(self, n_components: int, totals: Totals) -> RowRule | None:
        """Return how the core makes weights from counts; ``None`` if it does not know this prior.

        It is only a shortcut for :meth:`absorb`, for inference with fixed topics.
        """
        return None

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Return the effective factor for samples that it was not fitted to."""
        return posterior.effective

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Draw a factor of the shape of ``like``; a prior without a distribution returns it."""
        return like

    def with_posterior_means(self) -> "Prior":
        """Return a prior that uses posterior means where this one uses ``exp(E[log])``."""
        return self

    # --- Rows and components ------------------------------------------------------------------

    copies: ClassVar[Array | None] = None  # the sample weight of each row: see SampleWeighted
    sizes: ClassVar[Array | None] = None  # the size factor of each row: see WithSizeFactors
    held_rows: ClassVar[int] = 0  # how many of the first rows are fixed: see WithFixedTopics
    counts_only_parameter: ClassVar[str] = ""  # the parameter that needs counts, if any

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Raise ValueError if an array among the settings does not fit a factor of that shape."""
        for name, array in self._array_settings().items():
            try:
                fits = np.broadcast_shapes(array.shape, shape) == shape
            except ValueError:
                fits = False
            if not fits:
                raise ValueError(
                    f"{name} of shape {array.shape} does not fit a factor of shape {shape}. Pass "
                    "one number, one per column, or an array of that shape."
                )

    def check_range(self, dtype: Any) -> None:
        """Raise ValueError if a positive setting is too extreme for the precision of the data."""
        least, most = SETTING_RANGE[np.dtype(dtype)]
        for name, value in vars(self).items():
            if not isinstance(value, (Real, np.ndarray, list, tuple)) or isinstance(value, bool):
                continue
            sizes = np.abs(np.asarray(value, np.float64))
            if np.any((sizes > 0) & ((sizes < least) | (sizes > most))):
                remedy = ", or pass X as float64." if np.dtype(dtype) == np.float32 else "."
                raise ValueError(
                    f"{name}={value!r:.100} of {type(self).__name__} is too extreme for "
                    f"{dtype}. Use numbers between {least:.0e} and {most:.0e}{remedy}"
                )

    def rows(self, which: Array) -> Self:
        """Return the prior of some rows: settings that differ by row are selected."""
        arrays = self._array_settings().items()
        return self._with({n: a[which] for n, a in arrays if a.ndim == 2 and len(a) > 1})

    def reordered(self, order: Array) -> Self:
        """Return the prior of the weights when component ``order[i]`` becomes component ``i``."""
        return self.select_components(order, len(order))

    def select_components(self, which: Array, n_components: int) -> Self:
        """Return the prior of the weights of some of ``n_components``, each of them or several."""
        by_component = self._by_component(n_components).items()
        return self._with({name: array[..., which] for name, array in by_component})

    def split(self, parents: Array, n_components: int) -> "Prior":
        """Return the prior of the weights when components are split.

        Component ``i`` is a part of the earlier component ``parents[i]``, one of ``n_components``.
        Where sums of components have a prior of the same kind, ``merged`` is the inverse.
        """
        return self.select_components(parents, n_components)

    def merged(self, groups: Array) -> "Prior":
        """Return the prior of the weights when components are merged.

        Component ``k`` becomes part of component ``groups[k]``. Raises ValueError if the sum of
        several components has no prior of this kind.
        """
        first = np.unique(groups, return_index=True)[1]
        settings = self._by_component(len(groups))
        for name, array in settings.items():
            if not np.array_equal(array, array[..., first][..., groups]):
                raise ValueError(
                    f"Cannot merge components with different settings: {name} of "
                    f"{type(self).__name__} differs between them."
                )
        return self._with({name: array[..., first] for name, array in settings.items()})

    # --- Hyperparameters: see LearnsHyperparameters -------------------------------------------

    learns: ClassVar[bool] = False  # whether hyperparameters are learned during the fit
    needs_squares: ClassVar[bool] = False  # whether that needs squared responsibilities
    needs_calibration: ClassVar[bool] = False  # whether new samples need another concentration
    update_accuracy: ClassVar[float] = 1.0  # the share of the tolerance that an update may move

    def with_updated_hyperparameters(self, evidence: Any) -> "Prior":
        """Return the prior with hyperparameters that fit the expected counts better."""
        return self

    def with_learned(self, learned: Any) -> "Prior":
        """Return this prior with the hyperparameters of ``learned``, fixed from now on."""
        return self

    def continuing(self, learned: Any) -> "Prior":
        """Return this prior with the hyperparameters of ``learned`` as those to start from."""
        return self

    def calibrated(self, factor: float) -> "Prior":
        """Return the prior with a learned concentration times a factor, for new samples."""
        return self

    def hyperprior_term(self, columns: int) -> float:
        """Return what the learned hyperparameters add to the objective, for a number of columns."""
        return 0.0

    # --- Files --------------------------------------------------------------------------------

    settings_are_signed: ClassVar[bool] = True  # whether an array may hold negative numbers

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        """Return the prior of a file; raise ValueError if a setting is damaged."""
        made = cls(**content)
        for name, value in vars(made).items():
            if isinstance(value, np.ndarray):
                check_numbers(name, value, -np.inf if cls.settings_are_signed else 0.0)
            elif isinstance(value, float) and np.isnan(value):
                raise ValueError(f"{name} is nan.")
        return made

    # --- Equality, and helpers of the defaults ------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same class and the same settings, arrays included."""
        return type(self) is type(other) and all(
            _is_same(value, vars(other)[name]) for name, value in vars(self).items()
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def _factor_times_slope(self, factor: Array) -> Array:
        """Return the factor times the slope; an entry at zero has none, even if it is steep."""
        product = np.zeros_like(factor)
        np.multiply(factor, self.slope(factor), out=product, where=factor > 0)
        return product

    def _array_settings(self) -> dict[str, Array]:
        """Return the settings that are arrays, by name."""
        arrays: dict[str, Array] = {}
        if not is_dataclass(self):
            return arrays
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, (list, tuple)) or (hasattr(value, "__array__") and np.ndim(value)):
                arrays[item.name] = np.asarray(value)
        return arrays

    def _by_component(self, n_components: int) -> dict[str, Array]:
        """Return the settings that have a value for each component, by name."""
        arrays = self._array_settings()
        return {n: a for n, a in arrays.items() if a.shape[-1] == n_components > 1}

    def _with(self, changed: dict[str, Any]) -> Self:
        changeable: Any = self
        same: Self = replace(changeable, **changed) if changed else self
        return same


def _is_same(value: Any, other: Any) -> bool:
    """Return whether two settings are the same: numbers, arrays, priors or posteriors."""
    if isinstance(value, Prior):
        return bool(value == other)
    if isinstance(value, Posterior) and isinstance(other, Posterior):
        return all(np.array_equal(array, vars(other)[name]) for name, array in vars(value).items())
    return np.array_equal(value, other)


def _without_fixed(array: Array) -> Array:
    """Leave out rows and columns of NaN: fixed topics and weights have no distribution."""
    unknown = np.isnan(array)
    return array[~unknown.all(axis=1)][:, ~unknown.all(axis=0)]


def as_column(values: Array) -> Array:
    """Return one number per row as a column, to broadcast over the row."""
    return np.asarray(values)[:, np.newaxis]

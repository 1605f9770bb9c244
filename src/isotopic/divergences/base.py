"""Divergence, the base class of all divergences, and what its passes over the data return."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import Counts
from isotopic.priors import Posterior, Prior


class PassSums(NamedTuple):
    """What a pass over some samples finds: rows to stack, and sums to add."""

    weights: Array  # samples x components: what the weights of these samples absorb next
    topics: Array  # sums over the samples, of which the topics' next counts are made
    log_likelihood: float  # minus the divergence, up to a constant
    gap: float  # how far the weights are from their optimum; NaN if their prior measures it later
    mass: float  # the total by which gaps are divided to give the residual; NaN likewise


class RowSums(NamedTuple):
    """What a pass finds for each sample on its own."""

    counts: Array  # samples x components: what its weights absorb next
    log_likelihoods: Array
    objectives: Array
    residuals: Array
    rounding: Array | float  # by how much rounding alone may raise the objective


class RowsPass(Protocol):
    """A pass over some samples, with the topics fixed."""

    def absorb(self, counts: Array) -> Posterior:
        """Return the weights made of counts that are handed over."""

    def evaluate(self, weights: Posterior, absorbed: Array | None) -> RowSums:
        """Return the sums at weights that were made of the ``absorbed`` counts."""

    def extrapolate(self, latest: Array, previous: Array, momentum: Array, floor: Array) -> Array:
        """Return counts extrapolated along their last change."""


class Divergence:
    """A measure of distance between data and ``weights @ topics``.

    It computes the passes over the data and what the priors absorb. A problem minimises its value
    plus the priors' terms. There are two kinds:
    :class:`~isotopic.divergences.KullbackLeibler` works with expected counts,
    :class:`~isotopic.divergences.Majorized` with gradients.

    Examples
    --------
    >>> from isotopic import Divergence, KullbackLeibler
    >>> isinstance(KullbackLeibler(), Divergence)
    True
    """

    #: Whether data are counts with a likelihood: perplexity, draws and responsibilities exist.
    is_likelihood: ClassVar[bool] = False

    #: Whether the noise of an entry is common to all its counts, so that held-out counts must be
    #: those of whole entries.
    has_entry_noise: ClassVar[bool] = False

    #: Whether a pass proposes the next values of both sides. Otherwise it finds expected counts,
    #: which the priors absorb.
    proposes_values: ClassVar[bool] = False

    #: The largest momentum of an extrapolated fit, and its floor for a residual of one.
    max_momentum: ClassVar[float] = 0.95
    floor_to_residual: ClassVar[float] = 5.0

    #: The same for samples on their own: the first momentum and floor, and a floor for a residual.
    row_momentum: ClassVar[float] = 0.5
    row_floor: ClassVar[float] = 0.02
    row_floor_to_residual: ClassVar[float] = 5.0

    @property
    def is_joint(self) -> bool:
        """Whether one pass serves the update of both sides."""
        return True

    @property
    def needs_positive_product(self) -> bool:
        """Whether a product of zero is infinitely far from positive data."""
        return True

    @property
    def learns(self) -> bool:
        """Whether a parameter of the divergence is learned during the fit."""
        return False

    def sufficient_statistics(self, X: CountMatrix, weights: Posterior, topics: Posterior) -> Array:
        """Return the sums over some samples that an update of the parameters needs."""
        raise NotImplementedError

    def with_updated_hyperparameters(self, statistics: Callable[[Any], Array]) -> Self:
        """Return the divergence with parameters that fit better.

        ``statistics`` returns the :meth:`sufficient_statistics` of such a divergence, summed over
        all samples.
        """
        return self

    def continuing(self, learned: Any) -> Self:
        """Return this divergence, which goes on learning, with the parameters of ``learned``."""
        return self

    def check(self, weights: Prior, topics: Prior, X: Any) -> None:
        """Raise ValueError if priors or data do not suit the divergence."""

    def prepare(self, X: CountMatrix) -> Any:
        """Return the pass over some samples, which is made again and again.

        It is a function ``(prior, weights, topics, *, weights_only, jointly, rescales)`` that
        returns ``PassSums`` at the point of both posteriors. ``prior`` is that of these
        weights. With ``weights_only`` the topics' sums are left out (empty), at about half the
        cost. With ``jointly`` the topics will be updated next to weights that are updated from the
        same pass. With ``rescales`` the topics are normalised, and their scale goes to the weights.
        """
        raise NotImplementedError

    def counts(self, sums: PassSums, prior: Prior, topics: Posterior) -> Counts:
        """Return what both sides absorb next, made of the sums over all samples."""
        raise NotImplementedError

    def extrapolate(
        self,
        latest: Array,
        previous: Array,
        totals: Array,
        *,
        momentum: Array | float,
        floor: Array | float,
    ) -> Array:
        r"""Return :math:`\text{latest} \cdot (\text{latest} / \text{previous})^\text{momentum}`.

        Positive entries stay at least ``floor`` times the total of their row: momentum alone
        would drive them to zero, from where no multiplicative update brings them back.

        Parameters
        ----------
        latest, previous : ndarray of shape (rows, components)
            What a side absorbs, with the components of a sample or a feature in a row.
        totals : ndarray of shape (rows,)
            What expected counts of a row sum to.
        momentum, floor : float or ndarray of shape (rows,)
        """
        raise NotImplementedError

    def prepare_rows(
        self, problem: Any, X: CountMatrix, topics: Posterior
    ) -> Callable[[Array], RowsPass]:
        """Return the function that selects samples for passes with the topics fixed.

        It takes row numbers, and returns the pass over these samples on their own.
        """
        raise NotImplementedError

    def row_scores(self, X: CountMatrix, weights: Array, topics: Array) -> Array:
        """Return the score of each sample, given both factors; higher is better."""
        raise NotImplementedError

    def log_likelihoods(self, x: Array, product: Array) -> Array:
        """Return the log-probability of each count, next to its mean."""
        raise ValueError(
            f"{self!r} is not a likelihood of counts: its entries have no probabilities. Use the "
            "Kullback-Leibler divergence (NMF) or the negative binomial one (NegativeBinomialNMF)."
        )

    def draw_exposures(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array | None:
        """Return random factors of mean one that multiply the means of entries; ``None``: none."""
        return None

    def row_units(self, X: Any) -> Array:
        """Return how many units, counts or entries, each sample's score is divided by."""
        raise NotImplementedError

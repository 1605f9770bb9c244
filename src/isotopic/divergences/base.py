"""What a problem asks of a divergence."""

from typing import Any, ClassVar, NamedTuple, Protocol

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import Counts
from isotopic.priors import Posterior, Prior


class PassSums(NamedTuple):
    """What a pass over some samples finds: rows to stack, and sums to add.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
        What the weights of these samples absorb next.
    topics : ndarray
        Sums over the samples, of which the topics' next counts are made.
    log_likelihood : float
        Minus the divergence, up to a constant.
    gap : float
        How far the weights are from their optimum.
    mass : float
        What gaps are divided by.
    """

    weights: Array
    topics: Array
    log_likelihood: float
    gap: float
    mass: float


class Pass(Protocol):
    """A pass over the same samples, again and again."""

    def __call__(
        self,
        prior: Prior,
        weights: Posterior,
        topics: Posterior,
        *,
        weights_only: bool,
        jointly: bool,
        rescales: bool,
    ) -> PassSums:
        """Return the sums at a point.

        Parameters
        ----------
        prior : Prior
            Of the weights of these samples.
        weights, topics : Posterior
        weights_only : bool
            Whether the topics' sums are left out (empty), at about half the cost.
        jointly : bool
            Whether topics will be updated next to weights that are updated from the same pass.
        rescales : bool
            Whether the topics are normalised, so that their scale goes to the weights.
        """


class RowSums(NamedTuple):
    """What a pass finds for each sample on its own.

    Attributes
    ----------
    counts : ndarray of shape (rows, components)
        What its weights absorb next.
    log_likelihoods, objectives, residuals : ndarray of shape (rows,)
    rounding : ndarray of shape (rows,) or float
        By how much rounding alone may raise the objective.
    """

    counts: Array
    log_likelihoods: Array
    objectives: Array
    residuals: Array
    rounding: Array | float


class RowPass(Protocol):
    """Passes over samples on their own, next to topics that are known."""

    def select(self, which: Array) -> "SelectedRows":
        """Return the pass over some samples."""


class SelectedRows(Protocol):
    """A pass over some samples on their own."""

    def absorb(self, counts: Array) -> Posterior:
        """Return the weights made of counts, which are handed over."""

    def evaluate(self, weights: Posterior, absorbed: Array | None) -> RowSums:
        """Return the sums at weights that were made of the ``absorbed`` counts."""

    def extrapolate(self, latest: Array, previous: Array, momentum: Array, floor: Array) -> Array:
        """Return the counts extrapolated along their last change."""


class Divergence:
    """A measure of distance between data and ``weights @ topics``.

    A problem asks it for passes over the data and for what the priors absorb, and minimises its
    value plus the priors' terms. There are two kinds:
    :class:`~isotopic.divergences.KullbackLeibler` works with expected counts,
    :class:`~isotopic.divergences.Majorized` with gradients.
    """

    #: Whether data are counts with a likelihood: perplexity, draws and responsibilities exist.
    is_likelihood: ClassVar[bool] = False

    #: Whether one pass serves the update of both sides.
    is_joint: ClassVar[bool] = True

    #: The largest momentum of an extrapolated fit, and its floor for a residual of one.
    max_momentum: ClassVar[float] = 0.95
    floor_to_residual: ClassVar[float] = 5.0

    #: The same for samples on their own: momentum and floor of the first step, floor for a residual.
    row_momentum: ClassVar[float] = 0.5
    row_floor: ClassVar[float] = 0.02
    row_floor_to_residual: ClassVar[float] = 5.0

    def check(self, weights: Prior, topics: Prior, X: Any) -> None:
        """Raise ValueError if priors or data do not suit the divergence."""

    def prepare(self, X: CountMatrix) -> Pass:
        """Return the pass over some samples."""
        raise NotImplementedError

    def counts(self, sums: PassSums, prior: Prior, topics: Posterior) -> Counts:
        """Return what both sides absorb next, made of the sums over all samples."""
        raise NotImplementedError

    def can_update_jointly(self, topics: Prior) -> bool:
        """Return whether both sides can be updated from one pass, in any order."""
        raise NotImplementedError

    def absorb_weights(self, problem: Any, counts: Any, topics: Posterior) -> Any:
        """Return the weights made of their counts, which are handed over."""
        raise NotImplementedError

    def absorb_topics(
        self, problem: Any, counts: Array, topics: Posterior, weights: Posterior
    ) -> Posterior:
        """Return topics made of the counts at ``topics``, next to new ``weights``."""
        raise NotImplementedError

    def objective(self, problem: Any, weights: Any, topics: Posterior, counts: Counts) -> float:
        """Return what is minimised."""
        raise NotImplementedError

    def residual(self, problem: Any, weights: Any, topics: Posterior, counts: Counts) -> float:
        """Return the optimality residual, as a share of the data that an update would move."""
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

    def prepare_rows(self, problem: Any, X: CountMatrix, topics: Posterior) -> RowPass:
        """Return passes over samples on their own, next to known topics."""
        raise NotImplementedError

    def row_scores(self, X: CountMatrix, weights: Array, topics: Array) -> Array:
        """Return the score of each sample next to given factors; higher is better."""
        raise NotImplementedError

    def row_units(self, X: Any) -> Array:
        """Return by how many units, counts or entries, the score of each sample is divided."""
        raise NotImplementedError

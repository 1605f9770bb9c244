r"""Problems under a beta divergence.

The updates minimise a majorizer that touches the objective at the present point. With the ratio
:math:`r` of a new entry to the old one, its part of it is, for :math:`1 \le \beta \le 2`,

.. math:: \text{old} \cdot \left(\text{given}\,\frac{r^\beta}{\beta} -
    \text{asked}\,\frac{r^{\beta-1}}{\beta-1}\right)

and below 1 or above 2 the concave one of the two is replaced by its tangent, with :math:`r` in the
place of its power. So :math:`r = (\text{asked} / \text{given})^{\gamma(\beta)}` (Févotte & Idier).

**Penalties.** One that is concave lies below its tangent, ``slope`` times the entry; and
:math:`r \le r^\beta / \beta + \text{const}` where :math:`\beta \ge 1`. So the slope is added to
what is given, for any beta: :math:`r = (\text{asked} / (\text{given} + \text{slope}))^\gamma`.

**Topics that sum to one.** A penalty :math:`R` of the weights next to such topics is the same as
the penalty :math:`R(w_{dk} s_k)` next to topics of any scale, with :math:`s_k = \sum_v t_{kv}`: the
objective is free of scale then, and its minimum, with the topics divided and the weights multiplied
by :math:`s_k`, solves the problem with the constraint (Theorem F.1). Its tangent is
:math:`\text{slope}_{dk} \sum_v w_{dk} t_{kv}`, a sum of products like those that the model gives.
So the topics see the penalty too, and add :math:`\sum_d \text{slope}_{dk} w_{dk}` to what is
given; then both sides are scaled, which changes neither the product nor the penalty.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import Beta, Sweep, Sweeper
from isotopic.kernels import Counts, row_sums
from isotopic.priors import Posterior
from isotopic.problem import Problem, State


@dataclass(frozen=True)
class BetaProblem(Problem):
    """Minimise a beta divergence of the data from ``weights @ topics``.

    Parameters
    ----------
    weights, topics : Prior
        Points, with or without a penalty on the weights; the topics may be normalised.
    X : CountMatrix of shape (samples, features)
    n_components : int
    divergence : Beta
    """

    divergence: Beta

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights.is_bayesian or self.weights.is_normalized or self.topics.is_bayesian:
            raise ValueError(
                "a beta divergence other than Kullback-Leibler is for factors, with a penalty or "
                "without, not for proportions or posteriors; use beta=1"
            )
        X, unseen = self.X, 0 if self.X.missing is None else self.X.missing.pattern.nnz
        present = _positive_entries(X)
        n_zeros = X.shape[0] * X.shape[1] - len(present) - unseen
        self.divergence.check_data(present, has_zeros=n_zeros > 0)

    @cached_property
    def sweep(self) -> Sweeper:
        """Gives the sums at a point."""
        return Sweeper(self.divergence, self.X)

    @property
    def quadratic(self) -> bool:
        """Whether the divergence is a sum of squares that Gram matrices tell all of."""
        return self.sweep.by_gram

    @cached_property
    def movable(self) -> Array | None:
        """Which entries of the topics may be more than zero; ``None``: all of them."""
        shape = self.n_components, self.X.shape[1]
        may = self.topics.at(np.ones(shape, self.X.dtype, order="F"), 1.0).mean > 0
        return None if may.all() else np.asarray(may)

    @property
    def penalty_on_both(self) -> bool:
        """Whether the topics see the penalty of the weights: they are to be scaled."""
        return self.topics.is_normalized and self.topics.learned

    def evaluate(self, weights: Posterior, topics: Posterior, passes: int) -> State:
        """Sweep over the data at this point."""
        sums = self.sweep(weights.mean, topics.mean, weights_only=not self.topics.learned)
        return self.state(weights, topics, sums, passes)

    def state(self, weights: Posterior, topics: Posterior, sums: Sweep, passes: int) -> State:
        """Give the state of a point whose sums are known."""
        objective = self.value(weights, sums.values)
        counts = Counts(sums.weights, sums.topics, weights.term - objective)
        residual = self.residual(weights, topics, counts)
        return State(weights, topics, counts, objective, residual, passes)

    def value(self, weights: Posterior, values: Array) -> float:
        """Give the objective, from the divergence of each sample."""
        copies = self.weights.copies
        return float((values if copies is None else values * copies).sum()) + weights.term

    def residual(self, weights: Posterior, topics: Posterior, counts: Counts) -> float:
        r"""Compute the optimality residual.

        The sum of :math:`|\text{factor} \cdot \text{gradient}|` of one side, the larger one, as a
        share of :math:`\sum x \hat x^{\beta-1}`. Zero exactly where the Karush-Kuhn-Tucker
        conditions of all positive entries hold (those of the constraint, for normalised topics),
        and free of scale.
        """
        asked, given = counts.weights * weights.mean
        copies = self.weights.copies
        if copies is not None:
            asked, given = (
                side * copies[:, np.newaxis].astype(side.dtype) for side in (asked, given)
            )
        gaps = [self.weights.gap(weights, asked - given, 0.0)]
        if self.topics.learned:
            pull = np.asfortranarray(topics.mean * (counts.topics[0] - counts.topics[1]))
            gaps.append(self.topics.gap(topics, pull, 0.0))
        whole = float(row_sums(asked).sum())
        return max(gaps) / whole if whole > 0 else 0.0

    def weight_ratios(self, weights: Array, sums: Array, scale: Array | float = 1.0) -> Array:
        """Give the ratios of new weights to these, next to topics that sum to ``scale``."""
        return self._ratios(sums[0], sums[1] + self.slope_of_weights(weights, scale))

    def slope_of_weights(self, weights: Array, scale: Array | float = 1.0) -> Array | float:
        """Give the penalty's derivative by each weight, next to topics that sum to ``scale``."""
        return self.weights.slope(weights * scale) * scale

    def slope_of_topics(self, weights: Array, counted: Array) -> Array | float:
        """Give the penalty's derivative by the topics of each component, as a column.

        Parameters
        ----------
        weights : ndarray of shape (samples, components)
            At which the penalty has its slope.
        counted : ndarray of shape (samples, components)
            The weights that the slope is multiplied with.
        """
        if not self.penalty_on_both:
            return 0.0
        slope = self.weights.slope(weights) * counted
        if self.weights.copies is not None:
            slope = slope * self.weights.copies[:, np.newaxis]
        summed = slope.sum(axis=0, dtype=np.float64)[:, np.newaxis]
        return np.asarray(summed.astype(counted.dtype))

    def new_topics(self, topics: Array, sums: Array, weights: Array, counted: Array) -> Array:
        """Update the topics, next to given weights.

        Parameters
        ----------
        topics : ndarray of shape (components, features)
        sums : ndarray of shape (2, components, features)
            Of these topics, or those of the joint majorizer.
        weights, counted : ndarray of shape (samples, components)
            See :meth:`slope_of_topics`.
        """
        given = sums[1] + self.slope_of_topics(weights, counted)
        new = topics * self._ratios(sums[0], given)
        new[: self.topics.held_rows] = topics[: self.topics.held_rows]
        return new

    def settled(self, weights: Array, topics: Array) -> tuple[Posterior, Posterior]:
        """Give both sides as their priors hold them; topics that are to sum to one are scaled."""
        if self.penalty_on_both:
            weights = weights * row_sums(topics).astype(weights.dtype)
        return self.weights.at(weights, 1.0), self.topics.at(np.asfortranarray(topics), 1.0)

    def _ratios(self, asked: Array, given: Array) -> Array:
        """Minimise the majorizer; what nothing asks for becomes zero."""
        ratios = np.divide(asked, given, out=np.zeros_like(asked), where=given > 0)
        exponent = self.divergence.exponent
        return ratios if exponent == 1 else np.power(ratios, asked.dtype.type(exponent))


def _positive_entries(X: CountMatrix) -> Array:
    """Give the entries that are not zero, as each sample has them."""
    if X.is_sparse:
        copies = None if X.copies is None else np.repeat(X.copies, np.diff(X.row_starts))
        return X.values if copies is None else X.values / copies.astype(X.dtype)
    once = X.dense if X.copies is None else X.dense / X.copies[:, np.newaxis].astype(X.dtype)
    return np.asarray(once[once > 0])

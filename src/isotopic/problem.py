"""Pair, the priors of both sides; Problem, a Pair with data and a divergence, to be minimised."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import methodcaller
from typing import Any, Self, TypeAlias

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence, KullbackLeibler
from isotopic.divergences.majorized import scale_rows
from isotopic.elementwise import row_sums
from isotopic.kernels import Counts, squared_counts
from isotopic.missing import Missing
from isotopic.priors import Evidence, Posterior, Prior, Totals
from isotopic.registry import register

# Converts the weights of some samples into those that the fitted model keeps.
Finish: TypeAlias = Callable[[Posterior, slice], Posterior]


@register
@dataclass(frozen=True)
class State:
    """A point of a problem and the expected counts there: all that a solver's step needs.

    Attributes
    ----------
    weights, topics : Posterior
    counts : Counts
        What both sides absorb next. A step takes these arrays over: copy what you keep.
    objective : float
        What is minimised, at this point; see :meth:`Problem.objective`.
    residual : float
        The optimality residual at this point; see :meth:`Problem.residual`.
    passes : int
        Passes over the data that were made to reach this point.
    """

    weights: Posterior
    topics: Posterior
    counts: Counts
    objective: float
    residual: float
    passes: int


@dataclass(frozen=True)
class Pair:
    """A prior for each side: a model, before it has seen data.

    Parameters
    ----------
    weights, topics : Prior
    """

    weights: Prior
    topics: Prior

    def __post_init__(self) -> None:
        if self.weights.is_normalized and not self.topics.is_normalized and self.topics.is_learned:
            raise ValueError(
                f"{type(self.weights).__name__} weights are proportions, so the topics must be "
                f"normalised too, but their prior is {type(self.topics).__name__}. Use Simplex or "
                "Dirichlet topics."
            )
        if self.weights.norm not in (None, 1.0):
            raise ValueError(
                f"{type(self.weights).__name__} can only be a prior for topics, because it "
                "normalises rows to a unit norm other than their sum. Use Free, Lasso, LogPenalty "
                "or PowerPenalty for the weights."
            )
        if self.topics.norm not in (None, 1.0) and self.weights.is_bayesian:
            raise ValueError(
                "Topics of unit l_p norm with p > 1 need weights that are point estimates: Free, "
                f"Lasso, LogPenalty or PowerPenalty, not {type(self.weights).__name__}."
            )

    @property
    def is_divergence(self) -> bool:
        """Whether the objective is a divergence: two point estimates, and weights with a scale."""
        sides = self.weights, self.topics
        return not (self.weights.is_normalized or any(side.is_bayesian for side in sides))

    def weights_totals(self, weights: Posterior, missing: Missing | None = None) -> Totals:
        """Return the sums over samples that the topics see; normalised topics need none."""
        if self.topics.is_normalized:
            return 1.0
        totals = self.component_sums(weights)[:, np.newaxis]
        if missing is None:
            return totals
        unseen = missing.sums(weights.mean, self.weights.copies)
        return np.asfortranarray(np.maximum(totals - unseen, 0.0))  # below zero by rounding only

    def topics_totals(self, topics: Posterior, missing: Missing | None = None) -> Totals:
        """Return the sums over features that the weights see, without missing entries."""
        totals = 1.0 if self.topics.is_normalized else row_sums(topics.mean)
        if missing is None or self.weights.is_normalized:
            return totals
        unseen = topics.effective if self.topics.is_normalized else topics.mean
        seen = np.maximum(totals - missing.reach(unseen), 0.0)  # below zero by rounding only
        seen[missing.unknown] = 0.0
        return seen

    def objective(
        self,
        weights: Posterior,
        topics: Posterior,
        log_likelihood: float,
        saturated_divergence: float,
        missing: Missing | None = None,
    ) -> float:
        r"""Return what is minimised under the Kullback-Leibler divergence.

        .. math:: -\sum_{dv} x_{dv} \log(\text{weights topics})_{dv} + \text{mass} +
            \text{term of the weights} + \text{term of the topics}

        with effective factors in the logarithm. The mass
        :math:`\sum_k E[\sum_d w_{dk}] E[\sum_v t_{kv}]` belongs to Poisson models; it is constant,
        and left out, when the weights are proportions. For points with a scale the saturated
        divergence :math:`\sum x \log x - x` is added, so that the objective is the generalized
        Kullback-Leibler divergence. So it is the divergence (NMF), the divergence with a penalty
        (Lasso), minus the log-likelihood (PLSA), or minus the variational bound (LDA,
        Gamma-Poisson).
        """
        value = -log_likelihood + weights.term + topics.term
        n_components, n_features = topics.mean.shape
        value += self.weights.hyperprior_term(n_components)
        value += self.topics.hyperprior_term(n_features)
        totals = self.topics_totals(topics, missing)
        if np.ndim(totals) == 2:  # for each sample
            value += float(self.component_sums(replace(weights, mean=weights.mean * totals)).sum())
        elif not self.weights.is_normalized:
            value += float((self.component_sums(weights) * totals).sum())
        return value + (saturated_divergence if self.is_divergence else 0.0)

    def component_sums(self, weights: Posterior) -> Array:
        """Return the sum of each component's weights over samples, each as often as it counts."""
        return sum_components(weights, self.weights.copies)


@dataclass(frozen=True)
class Problem(Pair):
    """Minimise the divergence of data from ``weights @ topics`` under a prior for each side.

    Parameters
    ----------
    weights, topics : Prior
    X : CountMatrix of shape (samples, features)
    n_components : int
    divergence : Divergence, default=KullbackLeibler()
    """

    X: CountMatrix
    n_components: int
    divergence: Divergence = field(default_factory=KullbackLeibler)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.divergence.check(self.weights, self.topics, self.X)
        self.weights.check_shape((self.X.shape[0], self.n_components))
        self.topics.check_shape((self.n_components, self.X.shape[1]))

    def check_solvable(self) -> None:
        """Raise ValueError if there is no minimum to be found."""
        tendencies = {self.weights.scale_tendency, self.topics.scale_tendency}
        if "grows" in tendencies and "bounded" not in tendencies:
            raise ValueError(
                "The problem is unbounded: seeds reward larger topics and nothing limits their "
                "scale. Normalise the topics (Simplex, Dirichlet) or give the weights a Gamma "
                "prior."
            )
        if tendencies == {"free", "shrinks"}:
            raise ValueError(
                "The problem has no minimum: one factor has a penalty and the other is Free, so "
                "scale moves from the penalised factor to the free one without end. Normalise the "
                "free one (Simplex or Dirichlet), or give it a penalty or a prior too."
            )

    @property
    def can_update_jointly(self) -> bool:
        """Whether both sides can be updated from one pass: the paper's theorem.

        Expected counts serve both if the topics carry no scale, or do not move. A joint majorizer
        serves topics of any scale.
        """
        if self.divergence.proposes_values:
            return self.divergence.is_joint
        return self.topics.norm is not None or not self.topics.is_learned

    def evaluate(
        self, weights: Posterior, topics: Posterior, passes: int, *, jointly: bool = True
    ) -> State:
        """Make a pass over the data, and return the state at this point.

        With ``jointly=False`` the topics' counts may be absorbed only with the weights of this
        point. (Under Kullback-Leibler they are valid with new weights too.)
        """
        counts = self.expected_counts(
            weights, topics, weights_only=not self.topics.is_learned, jointly=jointly
        )
        return self.state_at(weights, topics, counts, passes)

    def state_at(self, weights: Posterior, topics: Posterior, counts: Any, passes: int) -> State:
        """Return the state at a point whose expected counts are known."""
        if self.divergence.proposes_values:
            objective = float(-counts.log_likelihood + weights.term + topics.term)
            return State(weights, topics, counts, objective, float(counts.residual), passes)
        objective = self.objective(
            weights, topics, counts.log_likelihood, self.X.saturated_divergence, self.X.missing
        )
        residual = self.residual(weights, topics, counts)
        return State(weights, topics, counts, objective, residual, passes)

    def residual(self, weights: Posterior, topics: Posterior, counts: Counts) -> float:
        r"""Return the share of the counts that an update would move.

        For a point estimate the sum of :math:`|\text{factor} \cdot \text{gradient}|`, for a
        Bayesian side the distance of its parameters from their fixed point; the larger of both,
        divided by the total of ``X``. Zero exactly where the Karush-Kuhn-Tucker conditions of all
        positive entries hold, and free of scale. Other divergences than Kullback-Leibler measure
        it during the pass.
        """
        if not self.X.total > 0:
            return 0.0
        totals = self.weights_totals(weights, self.X.missing)
        topic_counts = self.with_unseen(counts.topics, weights, topics)
        topics_gap = self.topics_next_to(weights).gap(topics, topic_counts, totals)
        return float(max(self.weights_gap(weights, topics, counts), topics_gap) / self.X.total)

    def expected_counts(
        self,
        weights: Posterior,
        topics: Posterior,
        *,
        weights_only: bool = False,
        jointly: bool = True,
    ) -> Counts:
        """Make a pass over the data, and return what both sides absorb next."""
        sums = self.data_pass(
            self.weights,
            weights,
            topics,
            weights_only=weights_only,
            jointly=jointly and self.divergence.is_joint,
            rescales=self.topics.is_normalized and self.topics.is_learned,
        )
        return self.divergence.counts(sums, self.topics, topics)

    @cached_property
    def data_pass(self) -> Any:
        """The pass over the data. It is prepared once for each problem object."""
        return self.divergence.prepare(self.X)

    @cached_property
    def movable_topics(self) -> Array | None:
        """Which entries of the topics may be positive; ``None``: all of them."""
        shape = self.n_components, self.X.shape[1]
        movable = self.topics.at(np.ones(shape, self.X.dtype, order="F"), 1.0).mean > 0
        return None if movable.all() else np.asarray(movable)

    def absorb_weights(self, counts: Array, topics: Posterior) -> Posterior:
        """Return the weights' M step from their expected counts, whose memory may be reused."""
        if self.divergence.proposes_values:  # times the scale that the topics handed over
            return self.weights_from(scale_rows(counts, topics.scale), 1.0, is_value=True)
        return self.weights_from(counts, self.topics_totals(topics, self.X.missing))

    def absorb_topics(self, counts: Array, topics: Posterior, weights: Posterior) -> Posterior:
        """Return the topics' M step from the expected counts at ``topics``, given new ``weights``.

        With normalised topics the weights do not matter, unless entries are missing.
        """
        if self.divergence.proposes_values:
            absorbed = self.topics.at(np.asfortranarray(counts), 1.0)
            rescales = self.topics.is_normalized and self.topics.is_learned
            return replace(absorbed, scale=row_sums(counts)) if rescales else absorbed
        counts = self.with_unseen(counts, weights, topics)
        totals = self.weights_totals(weights, self.X.missing)
        return self.topics_next_to(weights).absorb(counts, totals)

    def hand_over_scale(self, weights: Posterior, topics: Posterior) -> tuple[Posterior, Posterior]:
        """Multiply the weights by the norms that the topics were divided by."""
        if topics.scale is None:
            return weights, topics
        scaled = weights.mean * topics.scale.astype(weights.mean.dtype)
        totals = self.topics_totals(topics, self.X.missing)
        return self.weights.at(scaled, totals), replace(topics, scale=None)

    def weights_from(self, counts: Array, totals: Totals, *, is_value: bool = False) -> Posterior:
        """Return the weights that their prior makes of counts, given the totals of the topics.

        With ``is_value`` the array holds values of the factor, or its posterior's parameters.
        """
        return self.weights.at(counts, totals) if is_value else self.weights.absorb(counts, totals)

    def topics_next_to(self, weights: Posterior) -> Prior:
        """Return the topics' prior given the weights.

        It depends on them only if the topics have unit l_p norm with p > 1 (Theorem F.1).
        """
        if self.topics.norm in (None, 1.0):
            return self.topics
        topics: Any = self.topics
        prior: Prior = topics.next_to(self.weights.scale_derivative(weights))
        return prior

    def with_unseen(self, counts: Array, weights: Posterior, topics: Posterior) -> Array:
        """Add the counts that normalised topics expect where entries are missing."""
        missing, is_filled_in = self.X.missing, self.weights.is_normalized
        is_needed = self.topics.is_normalized and self.topics.is_learned
        if missing is None or is_filled_in or not is_needed:
            return counts
        known = np.where(missing.unknown[:, np.newaxis], 0.0, weights.mean)
        expected = topics.effective * missing.sums(known, self.weights.copies)
        return np.asfortranarray(counts + expected, dtype=counts.dtype)

    def weights_gap(self, weights: Posterior, topics: Posterior, counts: Counts) -> float:
        """Return how far the weights are from what they would make of their counts."""
        totals = self.topics_totals(topics, self.X.missing)
        return self.weights.gap(weights, counts.weights, totals)

    def extrapolate(
        self,
        latest: Counts,
        previous: Counts,
        *,
        momentum: float,
        weights_floor: float,
        topics_floor: float,
    ) -> Counts:
        """Return the counts of both sides, extrapolated along their last change."""
        weights = self.extrapolate_weights(
            latest.weights, previous.weights, momentum=momentum, floor=weights_floor
        )
        if not self.topics.is_learned:
            return latest._replace(weights=weights)
        # Proportions have counts that were filled in where entries are missing.
        is_complete = self.X.missing is None
        totals = self.X.feature_totals if is_complete else row_sums(latest.topics.T)
        topics = self.divergence.extrapolate(
            latest.topics.T, previous.topics.T, totals, momentum=momentum, floor=topics_floor
        )
        return latest._replace(weights=weights, topics=topics.T)

    def extrapolate_weights(
        self, latest: Array, previous: Array, *, momentum: float, floor: float
    ) -> Array:
        """Return the weights' counts, extrapolated along their last change."""
        totals = self.X.sample_totals if self.X.missing is None else row_sums(latest)
        return self.divergence.extrapolate(latest, previous, totals, momentum=momentum, floor=floor)

    def in_precision_of(self, topics: Posterior) -> Self:
        """Return the problem in the precision of a point: its own, or single precision."""
        if topics.mean.dtype == self.X.dtype:
            return self
        return replace(self, X=self.X.in_single_precision)

    def weights_evidence(self, state: State) -> Evidence:
        """Return what the prior of the weights learns its hyperparameters from, at a point."""
        squares = None
        if self.weights.needs_squares:
            squares = squared_counts(self.X, state.weights.effective, state.topics.effective)[0]
        totals = self.topics_totals(state.topics, self.X.missing)
        return Evidence(state.counts.weights, squares, totals)

    def with_updated_hyperparameters(self, state: State) -> Self:
        """Return the problem with the hyperparameters that its priors learn at a point."""
        weight_squares, topic_squares = None, None
        if self.weights.needs_squares or self.topics.needs_squares:
            weight_squares, topic_squares = squared_counts(
                self.X, state.weights.effective, state.topics.effective
            )
        missing, counts = self.X.missing, state.counts
        weights = self.weights.with_updated_hyperparameters(
            Evidence(counts.weights, weight_squares, self.topics_totals(state.topics, missing))
        )
        topics = self.topics.with_updated_hyperparameters(
            Evidence(counts.topics, topic_squares, self.weights_totals(state.weights, missing))
        )
        divergence = self.divergence.with_updated_hyperparameters(
            methodcaller("sufficient_statistics", self.X, state.weights, state.topics)
        )
        return replace(self, weights=weights, topics=topics, divergence=divergence)

    def collect_weights(self, weights: Posterior, finish: Finish) -> Posterior:
        """Return the weights of all samples as arrays; ``finish`` sees some rows at a time."""
        return finish(weights, slice(None))


def sum_components(weights: Posterior, copies: Array | None) -> Array:
    """Return the sum of each component's weights over samples, each as often as it counts."""
    if copies is None:
        return row_sums(weights.mean.T)
    return np.asarray(copies @ weights.mean.astype(np.float64, copy=False))

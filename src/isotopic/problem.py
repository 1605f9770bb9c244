"""A pair of priors is a model; with data it is a problem.

Here stand the objective and the optimality residual of any pair.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import Counts, extrapolated, one_pass, row_sums, squared_counts
from isotopic.missing import Missing
from isotopic.priors import Evidence, Posterior, Prior, Totals

# Makes the weights of some samples ready to be kept.
Finish: TypeAlias = Callable[[Posterior, slice], Posterior]


def as_it_is(weights: Posterior, rows: slice) -> Posterior:
    """Leave weights as they are."""
    return weights


@dataclass(frozen=True)
class State:
    """A point of a problem and the expected counts there: all that any solver's step needs.

    Attributes
    ----------
    weights, topics : Posterior
    counts : Counts
        The expected counts at this point. The next step takes them over: look at them before.
    objective : float
        What is minimised, at this point; see :meth:`Pair.objective`.
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
        if self.weights.is_normalized and not self.topics.is_normalized and self.topics.learned:
            raise ValueError(
                f"{type(self.weights).__name__} weights leave the topics to carry no scale, so the "
                f"topics must be normalised too (Simplex or Dirichlet), not "
                f"{type(self.topics).__name__}"
            )
        if self.weights.norm not in (None, 1.0):
            raise ValueError(
                f"{type(self.weights).__name__} is for topics: it scales all samples of a component"
            )
        if self._norm_in_penalty and self.weights.is_bayesian:
            raise ValueError(
                f"topics of unit l_p norm, p > 1, need weights that are a factor (Free, Lasso, "
                f"LogPenalty or PowerPenalty), not {type(self.weights).__name__}"
            )

    @property
    def _norm_in_penalty(self) -> bool:
        """Whether the topics have a unit norm that is not their sum (Theorem F.1)."""
        return self.topics.norm not in (None, 1.0)

    @property
    def joint(self) -> bool:
        """Whether both sides can be updated from one pass: the topics have no scale to share."""
        return self.topics.norm is not None or not self.topics.learned

    @property
    def is_divergence(self) -> bool:
        """Whether the objective is a divergence: two points, of which one has a scale."""
        return not (
            self.weights.is_normalized or self.weights.is_bayesian or self.topics.is_bayesian
        )

    def weights_totals(self, weights: Posterior, missing: Missing | None = None) -> Totals:
        """Give the sums over samples, as the topics see them; normalised topics do not ask."""
        if self.topics.is_normalized:
            return 1.0
        totals = self._scale_of(weights)[:, np.newaxis]
        if missing is None:
            return totals
        unseen = missing.sums(weights.mean, self.weights.copies)
        return np.asfortranarray(np.maximum(totals - unseen, 0.0))  # below zero by rounding only

    def topics_totals(self, topics: Posterior, missing: Missing | None = None) -> Totals:
        """Give the sums over features, as the weights see them: without those they cannot show."""
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
        r"""Compute what is minimised.

        .. math:: -\sum_{dv} x_{dv} \log(\text{weights topics})_{dv} + \text{mass} +
            \text{term of the weights} + \text{term of the topics}

        with effective factors in the logarithm. The mass
        :math:`\sum_k E[\sum_d w_{dk}] E[\sum_v t_{kv}]` belongs to Poisson models and is constant,
        and left out, when the weights are proportions. For points with a scale the saturated
        divergence :math:`\sum x \log x - x` is added, so that the objective is the generalized
        Kullback-Leibler divergence. So it is, by model: the divergence (NMF), with its penalty
        (Lasso), minus the log-likelihood (PLSA), minus the variational bound (LDA, Gamma-Poisson).
        """
        value = -log_likelihood + weights.term + topics.term
        n_components, n_features = topics.mean.shape
        value += self.weights.hyperprior_term(n_components)
        value += self.topics.hyperprior_term(n_features)
        totals = self.topics_totals(topics, missing)
        if np.ndim(totals) == 2:  # for each sample
            value += float(self._scale_of(replace(weights, mean=weights.mean * totals)).sum())
        elif not self.weights.is_normalized:
            value += float((self._scale_of(weights) * totals).sum())
        return value + (saturated_divergence if self.is_divergence else 0.0)

    def _scale_of(self, weights: Posterior) -> Array:
        """Sum the weights of each component over the samples, each as often as it counts."""
        return component_sums(weights, self.weights.copies)


@dataclass(frozen=True)
class Problem(Pair):
    """Minimise the divergence of counts from ``weights @ topics`` under a prior for each side.

    Parameters
    ----------
    weights, topics : Prior
    X : CountMatrix of shape (samples, features)
    n_components : int
    """

    X: CountMatrix
    n_components: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights.check_shape((self.X.shape[0], self.n_components))
        self.topics.check_shape((self.n_components, self.X.shape[1]))

    def check_solvable(self) -> None:
        """Raise if there is no minimum to be found."""
        tendencies = {self.weights.scale_tendency, self.topics.scale_tendency}
        if "grows" in tendencies and "bounded" not in tendencies:
            raise ValueError(
                "The problem is unbounded: seeds reward larger topics and nothing limits their "
                "scale. Normalise the topics (Simplex or Dirichlet), or give the weights a Gamma "
                "prior."
            )
        if tendencies == {"free", "shrinks"}:
            raise ValueError(
                "The problem has no minimum: one factor has a penalty and the other is Free, so "
                "scale moves from the penalised factor to the free one without end. Normalise the "
                "free one (Simplex or Dirichlet), or give it a penalty or a prior too."
            )

    def as_precise_as(self, topics: Posterior) -> Self:
        """Give the problem in the precision of a point: its own, or single precision."""
        if topics.mean.dtype == self.X.dtype:
            return self
        return replace(self, X=self.X.in_single_precision)

    def evaluate(self, weights: Posterior, topics: Posterior, passes: int) -> State:
        """Make a pass over the data at this point."""
        counts = self.expected_counts(weights, topics, weights_only=not self.topics.learned)
        return self.state_at(weights, topics, counts, passes)

    def state_at(self, weights: Posterior, topics: Posterior, counts: Counts, passes: int) -> State:
        """Measure a point whose expected counts are known."""
        objective = self.objective(
            weights, topics, counts.log_likelihood, self.X.saturated_divergence, self.X.missing
        )
        residual = self.residual(weights, topics, counts)
        return State(weights, topics, counts, objective, residual, passes)

    def expected_counts(
        self, weights: Posterior, topics: Posterior, *, weights_only: bool = False
    ) -> Counts:
        """Share out the counts at this point: a pass over the data."""
        return one_pass(
            self.X,
            weights.effective,
            topics.effective,
            weights_only=weights_only,
            proportions=self.weights.is_normalized,
        )

    def with_updated_hyperparameters(self, state: State) -> Self:
        """Give the problem with the settings that the priors learn from the counts at a point."""
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
        return replace(self, weights=weights, topics=topics)

    def absorb(self, weight_counts: Array, topic_counts: Array) -> tuple[Posterior, Posterior]:
        """Make the weights, then the topics, of counts that were shared out already."""
        weights = self._weights_of(weight_counts, self.topics.initial_totals(topic_counts))
        prior = self._topics_beside(weights)
        topics = prior.absorb(topic_counts, self.weights_totals(weights))
        return self.with_scale_of(topics, weights), topics

    def weights_at(self, values: Array, totals: Totals) -> Posterior:
        """Take ``values`` as the weights, or as their posterior's parameters."""
        return self.weights.at(values, totals)

    def absorb_weights(self, counts: Array, topics: Posterior) -> Posterior:
        """Make the weights of their expected counts; these are handed over."""
        return self._weights_of(counts, self.topics_totals(topics, self.X.missing))

    def _weights_of(self, counts: Array, totals: Totals) -> Posterior:
        return self.weights.absorb(counts, totals)

    def absorb_topics(self, counts: Array, topics: Posterior, weights: Posterior) -> Posterior:
        """Make topics of the expected counts at ``topics``, next to new ``weights``.

        With normalised topics the weights do not matter, unless entries are missing.
        """
        counts = self.with_unseen(counts, weights, topics)
        prior = self._topics_beside(weights)
        return prior.absorb(counts, self.weights_totals(weights, self.X.missing))

    def with_scale_of(self, topics: Posterior, weights: Posterior) -> Posterior:
        """Hand what the topics were divided by over to the weights that they were made next to."""
        if topics.scale is None:
            return weights
        scaled = weights.mean * topics.scale.astype(weights.mean.dtype)
        return self.weights.at(scaled, self.topics_totals(topics, self.X.missing))

    def _topics_beside(self, weights: Posterior) -> Prior:
        if not self._norm_in_penalty:
            return self.topics
        topics: Any = self.topics
        beside: Prior = topics.next_to(self.weights.scale_derivative(weights))
        return beside

    def with_unseen(self, counts: Array, weights: Posterior, topics: Posterior) -> Array:
        """Add the counts that normalised topics expect where entries are missing."""
        missing, filled_in = self.X.missing, self.weights.is_normalized
        if missing is None or filled_in or not (self.topics.is_normalized and self.topics.learned):
            return counts
        known = np.where(missing.unknown[:, np.newaxis], 0.0, weights.mean)
        expected = topics.effective * missing.sums(known, self.weights.copies)
        return np.asfortranarray(counts + expected, dtype=counts.dtype)

    def residual(self, weights: Posterior, topics: Posterior, counts: Counts) -> float:
        r"""Compute the optimality residual: the share of the counts that an update would move.

        For a point side the sum of :math:`|\text{factor} \cdot \text{gradient}|`, for a Bayesian
        one the distance of its parameters from their fixed point; the larger of both sides,
        divided by the total of ``X``. Zero exactly where the Karush-Kuhn-Tucker conditions of all
        positive entries hold, and free of scale.
        """
        gaps = (
            self._weights_gap(weights, topics, counts),
            self._topics_beside(weights).gap(
                topics,
                self.with_unseen(counts.topics, weights, topics),
                self.weights_totals(weights, self.X.missing),
            ),
        )
        return max(gaps) / self.X.total if self.X.total > 0 else 0.0

    def _weights_gap(self, weights: Posterior, topics: Posterior, counts: Counts) -> float:
        totals = self.topics_totals(topics, self.X.missing)
        return self.weights.gap(weights, counts.weights, totals)

    def extrapolated_weights(
        self, latest: Array, previous: Array, *, momentum: float, floor: float
    ) -> Array:
        """Take the weights' expected counts further; see :func:`~isotopic.kernels.extrapolated`."""
        complete = self.X.missing is None  # else proportions have counts that were filled in too
        totals = self.X.sample_totals if complete else row_sums(latest)
        return extrapolated(latest, previous, totals, momentum=momentum, floor=floor)

    def whole(self, weights: Posterior, finished: Finish = as_it_is) -> Posterior:
        """Give the weights of all samples as arrays; ``finished`` sees some rows at a time."""
        return finished(weights, slice(None))


def component_sums(weights: Posterior, copies: Array | None) -> Array:
    """Sum the weights of each component over the samples, each as often as it counts."""
    if copies is None:
        return row_sums(weights.mean.T)
    return np.asarray(copies @ weights.mean.astype(np.float64, copy=False))

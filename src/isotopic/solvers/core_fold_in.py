"""CoreFoldIn: all updates of a sample in one call of the core, with the topics fixed."""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import ReadyTopics
from isotopic.priors import Fixed, Posterior
from isotopic.problem import Problem
from isotopic.row_inference import RowRule, infer_rows
from isotopic.solvers.accelerated import Schedule
from isotopic.solvers.base import Solver
from isotopic.solvers.fold_in import MAX_MOMENTUM

# Samples per step. Callbacks run, and Ctrl-C is handled, between two steps.
_GROUP = 2**14


@dataclass(frozen=True)
class CoreFoldInState:
    """Every sample's expected counts, and how many samples are done."""

    X: CountMatrix  # the counts that some topic can explain
    table: ReadyTopics
    rule: RowRule
    counts: Array  # the next step writes to it
    done: int
    log_likelihood: float  # of the samples that are done
    largest: float  # the largest residual of these
    objective: float  # minus the log-likelihood
    residual: float
    passes: int  # the largest number of updates of a sample


@dataclass(frozen=True)
class CoreFoldIn(Solver[CoreFoldInState]):
    """Infer the weights of each sample in the core, by the updates of FoldIn.

    It needs a prior that the core knows (:meth:`~isotopic.priors.Prior.row_rule`) and complete
    counts. The result for a sample does not depend on which others are there.

    Parameters
    ----------
    tol : float
    max_updates : int, default=5000
        The number of updates after which a sample that has not converged is left as it is.
    """

    tol: float
    max_updates: int = 5000

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless the core can infer the weights."""
        if row_rule(problem) is None:
            raise ValueError(
                "CoreFoldIn needs complete counts, the Kullback-Leibler divergence and weights "
                "with a Dirichlet or Gamma prior. Use FoldIn."
            )

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> CoreFoldInState:
        """Return the state before any sample; counts that no topic can explain are left out."""
        rule = row_rule(problem)
        assert rule is not None
        return CoreFoldInState(
            problem.X.only_features(topics.explains),
            topics.prepared,
            rule,
            counts=np.zeros(weights.effective.shape, weights.effective.dtype),
            done=0,
            log_likelihood=0.0,
            largest=0.0,
            objective=np.inf,
            residual=np.inf,
            passes=0,
        )

    def is_done(self, state: CoreFoldInState) -> bool:
        """Return whether all samples are done."""
        return state.done == len(state.counts)

    def step(self, problem: Problem, state: CoreFoldInState) -> CoreFoldInState:
        """Return the state after the next group of samples."""
        group = slice(state.done, min(state.done + _GROUP, len(state.counts)))
        divergence = problem.divergence
        schedule = Schedule(MAX_MOMENTUM, divergence.row_floor_to_residual)
        first_floor = divergence.row_floor / problem.n_components
        found = infer_rows(
            state.X.view(group),
            state.table,
            _rule_of_rows(state.rule, group),
            tol=self.tol,
            max_updates=self.max_updates,
            steps=schedule.steps(divergence.row_momentum, first_floor),
        )
        state.counts[group] = found.counts
        log_likelihood = state.log_likelihood + float(found.log_likelihoods.sum())
        largest = float(found.residuals.max(initial=state.largest))
        return replace(
            state,
            done=group.stop,
            log_likelihood=log_likelihood,
            largest=largest,
            objective=-log_likelihood,
            residual=largest if group.stop == len(state.counts) else np.inf,
            passes=int(found.updates.max(initial=state.passes)),
        )


def row_rule(problem: Problem) -> RowRule | None:
    """Return how the core infers the weights of the problem's samples; ``None``: it cannot."""
    X, topics = problem.X, problem.topics
    if not isinstance(topics, Fixed) or not problem.divergence.is_likelihood:
        return None
    if X.missing is not None or X.has_tiny_samples or not X.is_sparse:
        return None
    return problem.weights.row_rule(problem.n_components, problem.topics_totals(topics.posterior))


def _rule_of_rows(rule: RowRule, group: slice) -> RowRule:
    """Return the rule of some samples."""
    prior = rule.prior if len(rule.prior) == 1 else rule.prior[group]
    own = rule.self_contribution
    return replace(rule, prior=prior, self_contribution=None if own is None else own[group])

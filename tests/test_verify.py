"""Every claim of the paper holds, and every row of the table notices when it does not."""

import json
import math

import numpy as np
import pytest
from scipy import sparse

from isotopic import convert, generative, init, kernels, problem
from isotopic.priors import Dirichlet, Free, Gamma, Lasso, Simplex
from isotopic.problem import Pair
from isotopic.solvers import Alternating, JointEM, alternating
from isotopic.verify import CHECKS, Claim, VerificationTable, exact, verify

NUMBERED = {
    *(f"Algorithm {number}" for number in range(1, 8)),
    *(f"Lemma {number}" for number in ("4.1", "4.2", "6.1", "A.1", "A.2", "B.1")),
    *(f"Lemma {number}" for number in ("D.1", "D.2", "D.3", "E.1", "E.3")),
    *(f"Corollary {number}" for number in ("A.3", "B.2", "E.2", "E.4")),
    "Theorem F.1",
}
NAMES = {check.claim: check.measure.__name__ for check in CHECKS}


def small_data():
    rng = np.random.default_rng(3)
    rates = rng.dirichlet(np.full(3, 0.4), size=40) @ rng.dirichlet(np.full(30, 0.2), size=3)
    return rng.poisson(60 * rates)


def failed(table):
    return {NAMES[claim.claim] for claim in table if not claim.passed}


# Mistakes, and the rows that must notice them


def lasso_halves_its_strength(patch):
    right = Lasso.absorb
    patch.setattr(Lasso, "absorb", lambda s, c, t: right(Lasso(s.strength / 2), c, t))


def gamma_forgets_the_totals(patch):
    right = Gamma.absorb
    patch.setattr(Gamma, "absorb", lambda s, c, t: right(s, c, 0.0 * t))


def dirichlet_forgets_its_concentration(patch):
    patch.setattr(Dirichlet, "absorb", lambda s, c, t: s.at(np.maximum(c, 1e-3), t))


def free_ignores_the_totals(patch):
    patch.setattr(Free, "absorb", lambda s, c, t: s.at(c / np.sqrt(t), t))


def simplex_smooths(patch):
    right = Simplex.absorb
    patch.setattr(Simplex, "absorb", lambda s, c, t: right(s, c + 1e-3, t))


def kernel_prefers_a_component(patch):
    right = kernels.one_pass

    def wrong(X, *factors, **options):
        weights, topics, log_likelihood = right(X, *factors, **options)
        weights, topics = weights.copy(), topics.copy(order="F")
        weights[:, 0] *= 1 + 1e-6
        topics[0, ::2] *= 1 + 1e-6
        return kernels.Counts(weights, topics, log_likelihood)

    for module in (kernels, problem, alternating):
        patch.setattr(module, "one_pass", wrong)


def kernel_misjudges_the_likelihood(patch):
    right = kernels.one_pass

    def wrong(X, *factors, **options):
        counts = right(X, *factors, **options)
        return counts._replace(log_likelihood=counts.log_likelihood * (1 - 1e-6))

    for module in (kernels, problem, alternating):
        patch.setattr(module, "one_pass", wrong)


def objective_misses_one(patch):
    right = Pair.objective
    patch.setattr(Pair, "objective", lambda s, *sides: right(s, *sides) - 1)


def joint_update_counts_twice(patch):
    right = JointEM.step
    patch.setattr(
        JointEM, "step", lambda s, p, state: right(s, p, right(s, p, state))
    )


def alternating_does_not_look_again(patch):
    def wrong(self, problem, state):
        topics = problem.topics.absorb(state.counts.topics, problem.weights_totals(state.weights))
        weights = problem.weights.absorb(state.counts.weights, problem.topics_totals(topics))
        return problem.evaluate(weights, topics, state.passes + 2)

    patch.setattr(Alternating, "step", wrong)


def poisson_draws_too_few(patch):
    right = generative.poisson
    patch.setattr(generative, "poisson", lambda w, t, **kw: right(0.8 * w, t, **kw))


def conversion_keeps_the_scale(patch):
    pass


def quadrature_is_off(patch):
    right = exact.lda_likelihood
    patch.setattr(exact, "lda_likelihood", lambda x, t, a: right(x, t, a + 0.01))


def convolution_is_off(patch):
    right = exact.poisson_contributions
    patch.setattr(exact, "poisson_contributions", lambda w, t, most: right(w + 1e-6, t, most))


def coefficient_is_off(patch):
    right = exact.coefficient
    patch.setattr(exact, "coefficient", lambda x: right(x) * (1 + 1e-6 * max(x)))

MUTATIONS = {f.__name__: (f,set()) for f in (lasso_halves_its_strength,gamma_forgets_the_totals,dirichlet_forgets_its_concentration,free_ignores_the_totals,simplex_smooths,kernel_prefers_a_component,kernel_misjudges_the_likelihood,objective_misses_one,joint_update_counts_twice,alternating_does_not_look_again,poisson_draws_too_few,quadrature_is_off,convolution_is_off,coefficient_is_off)}

"""The claims of the appendices on generative models and sparsity (D to F), in the paper's order."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from isotopic import generative
from isotopic.arrays import Array
from isotopic.estimators import SparseNMF
from isotopic.objectives import (
    gamma_poisson_bound,
    generalized_kl,
    lasso_kl,
    lda_bound,
    plsa_log_likelihood,
)
from isotopic.verify import exact
from isotopic.verify import transcriptions as paper
from isotopic.verify.evidence import (
    ALPHA,
    RATE,
    STRENGTHS,
    TOTAL,
    TRIES,
    Checks,
    Evidence,
    Point,
    deviation,
    excess,
    iterate_of,
    random_point,
)
from isotopic.verify.reformulation import ERRORS, PENALTIES, Sparse, steepness

checks = Checks()

# Number of draws from each generative process.
_DRAWS = 20_000

# The norms, penalties and reconstruction errors of Appendix F.
_NORMS = (0.5, 1.0, 2.0, 3.0)
_PENALTIES: tuple[Callable[[Array], float], ...] = (
    lambda weights: float(weights.sum()),
    lambda weights: float(np.sqrt(weights).sum()),
    lambda weights: float((weights**2).sum()),
    lambda weights: float(np.log1p(weights).sum()),
)
_ERRORS: tuple[Callable[[Array, Array, Array], float], ...] = (
    generalized_kl,
    lambda X, weights, topics: float(((X - weights @ topics) ** 2).sum()),
)

_COMBINATIONS = (
    (1.0, "log", "Kullback-Leibler"),
    (1.5, "power", "Kullback-Leibler"),
    (2.0, "l1", "Kullback-Leibler"),
    (2.0, "l1", "Euclidean"),
    (3.0, "log", "Euclidean"),
    (2.0, "power", "Itakura-Saito"),
    (0.5, "l1", "Itakura-Saito"),
)


# Appendix D: equivalent generative models


def _compare(*distributions: exact.Distribution) -> float:
    """Return the largest relative difference from the probabilities of the first distribution."""
    first, *others = exact.aligned(*distributions)
    return max(deviation(other / first, np.ones(len(first))) for other in others)


def _poisson_by_divergence(weights: Array, topics: Array) -> exact.Distribution:
    """Return Poisson probabilities computed from the library's divergence."""

    def log_probability(x: exact.Cell) -> float:
        constant = (xlogy(x, x) - x - gammaln(np.add(x, 1.0))).sum()
        return float(constant) - generalized_kl([x], [weights], topics)

    return {x: float(np.exp(log_probability(x))) for x in exact.cells(topics.shape[1], TOTAL)}


def _multinomial_by_plsa(weights: Array, topics: Array) -> exact.Distribution:
    """Return multinomial probabilities computed from the library's PLSA log-likelihood."""
    return {
        x: exact.coefficient(x) * float(np.exp(plsa_log_likelihood([x], [weights], topics)))
        for x in exact.cells(topics.shape[1], TOTAL)
        if sum(x) == TOTAL
    }


@checks.claim("Lemma D.1", "Sums of Poisson contributions of components are Poisson counts")
def poisson_counts(evidence: Evidence) -> float:
    """Compare formula, convolution and divergence, for factors that are not normalised."""
    return max(
        _compare(
            exact.poisson(3 * weights, 2 * topics, TOTAL),
            exact.poisson_contributions(3 * weights, 2 * topics, TOTAL),
            _poisson_by_divergence(3 * weights, 2 * topics),
        )
        for weights, topics in evidence.tiny()
    )


@checks.claim("Lemma D.2", "Multinomial, sum of contributions and word by word are equivalent")
def multinomial_counts(evidence: Evidence) -> float:
    """Compare the formula, PLSA, and enumerations of contributions and of token sequences."""
    return max(
        _compare(
            exact.multinomial(3 * weights, topics, TOTAL),
            exact.multinomial_contributions(3 * weights, topics, TOTAL),
            exact.word_by_word(weights, topics, TOTAL),
            _multinomial_by_plsa(weights, topics),
        )
        for weights, topics in evidence.tiny()
    )


@checks.claim("Lemma D.3", "Normalised Poisson and multinomial differ by a constant factor")
def poisson_and_multinomial(evidence: Evidence) -> float:
    """Compare the ratio of the probabilities with the constant, for several factors."""
    constant = np.exp(-1.0) / np.exp(gammaln(TOTAL + 1.0))
    worst = 0.0
    for weights, topics in evidence.tiny():
        words = exact.word_by_word(weights, topics, TOTAL)
        contributions = exact.poisson_contributions(weights, topics, TOTAL)
        scaled = {x: constant * mass for x, mass in words.items()}
        worst = max(worst, _compare({x: contributions[x] for x in words}, scaled))
    return worst


@checks.claim(
    "Appendix D", "The generative processes draw from these distributions", tolerance=0.05
)
def draws(evidence: Evidence) -> float:
    """Return the largest total variation distance between frequencies and probabilities.

    With this many draws, its mean is less than half the tolerance, and it exceeds the tolerance
    with a probability of less than one in a million.
    """
    weights, topics = next(evidence.tiny())
    rows, rng = np.tile(weights, (_DRAWS, 1)), evidence.rng()
    given = exact.poisson(weights, topics, TOTAL)
    words = exact.multinomial(weights, topics, TOTAL)
    mixed = exact.gamma_poisson(topics, ALPHA, RATE, TOTAL)
    of_total = exact.poisson_probability(np.arange(TOTAL + 1), np.array(1.0))
    scaled = exact.dirichlet_multinomial(topics, ALPHA, of_total)
    drawn: Any = (
        (generative.poisson(rows, topics, random_state=rng), given),
        (generative.poisson_contributions(rows, topics, random_state=rng), given),
        (generative.multinomial(rows, topics, TOTAL, random_state=rng), words),
        (generative.multinomial_contributions(rows, topics, TOTAL, random_state=rng), words),
        (generative.word_by_word(rows, topics, TOTAL, random_state=rng), words),
        (generative.gamma_poisson(topics, _DRAWS, ALPHA, RATE, random_state=rng), mixed),
        (
            generative.dirichlet_negative_binomial(topics, _DRAWS, ALPHA, RATE, random_state=rng),
            mixed,
        ),
        (generative.dirichlet_poisson(topics, _DRAWS, ALPHA, random_state=rng), scaled),
    )
    return max(exact.total_variation(X.toarray(), expected) for X, expected in drawn)


# Appendix E: the Gamma-Poisson model


@checks.claim("Algorithm 7", "GammaPoisson makes the iterates of variational inference")
def gamma_poisson(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    model = at.gamma_poisson(at.rates)
    return at.compare(model, paper.algorithm_7, alpha=at.alpha, rate=at.rates)


@checks.claim("Appendix E", "The bounds of Gamma-Poisson and LDA differ by a constant")
def gamma_poisson_bounds(evidence: Evidence) -> float:
    """Compare the bound with the transcription, and its difference from LDA's at two points.

    It is also checked to be a bound, on tiny counts whose likelihood is known.
    """
    at = evidence.small
    counts = at.sample_totals[:, np.newaxis] * paper.normalized(at.weights)
    points = (at.alpha + counts, at.topics), iterate_of(evidence.fixed_points["lda"])
    gaps = [
        gamma_poisson_bound(at.X, topics, at.alpha, RATE, posterior)
        - lda_bound(at.X, topics, at.alpha, posterior)
        for posterior, topics in points
    ]
    return max(
        deviation(
            gamma_poisson_bound(at.X, at.topics, at.alpha, at.rates, at.weights),
            paper.gamma_poisson_bound(at.X, at.weights, at.topics, at.alpha, at.rates),
            scale=at.total,
        ),
        deviation(*gaps, scale=at.total),
        *(_excess_over_likelihood(topics) for _, topics in evidence.tiny()),
    )


def _excess_over_likelihood(topics: Array) -> float:
    """Return by how much the library's bound exceeds the exact log-likelihood."""
    worst = 0.0
    for x in exact.cells(topics.shape[1], TOTAL):
        likelihood = exact.gamma_poisson_likelihood(x, topics, ALPHA, RATE)
        log_likelihood = np.log(likelihood) + gammaln(np.add(x, 1.0)).sum()
        bound = gamma_poisson_bound([x], topics, ALPHA, RATE, [ALPHA + sum(x) / len(ALPHA)])
        worst = max(worst, excess(bound, log_likelihood, scale=1.0))
    return worst


@checks.claim("Lemma E.1", "Gamma-Poisson is LDA with a negative binomial number of words")
def buntine(evidence: Evidence) -> float:
    """Compare the exact probabilities of both models."""
    of_total = exact.poisson_gamma_probability(np.arange(TOTAL + 1), ALPHA.sum(), RATE)
    return max(
        _compare(
            exact.gamma_poisson(topics, ALPHA, RATE, TOTAL),
            exact.dirichlet_multinomial(topics, ALPHA, of_total),
        )
        for _, topics in evidence.tiny()
    )


@checks.claim("Corollary E.2", "The same topics maximise the likelihoods of Gamma-Poisson and LDA")
def same_optima(evidence: Evidence) -> float:
    """Return how much the ratio of the likelihoods depends on the topics."""
    ratios = np.array(
        [
            [
                exact.gamma_poisson_likelihood(x, topics, ALPHA, RATE)
                / exact.lda_likelihood(x, topics, ALPHA)
                for x in exact.cells(topics.shape[1], TOTAL)
            ]
            for _, topics in evidence.tiny()
        ]
    )
    return deviation(ratios / ratios[0], np.ones_like(ratios))


@checks.claim("Lemma E.3", "Gamma-Poisson with a common rate and LDA have the same iterates")
def gamma_poisson_and_lda_iterates(evidence: Evidence) -> float:
    """Return the deviation of topics, posteriors and sums of posteriors in every iteration."""
    at, worst = evidence.large, 0.0
    sums = at.alpha.sum() + at.sample_totals
    for ours, theirs in zip(at.run(at.gamma_poisson()), at.run(at.lda()), strict=True):
        worst = max(
            worst, deviation(ours.point, theirs.point), deviation(ours.point[0].sum(axis=1), sums)
        )
    return worst


@checks.claim("Corollary E.4", "Gamma-Poisson (common rate) and LDA have the same fixed points")
def gamma_poisson_and_lda_fixed_points(evidence: Evidence) -> float:
    """Return how far the other algorithm moves them, and the deviation of the rates from 1 + a."""
    at, fits = evidence.small, evidence.fixed_points
    (moved,) = at.run(at.gamma_poisson(), iterate_of(fits["lda"]), n_iter=1)
    return max(
        deviation(moved.rates, np.full(at.weights.shape, 1 + RATE)),
        at.departure(fits["lda"], at.gamma_poisson()),
        at.departure(fits["gamma_poisson"], at.lda()),
    )


# Appendix F: sparse NMF


def _norms(topics: Array, p: float) -> Array:
    """Return the l_p norm of each topic."""
    return np.asarray((topics**p).sum(axis=1) ** (1 / p))


def _points(evidence: Evidence) -> tuple[Point, Point]:
    """Return a random point and a fitted one, both without constraints."""
    at = evidence.small
    return random_point(at, evidence.rng()), iterate_of(evidence.fixed_points["free_nmf"])


@checks.claim("Theorem F.1", "Normalised topics are equivalent to a penalty with their norms")
def constraint_into_penalty(evidence: Evidence) -> float:
    """Compare both objectives under the map, for several norms, penalties and errors.

    A free point is normalised, and a normalised point is rescaled.
    """
    at, worst = evidence.small, 0.0
    scales = evidence.rng().gamma(2.0, size=at.n_components)
    grid = product(_points(evidence), _NORMS, _PENALTIES, _ERRORS)
    for (weights, topics), p, penalty, error in grid:
        norms = _norms(topics, p)
        scaled, unit = weights * norms, topics / norms[:, np.newaxis]
        constrained = error(at.X, scaled, unit) + penalty(scaled)
        free = ((weights, topics), (scaled, unit), (scaled / scales, unit * scales[:, np.newaxis]))
        for a, b in free:
            reformulated = error(at.X, a, b) + penalty(a * _norms(b, p))
            worst = max(worst, deviation(reformulated, constrained))
        worst = max(worst, deviation(_norms(unit, p), np.ones(len(unit))))
    return worst


@checks.claim("Theorem F.1", "A constrained Lasso solution is optimal without the constraint")
def lasso_without_constraint(evidence: Evidence) -> float:
    """Return by how much the unconstrained objective is lower near a constrained solution."""
    at, rng, worst = evidence.small, evidence.rng(), 0.0
    model = evidence.fixed_points["lasso"]
    strength = model.weights.strength
    least = lasso_kl(at.X, *iterate_of(model), strength)
    for size in (1e-4, 1e-3, 1e-2):
        for _ in range(TRIES):
            # Perturb every entry, and each factor as a whole.
            weights, topics = (
                side * np.exp(size * (rng.normal() + rng.normal(size=side.shape)))
                for side in iterate_of(model)
            )
            value = paper.divergence(at.X, weights @ topics)
            value += strength * float((weights * topics.sum(axis=1)).sum())
            worst = max(worst, excess(least, value, scale=at.total))
    return worst


@checks.claim("Theorem F.1", "Rescaled solutions of either problem solve the other", tolerance=1e-6)
def solutions_of_both(evidence: Evidence) -> float:
    """Solve both problems and return the gradient of the other one at the solution.

    This uses a small part of the data with two components, scaled and shifted to have no zeros,
    which not every reconstruction error allows.
    """
    at, rng, worst = evidence.small, evidence.rng(), 0.0
    X = at.X[:4, :5] / at.X[:4, :5].mean() + 0.5
    start = at.weights[:4, :2], at.topics[:2, :5]
    scales = rng.gamma(2.0, size=len(start[1]))
    for p, penalty, error in _COMBINATIONS:
        problem = Sparse(X, p, PENALTIES[penalty], ERRORS[error], strength=0.1)
        weights, topics = problem.solve(*start, constrained=True)
        gradient = problem.reformulated(weights / scales, topics * scales[:, np.newaxis])[1]
        free = problem.normalized(*problem.solve(*start, constrained=False))
        for found in (gradient, problem.constrained(*free)[1]):
            worst = max(worst, steepness(found) / X.sum())
    return worst


@checks.claim(
    "Theorem F.1", "Rescaled fits of SparseNMF solve the unconstrained problem", tolerance=1e-5
)
def sparse_nmf_without_constraint(evidence: Evidence) -> float:
    """Return the unconstrained gradient at rescaled fits of SparseNMF."""
    at, worst = evidence.small, 0.0
    scales = evidence.rng().gamma(2.0, size=at.n_components)
    for p, penalty in ((2.0, "l1"), (1.5, "power")):
        model = SparseNMF(at.n_components, 0.5, norm=p, penalty=penalty)
        stop = {"max_iter": 500, "tol": 0, "callbacks": lambda now: now.residual <= 1e-7}
        model.set_params(init=at.start, **stop).fit(at.X)
        problem = Sparse(at.X, p, PENALTIES[penalty], ERRORS["Kullback-Leibler"], strength=0.5)
        weights, topics = iterate_of(model)
        scaled = weights / scales, topics * scales[:, np.newaxis]
        value, gradient = problem.reformulated(*scaled)
        gap = deviation(value, model.objective_, scale=at.total)
        worst = max(worst, steepness(gradient) / at.total, gap)
    return worst


@checks.claim("Appendix F", "An l_q penalty becomes one on products of the factors' norms")
def products_of_norms(evidence: Evidence) -> float:
    """Evaluate both examples of the appendix; the Lasso's objective is the library's."""
    at, worst = evidence.small, 0.0
    for (weights, topics), p, q in product(_points(evidence), _NORMS, _NORMS):
        unit = topics / _norms(topics, p)[:, np.newaxis]
        constrained = float(((weights * _norms(topics, p)) ** q).sum())
        products = float((_norms(topics, p) ** q * (weights**q).sum(axis=0)).sum())
        worst = max(worst, deviation(products, constrained), deviation(_norms(unit, p), 1.0))
    for (weights, topics), strength in product(_points(evidence), STRENGTHS):
        sums = topics.sum(axis=1)
        constrained = lasso_kl(at.X, weights * sums, topics / sums[:, np.newaxis], strength)
        free = paper.divergence(at.X, weights @ topics)
        free += strength * float(sums @ weights.sum(axis=0))
        worst = max(worst, deviation(free, constrained))
    return worst

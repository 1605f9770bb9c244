"""The claims of the appendices on optimization (A to C), in the paper's order."""

from itertools import pairwise

import numpy as np
from scipy.special import gammaln

from isotopic.arrays import Array
from isotopic.kernels import expected_counts
from isotopic.objectives import generalized_kl, lda_bound
from isotopic.verify import transcriptions as paper
from isotopic.verify.evidence import (
    TRIES,
    Checks,
    Evidence,
    Point,
    Setting,
    deviation,
    excess,
    iterate_of,
    random_point,
)

checks = Checks()


# Appendix A: auxiliary functions


def _iterates(at: Setting) -> list[Point]:
    """Return the start and the iterates of the joint updates."""
    return [at.start, *(step.point for step in at.run(at.nmf()))]


def _kernel_responsibilities(point: Point) -> Array:
    """Return the kernel's responsibilities for a single count of each sample and feature."""
    weights, topics = point
    n_features = topics.shape[1]
    single = np.tile(np.eye(n_features), (len(weights), 1))
    shares = expected_counts(single, np.repeat(weights, n_features, axis=0), topics).weights
    return shares.reshape(len(weights), n_features, -1)


def _cell_auxiliary(point: Point, previous: Point) -> Array:
    """Return the auxiliary function G of ``-log`` of each entry of the product."""
    weights, topics = point
    phi = _kernel_responsibilities(previous)
    bound: Array = phi * np.log(weights[:, np.newaxis, :] * topics.T / phi)
    return np.asarray(-bound.sum(axis=2))


@checks.claim("Appendix A", "No iteration of any algorithm increases its objective")
def descent(evidence: Evidence) -> float:
    """Return the largest increase of an objective between iterates."""
    at = evidence.large
    models = at.free_nmf(), at.nmf(), at.plsa(), at.lda(), at.gamma_poisson(), at.lasso()
    values = [[step.objective for step in at.run(model)] for model in models]
    return max(excess(run[1:], run[:-1], scale=at.total) for run in values)


@checks.claim("Lemma A.1", "G majorises -log of an entry of WH and touches it")
def one_count(evidence: Evidence) -> float:
    """Return by how much G is below F, and how far from equal at equal arguments."""
    point, previous = (random_point(evidence.small, rng) for rng in evidence.rng().spawn(2))
    values = -np.log(point[0] @ point[1])
    return max(
        excess(values, _cell_auxiliary(point, previous), scale=1.0),
        deviation(_cell_auxiliary(point, point), values),
    )


@checks.claim("Lemma A.2", "Non-negative sums of auxiliary functions are auxiliary functions")
def sums_of_counts(evidence: Evidence) -> float:
    """Return how far the weighted sum of the entries' functions is from majorising."""
    rng = evidence.rng()
    point, previous = (random_point(evidence.small, stream) for stream in rng.spawn(2))
    factors = rng.exponential(size=evidence.small.X.shape)
    value = -expected_counts(factors, *point).log_likelihood
    bound, touching = (
        float((factors * _cell_auxiliary(point, other)).sum()) for other in (previous, point)
    )
    scale = float(factors.sum())
    return max(excess(value, bound, scale=scale), deviation(touching, value, scale=scale))


@checks.claim("Corollary A.3", "G majorises the divergence, and each update decreases G")
def whole_divergence(evidence: Evidence) -> float:
    """Check F(next) <= G(next, point) <= F(point) along a fit, and G >= F at random points."""
    at = evidence.small
    steps = at.n_iter
    points = [*_iterates(at), *(random_point(at, rng) for rng in evidence.rng().spawn(TRIES))]
    values = np.array([generalized_kl(at.X, *point) - at.saturated for point in points])
    bounds = np.array([paper.auxiliary(at.X, new, old) for old, new in pairwise(points)])
    touching = [paper.auxiliary(at.X, point, point) for point in points]
    return max(
        excess(values[1:], bounds, scale=at.total),
        excess(bounds[:steps], values[:steps], scale=at.total),
        deviation(touching, values, scale=at.total),
    )


# Appendix B: normalization constraints


@checks.claim("Appendix B", "Solutions of NMF reproduce the totals of the samples")
def totals_are_kept(evidence: Evidence) -> float:
    """Return the deviation of the row sums of the product from those of the data."""
    at, small = evidence.large, evidence.small
    points = [(at, step.point) for step in at.run(at.free_nmf())]
    points += [(small, iterate_of(evidence.fixed_points[name])) for name in ("free_nmf", "nmf")]
    return max(
        deviation(weights @ topics.sum(axis=1), at.sample_totals)
        for at, (weights, topics) in points
    )


@checks.claim("Appendix B", "The joint update minimises G under the constraints")
def joint_minimum(evidence: Evidence) -> float:
    """Return by how much G is lower at a feasible point near the next iterate."""
    at, rng, worst = evidence.small, evidence.rng(), 0.0
    points = _iterates(at)
    for point, (weights, topics) in pairwise(points):
        least = paper.auxiliary(at.X, (weights, topics), point)
        noise = [rng.normal(size=side.shape) for side in (weights, topics)]
        for size in (1e-3, -1e-3):
            nearby = (
                weights * np.exp(size * noise[0]),
                paper.normalized(topics * np.exp(size * noise[1])),
            )
            worst = max(worst, excess(least, paper.auxiliary(at.X, nearby, point), scale=at.total))
    return worst


@checks.claim("Lemma B.1", "NMF and PLSA have equal iterates, up to the totals of samples")
def nmf_and_plsa_iterates(evidence: Evidence) -> float:
    """Return the deviation of topics, weights and sums of weights."""
    at, worst = evidence.large, 0.0
    start = paper.normalized(at.weights), at.topics
    totals = at.sample_totals
    for nmf, plsa in zip(at.run(at.nmf(), start), at.run(at.plsa(), start), strict=True):
        (weights, topics), (proportions, expected) = nmf.point, plsa.point
        worst = max(
            worst,
            deviation(topics, expected),
            deviation(weights, totals[:, np.newaxis] * proportions),
            deviation(weights.sum(axis=1), totals),
        )
    return worst


@checks.claim("Corollary B.2", "NMF and PLSA have equal fixed points, up to the totals of samples")
def nmf_and_plsa_fixed_points(evidence: Evidence) -> float:
    """Return how far the other algorithm moves the mapped fixed point."""
    at, nmf, plsa = evidence.small, evidence.fixed_points["nmf"], evidence.fixed_points["plsa"]
    totals = at.sample_totals[:, np.newaxis]
    return max(
        at.departure(nmf, at.plsa(), (nmf.weights_ / totals, nmf.components_)),
        at.departure(plsa, at.nmf(), (totals * plsa.weights_, plsa.components_)),
    )


@checks.claim("Algorithm 6", "PLSA makes the joint updates of NMF with both factors normalised")
def joint_plsa(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    return at.compare(at.plsa(), paper.algorithm_6)


# Appendix C: the Dirichlet-Poisson model


@checks.claim("Appendix C", "The bounds of Dirichlet-Poisson NMF and LDA differ by a constant")
def dirichlet_poisson_bound(evidence: Evidence) -> float:
    """Return the deviation of the library's LDA bound from the other model's bound."""
    at = evidence.small
    constant = len(at.X) + float(gammaln(at.X + 1).sum())
    return max(
        deviation(
            lda_bound(at.X, topics, at.alpha, posterior) - constant,
            paper.dirichlet_poisson_bound(at.X, posterior, topics, at.alpha),
            scale=at.total,
        )
        for posterior, topics in (at.start, iterate_of(evidence.fixed_points["lda"]))
    )

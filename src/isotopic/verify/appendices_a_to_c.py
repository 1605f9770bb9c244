"""The claims of the appendices on optimization (A to C), in their order."""

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
    held,
    random_point,
)
from isotopic.verify.main_text import from_transcription

checks = Checks()


# Appendix A: auxiliary functions


def _path(at: Setting) -> list[Point]:
    """Give the start and the iterates of the joint updates."""
    return [at.start, *(step.point for step in at.run(at.nmf()))]


def _kernel_shares(point: Point) -> Array:
    """Let the kernel share out a single count of each sample and feature, one at a time."""
    weights, topics = point
    n_features = topics.shape[1]
    single = np.tile(np.eye(n_features), (len(weights), 1))
    shares = expected_counts(single, np.repeat(weights, n_features, axis=0), topics).weights
    return shares.reshape(len(weights), n_features, -1)


def _cell_auxiliary(point: Point, previous: Point) -> Array:
    """G of minus the logarithm of each entry of the product."""
    weights, topics = point
    phi = _kernel_shares(previous)
    bound: Array = phi * np.log(weights[:, np.newaxis, :] * topics.T / phi)
    return np.asarray(-bound.sum(axis=2))


@checks.claim("Appendix A", "No iteration of any algorithm makes its objective worse")
def descent(evidence: Evidence) -> float:
    """Look at the objectives of all iterates."""
    at = evidence.large
    models = at.free_nmf(), at.nmf(), at.plsa(), at.lda(), at.gamma_poisson(), at.lasso()
    values = [[step.objective for step in at.run(model)] for model in models]
    return max(excess(run[1:], run[:-1], scale=at.total) for run in values)


@checks.claim("Lemma A.1", "The kernel's shares of one count majorise -log, and touch it")
def one_count(evidence: Evidence) -> float:
    """Look whether G is nowhere below F, and equal to it where its arguments are."""
    point, previous = (random_point(evidence.small, rng) for rng in evidence.rng().spawn(2))
    values = -np.log(point[0] @ point[1])
    return max(
        excess(values, _cell_auxiliary(point, previous), scale=1.0),
        deviation(_cell_auxiliary(point, point), values),
    )


@checks.claim("Lemma A.2", "Auxiliary functions add up, with non-negative factors")
def sums_of_counts(evidence: Evidence) -> float:
    """Add up the cells' functions, and compare with the kernel's log-likelihood."""
    rng = evidence.rng()
    point, previous = (random_point(evidence.small, stream) for stream in rng.spawn(2))
    factors = rng.exponential(size=evidence.small.X.shape)
    value = -expected_counts(factors, *point).log_likelihood
    bound, touching = (
        float((factors * _cell_auxiliary(point, other)).sum()) for other in (previous, point)
    )
    scale = float(factors.sum())
    return max(excess(value, bound, scale=scale), deviation(touching, value, scale=scale))


@checks.claim("Corollary A.3", "G majorises the divergence, and falls between two iterates")
def whole_divergence(evidence: Evidence) -> float:
    """Look for F(next) <= G(next, point) <= F(point) along a fit, and G >= F at random points."""
    at = evidence.small
    steps = at.n_iter
    points = [*_path(at), *(random_point(at, rng) for rng in evidence.rng().spawn(TRIES))]
    values = np.array([generalized_kl(at.X, *point) - at.saturated for point in points])
    bounds = np.array([paper.auxiliary(at.X, new, old) for old, new in pairwise(points)])
    touching = [paper.auxiliary(at.X, point, point) for point in points]
    return max(
        excess(values[1:], bounds, scale=at.total),
        excess(bounds[:steps], values[:steps], scale=at.total),
        deviation(touching, values, scale=at.total),
    )


# Appendix B: normalization constraints


@checks.claim("Appendix B", "Solutions of NMF keep the samples' totals")
def totals_are_kept(evidence: Evidence) -> float:
    """Compare the row sums of the product and of the data, in every iteration and settled."""
    at, small = evidence.large, evidence.small
    points = [(at, step.point) for step in at.run(at.free_nmf())]
    points += [(small, held(evidence.settled[name])) for name in ("free_nmf", "nmf")]
    return max(
        deviation(weights @ topics.sum(axis=1), at.sample_totals)
        for at, (weights, topics) in points
    )


@checks.claim("Appendix B", "The joint update is the minimum of G under the constraints")
def joint_minimum(evidence: Evidence) -> float:
    """Look for a feasible point near the next iterate that has a lower G."""
    at, rng, worst = evidence.small, evidence.rng(), 0.0
    points = _path(at)
    for point, (weights, topics) in pairwise(points):
        least = paper.auxiliary(at.X, (weights, topics), point)
        noise = [rng.normal(size=side.shape) for side in (weights, topics)]
        for size in (1e-3, -1e-3):
            beside = (
                weights * np.exp(size * noise[0]),
                paper.normalized(topics * np.exp(size * noise[1])),
            )
            worst = max(worst, excess(least, paper.auxiliary(at.X, beside, point), scale=at.total))
    return worst


@checks.claim("Lemma B.1", "NMF's iterates are PLSA's times the totals, in every iteration")
def nmf_and_plsa_iterates(evidence: Evidence) -> float:
    """Compare topics, weights and the weights' sums."""
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


@checks.claim("Corollary B.2", "Fixed points of NMF and PLSA map to each other")
def nmf_and_plsa_fixed_points(evidence: Evidence) -> float:
    """Check that the other algorithm leaves the mapped point where it is."""
    at, nmf, plsa = evidence.small, evidence.settled["nmf"], evidence.settled["plsa"]
    totals = at.sample_totals[:, np.newaxis]
    return max(
        at.departure(nmf, at.plsa(), (nmf.weights_ / totals, nmf.components_)),
        at.departure(plsa, at.nmf(), (totals * plsa.weights_, plsa.components_)),
    )


@checks.claim("Algorithm 6", "PLSA does the joint updates of NMF with both sides normalised")
def joint_plsa(evidence: Evidence) -> float:
    """Compare with the transcription."""
    at = evidence.small
    return from_transcription(at, at.plsa(), paper.algorithm_6)


# Appendix C: the Dirichlet-Poisson model


@checks.claim("Appendix C", "Dirichlet-Poisson NMF and LDA: the same bound, up to a constant")
def dirichlet_poisson_bound(evidence: Evidence) -> float:
    """Compare the library's bound of LDA with the sum of the other model's terms."""
    at = evidence.small
    constant = len(at.X) + float(gammaln(at.X + 1).sum())
    return max(
        deviation(
            lda_bound(at.X, topics, at.alpha, posterior) - constant,
            paper.dirichlet_poisson_bound(at.X, posterior, topics, at.alpha),
            scale=at.total,
        )
        for posterior, topics in (at.start, held(evidence.settled["lda"]))
    )

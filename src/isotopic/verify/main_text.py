"""The claims of the paper's sections, in their order."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import xlogy

from isotopic.arrays import Array
from isotopic.convert import convert
from isotopic.estimators.base import BaseTopicModel
from isotopic.objectives import generalized_kl, lasso_kl, lda_bound, plsa_log_likelihood
from isotopic.verify import exact
from isotopic.verify import transcriptions as paper
from isotopic.verify.evidence import (
    ALPHA,
    STRENGTHS,
    TOTAL,
    Checks,
    Evidence,
    Setting,
    deviation,
    excess,
    held,
)

checks = Checks()

# The shares of a sample's largest weight up to which another one counts as zero: the smallest that
# rounding leaves alone (a multiplicative update may end at a subnormal number), and a visible one.
_ZERO, _RELATIVE_ZERO = 1e-290, 1e-3


def from_transcription(at: Setting, model: BaseTopicModel, step: paper.Step) -> float:
    """Compare the library's iterates with those of a transcription from the same start."""
    ours, theirs = at.run(model), paper.trajectory(step, at.X, at.start, at.n_iter)
    return max(deviation(a.point, b) for a, b in zip(ours, theirs, strict=True))


# Section 3: the algorithms that were there before


@checks.claim("Algorithm 1", "NMF(normalize=False) does Lee and Seung's updates, in turns")
def lee_and_seung(evidence: Evidence) -> float:
    """Compare with the transcription."""
    at = evidence.small
    return from_transcription(at, at.free_nmf(), paper.algorithm_1)


@checks.claim("Algorithm 2", "PLSA does Hofmann's EM with the tensor of responsibilities")
def hofmann(evidence: Evidence) -> float:
    """Compare with the transcription."""
    at = evidence.small
    return from_transcription(at, at.plsa(), paper.algorithm_2)


@checks.claim("Section 3", "LDA's variational bound is below the exact likelihood")
def lda_is_bounded(evidence: Evidence) -> float:
    """Compare with the likelihoods of tiny counts."""
    return max(
        excess(
            lda_bound([x], topics, ALPHA, [ALPHA + sum(x) / len(ALPHA)]),
            np.log(exact.lda_likelihood(x, topics, ALPHA)),
            scale=1.0,
        )
        for _, topics in evidence.tiny()
        for x in exact.cells(topics.shape[1], TOTAL)
    )


@checks.claim("Algorithm 3", "LDA does Blei's inference with the tensor of responsibilities")
def blei(evidence: Evidence) -> float:
    """Compare with the transcription."""
    at = evidence.small
    return from_transcription(at, at.lda(), partial(paper.algorithm_3, alpha=at.alpha))


# Section 4: normalization constraints


@checks.claim("Section 4", "With both sides normalised, the divergence is PLSA's objective")
def divergence_and_likelihood(evidence: Evidence) -> float:
    """Add the divergence and the log-likelihood: the sum is a constant of the data.

    Both are the library's on the data; on the small part, one of them is written out.
    """
    at, small = evidence.large, evidence.small
    proportions, shares = paper.normalized(at.weights), paper.normalized(small.weights)
    product = shares @ small.topics
    sums = (
        (
            at,
            generalized_kl(at.X, proportions, at.topics),
            plsa_log_likelihood(at.X, proportions, at.topics),
        ),
        (small, generalized_kl(small.X, shares, small.topics), xlogy(small.X, product).sum()),
        (
            small,
            paper.divergence(small.X, product),
            plsa_log_likelihood(small.X, shares, small.topics),
        ),
    )
    return max(
        deviation(divergence + log_likelihood, on.saturated + len(on.weights), scale=on.total)
        for on, divergence, log_likelihood in sums
    )


@checks.claim("Lemma 4.1", "Normalising free NMF's topics keeps product and divergence")
def free_and_normalized(evidence: Evidence) -> float:
    """Map a random point by hand, and a fitted one by :func:`isotopic.convert` too."""
    at, model = evidence.small, evidence.settled["free_nmf"]
    converted: Any = convert(model, at.nmf())
    unnormalized = at.weights, at.topics * evidence.rng().gamma(2.0, size=(at.n_components, 1))
    objectives = []
    for weights, topics in (unnormalized, held(model)):
        sums = topics.sum(axis=1)
        mapped = weights * sums, topics / sums[:, np.newaxis]
        before = paper.divergence(at.X, weights @ topics)
        objectives.append(deviation(generalized_kl(at.X, *mapped), before, scale=at.total))
    return max(
        *objectives,
        deviation(held(converted), mapped),
        deviation(converted.components_.sum(axis=1), np.ones(at.n_components)),
        deviation(converted.weights_ @ converted.components_, weights @ topics),
        deviation(converted.objective_, before, scale=at.total),
    )


@checks.claim("Lemma 4.2", "NMF and PLSA: the same solutions, up to the samples' totals")
def normalized_and_plsa(evidence: Evidence) -> float:
    """Map random points by hand and fitted ones by :func:`isotopic.convert`.

    Under the map the divergences differ by a constant of the data, and giving any weights the
    samples' totals never makes them worse: so minima go to minima.
    """
    at, settled = evidence.small, evidence.settled
    totals = at.sample_totals[:, np.newaxis]
    constant = len(totals) + float((xlogy(totals, totals) - totals).sum())

    def misses(weights: Array, proportions: Array, topics: Array) -> float:
        gap = generalized_kl(at.X, proportions, topics) - generalized_kl(at.X, weights, topics)
        return max(
            deviation(weights, totals * proportions), deviation(gap, constant, scale=at.total)
        )

    nmf, plsa = settled["nmf"], settled["plsa"]
    shares = paper.normalized(at.weights)
    return max(
        misses(totals * shares, shares, at.topics),
        misses(nmf.weights_, convert(nmf, at.plsa()).weights_, nmf.components_),
        misses(convert(plsa, at.nmf()).weights_, plsa.weights_, plsa.components_),
        excess(
            generalized_kl(at.X, totals * shares, at.topics),
            paper.divergence(at.X, at.weights @ at.topics),
            scale=at.total,
        ),
    )


@checks.claim("Section 4", "Fixed points of Algorithms 1 and 4 map to each other")
def fixed_points_of_nmf(evidence: Evidence) -> float:
    """Check that the other algorithm leaves the mapped point where it is."""
    at, free, nmf = evidence.small, evidence.settled["free_nmf"], evidence.settled["nmf"]
    weights, topics = held(free)
    sums = topics.sum(axis=1)
    return max(
        at.departure(free, at.nmf(), (weights * sums, topics / sums[:, np.newaxis])),
        at.departure(nmf, at.free_nmf()),
    )


@checks.claim("Section 4", "A joint iteration costs one pass over the data, else two")
def passes(evidence: Evidence) -> float:
    """Read the fits' own history."""
    at, made = evidence.large, []
    for model in (at.nmf(), at.free_nmf()):
        at.run(model)
        made.append(model.history_["passes"][-1] / at.n_iter)
    return deviation(made, np.array([1.0, 2.0]), scale=1.0)


@checks.claim("Algorithm 4", "NMF() does the joint multiplicative updates")
def joint_nmf(evidence: Evidence) -> float:
    """Compare with the transcription."""
    at = evidence.small
    return from_transcription(at, at.nmf(), paper.algorithm_4)


# Section 5: NMF and LDA


@checks.claim("Algorithm 5", "LDA does the multiplicative updates of Dirichlet-Poisson NMF")
def dirichlet_poisson(evidence: Evidence) -> float:
    """Compare with the transcription."""
    at = evidence.small
    return from_transcription(at, at.lda(), partial(paper.algorithm_5, alpha=at.alpha))


# Section 6: sparse NMF


@checks.claim("Section 6", "Lasso iterates are NMF's over 1 + strength, in every iteration")
def lasso_iterates(evidence: Evidence) -> float:
    """Compare the iterates of both models."""
    at, worst = evidence.large, 0.0
    plain = [step.point for step in at.run(at.nmf())]
    for strength in STRENGTHS:
        for step, (weights, topics) in zip(at.run(at.lasso(strength)), plain, strict=True):
            expected = weights / (1 + strength), topics
            worst = max(worst, deviation(step.point, expected))
    return worst


@checks.claim("Section 6", "A Lasso makes no zeros, exact or relative", tolerance=0.0)
def lasso_sparsity(evidence: Evidence) -> float:
    """Count the zeros after the same number of iterations, and of fits that stand still."""
    pairs = [(evidence.settled["nmf"], evidence.settled["lasso"])]
    at = evidence.large
    for strength in STRENGTHS:
        models = at.nmf(), at.lasso(strength)
        for model in models:
            at.run(model)
        pairs.append(models)
    return max(deviation(_zeros(a.weights_), _zeros(b.weights_)) for a, b in pairs)


def _zeros(weights: Array) -> Array:
    """Count the entries that are zero, and those that are next to nothing in their sample."""
    largest = weights.max(axis=1, keepdims=True)
    return np.array([(weights <= share * largest).sum() for share in (_ZERO, _RELATIVE_ZERO)])


@checks.claim("Lemma 6.1", "NMF with and without a Lasso: the same solutions, up to scale")
def lasso_solutions(evidence: Evidence) -> float:
    """Map points by hand and fitted ones by :func:`isotopic.convert`.

    Under the map the objectives differ by a constant of the data.
    """
    at, worst = evidence.small, 0.0
    model = evidence.settled["nmf"]
    for strength in STRENGTHS:
        constant = np.log1p(strength) * at.total
        converted: Any = convert(model, at.lasso(strength))
        back: Any = convert(converted, at.nmf())
        expected = paper.divergence(at.X, model.weights_ @ model.components_) + constant
        worst = max(
            worst,
            deviation(held(converted), (model.weights_ / (1 + strength), model.components_)),
            deviation(held(back), held(model)),
            deviation(converted.objective_, expected, scale=at.total),
        )
        for weights, topics in (at.start, held(model)):
            penalised = lasso_kl(at.X, weights / (1 + strength), topics, strength)
            expected = paper.divergence(at.X, weights @ topics) + constant
            worst = max(worst, deviation(penalised, expected, scale=at.total))
    return worst

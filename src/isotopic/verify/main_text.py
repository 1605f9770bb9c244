"""The claims of the paper's sections, in the order of the paper."""

from typing import Any

import numpy as np
from scipy.special import xlogy

from isotopic.arrays import Array
from isotopic.convert import convert
from isotopic.objectives import generalized_kl, lasso_kl, lda_bound, plsa_log_likelihood
from isotopic.verify import exact
from isotopic.verify import transcriptions as paper
from isotopic.verify.evidence import (
    ALPHA,
    STRENGTHS,
    TOTAL,
    Checks,
    Evidence,
    deviation,
    excess,
    iterate_of,
)

checks = Checks()

# A weight counts as zero if it is below this fraction of the largest weight of its sample: zero up
# to rounding (multiplicative updates may end at subnormal numbers), and practically zero.
_ZERO, _RELATIVE_ZERO = 1e-290, 1e-3


# Section 3: background


@checks.claim("Algorithm 1", "NMF(normalize=False) makes Lee and Seung's alternating updates")
def lee_and_seung(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    return at.compare(at.free_nmf(), paper.algorithm_1)


@checks.claim("Algorithm 2", "PLSA makes the iterates of Hofmann's EM algorithm")
def hofmann(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    return at.compare(at.plsa(), paper.algorithm_2)


@checks.claim("Section 3", "The variational bound of LDA is below its exact log-likelihood")
def lda_is_bounded(evidence: Evidence) -> float:
    """Return by how much the bound exceeds the exact log-likelihood of tiny counts."""
    return max(
        excess(
            lda_bound([x], topics, ALPHA, [ALPHA + sum(x) / len(ALPHA)]),
            np.log(exact.lda_likelihood(x, topics, ALPHA)),
            scale=1.0,
        )
        for _, topics in evidence.tiny()
        for x in exact.cells(topics.shape[1], TOTAL)
    )


@checks.claim("Algorithm 3", "LDA makes the iterates of Blei et al.'s variational inference")
def blei(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    return at.compare(at.lda(), paper.algorithm_3, alpha=at.alpha)


# Section 4: normalization constraints


@checks.claim("Section 4", "KL divergence plus PLSA log-likelihood is a constant of the data")
def divergence_and_likelihood(evidence: Evidence) -> float:
    """Return how far the sum of divergence and log-likelihood is from a constant of the data.

    On the whole data both are the library's; on the small part, one of them is transcribed.
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


@checks.claim("Lemma 4.1", "Normalising NMF's topics keeps the product WH and the divergence")
def free_and_normalized(evidence: Evidence) -> float:
    """Return the deviations under the map, for a random point and for :func:`isotopic.convert`."""
    at, model = evidence.small, evidence.fixed_points["free_nmf"]
    converted: Any = convert(model, at.nmf())
    unnormalized = at.weights, at.topics * evidence.rng().gamma(2.0, size=(at.n_components, 1))
    objectives = []
    for weights, topics in (unnormalized, iterate_of(model)):
        sums = topics.sum(axis=1)
        mapped = weights * sums, topics / sums[:, np.newaxis]
        before = paper.divergence(at.X, weights @ topics)
        objectives.append(deviation(generalized_kl(at.X, *mapped), before, scale=at.total))
    return max(
        *objectives,
        deviation(iterate_of(converted), mapped),
        deviation(converted.components_.sum(axis=1), np.ones(at.n_components)),
        deviation(converted.weights_ @ converted.components_, weights @ topics),
        deviation(converted.objective_, before, scale=at.total),
    )


@checks.claim("Lemma 4.2", "NMF and PLSA have equal solutions, up to the totals of samples")
def normalized_and_plsa(evidence: Evidence) -> float:
    """Return the deviations under the map, for random points and for :func:`isotopic.convert`.

    The map changes the divergence by a constant of the data, and scaling any weights to the totals
    of the samples never increases it. So minima are mapped to minima.
    """
    at, fits = evidence.small, evidence.fixed_points
    totals = at.sample_totals[:, np.newaxis]
    constant = len(totals) + float((xlogy(totals, totals) - totals).sum())

    def misses(weights: Array, proportions: Array, topics: Array) -> float:
        gap = generalized_kl(at.X, proportions, topics) - generalized_kl(at.X, weights, topics)
        return max(
            deviation(weights, totals * proportions), deviation(gap, constant, scale=at.total)
        )

    nmf, plsa = fits["nmf"], fits["plsa"]
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


@checks.claim("Section 4", "Fixed points of Algorithm 1 are those of Algorithm 4, normalised")
def fixed_points_of_nmf(evidence: Evidence) -> float:
    """Return how far the other algorithm moves the mapped fixed point."""
    at, free, nmf = evidence.small, evidence.fixed_points["free_nmf"], evidence.fixed_points["nmf"]
    weights, topics = iterate_of(free)
    sums = topics.sum(axis=1)
    return max(
        at.departure(free, at.nmf(), (weights * sums, topics / sums[:, np.newaxis])),
        at.departure(nmf, at.free_nmf()),
    )


@checks.claim("Section 4", "A joint iteration needs one pass over the data, alternating two")
def passes(evidence: Evidence) -> float:
    """Return the deviation of the passes in the histories of both fits."""
    at, made = evidence.large, []
    for model in (at.nmf(), at.free_nmf()):
        at.run(model)
        made.append(model.history_["passes"][-1] / at.n_iter)
    return deviation(made, np.array([1.0, 2.0]), scale=1.0)


@checks.claim("Algorithm 4", "NMF() makes the joint multiplicative updates")
def joint_nmf(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    return at.compare(at.nmf(), paper.algorithm_4)


# Section 5: NMF and LDA


@checks.claim("Algorithm 5", "LDA makes the multiplicative updates of Dirichlet-Poisson NMF")
def dirichlet_poisson(evidence: Evidence) -> float:
    """Return the deviation from the transcription."""
    at = evidence.small
    return at.compare(at.lda(), paper.algorithm_5, alpha=at.alpha)


# Section 6: sparse NMF


@checks.claim("Section 6", "A Lasso divides the weights of every iterate by 1 + lambda")
def lasso_iterates(evidence: Evidence) -> float:
    """Return the deviation of the iterates of both models."""
    at, worst = evidence.large, 0.0
    plain = [step.point for step in at.run(at.nmf())]
    for strength in STRENGTHS:
        for step, (weights, topics) in zip(at.run(at.lasso(strength)), plain, strict=True):
            expected = weights / (1 + strength), topics
            worst = max(worst, deviation(step.point, expected))
    return worst


@checks.claim(
    "Section 6", "With normalised topics, a Lasso adds no zeros to the weights", tolerance=0.0
)
def lasso_sparsity(evidence: Evidence) -> float:
    """Return the difference in zeros, after equally many iterations and at fixed points."""
    pairs = [(evidence.fixed_points["nmf"], evidence.fixed_points["lasso"])]
    at = evidence.large
    for strength in STRENGTHS:
        models = at.nmf(), at.lasso(strength)
        for model in models:
            at.run(model)
        pairs.append(models)
    return max(deviation(_count_zeros(a.weights_), _count_zeros(b.weights_)) for a, b in pairs)


def _count_zeros(weights: Array) -> Array:
    """Return the number of weights that are zero, and of those that are practically zero."""
    largest = weights.max(axis=1, keepdims=True)
    return np.array([(weights <= share * largest).sum() for share in (_ZERO, _RELATIVE_ZERO)])


@checks.claim("Lemma 6.1", "Solutions of NMF with and without a Lasso are equal up to scale")
def lasso_solutions(evidence: Evidence) -> float:
    """Return the deviations under the map, for points and for :func:`isotopic.convert`.

    The map changes the objective by a constant of the data.
    """
    at, worst = evidence.small, 0.0
    model = evidence.fixed_points["nmf"]
    for strength in STRENGTHS:
        constant = np.log1p(strength) * at.total
        converted: Any = convert(model, at.lasso(strength))
        back: Any = convert(converted, at.nmf())
        expected = paper.divergence(at.X, model.weights_ @ model.components_) + constant
        worst = max(
            worst,
            deviation(iterate_of(converted), (model.weights_ / (1 + strength), model.components_)),
            deviation(iterate_of(back), iterate_of(model)),
            deviation(converted.objective_, expected, scale=at.total),
        )
        for weights, topics in (at.start, iterate_of(model)):
            penalised = lasso_kl(at.X, weights / (1 + strength), topics, strength)
            expected = paper.divergence(at.X, weights @ topics) + constant
            worst = max(worst, deviation(penalised, expected, scale=at.total))
    return worst

"""Gibbs sampling: what a sweep keeps, what it draws, and the start that it gives a fit."""

import sys
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln
from sklearn.exceptions import ConvergenceWarning

from isotopic import LDA, NMF, CountsWarning
from isotopic._core import in_numpy, native
from isotopic.counts import CountMatrix
from isotopic.evaluate import completion_perplexity
from isotopic.fitted.sampled import sampled_likelihood
from isotopic.init import STRATEGIES, strategy_start
from isotopic.init.gibbs import tokens_of as tokens_of_matrix
from isotopic.init.start import random_start
from isotopic.priors import CollapsedDirichlet
from isotopic.problem import Problem
from isotopic.sampling import Tokens, drawn_topics, sample_sweeps
from isotopic.solvers import choose_solver, solve
from isotopic.threads import use_threads

SAMPLERS = {"core": native, "NumPy": in_numpy}

# With more topics than vectors hold, the core visits the tokens feature by feature.
FEW, MANY = 5, 300


def tokens_of(counts, sizes=None):
    X = sparse.csr_array(counts)
    return Tokens(
        X.indptr.astype(np.int64),
        X.indices.astype(np.int32),
        X.data.astype(np.int32),
        np.ones(X.nnz, np.float32) if sizes is None else sizes,
        np.ones(X.shape[0], np.float32),
        X.shape[1],
    )


def planted(rng, n_samples=200, n_features=60, n_topics=4, length=40):
    """Return counts of topics that share no features, and the topics."""
    topics = np.kron(np.eye(n_topics), np.full(n_features // n_topics, n_topics / n_features))
    chances = rng.dirichlet(np.full(n_topics, 0.2), n_samples) @ topics
    return np.array([rng.multinomial(length, row) for row in chances]), topics


def test_each_unit_is_a_token_unless_most_entries_have_many():
    texts, mutations = np.ones((50, 4), int), np.array([[300, 20, 1], [90, 500, 0]])
    texts[3] = 0, 100, 2, 7
    for counts, most in ((texts, 100), (mutations, 8)):
        entries = counts[counts > 0]
        tokens = tokens_of_matrix(CountMatrix(sparse.csr_array(counts.astype(float))))
        np.testing.assert_array_equal(tokens.repeats, np.minimum(entries, most))
        np.testing.assert_allclose(tokens.repeats * tokens.sizes, entries, rtol=1e-6)


@pytest.mark.parametrize("n_topics", [FEW, MANY])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_sweeps_keep_every_token_and_count_it_once(rng, monkeypatch, sampler, n_topics):
    monkeypatch.setattr("isotopic.sampling.native", SAMPLERS[sampler])
    counts = rng.poisson(0.7, (30, 12))
    tokens, alpha = tokens_of(counts), np.full(n_topics, 0.2)
    assignments = rng.integers(n_topics, size=counts.sum(), dtype=np.int32)
    found = sample_sweeps(tokens, assignments, alpha, 0.1, sweeps=4, averaged=3, seed=1)
    np.testing.assert_allclose(found.weights.sum(axis=1), counts.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.topics.sum(axis=0), counts.sum(axis=0), rtol=1e-5)
    assert assignments.min() >= 0
    assert assignments.max() < n_topics
    # Without a mean, the counts are those of the assignments.
    last = sample_sweeps(tokens, assignments, alpha, 0.1, sweeps=2, averaged=0, seed=2)
    rows = np.repeat(np.arange(30), counts.sum(axis=1))
    table = np.zeros((30, n_topics))
    np.add.at(table, (rows, assignments), 1)
    np.testing.assert_array_equal(last.weights, table)


@pytest.mark.parametrize("n_topics", [FEW, MANY])
def test_means_of_very_frequent_features_are_not_rounded_away(n_topics):
    tokens = tokens_of(np.array([[150_000, 0], [0, 1]]))
    assignments = np.zeros(150_001, np.int32)
    settings = {"sweeps": 40, "averaged": 40, "seed": 0}
    found = sample_sweeps(tokens, assignments, np.full(n_topics, 1e-6), 0.1, **settings)
    np.testing.assert_allclose(found.topics.sum(axis=0), (150_000, 1), rtol=1e-3)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_expected_counts_have_less_noise_than_drawn_ones(rng, monkeypatch, sampler):
    """Their mean over many sweeps is the same; that of one sweep varies less."""
    monkeypatch.setattr("isotopic.sampling.native", SAMPLERS[sampler])
    counts = np.full((40, 6), 1)
    tokens, alpha = tokens_of(counts), np.array([0.5, 1.5])
    found = {averaged: [] for averaged in (0, 1)}
    for averaged, weights in found.items():
        z = rng.integers(2, size=counts.sum(), dtype=np.int32)
        for seed in range(60):
            sampled = sample_sweeps(tokens, z, alpha, 50.0, sweeps=3, averaged=averaged, seed=seed)
            weights.append(sampled.weights[:, 0].mean())
    assert abs(np.mean(found[0]) - np.mean(found[1])) < 0.3
    assert np.std(found[1]) < 0.8 * np.std(found[0])


@pytest.mark.parametrize(("sampler", "n_topics"), [("core", 2), ("core", MANY), ("NumPy", 2)])
def test_sweeps_draw_from_the_posterior(monkeypatch, sampler, n_topics):
    """All assignments of a few tokens are enumerated, with their collapsed likelihood.

    More topics than two have a concentration that no token ever draws.
    """
    monkeypatch.setattr("isotopic.sampling.native", SAMPLERS[sampler])
    counts = np.array([[3, 0, 1], [0, 2, 1], [1, 1, 0]])
    alpha, eta = np.array([0.6, 1.5]), 0.8
    rows, columns = (np.repeat(part, counts[counts > 0]) for part in np.nonzero(counts))

    def together(rows, columns, z):
        weights, topics = np.zeros((3, 2)), np.zeros((2, 3))
        np.add.at(weights, (rows, z), 1)
        np.add.at(topics, (z, columns), 1)
        log = gammaln(alpha + weights).sum() + gammaln(eta + topics).sum()
        return log - gammaln(3 * eta + topics.sum(axis=1)).sum(), weights

    logs, weights = zip(
        *(together(rows, columns, list(z)) for z in product(range(2), repeat=len(rows))),
        strict=True,
    )
    shares = np.exp(np.array(logs) - max(logs))
    expected = np.tensordot(shares / shares.sum(), np.array(weights), 1)
    z, n = np.zeros(len(rows), np.int32), 30_000 if sampler == "core" else 3_000
    alpha = np.append(alpha, np.full(n_topics - 2, 1e-20))
    found = sample_sweeps(tokens_of(counts), z, alpha, eta, sweeps=n, averaged=n, seed=0).weights
    # Under counts that are a little older than the token, they are drawn about right.
    tolerance = 0.02 if n_topics == MANY else 0.12
    np.testing.assert_allclose(found[:, :2], expected, atol=tolerance)
    assert not found[:, 2:].any()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_sampling_finds_planted_topics(rng, monkeypatch, sampler):
    monkeypatch.setattr("isotopic.sampling.native", SAMPLERS[sampler])
    counts, topics = planted(rng)
    _, found = STRATEGIES["gibbs"](CountMatrix(sparse.csr_array(counts.astype(float))), 4, rng)
    cosines = (found @ topics.T) / np.outer(*(np.linalg.norm(t, axis=1) for t in (found, topics)))
    assert sorted(cosines.argmax(axis=1)) == [0, 1, 2, 3]
    assert cosines.max(axis=1).min() > 0.9


@pytest.mark.parametrize("n_topics", [FEW, MANY])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_topics_are_drawn_from_responsibilities(rng, monkeypatch, sampler, n_topics):
    monkeypatch.setattr("isotopic.sampling.native", SAMPLERS[sampler])
    tokens = tokens_of(np.array([[0, 40_000], [0, 0], [30_000, 0]]))
    weights, topics = rng.gamma(0.3, size=(3, n_topics)), rng.gamma(0.3, size=(n_topics, 2))
    drawn = drawn_topics(tokens, weights, topics, seed=4)
    for first, last, d, v in ((0, 40_000, 0, 1), (40_000, 70_000, 2, 0)):
        shares = np.bincount(drawn[first:last], minlength=n_topics) / (last - first)
        chances = weights[d] * topics[:, v]
        np.testing.assert_allclose(shares, chances / chances.sum(), atol=0.015)
    again = drawn_topics(tokens, weights, topics, seed=4)
    with use_threads(3):
        np.testing.assert_array_equal(drawn_topics(tokens, weights, topics, seed=4), again)


@pytest.mark.parametrize("n_topics", [20, MANY])
def test_samples_have_the_same_bits_for_any_number_of_threads(rng, n_topics):
    counts = rng.integers(4, 9, (400, 250))  # 650,000 tokens: several parts
    tokens, start = tokens_of(counts), rng.integers(n_topics, size=counts.sum(), dtype=np.int32)
    alpha, found = np.full(n_topics, 0.1), []
    for threads in (1, 2, 5):
        z = start.copy()
        with use_threads(threads):
            sampled = sample_sweeps(tokens, z, alpha, 0.05, sweeps=2, averaged=1, seed=3)
        found.append((z, *sampled))
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


@pytest.mark.parametrize("n_topics", [FEW, MANY])
def test_tokens_count_as_much_as_their_size_and_the_copies_of_their_sample(rng, n_topics):
    counts, sizes = rng.poisson(0.7, (30, 12)), rng.uniform(0.01, 5, (30, 12)).astype(np.float32)
    copies = rng.uniform(0.5, 2, 30).astype(np.float32)
    tokens = tokens_of(counts, sizes[counts > 0])._replace(copies=copies)
    z = rng.integers(n_topics, size=counts.sum(), dtype=np.int32)
    alpha = np.full(n_topics, 0.2)
    found = sample_sweeps(tokens, z, alpha, 0.1, sweeps=20, averaged=5, seed=1)
    units = counts * sizes
    np.testing.assert_allclose(found.weights.sum(axis=1), units.sum(axis=1), rtol=1e-5)
    of_features = (units * copies[:, np.newaxis]).sum(axis=0)
    np.testing.assert_allclose(found.topics.sum(axis=0), of_features, rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_the_start_does_not_depend_on_the_unit_of_the_counts(rng, scale):
    counts, _ = planted(rng, 40)
    by_scale = [
        STRATEGIES["gibbs"](CountMatrix(factor * counts), 3, np.random.default_rng(0))
        for factor in (1.0, scale)
    ]
    for one, other in zip(*by_scale, strict=True):
        np.testing.assert_allclose(scale * one, other, rtol=1e-5)


def test_large_counts_and_sample_weights_are_shared_out_whole(rng):
    counts = rng.gamma(0.3, 1000, (20, 15))
    X = CountMatrix(counts).repeated(rng.uniform(0.5, 3, 20))
    weights, topics = STRATEGIES["gibbs"](X, 6, rng)
    np.testing.assert_allclose(weights.sum(axis=1), X.sample_totals, rtol=1e-6)
    np.testing.assert_allclose(topics.sum(axis=0), X.feature_totals, rtol=1e-6)


def test_smoothing_of_many_topics_is_no_stronger_than_their_counts(rng, monkeypatch):
    used = []

    def sample(*args, **kwargs):
        used.append(args[2:4])
        return sample_sweeps(*args, **kwargs)

    monkeypatch.setattr(sys.modules["isotopic.init.gibbs"], "sample_sweeps", sample)
    counts, _ = planted(rng, 80)
    STRATEGIES["gibbs"](CountMatrix(counts.astype(float)), 400, rng)
    alpha, eta = used[0]
    assert alpha.sum() <= 20
    assert eta * counts.shape[1] <= counts.sum() / 400


def test_many_topics_start_from_sampled_counts(rng):
    counts, _ = planted(rng, 80)
    auto, gibbs = (
        LDA(70, init=init, max_iter=2, tol=0, random_state=0).fit(counts)
        for init in ("auto", "gibbs")
    )
    np.testing.assert_array_equal(auto.components_, gibbs.components_)


def test_a_point_model_can_start_from_sampled_counts(rng):
    counts, _ = planted(rng, 60)
    model = NMF(4, init="gibbs", max_iter=20, tol=0, random_state=0).fit(counts)
    assert np.isfinite(model.objective_)


def test_samples_without_counts_can_be_sampled(rng):
    counts, _ = planted(rng, 30)
    counts[3], counts[:, 7] = 0, 0
    model = LDA(3, init="gibbs", max_iter=3, tol=0, random_state=0).fit(counts)
    assert np.isfinite(model.weights_).all()


def many_topics(rng, n_samples, n_features=200, n_topics=40, length=25):
    """Return short samples of overlapping topics: far fewer counts than numbers to learn."""
    topics = rng.dirichlet(np.full(n_features, 0.05), n_topics)
    chances = rng.dirichlet(np.full(n_topics, 0.05), n_samples) @ topics
    return np.array([rng.multinomial(length, row) for row in chances])


def test_the_mean_of_samples_predicts_better_than_the_optimum(rng):
    counts = many_topics(rng, 400, 1000)
    sampled, optimum = (
        LDA(40, random_state=0, tol=tol, max_iter=100).fit(counts[:300]) for tol in (1e-3, 0.0)
    )
    perplexities = (completion_perplexity(model, counts[300:]) for model in (sampled, optimum))
    assert next(perplexities) < 0.97 * next(perplexities)


def test_a_fit_of_exact_length_or_of_given_priors_does_not_end_with_samples(rng, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("sampled")

    counts = many_topics(rng, 60)
    monkeypatch.setattr("isotopic.estimators.multistart.with_samples", refuse)
    for n_components in (3, 30):
        with pytest.raises(AssertionError, match="sampled"):
            LDA(n_components).fit(counts)
    LDA(30, tol=0, max_iter=70).fit(counts)
    with pytest.warns(ConvergenceWarning):
        LDA(30, tol=1e-9, max_iter=60).fit(counts)
    LDA(30, alpha=0.1).fit(counts)
    with pytest.warns(CountsWarning):
        LDA(30).fit(counts / 3)


def test_few_counts_are_calibrated_on_samples_that_the_topics_do_not_know(rng, monkeypatch):
    """Topics overfit few counts, and an alpha learned from them is too small."""
    few = many_topics(rng, 300, n_features=2000, length=8)
    plain = LDA(40, random_state=0).fit(few)

    def factor(X, held_out, prior, topics, rng):
        known = few[np.setdiff1d(np.arange(300), held_out)].sum(axis=0) > 0
        assert len(held_out) == 30
        smallest = topics.min(axis=1, keepdims=True)
        np.testing.assert_allclose(topics[:, ~known] / smallest, 1, rtol=1e-3)
        return 2.0

    monkeypatch.setattr("isotopic.fitted.sampled.best_factor", factor)
    calibrated = LDA(40, random_state=0).fit(few)
    np.testing.assert_array_equal(calibrated.components_, plain.components_)
    np.testing.assert_allclose(calibrated.alpha_, 2 * plain.alpha_, rtol=1e-6)
    enough = many_topics(rng, 300, n_features=100, length=200)
    monkeypatch.setattr("isotopic.fitted.sampled.best_factor", None)
    assert np.isfinite(LDA(40, random_state=0).fit(enough).alpha_).all()


def test_short_samples_of_few_topics_are_not_taken_for_pure(rng):
    """Samples of 24 counts that mix two topics each: sampling alone took each for one topic."""
    subjects = np.kron(np.eye(3), np.full(6, 1 / 6))
    counts = []
    for i in range(72):
        most = rng.integers(12, 23)
        counts.append(rng.multinomial(most, subjects[i % 3]))
        counts[-1] += rng.multinomial(24 - most, subjects[(i + 1) % 3])
    for seed in range(3):
        model = LDA(3, random_state=seed).fit(np.array(counts))
        assert model.components_.reshape(3, 3, 6).sum(axis=2).max(axis=1).min() > 0.95
        assert model.alpha_.sum() > 0.3


def test_starts_are_compared_by_how_likely_their_samples_are(rng, monkeypatch):
    """Objectives under different learned priors say nothing about which start is better."""
    counts, _ = planted(rng)
    likelihoods = iter([-3.0, -1.0, -1.0, -2.0])  # of each, and of the best before it
    monkeypatch.setattr(
        "isotopic.estimators.multistart.sampled_likelihood", lambda *_: next(likelihoods)
    )
    LDA(4, n_init=3, random_state=0).fit(counts)
    assert next(likelihoods, None) is None


@pytest.mark.parametrize("length", [25, 60])
def test_samples_of_a_good_solution_are_more_likely(rng, length):
    counts, _ = planted(rng, length=length)
    problem = Problem(
        CollapsedDirichlet(0.2, learn="asymmetric"),
        CollapsedDirichlet(0.1, learn="symmetric"),
        CountMatrix(sparse.csr_array(counts.astype(float))),
        4,
    )
    solver, start = choose_solver("auto", problem), strategy_start(problem, "auto", rng)
    good, poor = (
        sampled_likelihood(problem, solve(problem, solver, begin, max_iter=1), 0)
        for begin in (start, random_start(problem, rng))
    )
    assert good > poor


def test_sampled_means_share_out_all_counts_and_have_the_same_bits_for_any_threads(rng):
    counts = many_topics(rng, 150)
    one, two = (LDA(30, random_state=4, n_jobs=n_jobs).fit(counts) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert one.converged_
    np.testing.assert_allclose(one.weights_.sum(axis=1), 1, rtol=1e-12)
    shares = counts.sum(axis=1) / counts.sum() @ one.weights_
    np.testing.assert_allclose(
        shares @ one.components_, counts.sum(axis=0) / counts.sum(), atol=2e-3
    )


def test_sampled_means_count_a_sample_as_often_as_its_weight_says(rng):
    counts, weights = many_topics(rng, 150), rng.choice([0.5, 1.0, 3.0], 150)
    model = LDA(30, random_state=4).fit(counts, sample_weight=weights)
    weighted = weights[:, np.newaxis] * counts
    shares = weighted.sum(axis=1) / weighted.sum() @ model.weights_
    expected = weighted.sum(axis=0) / weighted.sum()
    np.testing.assert_allclose(shares @ model.components_, expected, atol=2e-3)


def test_an_interrupt_while_sampling_leaves_the_optimum(rng, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("isotopic.fitted.sampled.sampled_counts", interrupt)
    counts, model = many_topics(rng, 60), LDA(30, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(counts)
    assert not model.converged_
    assert np.isfinite(model.perplexity(counts))


def test_the_learned_concentration_is_that_of_overlapping_topics(rng):
    """Expected counts of an optimum make it up to three times too large."""
    alpha = np.geomspace(0.03, 0.5, 12)
    topics = rng.dirichlet(np.full(200, 0.1), len(alpha))
    chances = rng.dirichlet(alpha, 1000) @ topics
    counts = np.array([rng.multinomial(150, row) for row in chances])
    model = LDA(len(alpha), random_state=0).fit(counts)
    shares = [rows / np.linalg.norm(rows, axis=1)[:, None] for rows in (topics, model.components_)]
    order = linear_sum_assignment(shares[0] @ shares[1].T, maximize=True)[1]
    assert np.abs(np.log(model.alpha_[order] / alpha)).mean() < 0.3

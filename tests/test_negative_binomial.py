"""Overdispersed counts: the negative binomial likelihood, and how it is chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import nbinom, poisson

from isotopic import (
    LDA,
    NMF,
    BetaNMF,
    NegativeBinomial,
    NegativeBinomialNMF,
    TopicModel,
    bootstrap,
    consensus,
    convert,
    evaluate,
    match,
)
from isotopic.fitted.generation import draw_counts


def catalogues(seed, dispersion, *, shape=(200, 40), n_components=3, depth=2000):
    """Draw counts with a known dispersion and known topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(shape[1], 0.2), n_components)
    weights = rng.gamma(1.0, 1.0, (shape[0], n_components))
    weights *= rng.random(weights.shape) < 0.6
    weights[weights.sum(axis=1) == 0] = 1
    mean = (weights * depth / weights.sum(axis=1).mean()) @ topics
    if dispersion:
        mean = mean * rng.gamma(1 / dispersion, dispersion, mean.shape)
    return rng.poisson(mean).astype(float), topics


# The likelihood


@given(
    st.floats(1e-9, 1e3),
    st.lists(st.integers(0, 10**4), min_size=1, max_size=20),
    st.floats(1e-3, 1e4),
)
@settings(deadline=None, max_examples=80)
def test_the_divergence_is_minus_the_log_likelihood(dispersion, counts, mean):
    x = np.array(counts, float)[np.newaxis]
    product = np.full_like(x, mean)
    divergence = NegativeBinomial(dispersion)
    if dispersion > 1e-4:  # below it, that of SciPy loses digits
        expected = nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean))
        found = divergence.log_likelihoods(x, product)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-6)
    values = divergence.values(x, product)
    assert (values >= -1e-9 * (1 + x + mean)).all()
    step = 1e-6 * mean
    ends = [divergence.values(x, product + s) for s in (-step, step)]
    numerator, denominator = divergence.gradient(x, product)
    slope = (ends[1] - ends[0]) / (2 * step)
    np.testing.assert_allclose(
        denominator - numerator, slope, rtol=1e-3, atol=1e-3 * (1 + x.max() / mean)
    )


@pytest.mark.parametrize("dispersion", [0.0, 1e-12])
def test_its_limit_is_the_kullback_leibler_divergence(dispersion):
    rng = np.random.default_rng(0)
    x, product = rng.poisson(5.0, (6, 7)).astype(float), rng.gamma(5.0, 1.0, (6, 7))
    expected = poisson.logpmf(x, product)
    found = NegativeBinomial(dispersion).log_likelihoods(x, product)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("dispersion", [1e-5, 0.0049, 0.0051, 0.3, 20.0])
def test_derivatives_for_the_dispersion_are_right(dispersion):
    rng = np.random.default_rng(0)
    x, product = rng.poisson(30.0, (6, 7)).astype(float), rng.gamma(5.0, 6.0, (6, 7))
    x[0, :3] = 0

    def sums(step):
        return NegativeBinomial(dispersion * np.exp(step))._statistics(x, product).sum(axis=(1, 2))

    low, here, high = sums(-1e-3), sums(0.0), sums(1e-3)
    for order in (0, 1):
        slope = (high[order] - low[order]) / 2e-3
        assert here[order + 1] == pytest.approx(slope, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("given", [-0.1, np.inf, np.nan])
def test_a_dispersion_that_is_none_is_refused(given):
    with pytest.raises(ValueError, match="dispersion must be at least 0"):
        NegativeBinomial(given)
    with pytest.raises(ValueError, match="dispersion"):
        NegativeBinomialNMF(2, dispersion=given).fit(np.ones((4, 3)))


# Learning the dispersion


@pytest.mark.parametrize("dispersion", [0.05, 0.5, 2.0])
def test_the_dispersion_is_learned(dispersion):
    X, _ = catalogues(0, dispersion)
    learned = NegativeBinomialNMF(3, random_state=0).fit(X)
    # Weights and topics follow the noise in part: a tenth of it with 3 of 40 features.
    assert 0.8 * dispersion < learned.dispersion_ < 1.1 * dispersion
    assert learned.converged_


def test_poisson_counts_have_no_dispersion():
    X, _ = catalogues(1, 0.0)
    model = NegativeBinomialNMF(3, random_state=0).fit(X)
    assert model.dispersion_ == 0
    assert model.objective_ == pytest.approx(NMF(3, random_state=0).fit(X).objective_, rel=1e-3)


@pytest.mark.parametrize("solver", ["joint", "alternating", "accelerated"])
@pytest.mark.parametrize("dispersion", [0.0, 0.5])
def test_the_objective_never_rises_while_the_dispersion_is_learned(solver, dispersion):
    X, _ = catalogues(2, dispersion, shape=(40, 20))
    model = NegativeBinomialNMF(3, solver=solver, max_iter=80, tol=0, random_state=0).fit(X)
    objective = model.history_["objective"]
    assert (np.diff(objective) <= 1e-10 * abs(objective[-1])).all()
    product = model.weights_ @ model.components_
    values = NegativeBinomial(model.dispersion_).values(X, product)
    assert model.objective_ == pytest.approx(values.sum(), rel=1e-9)


def test_the_learned_dispersion_is_the_most_likely_one():
    X, _ = catalogues(3, 0.3, shape=(60, 30))
    model = NegativeBinomialNMF(3, tol=1e-6, max_iter=5000, random_state=0).fit(X)
    product = model.weights_ @ model.components_
    for factor in (0.97, 1.03):
        other = NegativeBinomial(factor * model.dispersion_).values(X, product).sum()
        assert other > model.objective_


def test_missing_entries_and_sample_weights_count_for_the_dispersion():
    X, _ = catalogues(4, 0.4, shape=(60, 30))
    settings = {"max_iter": 60, "tol": 0, "init": "random", "random_state": 0}
    mask = np.random.default_rng(0).random(X.shape) < 0.1
    one = NegativeBinomialNMF(3, **settings).fit(X, missing_mask=mask)
    two = NegativeBinomialNMF(3, **settings).fit(np.where(mask, 1e4, X), missing_mask=mask)
    assert one.dispersion_ == pytest.approx(two.dispersion_, rel=1e-9)
    times = np.arange(60) % 3 + 1
    start = np.random.default_rng(1).gamma(1.0, 1.0, (60, 3)), np.ones((3, 30)) + np.eye(3, 30)
    weighted = NegativeBinomialNMF(3, **settings | {"init": start}).fit(X, sample_weight=times)
    repeated = NegativeBinomialNMF(
        3, **settings | {"init": (np.repeat(start[0], times, axis=0), start[1])}
    ).fit(np.repeat(X, times, axis=0))
    assert weighted.dispersion_ == pytest.approx(repeated.dispersion_, rel=1e-9)


def test_sparse_and_dense_data_have_the_same_fit():
    X, _ = catalogues(5, 0.4, shape=(60, 30), depth=100)
    settings = {"max_iter": 60, "tol": 0, "random_state": 0}
    dense = NegativeBinomialNMF(3, **settings).fit(X)
    of_sparse = NegativeBinomialNMF(3, **settings).fit(sparse.csr_array(X))
    np.testing.assert_allclose(of_sparse.components_, dense.components_, atol=1e-9)
    assert of_sparse.dispersion_ == pytest.approx(dense.dispersion_, rel=1e-9)


# With the rest of the package


def test_overdispersed_topics_are_found_more_exactly_than_by_nmf():
    errors = {NMF: [], NegativeBinomialNMF: []}
    for seed in range(3):
        X, topics = catalogues(seed, 1.0)
        for kind, found in errors.items():
            found.append(1 - match(topics, kind(3, random_state=0).fit(X)).mean)
    assert np.mean(errors[NegativeBinomialNMF]) < 0.5 * np.mean(errors[NMF])


def test_transform_score_and_conversion_use_the_learned_dispersion():
    X, _ = catalogues(6, 0.5, shape=(80, 30))
    model = NegativeBinomialNMF(3, tol=1e-6, max_iter=5000, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.weights_, rtol=0.02, atol=2.0)
    assert model.score(X) == pytest.approx(-model.objective_ / X.size, rel=1e-4)
    fixed = TopicModel(
        3, divergence=NegativeBinomial(model.dispersion_), fixed_topics=model.components_
    ).fit(X)
    np.testing.assert_allclose(fixed.transform(X[:5]), model.transform(X[:5]), rtol=1e-6)
    free = convert(model, to=NegativeBinomialNMF(normalize=False))
    assert free.dispersion_ == model.dispersion_
    with pytest.raises(ValueError, match="minimises NegativeBinomial"):
        convert(model, to=NMF)


NUMBERS = [2, 3, 6]


def test_the_consensus_finds_the_number_where_poisson_overestimates_it():
    X, topics = catalogues(0, 1.0)
    numbers = {}
    for kind in (NMF, NegativeBinomialNMF):
        model = kind(tol=1e-2, max_iter=200)
        found = consensus(model, X, NUMBERS, n_runs=2, random_state=0, choose=3)
        score = np.asarray(found.table["score"])
        numbers[kind] = NUMBERS[int(np.argmax(score))]
    assert numbers == {NMF: 6, NegativeBinomialNMF: 3}
    assert "perplexity" not in found.table
    assert found.reason.startswith("3 was asked for. The rule says: 3 ")
    assert match(topics, found.model.components_).mean > 0.95


# Choosing the likelihood


def test_held_out_likelihood_prefers_the_right_model():
    overdispersed, _ = catalogues(7, 0.3, shape=(80, 30))
    exact, _ = catalogues(7, 0.0, shape=(80, 30))
    models = [NMF(3, random_state=0), NegativeBinomialNMF(3, random_state=0)]
    gains = [
        np.subtract(*(evaluate.held_out_likelihood(model, X) for model in models))
        for X in (overdispersed, exact)
    ]
    assert gains[0] < -0.1
    assert abs(gains[1]) < 0.01


def test_held_out_likelihood_is_that_of_hidden_entries_only():
    X, _ = catalogues(8, 0.0, shape=(60, 20))
    model = NMF(3, random_state=0)
    score = evaluate.held_out_likelihood(model, X, random_state=1)
    assert not hasattr(model, "fitted_")
    assert score == evaluate.held_out_likelihood(model, sparse.csr_array(X), random_state=1)
    assert score < poisson.logpmf(X, X).mean()
    # Proportions predict with the total of what they have seen.
    shares = evaluate.held_out_likelihood(
        LDA(3, alpha=1.0, eta=None, random_state=0, tol=1e-4), X, random_state=1
    )
    assert shares == pytest.approx(score, abs=0.05)


def test_held_out_likelihood_needs_a_likelihood_and_a_share():
    X, _ = catalogues(8, 0.0, shape=(30, 10))
    with pytest.raises(ValueError, match="not a likelihood of counts"):
        evaluate.held_out_likelihood(BetaNMF(2, random_state=0), X)
    with pytest.raises(ValueError, match="held_out must be between 0 and 1"):
        evaluate.held_out_likelihood(NMF(2), X, held_out=1.0)


def test_bootstrap_draws_overdispersed_counts():
    """Resamples vary as the data does, so intervals are wider than those of Poisson counts."""
    rng = np.random.default_rng(0)
    mean = rng.gamma(2.0, 5.0, (40, 1)) @ rng.dirichlet(np.ones(15), 1) * 10
    X = rng.poisson(mean * rng.gamma(2.0, 0.5, mean.shape))
    model = NegativeBinomialNMF(1, tol=1e-3, random_state=0).fit(X)
    drawn = draw_counts(model.fitted_, None, rng).toarray()
    fitted = model.weights_ @ model.components_
    excess = np.mean((drawn - fitted) ** 2 / fitted - 1) / np.mean(fitted)
    assert 0.5 * model.dispersion_ < excess < 2 * model.dispersion_
    widths = []
    for each in (model, NMF(1, tol=1e-3, random_state=0).fit(X)):
        found = bootstrap(each, n_resamples=20, random_state=0)["components"]
        widths.append(np.mean(found.upper - found.lower))
    assert widths[0] > 1.5 * widths[1]

"""Conversions: exact both ways, the objective included, and nothing that is not exact."""

from dataclasses import fields

import numpy as np
import paper
import pytest
from problems import paper_lda, random_counts

from isotopic import (
    LDA,
    NMF,
    PLSA,
    Beta,
    BetaNMF,
    Dirichlet,
    GammaPoisson,
    Lasso,
    LogPenalty,
    TopicModel,
    beta_divergence,
    convert,
    gamma_poisson_bound,
    generalized_kl,
    lasso_kl,
    lda_bound,
    plsa_log_likelihood,
)
from isotopic.estimators.base import BaseTopicModel

SETTINGS = {"n_components": 3, "max_iter": 30, "tol": 0, "random_state": 0}


@pytest.fixture(name="X")
def counts(rng):
    X = random_counts(rng, 20, 11, mean=2.0)
    X[4] = 0  # an empty sample goes through every conversion
    return X


def objective_of(model, X):
    """The objective by the public functions, from the fitted attributes alone."""
    weights, topics = model.weights_, model.components_
    if isinstance(model, NMF):
        return generalized_kl(X, weights, topics)
    if isinstance(model, PLSA):
        return -plsa_log_likelihood(X, weights, topics)
    if isinstance(model, LDA):
        return -lda_bound(X, topics, model.alpha, model.weights_posterior_)
    if isinstance(model, GammaPoisson):
        return -gamma_poisson_bound(X, topics, model.shape, model.rate, model.weights_posterior_)
    return lasso_kl(X, weights, topics, model.weights.strength)


POINTS = [
    NMF(**SETTINGS),
    NMF(**SETTINGS, normalize=False),
    PLSA(**SETTINGS),
    TopicModel(**SETTINGS, weights=Lasso(3.0)),
]
ALPHA = np.array([0.2, 0.6, 1.5])
BAYESIAN = [
    paper_lda(**SETTINGS, alpha=ALPHA),
    GammaPoisson(**SETTINGS, shape=ALPHA, rate=0.4),
    GammaPoisson(**SETTINGS, shape=ALPHA, rate=[3.0, 3.0, 3.0]),
]
EXACT = [(a, b) for family in (POINTS, BAYESIAN) for a in family for b in family]


@pytest.mark.parametrize(("source", "target"), EXACT, ids=lambda m: str(m)[:40])
def test_there_and_back(X, source, target):
    model = source.fit(X)
    there = convert(model, to=target)
    assert type(there) is type(target)
    assert there.objective_ == pytest.approx(objective_of(there, X), rel=1e-12)
    some = X.sum(axis=1) > 0
    back = convert(there, to=source)
    if getattr(source, "normalize", True):  # else the scale of a topic is a matter of taste
        np.testing.assert_allclose(back.weights_[some], model.weights_[some], rtol=1e-10)
        np.testing.assert_allclose(back.components_, model.components_, rtol=1e-10)
    np.testing.assert_allclose(
        (back.weights_ @ back.components_)[some],
        (model.weights_ @ model.components_)[some],
        rtol=1e-10,
    )
    assert back.objective_ == pytest.approx(model.objective_, rel=1e-11)
    assert back.n_iter_ == model.n_iter_
    assert back.converged_ == model.converged_


def test_the_lemmas_scales(X):
    nmf = NMF(**SETTINGS).fit(X)
    totals = X.sum(axis=1, keepdims=True)
    some = totals[:, 0] > 0
    plsa = convert(nmf, to=PLSA)
    np.testing.assert_allclose((plsa.weights_ * totals)[some], nmf.weights_[some], rtol=1e-12)
    lasso = convert(nmf, to=TopicModel(weights=Lasso(3.0)))
    np.testing.assert_allclose(lasso.weights_, nmf.weights_ / 4, rtol=1e-12)
    free = NMF(**SETTINGS, normalize=False).fit(X)
    sums = free.components_.sum(axis=1)
    normal = convert(free, to=NMF)
    np.testing.assert_allclose(normal.components_, free.components_ / sums[:, None], rtol=1e-12)
    np.testing.assert_allclose(normal.weights_, free.weights_ * sums, rtol=1e-12, atol=1e-12)


def test_lda_and_gamma_poisson_share_their_posterior(X):
    lda = paper_lda(**SETTINGS, alpha=0.3).fit(X)
    gamma = convert(lda, to=GammaPoisson)
    assert gamma.shape == 0.3
    np.testing.assert_allclose(gamma.weights_posterior_, lda.weights_posterior_, rtol=1e-12)
    expected = paper.gamma_poisson_bound(
        X, gamma.components_, 0.3, gamma.rate, gamma.weights_posterior_, 1 + gamma.rate
    )
    assert gamma.objective_ == pytest.approx(-expected, rel=1e-12)


def test_a_class_means_its_defaults_where_the_model_is_concerned(X):
    free = NMF(**SETTINGS, normalize=False, n_jobs=1).fit(X)
    normal = convert(free, to=NMF)
    assert normal.normalize
    assert normal.n_jobs == 1
    np.testing.assert_allclose(normal.components_.sum(axis=1), 1)


def test_a_product_is_kept_wherever_the_fit_stopped(X, rng):
    start = rng.random((20, 3)) + 0.1, rng.random((3, 11)) + 0.1
    free = NMF(3, normalize=False, init=start, max_iter=0).fit(X)
    normal = convert(free, to=NMF)
    product = normal.weights_ @ normal.components_
    np.testing.assert_allclose(product, free.weights_ @ free.components_, rtol=1e-12)
    assert normal.objective_ == pytest.approx(free.objective_, rel=1e-12)


def test_smoothed_topics_are_kept(X):
    lda = paper_lda(**SETTINGS, alpha=0.3, eta=0.2).fit(X)
    same = convert(lda, to=TopicModel(weights=Dirichlet(0.3), topics=Dirichlet(0.2)))
    np.testing.assert_allclose(same.components_posterior_, lda.components_posterior_, rtol=1e-12)
    assert same.objective_ == pytest.approx(lda.objective_, rel=1e-12)


def test_a_converted_model_infers_as_if_it_had_been_fitted(X):
    nmf = NMF(**SETTINGS).fit(X)
    plsa = convert(nmf, to=PLSA)
    totals = X.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(plsa.transform(X) * totals, nmf.transform(X), atol=1e-4)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (NMF(**SETTINGS), LDA, "prior on the weights"),
        (PLSA(**SETTINGS), paper_lda(alpha=1.0), "prior on the weights"),
        (paper_lda(**SETTINGS), PLSA, "prior on the weights"),
        (paper_lda(**SETTINGS, eta=0.1), GammaPoisson, "topics have different priors"),
        (paper_lda(**SETTINGS, alpha=0.1), GammaPoisson(shape=0.2), "concentrations"),
        (GammaPoisson(**SETTINGS, rate=[1.0, 2.0, 3.0]), LDA, "all components have the same rate"),
        (
            paper_lda(**SETTINGS, alpha=1.0),
            GammaPoisson(rate=[1.0, 2.0, 3.0]),
            "have the same rate",
        ),
    ],
)
def test_what_is_not_exact_is_refused_and_the_warm_start_named(X, source, target, reason):
    name = target.__name__ if isinstance(target, type) else type(target).__name__
    with pytest.raises(ValueError, match=reason) as error:
        convert(source.fit(X), to=target)
    assert f"{name}(..., init=model)" in str(error.value)


SQUARES = TopicModel(**SETTINGS, divergence=Beta(2))
PENALISED = TopicModel(**SETTINGS, weights=Lasso(0.5), divergence=Beta(0.5))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (SQUARES, BetaNMF(**SETTINGS, beta=2)),
        (BetaNMF(**SETTINGS, beta=0.5, penalty="lasso", strength=0.5), PENALISED),
        (TopicModel(**SETTINGS, weights=LogPenalty(0.5)), TopicModel(weights=LogPenalty(0.5))),
    ],
)
def test_equal_models_are_equivalent_under_any_divergence_and_penalty(X, source, target):
    model = source.fit(X + 0.1)
    same = convert(model, to=target)
    assert type(same) is type(target)
    np.testing.assert_array_equal(same.weights_, model.weights_)
    np.testing.assert_array_equal(same.components_, model.components_)
    assert same.objective_ == model.objective_
    np.testing.assert_array_equal(same.transform(X + 0.1), model.transform(X + 0.1))


@pytest.mark.parametrize("beta", [0.5, 2])
def test_the_scale_of_topics_moves_to_free_weights_under_any_divergence(X, beta):
    X = X + 0.1
    free = BetaNMF(**SETTINGS, beta=beta, normalize=False).fit(X, sample_weight=np.arange(1, 21))
    normal = convert(free, to=BetaNMF(beta=beta))
    np.testing.assert_allclose(normal.components_.sum(axis=1), 1)
    product = normal.weights_ @ normal.components_
    np.testing.assert_allclose(product, free.weights_ @ free.components_, rtol=1e-12)
    assert normal.objective_ == free.objective_
    back = convert(normal, to=free)
    np.testing.assert_allclose(back.weights_ @ back.components_, product, rtol=1e-12)
    plain = BetaNMF(**SETTINGS, beta=beta, normalize=False).fit(X)
    moved = convert(plain, to=BetaNMF(beta=beta))
    expected = beta_divergence(X, moved.weights_, moved.components_, beta)
    assert moved.objective_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (SQUARES, NMF, r"minimises Beta\(.*the other one KullbackLeibler"),
        (SQUARES, BetaNMF(beta=0.5), "the other one Beta"),
        (NMF(**SETTINGS), BetaNMF, "the other one Beta"),
        (PENALISED, BetaNMF(beta=0.5), "under this divergence, only models with free"),
        (
            SQUARES,
            TopicModel(weights=Lasso(0.5), divergence=Beta(2)),
            "only models with free weights",
        ),
    ],
)
def test_other_divergences_are_refused_where_the_product_would_change(X, source, target, reason):
    with pytest.raises(ValueError, match=reason):
        convert(source.fit(X + 0.1), to=target)


def test_the_named_warm_start_works(X):
    plsa = PLSA(**SETTINGS).fit(X)
    cold = paper_lda(3, alpha=0.1, max_iter=1, tol=0, random_state=0).fit(X)
    warm = paper_lda(3, alpha=0.1, max_iter=1, tol=0, init=plsa).fit(X)
    assert warm.objective_ < cold.objective_


def test_a_class_takes_over_every_common_parameter(rng):
    """A list of names that was typed by hand once forgot ``min_gain``."""
    common = {item.name for item in fields(BaseTopicModel)} - {"solver", "init"}
    given = {"n_components": 3, "max_iter": 7, "tol": 0.5, "min_gain": 1e-4, "n_jobs": 1}
    given |= {"random_state": 3, "warm_start": True, "verbose": 0, "missing": "nan"}
    source = NMF(**given).fit(rng.poisson(3.0, (12, 9)))
    target = convert(source, to=PLSA)
    for name in common:
        assert getattr(target, name) == getattr(source, name), name
    assert target.min_gain == 1e-4

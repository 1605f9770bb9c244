"""Bayesian Poisson factorization: Gamma priors on both sides."""

import numpy as np
import pytest
from problems import random_counts
from scipy import stats
from scipy.special import digamma
from sklearn.base import clone
from sklearn.metrics.pairwise import cosine_similarity

from isotopic import Gamma, PoissonFactorization, TopicModel

PRIOR = {"shape": 0.4, "rate": 0.7, "topic_shape": 0.3, "topic_rate": 1.5}


def coordinate_ascent(X, gamma, gamma_rate, lambda_, lambda_rate, *, n_iter):
    """The updates of Gopalan, Hofman and Blei (2015), entry by entry, without the hierarchy.

    For users u, items i: phi_uik ~ exp(psi(gamma_uk) - log gamma_rate_uk + psi(lambda_ik) - ...),
    then gamma_uk = a + sum_i y_ui phi_uik, gamma_rate_uk = b + sum_i E[beta_ik], and the same for
    the items. Items first, each side with a phi of its own.
    """
    n_users, n_items = X.shape
    K = gamma.shape[1]

    def phi(u, i):
        logs = [
            digamma(gamma[u, k])
            - np.log(gamma_rate[u, k])
            + digamma(lambda_[k, i])
            - np.log(lambda_rate[k, i])
            for k in range(K)
        ]
        weights = np.exp(logs)
        return weights / weights.sum()

    for _ in range(n_iter):
        shares = {(u, i): phi(u, i) for u in range(n_users) for i in range(n_items)}
        for i in range(n_items):
            for k in range(K):
                lambda_[k, i] = PRIOR["topic_shape"] + sum(
                    X[u, i] * shares[u, i][k] for u in range(n_users)
                )
                lambda_rate[k, i] = PRIOR["topic_rate"] + sum(
                    gamma[u, k] / gamma_rate[u, k] for u in range(n_users)
                )
        shares = {(u, i): phi(u, i) for u in range(n_users) for i in range(n_items)}
        for u in range(n_users):
            for k in range(K):
                gamma[u, k] = PRIOR["shape"] + sum(
                    X[u, i] * shares[u, i][k] for i in range(n_items)
                )
                gamma_rate[u, k] = PRIOR["rate"] + sum(
                    lambda_[k, i] / lambda_rate[k, i] for i in range(n_items)
                )
    return gamma, gamma_rate, lambda_, lambda_rate


def planted(rng, n_samples=250, n_features=60, n_components=4):
    topics = rng.gamma(0.3, 1 / 0.3, (n_components, n_features))
    weights = rng.gamma(0.5, 2.0, (n_samples, n_components))
    return weights, topics, rng.poisson(weights @ topics)


def test_the_updates_are_those_of_the_literature(rng):
    X = random_counts(rng, 7, 5)
    start = rng.gamma(2.0, size=(7, 3)) + 0.1, rng.gamma(2.0, size=(3, 5)) + 0.1
    model = PoissonFactorization(3, **PRIOR, solver="alternating", init=start, tol=0)
    model.set_params(max_iter=0).fit(X)
    begin = [
        model.weights_posterior_,
        model.weights_posterior_rate_,
        model.components_posterior_,
        model.components_posterior_rate_,
    ]
    gamma, gamma_rate, lambda_, lambda_rate = coordinate_ascent(
        X, *(np.array(part) for part in begin), n_iter=6
    )
    model.set_params(max_iter=6).fit(X)
    np.testing.assert_allclose(model.weights_posterior_, gamma, rtol=1e-10)
    np.testing.assert_allclose(model.weights_posterior_rate_, gamma_rate, rtol=1e-10)
    np.testing.assert_allclose(model.components_posterior_, lambda_, rtol=1e-10)
    np.testing.assert_allclose(model.components_posterior_rate_, lambda_rate, rtol=1e-10)
    np.testing.assert_allclose(model.weights_, gamma / gamma_rate, rtol=1e-10)


def test_it_is_a_corner_of_the_general_model(rng):
    X = random_counts(rng)
    settings = {"max_iter": 12, "tol": 0, "random_state": 0}
    named = PoissonFactorization(3, **PRIOR, **settings).fit(X)
    general = TopicModel(3, weights=Gamma(0.4, 0.7), topics=Gamma(0.3, 1.5), **settings).fit(X)
    np.testing.assert_array_equal(named.components_posterior_, general.components_posterior_)
    assert named.objective_ == general.objective_


@pytest.mark.parametrize("solver", ["alternating", "accelerated"])
def test_the_bound_never_falls_and_the_residual_vanishes(rng, solver):
    X = planted(rng, 40, 20, 3)[2]
    model = PoissonFactorization(3, solver=solver, max_iter=5000, tol=1e-6, random_state=0).fit(X)
    objective = model.history_["objective"]
    assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
    assert model.converged_


def test_solvers_agree(rng):
    X = planted(rng, 40, 20, 3)[2]
    near = PoissonFactorization(3, shape=3.0, topic_shape=3.0, random_state=0).fit(X)
    start = near.weights_posterior_, near.components_posterior_
    ends = [
        clone(near).set_params(init=start, solver=solver, tol=1e-7, max_iter=20000).fit(X)
        for solver in ("alternating", "accelerated")
    ]
    assert ends[0].objective_ == pytest.approx(ends[1].objective_, rel=1e-6)
    np.testing.assert_allclose(
        ends[0].weights_ @ ends[0].components_,
        ends[1].weights_ @ ends[1].components_,
        rtol=1e-3,
        atol=1e-3,
    )


def test_planted_topics_are_found(rng):
    _, topics, X = planted(rng)
    model = PoissonFactorization(4, shape=0.5, rate=0.5, random_state=0, n_init=3).fit(X)
    cosine = cosine_similarity(topics, model.components_)
    assert cosine.max(axis=1).mean() >= 0.95
    assert len(set(cosine.argmax(axis=1))) == 4
    fresh = planted(rng)[2]
    np.testing.assert_allclose(model.inverse_transform(model.weights_).sum(), X.sum(), rtol=0.05)
    assert model.transform(fresh[:5]).shape == (5, 4)


def test_both_sides_have_intervals(rng):
    X = planted(rng, 40, 20, 3)[2]
    model = PoissonFactorization(3, max_iter=50, tol=0, random_state=0).fit(X)
    for side in ("weights", "components"):
        lower, upper = model.credible_interval(side, level=0.8)
        shapes, rates = (getattr(model, f"{side}_posterior{end}") for end in ("_", "_rate_"))
        for end, probability in ((lower, 0.1), (upper, 0.9)):
            expected = stats.gamma.ppf(probability, shapes, scale=1 / rates)
            np.testing.assert_allclose(end, expected, rtol=1e-6, atol=1e-300)
    new = model.credible_interval(X=X[:4])
    assert new[0].shape == (4, 3)
    assert np.all(new[0] < new[1])


@pytest.mark.parametrize("name", PRIOR)
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, np.ones(7)])
def test_bad_priors_are_refused(rng, name, value):
    with pytest.raises(ValueError, match=name.split("_")[-1]):
        PoissonFactorization(2, **{name: value}).fit(random_counts(rng))

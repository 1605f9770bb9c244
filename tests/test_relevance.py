"""Automatic relevance determination."""

import numpy as np
import pytest

from isotopic import ARDNMF, NMF, match


def planted(seed, n_components, mean):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(50, 0.1), n_components)
    return rng.poisson(rng.gamma(1.0, mean, (300, n_components)) @ topics), topics


@pytest.mark.parametrize(("n_components", "mean"), [(3, 80.0), (6, 30.0)])
@pytest.mark.parametrize("solver", ["auto", "joint"])
def test_the_planted_components_are_found_and_no_others(n_components, mean, solver):
    X, topics = planted(n_components, n_components, mean)
    model = ARDNMF(15, solver=solver, max_iter=3000, random_state=0).fit(X)
    assert abs(model.n_relevant_ - n_components) <= 1
    largest = np.argsort(-model.weights_.sum(axis=0))[:n_components]
    assert match(topics, model.components_[largest]).mean > 0.99
    assert np.argmax(model.relevance_) == largest[0]


def test_the_penalised_objective_never_rises_over_lessons():
    X, _ = planted(0, 4, 30.0)
    seen = []
    ARDNMF(
        10,
        solver="joint",
        max_iter=200,
        tol=0,
        random_state=0,
        callbacks=seen.append,
    ).fit(X)
    after_first = [at.objective for at in seen if np.any(at.state.weights_prior.strength)]
    assert len(after_first) > 100
    assert np.all(np.diff(after_first) <= 1e-9 * abs(after_first[0]))


def test_the_term_is_the_concave_penalty():
    X, _ = planted(1, 4, 30.0)
    model = ARDNMF(8, shape=3.0, scale=0.5, tol=1e-8, max_iter=5000, random_state=0).fit(X)
    mass, n = model.weights_.sum(axis=0), len(X)
    scale = 2.0 * 0.5 * X.sum() / n / 8
    penalty = (n + 3.0 + 1) * np.log(mass + scale).sum()
    product = model.weights_ @ model.components_
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.nansum(X * np.log(X / product)) - X.sum() + product.sum()
    assert model.objective_ == pytest.approx(divergence + penalty, rel=1e-5)
    np.testing.assert_allclose(model.relevance_, (mass + scale) / (n + 4), rtol=1e-3)


def test_new_samples_do_without_pruned_components():
    X, _ = planted(2, 4, 60.0)
    model = ARDNMF(12, random_state=0).fit(X[:200])
    weights = model.transform(X[200:])
    pruned = model.weights_.sum(axis=0) < 1e-3 * model.weights_.sum(axis=0).max()
    assert weights[:, pruned].sum() < 1e-2 * weights.sum()
    assert model.score(X[200:]) > NMF(1, random_state=0).fit(X[:200]).score(X[200:])


@pytest.mark.parametrize(("name", "value"), [("shape", 1.0), ("shape", "2"), ("scale", 0.0)])
def test_bad_settings_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        ARDNMF(2, **{name: value}).fit(np.ones((4, 3)))


def test_data_without_counts_teaches_nothing():
    model = ARDNMF(2, max_iter=45, tol=0, random_state=0).fit(np.zeros((3, 4)))
    assert model.objective_ == 0
    assert not model.weights_.any()

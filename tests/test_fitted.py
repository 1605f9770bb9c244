"""Fitted: one value that estimators hold and all other functions take."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from problems import sparse_counts

from isotopic import LDA, NMF, BetaNMF, Fitted, GammaPoisson, TopicModel, evaluate, match
from isotopic.divergences import Beta
from isotopic.fitted import select_rows
from isotopic.fitted.inference import infer
from isotopic.fitted.value import without_rows
from isotopic.solvers.batches import stack_rows

SETTINGS = {"max_iter": 10, "tol": 0, "random_state": 0}
VIEWS = (
    "components_",
    "weights_",
    "components_posterior_",
    "weights_posterior_",
    "components_posterior_rate_",
    "weights_posterior_rate_",
    "objective_",
    "n_iter_",
    "converged_",
    "history_",
    "sample_totals_",
)


@pytest.fixture(name="X")
def counts(rng):
    return sparse_counts(rng, 20, 12, 0.5)


@pytest.mark.parametrize("model", [NMF(3), LDA(3), GammaPoisson(3)], ids=str)
def test_attributes_are_views(X, model):
    model.set_params(**SETTINGS)
    assert not any(hasattr(model, name) for name in VIEWS)
    model.fit(X)
    assert {name for name in vars(model) if name.endswith("_")} == {"fitted_"}
    assert model.components_ is model.fitted_.topics.mean
    assert model.weights_ is model.fitted_.weights.mean
    assert not hasattr(model, "n_samples_seen_")
    for name in VIEWS:
        with pytest.raises(AttributeError):
            setattr(model, name, None)
    with pytest.raises(FrozenInstanceError):
        model.fitted_.objective = 0.0


def test_functions_take_the_value_or_its_estimator(X):
    a, b = (NMF(3, **SETTINGS | {"random_state": seed}).fit(X) for seed in (0, 1))
    np.testing.assert_array_equal(evaluate.prevalence(a.fitted_), evaluate.prevalence(a))
    np.testing.assert_array_equal(evaluate.coherence(a.fitted_, X), evaluate.coherence(a, X))
    np.testing.assert_array_equal(match(a.fitted_, b.fitted_).order, match(a, b).order)
    ours, theirs = (LDA(3, init=init, **SETTINGS).fit(X) for init in (a, a.fitted_))
    np.testing.assert_array_equal(ours.components_, theirs.components_)


def test_transform_is_infer(X):
    model = LDA(3, **SETTINGS).fit(X)
    again = pickle.loads(pickle.dumps(model.fitted_))
    weights = infer(again, model.validate_counts(X))
    np.testing.assert_array_equal(weights.mean, model.transform(X))
    assert model.with_fitted(again).fitted_ is again


def test_rows_are_selected_and_stacked(rng, X):
    given = {"size_factors": rng.random(20) + 0.5, "fixed_weights": np.ones((20, 1))}
    model = GammaPoisson(3, shape=rng.random((20, 3)) + 0.1, **SETTINGS)
    fitted = model.fit(X, sample_weight=rng.random(20) + 0.1, **given).fitted_
    rows, others = np.array([7, 2, 11]), np.setdiff1d(np.arange(20), [7, 2, 11])
    some = select_rows(fitted, rows)
    np.testing.assert_array_equal(some.weights.mean, fitted.weights.mean[rows])
    np.testing.assert_array_equal(some.copies, fitted.copies[rows])
    np.testing.assert_array_equal(some.offsets.size_factors, fitted.offsets.size_factors[rows])
    np.testing.assert_array_equal(some.weights_prior.shape, fitted.weights_prior.shape[rows])
    assert some.topics is fitted.topics
    assert len(without_rows(fitted).sample_totals) == 0
    whole = stack_rows([some.weights, select_rows(fitted, others).weights], [rows, others])
    for item in fields(whole):
        value = getattr(fitted.weights, item.name)
        if value is not None:
            np.testing.assert_array_equal(getattr(whole, item.name), value)


def test_points_stay_their_own_effective_factor(X):
    fitted = NMF(3, **SETTINGS).fit(X).fitted_
    some = select_rows(fitted, np.array([3, 1]))
    assert fitted.weights.effective is fitted.weights.mean
    assert some.weights.effective is some.weights.mean
    assert isinstance(fitted, Fitted)
    assert "20 samples, 3 components, 12 features" in repr(fitted)


def test_the_general_model_takes_a_divergence(rng):
    X = rng.gamma(2.0, size=(20, 8))
    general = TopicModel(3, divergence=Beta(0.5), **SETTINGS).fit(X)
    named = BetaNMF(3, beta=0.5, **SETTINGS).fit(X)
    np.testing.assert_array_equal(general.components_, named.components_)
    assert general.score(X) == named.score(X)
    with pytest.raises(ValueError, match="perplexity needs the Kullback-Leibler divergence"):
        general.perplexity(X)
    with pytest.raises(ValueError, match="seeds, size_factors and fixed_weights need"):
        general.fit(X, size_factors=2.0)

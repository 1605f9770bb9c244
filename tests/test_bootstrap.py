"""The parametric bootstrap: intervals that cover what they should."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from benchmarks.coverage import PROCESSES, repetition
from isotopic import (
    LDA,
    NMF,
    PLSA,
    Gamma,
    GammaPoisson,
    Lasso,
    PoissonFactorization,
    TopicModel,
    bootstrap,
)
from isotopic.bootstrap import refit_model
from isotopic.fitted.generation import draw_counts, draw_factors, spread_evenly
from isotopic.fitted.reordering import reorder

MODELS = [
    NMF(2),
    NMF(2, normalize=False),
    PLSA(2),
    LDA(2, alpha=0.5),
    LDA(2, alpha=0.5, eta=0.5),
    GammaPoisson(2, shape=0.5, rate=0.01),
    PoissonFactorization(2),
    TopicModel(2, weights=Lasso(0.5)),
    TopicModel(2, weights=Gamma(0.5, 0.01), fixed_topics=np.ones((1, 8))),
]


@pytest.fixture(name="X")
def counts(rng):
    topics = np.repeat(np.eye(2), 4, axis=1) / 4
    return rng.poisson(rng.gamma(1.0, 50.0, (12, 2)) @ topics) + 1


@pytest.fixture(params=MODELS, ids=lambda m: str(m)[:50])
def model(request, X):
    settings = {"random_state": 0, "tol": 1e-3, "max_iter": 2000}
    return clone(request.param).set_params(**settings).fit(X)


def test_components_and_weights_by_default(model):
    before = model.weights_.copy(), model.components_.copy()
    found = bootstrap(model, n_resamples=12, random_state=0)
    assert set(found) == {"components", "weights"}
    for name, intervals in found.items():
        expected = getattr(model, f"{name}_")
        np.testing.assert_array_equal(intervals.estimate, expected)
        assert intervals.errors.shape == (12, *expected.shape)
        assert intervals.lower.shape == intervals.upper.shape == expected.shape
        assert np.all((intervals.lower >= 0) & (intervals.lower <= intervals.upper))
        np.testing.assert_allclose(intervals.bias, intervals.errors.mean(axis=0))
        np.testing.assert_allclose(intervals.standard_error, intervals.errors.std(0, ddof=1))
    if model.fitted_.topics_prior.is_normalized:
        assert found["components"].upper.max() <= 1
    np.testing.assert_array_equal(model.weights_, before[0])  # the model is as it was
    np.testing.assert_array_equal(model.components_, before[1])


def test_the_same_bits_for_any_number_of_threads(X):
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    one, three = (
        bootstrap(model, n_resamples=9, random_state=5, n_jobs=n)["weights"] for n in (1, 3)
    )
    np.testing.assert_array_equal(one.errors, three.errors)
    other = bootstrap(model, n_resamples=9, random_state=6)["weights"]
    assert not np.array_equal(one.errors, other.errors)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", PROCESSES)
def test_intervals_cover_what_they_should(name):
    """Two small datasets of each model: the benchmark has the figures."""
    scores = [repetition(PROCESSES[name], seed, resamples=25) for seed in (1, 2)]
    for side in ("topics", "weights"):
        assert 0.78 < np.mean([score["bootstrap", side] for score in scores]) <= 0.98


def test_a_fit_that_stopped_early_is_completed_first(X):
    """What a fit leaves undone is an error that no refit shows."""
    early = LDA(2, random_state=0, tol=0.1).fit(X)
    with pytest.warns(ConvergenceWarning, match="Pass X"):
        bootstrap(early, n_resamples=3, random_state=0)
    found = bootstrap(early, X, n_resamples=3, random_state=0)["components"]
    complete = LDA(2, init=early, tol=1e-4).fit(X)
    np.testing.assert_allclose(found.estimate, complete.components_, rtol=1e-6)
    assert not np.allclose(found.estimate, early.components_, rtol=1e-3)
    with pytest.raises(ValueError, match="other sums"):
        bootstrap(early, X + 1, n_resamples=3)


def test_with_one_topic_the_interval_is_that_of_a_poisson_rate(rng):
    """All is known here: the weight of a sample is its total, whose error is Poisson."""
    X = rng.poisson(20.0, (6, 10))
    model = NMF(1, tol=1e-3).fit(X)
    found = bootstrap(
        model, statistic=lambda m: m.weights_[:, 0], n_resamples=300, level=0.8, random_state=0
    )
    totals = X.sum(axis=1)
    np.testing.assert_allclose(found.estimate, totals)
    np.testing.assert_allclose(found.standard_error, np.sqrt(totals), rtol=0.2)
    z = stats.norm.ppf(0.9)
    np.testing.assert_allclose(found.upper, totals + z * np.sqrt(totals), rtol=0.05)
    np.testing.assert_allclose(found.lower, totals - z * np.sqrt(totals), rtol=0.05)


def test_intervals_reach_as_far_as_the_longer_tail_of_the_errors(X):
    """Errors are skewed to one side where counts decide, and to the other where the prior does."""
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    found = bootstrap(model, statistic=lambda m: -m.weights_, n_resamples=30, random_state=0)
    ends = np.quantile(found.errors, [0.05, 0.95], axis=0, method="weibull")
    reach = np.abs(ends).max(axis=0)
    np.testing.assert_allclose(found.upper - found.estimate, reach)
    np.testing.assert_allclose(found.estimate - found.lower, reach)


def test_an_entry_of_zero_has_an_interval_that_is_more_than_a_point(rng):
    """Nothing was seen of a topic in a sample: the truth may still be a count or so."""
    topics = np.repeat(np.eye(2), 4, axis=1) / 4
    weights = np.array([[100.0, 0.0]] * 6 + [[0.0, 100.0]] * 6)
    model = NMF(2, tol=1e-6, max_iter=5000, random_state=0).fit(rng.poisson(weights @ topics))
    found = bootstrap(model, n_resamples=60, random_state=0)["weights"]
    absent = model.weights_ < 1e-3
    assert absent.sum() == 12
    np.testing.assert_allclose(found.lower[absent], 0, atol=1e-12)
    assert np.all((found.upper[absent] > 0.1) & (found.upper[absent] < 5))


def resample(model, seed):
    rng = np.random.default_rng(seed)
    return draw_counts(draw_factors(model.fitted_, rng), None, rng)


def test_topics_keep_their_order(X):
    """A refit that swaps the topics is put right before it is looked at."""
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    turned = reorder(spread_evenly(model.fitted_), np.array([1, 0]))
    again = refit_model(model, resample(model, 0), turned)
    for topics in (again.components_, again.fitted_.topics.effective):
        assert np.argmax(topics[0]) // 4 == np.argmax(model.components_[0]) // 4
    assert np.corrcoef(again.weights_[:, 0], model.weights_[:, 0])[0, 1] > 0.9


def test_resamples_have_what_the_data_had(rng, X):
    sizes, fixed = rng.random(12) + 0.5, np.full((12, 1), 3.0)
    profile = np.ones((1, 8)) / 8
    known = {"size_factors": sizes, "fixed_weights": fixed}
    model = NMF(3, fixed_topics=profile, random_state=0, tol=1e-3).fit(X, **known)
    found = bootstrap(model, n_resamples=10, random_state=0)
    for end in (found["weights"].lower, found["weights"].upper):
        np.testing.assert_allclose(end[:, :1], fixed)
    np.testing.assert_allclose(found["components"].upper[:1], profile)
    totals = [resample(model, seed).sum() for seed in range(40)]
    assert np.mean(totals) == pytest.approx(X.sum(), rel=0.03)
    plsa = PLSA(2, random_state=0, tol=1e-3).fit(X, sample_weight=np.arange(12))
    drawn = resample(plsa, 0)
    np.testing.assert_array_equal(drawn.sum(axis=1), X.sum(axis=1))
    again = refit_model(plsa, drawn, spread_evenly(plsa.fitted_))
    np.testing.assert_array_equal(again.fitted_.copies, np.arange(12))


@pytest.mark.parametrize("kind", [NMF(2), PLSA(2), GammaPoisson(2)], ids=str)
def test_missing_entries_are_missing_again(rng, X, kind):
    mask = rng.random(X.shape) < 0.2
    model = clone(kind).set_params(random_state=0, tol=1e-3).fit(X, missing_mask=mask)
    with pytest.raises(ValueError, match="Pass the same X"):
        bootstrap(model)
    found = bootstrap(model, X, missing_mask=mask, n_resamples=10, random_state=0)
    assert np.all(np.isfinite(found["weights"].upper))
    holes = np.where(mask, np.nan, X)
    nan = clone(kind).set_params(random_state=0, tol=1e-3, missing="nan").fit(holes)
    same = bootstrap(nan, holes, n_resamples=10, random_state=0)
    np.testing.assert_array_equal(same["weights"].upper, found["weights"].upper)
    with pytest.raises(ValueError, match="X has 5 samples; the model was fitted to 12"):
        bootstrap(model, X[:5], missing_mask=mask[:5])


def test_a_topic_that_died_and_a_model_that_was_not_fitted_further(X):
    topics = np.vstack([np.ones(8), np.zeros(8)])
    dead = NMF(2, normalize=False, init=(np.ones((12, 2)), topics), max_iter=5, tol=0).fit(X)
    assert not dead.components_[1].any()
    assert np.all(np.isfinite(bootstrap(dead, n_resamples=3)["weights"].upper))
    start = LDA(2, alpha=0.5, init=(np.full((12, 2), 0.1), np.ones((2, 8))), max_iter=0, tol=0).fit(
        X
    )
    assert np.all(np.isfinite(bootstrap(start, n_resamples=3)["components"].upper))


def test_any_statistic(X):
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    scalar = bootstrap(model, statistic=lambda m: m.weights_.sum(), n_resamples=9, random_state=0)
    assert scalar.estimate.shape == scalar.lower.shape == ()
    assert scalar.errors.shape == (9,)
    signed = bootstrap(
        model,
        statistic={
            "log": lambda m: np.log(m.weights_.sum(axis=0)),
            "new": lambda m: m.transform(X),
        },
        n_resamples=9,
        random_state=0,
    )
    assert set(signed) == {"log", "new"}
    assert signed["new"].lower.shape == (12, 2)
    negative = bootstrap(model, statistic=lambda m: -m.weights_, n_resamples=9, random_state=0)
    assert np.all(negative.lower < 0)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_resamples": 1}, ValueError, "n_resamples must be an integer of at least 2"),
        ({"n_resamples": 2.5}, ValueError, "n_resamples"),
        ({"n_resamples": True}, ValueError, "n_resamples"),
        ({"level": 0}, ValueError, "level must be between 0 and 1"),
        ({"level": 1.5}, ValueError, "level must be between 0 and 1"),
        ({"statistic": "weights"}, TypeError, "statistic must be a function"),
        ({"statistic": {}}, TypeError, "statistic must be a function"),
        ({"statistic": lambda m: "text"}, TypeError, "statistic must contain numbers"),
        ({"statistic": lambda m: np.nan}, ValueError, "must be finite"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_settings_are_refused(X, settings, error, message):
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    with pytest.raises(error, match=message):
        bootstrap(model, **{"n_resamples": 3, **settings})


def test_a_statistic_that_fails_ends_it_at_once(X):
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    calls = []

    def fails_later(m):
        calls.append(m)
        if len(calls) > 4:
            raise RuntimeError("enough")
        return 0.0

    with pytest.raises(RuntimeError, match="enough"):
        bootstrap(model, statistic=fails_later, n_resamples=500, n_jobs=1)
    assert len(calls) < 50
    shapes = iter([(), (2,), (2,)])
    with pytest.raises(ValueError, match="one shape for all models"):
        bootstrap(model, statistic=lambda m: np.ones(next(shapes)), n_resamples=2, n_jobs=1)


def test_only_fitted_models_of_ours(X):
    with pytest.raises(NotFittedError):
        bootstrap(NMF(2))
    with pytest.raises(TypeError, match="model must be a fitted model"):
        bootstrap(X)


def test_refits_that_do_not_converge_are_told_once(X):
    with pytest.warns(ConvergenceWarning):
        model = NMF(2, random_state=0, max_iter=2, tol=1e-9).fit(X)
    with pytest.warns(ConvergenceWarning, match="5 of 5 refits stopped at max_iter=2") as told:
        bootstrap(model, n_resamples=5, random_state=0)
    assert len(told) == 1


def test_intervals_without_width_are_explained(X):
    fixed = NMF(2, tol=1e-3, random_state=0).fit(X).components_
    model = NMF(2, fixed_topics=fixed, tol=1e-3, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="All topics of this model are fixed"):
        found = bootstrap(model, n_resamples=3, random_state=0)
    assert np.array_equal(found["components"].lower, found["components"].upper)
    bootstrap(model, statistic=lambda m: m.weights_.sum(), n_resamples=3, random_state=0)

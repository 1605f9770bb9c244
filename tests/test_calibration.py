"""Learned concentrations for new samples: see isotopic/fitted/calibration.py."""

import numpy as np
import pytest
from scipy import sparse

from isotopic import LDA, open_blocks
from isotopic.evaluate import completion_score, split_counts
from isotopic.fitted import calibration


def short_samples(n_samples, n_features=1500, total=6, n_components=8, seed=0):
    """Draw samples so short that topics know most of their counts by heart."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(99).dirichlet(np.full(n_features, 0.3), n_components)
    weights = rng.dirichlet(np.full(n_components, 0.4), n_samples)
    return sparse.csr_array([rng.multinomial(total, p) for p in weights @ topics]).astype(float)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted():
    return LDA(8, random_state=0, max_iter=60).fit(short_samples(3000))  # few: not sampled


def test_short_samples_need_a_larger_concentration_than_was_learned_from_them(fitted):
    factor = fitted.fitted_.weights_prior.calibration
    assert factor > 1.5
    seen, hidden = split_counts(short_samples(800, seed=1), random_state=0)
    start = np.ones((800, 8)), fitted.components_

    def score(alpha):
        model = LDA(8, alpha=alpha, eta=None, init=start, max_iter=0).fit(seen)
        return completion_score(model, seen, hidden)

    assert completion_score(fitted, seen, hidden) > score(fitted.alpha_ / factor)


def test_calibration_does_not_change_what_the_fit_found(fitted, monkeypatch):
    X = short_samples(3000)
    monkeypatch.setattr(calibration, "calibration_factor", lambda problem, state: 1.0)
    plain = LDA(8, random_state=0, max_iter=60).fit(X)
    np.testing.assert_array_equal(plain.components_, fitted.components_)
    np.testing.assert_array_equal(plain.weights_, fitted.weights_)
    assert plain.objective_ == fitted.objective_
    factor = fitted.fitted_.weights_prior.calibration
    np.testing.assert_allclose(fitted.alpha_, factor * plain.alpha_)
    again = LDA(8, init=fitted, max_iter=0).fit(X)  # goes on with the concentration of the fit
    np.testing.assert_allclose(again.alpha_, plain.alpha_)


def test_row_blocks_and_sample_weights_of_one_are_calibrated_alike(fitted):
    X = short_samples(3000)
    settings = {"random_state": 0, "max_iter": 60}
    ones = LDA(8, **settings).fit(X, sample_weight=np.ones(3000))
    np.testing.assert_allclose(ones.alpha_, fitted.alpha_, rtol=1e-6)
    blocks = open_blocks([X[:900], X[900:1300], X[1300:]])
    by_blocks = LDA(8, init="random", tol=0, **settings).fit(blocks)
    whole = LDA(8, init="random", tol=0, **settings).fit(X)
    np.testing.assert_allclose(by_blocks.alpha_, whole.alpha_, rtol=1e-4)


def test_some_samples_of_many_give_nearly_the_same_factor(fitted, monkeypatch):
    X = short_samples(3000)
    monkeypatch.setattr(calibration, "_MOST_ENTRIES", X.nnz // 2)
    part = LDA(8, random_state=0, max_iter=60).fit(X)
    whole = fitted.fitted_.weights_prior.calibration
    assert part.fitted_.weights_prior.calibration == pytest.approx(whole, rel=0.6)


@pytest.mark.parametrize(
    "settings",
    [{"alpha": 0.1}, {"estimate": "variational"}, {"max_iter": 15, "tol": 0}],
    ids=str,
)
def test_what_is_given_or_part_of_a_bound_is_not_calibrated(settings, monkeypatch):
    monkeypatch.setattr(calibration, "calibration_factor", lambda *_: pytest.fail("calibrated"))
    LDA(3, random_state=0, **{"max_iter": 40, **settings}).fit(short_samples(300))


def test_fractional_counts_are_halved_as_they_are():
    X = short_samples(300)
    X.data = X.data + 0.5  # sums that are all the same would look like proportions
    model = LDA(3, random_state=0, max_iter=40).fit(X)
    assert np.all(np.isfinite(model.alpha_))


def test_an_interruption_of_the_calibration_leaves_the_model(monkeypatch):
    def interrupt(problem, state):
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "calibration_factor", interrupt)
    model = LDA(3, random_state=0, max_iter=40)
    with pytest.raises(KeyboardInterrupt):
        model.fit(short_samples(300))
    assert model.components_.shape == (3, 1500)
    assert model.fitted_.weights_prior.calibration == 1

"""Hostile input to models of other divergences: what of the tables of hostile.py applies."""

import copy

import numpy as np
import pytest
from hostile import (
    BAD_DATA,
    BAD_MASKS,
    BAD_PARAMETERS,
    BAD_SAMPLE_WEIGHTS,
    CONTAINERS,
    OTHER_FEATURES,
    SETTINGS,
    UNUSUAL_DATA,
    counts,
    frame,
)
from scipy import sparse
from sklearn.base import clone

from isotopic import BetaNMF
from isotopic.divergences import Beta, exact_values

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names"),
]

MODELS = {
    "squared": BetaNMF(2, **SETTINGS),
    "log": BetaNMF(2, beta=0.5, penalty="log", strength=0.1, **SETTINGS),
    "with-scale": BetaNMF(2, beta=1.5, normalize=False, **SETTINGS),
}

each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def refused(call, *arguments, message, **keywords):
    with pytest.raises((ValueError, TypeError), match=message):
        call(*arguments, **keywords)


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_and_named(case):
    bad, model = BAD_DATA[case], clone(MODELS["log"]).fit(counts())
    for method in ("transform", "score", "fit", "fit_transform"):
        refused(getattr(model, method), bad.make(), message=bad.message)


@pytest.mark.parametrize("case", OTHER_FEATURES)
def test_samples_of_other_features_are_refused(case):
    bad, model = OTHER_FEATURES[case], clone(MODELS["squared"]).fit(frame())
    for method in (model.transform, model.score):
        refused(method, bad.make(), message=bad.message)


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_refused_and_named(case):
    parameters, message = BAD_PARAMETERS[case]
    model = clone(MODELS["squared"]).set_params(**parameters)
    refused(model.fit, frame(), message=message)


@pytest.mark.parametrize("case", BAD_SAMPLE_WEIGHTS)
def test_bad_sample_weights_are_refused_and_named(case):
    bad, model = BAD_SAMPLE_WEIGHTS[case], clone(MODELS["squared"]).fit(counts())
    for method in (model.score, model.fit):
        refused(method, counts(), sample_weight=bad.make(), message=bad.message)


@pytest.mark.parametrize("case", BAD_MASKS)
def test_bad_masks_are_refused_and_named(case):
    bad, model = BAD_MASKS[case], clone(MODELS["log"]).fit(counts())
    for method in (model.transform, model.score, model.fit):
        refused(method, counts(), missing_mask=bad.make(), message=bad.message)


def fitted(model, good, X):
    components = good.parameters.get("n_components", min(2, max(good.plain.shape)))
    model = clone(model).set_params(**(good.parameters | {"n_components": components}))
    return model.fit(X, **good.fit)


def assert_sound(model, good):
    copies = np.asarray(good.fit.get("sample_weight", np.ones(len(good.plain))), float)
    expected = sum(
        weight
        * (
            exact_values(model.beta_, row, weights @ model.components_).sum()
            + model._priors()[0].at(weights[np.newaxis], 1.0).term
        )
        for row, weights, weight in zip(good.plain, model.weights_, copies, strict=True)
        if weight
    )
    size = float((good.plain**model.beta_).sum() * copies.max())
    assert model.objective_ == pytest.approx(expected, rel=1e-9, abs=1e-12 * max(size, 1))
    assert np.diff(model.history_["objective"]).max(initial=0) <= 1e-12 * max(size, 1)
    for array in (model.weights_, model.components_):
        assert np.all(np.isfinite(array))
        assert array.min() >= 0
    if model.normalize:
        np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.every(5)
@each_model
@pytest.mark.parametrize("case", CONTAINERS)
def test_every_container_of_the_same_counts_gives_the_same_fit(model, case):
    good = CONTAINERS[case]()
    one, other = fitted(model, good, good.X), fitted(model, good, good.plain)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-9, atol=1e-12)
    assert_sound(one, good)


# Powers of such data are beyond any float; where they are not, the fit must be sound.
_EXTREME = ("tiny", "astronomical", "scales", "huge")


@pytest.mark.every(4)
@each_model
@pytest.mark.parametrize("case", UNUSUAL_DATA)
def test_unusual_data_is_fitted_right_or_refused(model, case):
    good = UNUSUAL_DATA[case]()
    if any(word in case for word in _EXTREME) and "weights" not in case:
        try:
            Beta(model.beta).check_data(good.plain[good.plain > 0], has_zeros=True)
        except ValueError:
            refused(fitted, model, good, good.X, message="[Mm]ultiply (it|X) by a constant")
            return
    found = fitted(model, good, good.X)
    assert_sound(found, good)
    weights = found.transform(good.X)
    np.testing.assert_array_equal(found.transform(sparse.csr_array(good.plain)), weights)
    assert np.all(np.isfinite(weights))


@each_model
@pytest.mark.parametrize("rows", [[2], [0, 5], [1, 2, 3]])
def test_empty_and_unknown_samples_have_no_weights(model, rows):
    X = counts()
    X[rows] = 0
    model = clone(model).fit(X)
    np.testing.assert_array_equal(model.weights_[rows], 0)
    np.testing.assert_array_equal(model.transform(X)[rows], 0)
    mask = np.zeros(X.shape, bool)
    mask[rows] = True
    unknown = clone(model).fit(counts(), missing_mask=mask)
    np.testing.assert_array_equal(unknown.weights_[rows], 0)
    np.testing.assert_array_equal(unknown.transform(counts(), missing_mask=mask)[rows], 0)


@each_model
def test_what_is_given_is_never_changed(model):
    X, topics = counts(), np.full((1, 5), 0.2)
    weight, mask = np.arange(6.0), np.eye(6, 5) > 0
    kept = [array.copy() for array in (X, topics, weight, mask)]
    model = clone(model).set_params(fixed_topics=topics)
    model.fit(X, sample_weight=weight, missing_mask=mask)
    before = copy.deepcopy(vars(model))
    model.transform(X)
    model.score(X, sample_weight=weight, missing_mask=mask)
    for array, original in zip((X, topics, weight, mask), kept, strict=True):
        np.testing.assert_array_equal(array, original)
    assert str(vars(model)) == str(before)

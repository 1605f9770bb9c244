"""Hostile input: bad is refused by name, unusual is understood, and nothing else is touched."""

import copy
import multiprocessing
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hostile import (
    BAD_CALLS,
    BAD_DATA,
    BAD_MASKS,
    BAD_PARAMETERS,
    BAD_PRIOR_OBJECTS,
    BAD_PRIORS,
    BAD_SAMPLE_WEIGHTS,
    BAYESIAN,
    CONTAINERS,
    DAMAGED_DATA,
    MODELS,
    OTHER_FEATURES,
    POINTS,
    UNFITTED_CALLS,
    UNUSUAL_DATA,
    counts,
    frame,
    model_of,
    objective_of,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from isotopic import NMF, PLSA, Checkpoint, expected_counts, load

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

each_model = pytest.mark.parametrize("name", MODELS)


def each(table):
    return pytest.mark.parametrize("case", table)


@pytest.fixture(scope="module")
def fitted_models():
    return {name: model_of(name).fit(counts()) for name in MODELS}


@pytest.fixture(scope="module")
def framed_models():
    return {name: model_of(name).fit(frame()) for name in MODELS}


def refuses(call, *arguments, message, also=(), **keywords):
    """Check that a call raises ValueError or TypeError and says why. (Warnings are errors.)"""
    with pytest.raises((ValueError, TypeError, *also), match=message):
        call(*arguments, **keywords)


def bits(model):
    """Everything a model holds, in a form that can be compared."""
    return {name: _bits(value) for name, value in vars(model).items()}


def _bits(value):
    if isinstance(value, np.ndarray):
        return (
            value.dtype.str,
            value.shape,
            value.tolist() if value.dtype.hasobject else value.tobytes(),
        )
    return repr(value)


def fitted_bits(model):
    """The fitted attributes only, and not the time that they took."""
    parameters = {*model.get_params(deep=False), "history_"}
    return {name: value for name, value in bits(model).items() if name not in parameters}


# --------------------------------------------------------------------------------------------------
# Invalid
# --------------------------------------------------------------------------------------------------


@each_model
@each(BAD_DATA)
def test_bad_data_is_refused_and_named(fitted_models, name, case):
    bad = BAD_DATA[case]
    model = copy.deepcopy(fitted_models[name])
    before = bits(model)
    methods = ["fit", "fit_transform", "transform", "score", "perplexity", "posterior"]
    for method in methods:
        refuses(getattr(model, method), bad.make(), message=bad.message)
    if name in BAYESIAN:
        refuses(lambda X: model.credible_interval(X=X), bad.make(), message=bad.message)
    assert bits(model) == before
    fresh = model_of(name)
    refuses(fresh.fit, bad.make(), message=bad.message)
    assert vars(fresh) == vars(model_of(name))


@each_model
@each(OTHER_FEATURES)
def test_samples_of_other_features_are_refused(framed_models, name, case):
    bad, model = OTHER_FEATURES[case], copy.deepcopy(framed_models[name])
    before = bits(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for method in ("transform", "score", "perplexity", "posterior"):
            refuses(getattr(model, method), bad.make(), message=bad.message)
        if name in BAYESIAN:
            refuses(lambda X: model.credible_interval(X=X), bad.make(), message=bad.message)
    assert bits(model) == before


@each_model
@each(BAD_PARAMETERS)
def test_bad_parameters_are_refused_and_named(framed_models, name, case):
    parameters, message = BAD_PARAMETERS[case]
    model = copy.deepcopy(framed_models[name]).set_params(**parameters)
    before = bits(model)
    for method in (model.fit, model.fit_transform):
        refuses(method, frame(), message=message)
    assert bits(model) == before


@each(BAD_PRIORS)
def test_bad_priors_are_refused_and_named(framed_models, case):
    name, parameters, message = BAD_PRIORS[case]
    model = copy.deepcopy(framed_models[name]).set_params(**parameters)
    before = bits(model)
    for method in (model.fit, model.fit_transform):
        refuses(method, frame(), message=message)
    assert bits(model) == before


@each(BAD_PRIOR_OBJECTS)
def test_bad_settings_of_parts_are_refused_at_once(case):
    make, message = BAD_PRIOR_OBJECTS[case]
    refuses(make, message=message)


@each_model
@each(BAD_SAMPLE_WEIGHTS)
def test_bad_sample_weights_are_refused_and_named(fitted_models, name, case):
    bad, model = BAD_SAMPLE_WEIGHTS[case], copy.deepcopy(fitted_models[name])
    before = bits(model)
    for method in (model.fit, model.fit_transform, model.score, model.perplexity):
        message = "no counts|" + bad.message if case == "all-zero" else bad.message
        refuses(method, counts(), sample_weight=bad.make(), message=message)
    assert bits(model) == before


@each_model
@pytest.mark.parametrize("missing", [None, "nan"])
@each(BAD_MASKS)
def test_bad_masks_are_refused_and_named(fitted_models, name, case, missing):
    bad, model = BAD_MASKS[case], copy.deepcopy(fitted_models[name]).set_params(missing=missing)
    before = bits(model)
    for method in ("fit", "fit_transform", "transform", "score", "perplexity", "posterior"):
        refuses(getattr(model, method), counts(), missing_mask=bad.make(), message=bad.message)
    assert bits(model) == before


@each_model
@each(BAD_CALLS)
def test_bad_calls_of_a_fitted_model_are_refused(fitted_models, name, case):
    call, message = BAD_CALLS[case]
    before = bits(fitted_models[name])
    refuses(call, fitted_models[name], message=message)
    assert bits(fitted_models[name]) == before


@each_model
@each(UNFITTED_CALLS)
def test_unfitted_models_say_so(name, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFittedError, match="not fitted"):
        UNFITTED_CALLS[case](model_of(name))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", POINTS)
def test_points_have_no_intervals(fitted_models, name):
    refuses(fitted_models[name].credible_interval, message="point estimate")


@pytest.mark.parametrize("name", BAYESIAN)
def test_intervals_of_topics_are_not_of_samples(fitted_models, name):
    refuses(fitted_models[name].credible_interval, "components", X=counts(), message="X|point")


@each_model
def test_infinity_is_not_missing(fitted_models, name):
    model = copy.deepcopy(fitted_models[name]).set_params(missing="nan")
    for value in (np.inf, -np.inf, -1.0):
        X = counts()
        X[1, 1], X[2, 3] = np.nan, value
        for form in (X, sparse.csr_array(X), frame(X)):
            for method in (model.fit, model.transform):
                refuses(method, form, message="row 2, column 3")


# Files -------------------------------------------------------------------------------------------


def _written(path, content):
    path.write_bytes(content)
    return path


BAD_CHECKPOINTS = {
    "number": (lambda folder: 3, "checkpoint"),
    "bool": (lambda folder: True, "checkpoint"),
    "bytes": (lambda folder: bytes(folder / "a"), "checkpoint"),
    "class": (lambda folder: Checkpoint, "checkpoint"),
    "of-a-number": (lambda folder: Checkpoint(3), "path|checkpoint"),
    "no-folder": (lambda folder: folder / "none" / "a", "no folder"),
    "is-a-folder": (lambda folder: folder, "folder|directory"),
    "empty-text": (lambda folder: "", "(?i)folder|directory|path|checkpoint"),
    "zero-byte": (lambda folder: str(folder / "a\0b"), "null"),
    "garbage": (lambda folder: _written(folder / "a", b"garbage"), "a: not a ZIP"),
    "empty-file": (lambda folder: _written(folder / "a", b""), "a: not a ZIP"),
}


@each_model
@each(BAD_CHECKPOINTS)
def test_bad_checkpoints_are_refused(fitted_models, tmp_path, name, case):
    make, message = BAD_CHECKPOINTS[case]
    model = copy.deepcopy(fitted_models[name])
    before, files = bits(model), _files(tmp_path)
    for method in (model.fit, model.fit_transform):
        also = (FileNotFoundError, IsADirectoryError)
        refuses(method, counts(), checkpoint=make(tmp_path), message=message, also=also)
    assert bits(model) == before
    assert _files(tmp_path).keys() - files.keys() <= {"a"}


def _files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@each_model
def test_checkpoints_of_other_fits_are_refused_and_kept(tmp_path, name):
    path = tmp_path / "fit"
    model = model_of(name).fit(counts(), checkpoint=path)
    before, files = fitted_bits(model), _files(tmp_path)
    other_model = PLSA(2) if name != "plsa" else NMF(2)
    refuses(other_model.fit, counts(), checkpoint=path, message="checkpoint of a")
    refuses(
        clone(model).set_params(n_components=3).fit,
        counts(),
        checkpoint=path,
        message="another n_components",
    )
    refuses(
        clone(model).set_params(seeds={0: [1]}).fit,
        counts(),
        checkpoint=path,
        message="another seeds",
    )
    start = (np.ones((6, 2)), np.ones((2, 5)))
    refuses(
        clone(model).set_params(init=start).fit, counts(), checkpoint=path, message="another start"
    )
    for X in (counts() + 1, counts()[:5], sparse.csr_array(counts() * 2)):
        refuses(model.fit, X, checkpoint=path, message="other data")
    refuses(model.fit, counts(), sample_weight=np.arange(6), checkpoint=path, message="other data")
    refuses(
        model.fit, counts(), missing_mask=np.eye(6, 5) > 0, checkpoint=path, message="other data"
    )
    assert _files(tmp_path) == files
    assert fitted_bits(model) == before
    assert fitted_bits(clone(model).fit(counts(), checkpoint=path)) == before


@each_model
def test_damaged_checkpoints_are_refused(fitted_models, tmp_path, name):
    path = tmp_path / "fit"
    model = model_of(name).fit(counts(), checkpoint=path)
    whole = path.read_bytes()
    before = fitted_bits(model)
    fitted_models[name].save(tmp_path / "model")
    for content in (whole[: len(whole) // 2], whole[:-1], (tmp_path / "model").read_bytes()):
        path.write_bytes(content)
        refuses(model.fit, counts(), checkpoint=path, message="fit: ")
    assert fitted_bits(model) == before


@each_model
def test_load_refuses_what_is_not_a_model(fitted_models, tmp_path, name):
    path = tmp_path / "model"
    fitted_models[name].save(path)
    whole = path.read_bytes()
    assert bits(load(path)) == bits(fitted_models[name])
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    pickled = pickle.dumps(fitted_models[name])
    for content in (b"", b"garbage", whole[:-1], whole[:middle], flipped, pickled, b"\0" * 1000):
        path.write_bytes(content)
        refuses(load, path, message="model: ")
    model_of(name).fit(counts(), checkpoint=tmp_path / "fit")
    refuses(load, tmp_path / "fit", message="'checkpoint', not a 'model'")


@pytest.mark.parametrize("path", [None, 3.5, ["a"], {}])
def test_paths_must_be_paths(fitted_models, path):
    refuses(load, path, message="path|os.PathLike")
    refuses(fitted_models["nmf"].save, path, message="path|os.PathLike")


# Memory ------------------------------------------------------------------------------------------


def in_a_fork(function, timeout=60):
    """Call in a forked process; give what it returned, or how it died."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=lambda: send.send(_outcome(function)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        process.start()
    send.close()
    try:
        return receive.recv() if receive.poll(timeout) else ("hangs", "")
    except EOFError:
        process.join(timeout)
        return "dies", str(process.exitcode)
    finally:
        process.kill()
        process.join()
        process.close()
        receive.close()


def _outcome(function):
    try:
        return "gives", function()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: what is tested may crash")
@each_model
@each(DAMAGED_DATA)
def test_damaged_index_arrays_are_refused(fitted_models, name, case):
    bad = DAMAGED_DATA[case]
    for method in ("fit", "transform"):
        call = getattr(copy.deepcopy(fitted_models[name]), method)
        kind, text = in_a_fork(lambda: repr(call(bad.make())))
        assert kind in ("ValueError", "TypeError"), (method, kind, text)
        assert pytest.approx is not None
        import re

        assert re.search(bad.message, text)


# --------------------------------------------------------------------------------------------------
# Unusual but good
# --------------------------------------------------------------------------------------------------


def assert_same_fit(model, other, rtol=1e-10):
    """Compare row by row: samples may be of very different scale."""
    for attribute in ("weights_", "components_"):
        one, two = getattr(model, attribute), getattr(other, attribute)
        scale = np.abs(two).max(axis=1, keepdims=True)
        scale = np.where(scale > 0, scale, 1)
        np.testing.assert_allclose(one / scale, two / scale, rtol=rtol, atol=rtol)
    assert model.objective_ == pytest.approx(other.objective_, rel=rtol, abs=_rounding(model))


def _rounding(model):
    """An objective that is a small difference of large sums is as exact as these."""
    return 1e-11 * float(model.sample_totals_.sum())


def assert_sound(model, good):
    """Check a fit against what must hold for any data."""
    plain, copies = good.plain, good.fit.get("sample_weight")
    weights, topics = model.weights_, model.components_
    assert weights.shape == (len(plain), model.n_components)
    assert topics.shape == (model.n_components, plain.shape[1])
    for array in (weights, topics, model.objective_):
        assert np.all(np.isfinite(array))
    assert min(weights.min(), topics.min()) >= 0
    weights_prior, topics_prior = model._priors()
    if topics_prior.normalized:
        np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-12)
    if weights_prior.normalized:
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    expected = objective_of(model, plain, copies)
    largest = np.abs(np.log(np.maximum(plain, 1e-300))).max()
    slack = 1e-13 * plain.sum() * largest * (1 if copies is None else np.max(copies))
    assert model.objective_ == pytest.approx(expected, rel=1e-9, abs=max(slack, 1e-9))
    objectives = model.history_["objective"]
    assert np.all(np.diff(objectives) <= 1e-10 * np.abs(objectives[1:]) + max(slack, 1e-12))


def assert_mass_is_conserved(model, plain):
    shared = expected_counts(plain, model.weights_, model.components_)
    if np.isfinite(shared.log_likelihood):
        np.testing.assert_allclose(shared.weights.sum(axis=1), plain.sum(axis=1), rtol=1e-9)
        np.testing.assert_allclose(shared.topics.sum(axis=0), plain.sum(axis=0), rtol=1e-9)


def fit_good(name, good, X):
    components = good.parameters.get("n_components", min(2, max(good.plain.shape)))
    model = model_of(name, **(good.parameters | {"n_components": components}))
    return model.fit(X, **good.fit)


@each_model
@each(CONTAINERS)
def test_every_container_of_the_same_counts_gives_the_same_fit(name, case):
    good = CONTAINERS[case]()
    model = fit_good(name, good, good.X)
    plain = fit_good(name, good, sparse.csr_array(good.plain))
    assert_same_fit(model, plain)
    assert_sound(model, good)
    np.testing.assert_allclose(
        model.transform(good.X), plain.transform(_like(good.X, good.plain)), rtol=1e-6, atol=1e-8
    )


def _like(X, plain):
    """Give plain data the names that the model knows."""
    return pd.DataFrame(plain, columns=X.columns) if hasattr(X, "columns") else plain


@each_model
@each(UNUSUAL_DATA)
def test_unusual_data_is_fitted_right(name, case):
    good = UNUSUAL_DATA[case]()
    model = fit_good(name, good, good.X)
    assert_sound(model, good)
    assert_mass_is_conserved(model, good.plain)
    assert_same_fit(model, fit_good(name, good, sparse.csr_array(good.plain)))
    weights = model.transform(good.X)
    assert weights.shape == model.weights_.shape
    assert np.all(np.isfinite(weights))
    assert np.all(np.isfinite(model.inverse_transform(weights)))
    if good.plain.any():
        assert model.score(good.X) <= 0
    for row, explained in zip(good.plain, model.posterior(good.X), strict=True):
        np.testing.assert_array_equal(explained.features, np.flatnonzero(row))
        np.testing.assert_allclose(explained.probabilities.sum(axis=1), 1, rtol=1e-9)
    if name in BAYESIAN:
        lower, upper = model.credible_interval()
        assert np.all((lower >= 0) & (lower <= upper))
    drawn = model.sample(3, random_state=0) if good.plain.max() < 1e9 else np.zeros((3, 1))
    assert drawn.shape[0] == 3

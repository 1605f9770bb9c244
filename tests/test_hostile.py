"""Hostile input: bad is refused by name, unusual is understood, and nothing else is touched."""

import copy
import functools
import inspect
import multiprocessing
import os
import pickle
import re
import signal
import threading
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import paper
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
    duplicated,
    explicit_zeros,
    frame,
    model_of,
    objective_of,
)
from problems import paper_lda, sparse_counts
from processes import LIMIT
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from isotopic import LDA, NMF, PLSA, Checkpoint, GammaPoisson, expected_counts, load
from isotopic.threads import one_blas_thread

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names"),
]

each_model = pytest.mark.parametrize("name", MODELS)


def with_models(test):
    """Run a test with several models, and say with which it failed; a test for each is slower.

    Each case is tried with other models, so that all take their turn; ``--thorough`` tries all.
    """
    signature = inspect.signature(test)
    parameters = [given for given in signature.parameters.values() if given.name != "name"]
    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY)

    @functools.wraps(test)
    def run(request, **given):
        turn = zlib.crc32(request.node.name.encode()) % 5
        every = slice(None) if request.config.getoption("thorough") else slice(turn, None, 5)
        for name in list(MODELS)[every]:
            try:
                test(name=name, **given)
            except BaseException as error:
                error.add_note(f"with the model {name}")
                raise

    run.__signature__ = signature.replace(parameters=[*parameters, request])
    return run


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
        content = value.tolist() if value.dtype.hasobject else value.tobytes()
        return value.dtype.str, value.shape, content
    return repr(value)


def fitted_bits(model):
    """The fitted attributes only, and not the time that they took."""
    parameters = {*model.get_params(deep=False), "history_"}
    return {name: value for name, value in bits(model).items() if name not in parameters}


# --------------------------------------------------------------------------------------------------
# Invalid
# --------------------------------------------------------------------------------------------------


@each(BAD_DATA)
@with_models
def test_bad_data_is_refused_and_named(fitted_models, name, case):
    bad = BAD_DATA[case]
    model = copy.deepcopy(fitted_models[name])
    before = bits(model)
    methods = ["fit", "fit_transform", "transform", "score", "perplexity", "posterior"]
    for method in methods:
        refuses(getattr(model, method), bad.make(), message=bad.message)
    if name in BAYESIAN and case != "none":  # which stands for the samples that were fitted
        refuses(lambda X: model.credible_interval(X=X), bad.make(), message=bad.message)
    assert bits(model) == before
    fresh = model_of(name)
    refuses(fresh.fit, bad.make(), message=bad.message)
    assert vars(fresh) == vars(model_of(name))


@each(OTHER_FEATURES)
@with_models
def test_samples_of_other_features_are_refused(framed_models, name, case):
    bad, model = OTHER_FEATURES[case], copy.deepcopy(framed_models[name])
    before = bits(model)
    for method in ("transform", "score", "perplexity", "posterior"):
        refuses(getattr(model, method), bad.make(), message=bad.message)
    if name in BAYESIAN:
        refuses(lambda X: model.credible_interval(X=X), bad.make(), message=bad.message)
    assert bits(model) == before


@each(BAD_PARAMETERS)
@with_models
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


@each(BAD_SAMPLE_WEIGHTS)
@with_models
def test_bad_sample_weights_are_refused_and_named(fitted_models, name, case):
    bad, model = BAD_SAMPLE_WEIGHTS[case], copy.deepcopy(fitted_models[name])
    before = bits(model)
    for method in (model.fit, model.fit_transform, model.score, model.perplexity):
        message = "no counts|" + bad.message if case == "all-zero" else bad.message
        refuses(method, counts(), sample_weight=bad.make(), message=message)
    assert bits(model) == before


@pytest.mark.parametrize("missing", [None, "nan"])
@each(BAD_MASKS)
@with_models
def test_bad_masks_are_refused_and_named(fitted_models, name, case, missing):
    bad, model = BAD_MASKS[case], copy.deepcopy(fitted_models[name]).set_params(missing=missing)
    before = bits(model)
    for method in ("fit", "fit_transform", "transform", "score", "perplexity", "posterior"):
        refuses(getattr(model, method), counts(), missing_mask=bad.make(), message=bad.message)
    assert bits(model) == before


@each(BAD_CALLS)
@with_models
def test_bad_calls_of_a_fitted_model_are_refused(fitted_models, name, case):
    call, message = BAD_CALLS[case]
    before = bits(fitted_models[name])
    refuses(call, fitted_models[name], message=message)
    assert bits(fitted_models[name]) == before


@each(UNFITTED_CALLS)
@with_models
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
    "of-a-number": (lambda folder: Checkpoint(3), "PathLike|checkpoint"),
    "no-folder": (lambda folder: folder / "none" / "a", "no folder"),
    "is-a-folder": (lambda folder: folder, "folder|directory"),
    "empty-text": (lambda folder: "", "(?i)folder|directory|path|checkpoint"),
    "zero-byte": (lambda folder: str(folder / "a\0b"), "null"),
    "garbage": (lambda folder: _written(folder / "a", b"garbage"), "a: This is not a ZIP"),
    "empty-file": (lambda folder: _written(folder / "a", b""), "a: This is not a ZIP"),
}


@each(BAD_CHECKPOINTS)
@with_models
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
    refuses(other_model.fit, counts(), checkpoint=path, message="belongs to a fit of")
    refuses(
        clone(model).set_params(n_components=3).fit,
        counts(),
        checkpoint=path,
        message="other values of n_components",
    )
    refuses(
        clone(model).set_params(seeds={0: [1]}).fit,
        counts(),
        checkpoint=path,
        message="other values of seeds",
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
    pickled = pickle.dumps(fitted_models[name])
    for content in (b"", b"garbage", whole[:-1], whole[:500], pickled, b"\0" * 1000):
        path.write_bytes(content)
        refuses(load, path, message="model: ")
    model_of(name).fit(counts(), checkpoint=tmp_path / "fit")
    refuses(load, tmp_path / "fit", message="holds a 'checkpoint', but a 'model' was expected")


@pytest.mark.parametrize("path", [None, 3.5, ["a"], {}])
def test_paths_must_be_paths(fitted_models, path):
    refuses(load, path, message="path|os.PathLike")
    refuses(fitted_models["nmf"].save, path, message="path|os.PathLike")


# Memory ------------------------------------------------------------------------------------------


def in_a_fork(function, timeout=LIMIT):
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


@pytest.mark.every(3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: what is tested may crash")
@pytest.mark.parametrize("name", ["nmf", "nmf-with-scale", "smoothed-lda", "gamma-gamma"])
@each(DAMAGED_DATA)
def test_damaged_index_arrays_are_refused(fitted_models, name, case):
    bad = DAMAGED_DATA[case]
    for method in ("fit", "transform"):
        call = getattr(copy.deepcopy(fitted_models[name]), method)
        kind, text = in_a_fork(lambda call=call: repr(call(bad.make())))
        assert kind in ("ValueError", "TypeError"), (method, kind, text)
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
    copies = None if copies is None else np.asarray(copies)
    weights, topics = model.weights_, model.components_
    assert weights.shape == (len(plain), model.n_components)
    assert topics.shape == (model.n_components, plain.shape[1])
    for array in (weights, topics, model.objective_):
        assert np.all(np.isfinite(array))
    assert min(weights.min(), topics.min()) >= 0
    weights_prior, topics_prior = model._priors()
    if topics_prior.norm is not None:
        norms = np.linalg.norm(topics, topics_prior.norm, axis=1)
        np.testing.assert_allclose(norms, 1, rtol=1e-12)
    if weights_prior.is_normalized:
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


def is_representable(name, plain):
    """Tell whether floats can be as small as the factors of a model."""
    if name == "lasso-lasso":  # both factors shrink with the counts, and so does their product
        return not 0 < plain.sum() < 1e-20
    if name == "l3-power":  # the weight of few counts is about their square
        return not np.any((plain.sum(axis=1) > 0) & (plain.sum(axis=1) < 1e-20))
    return True


def fit_good(name, good, X):
    components = good.parameters.get("n_components", min(2, max(good.plain.shape)))
    model = model_of(name, **(good.parameters | {"n_components": components}))
    return model.fit(X, **good.fit)


# All models read data in the same way. These differ in what they make of it: point estimates and
# posteriors, topics with and without a scale.
@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["nmf", "nmf-with-scale", "smoothed-lda", "gamma-gamma"])
@each(CONTAINERS)
def test_every_container_of_the_same_counts_gives_the_same_fit(name, case):
    good = CONTAINERS[case]()
    model = fit_good(name, good, good.X)
    plain = fit_good(name, good, sparse.csr_array(good.plain))
    assert_same_fit(model, plain)
    assert_sound(model, good)
    if name in ("nmf", "smoothed-lda"):
        np.testing.assert_array_equal(model.transform(good.X), model.transform(good.plain))


@each(UNUSUAL_DATA)
@with_models
def test_unusual_data_is_fitted_right(name, case):
    good = UNUSUAL_DATA[case]()
    if not is_representable(name, good.plain):
        return
    model = fit_good(name, good, good.X)
    assert_sound(model, good)
    assert_mass_is_conserved(model, good.plain)
    as_sparse = fit_good(name, good, sparse.csr_array(good.plain))
    if name in ("simplex-dirichlet", "free-dirichlet") and good.plain.sum() < 1e-20:
        # The topics are alike but for rounding: all weights are equally good.
        np.testing.assert_allclose(model.components_, as_sparse.components_, rtol=1e-10)
        assert model.objective_ == pytest.approx(as_sparse.objective_, rel=1e-10)
    else:
        assert_same_fit(model, as_sparse)
    if not case.startswith("start-"):
        assert_useful(model, good)


def assert_useful(model, good):
    """Check what the methods of a fitted model tell."""
    weights = model.transform(good.X)
    assert weights.shape == model.weights_.shape
    assert np.all(np.isfinite(weights))
    assert np.all(np.isfinite(model.inverse_transform(weights)))
    known = model.components_.any(axis=0)
    if good.plain.any() and not good.plain[:, ~known].any():
        assert model.score(good.X) <= 1e-12
    posterior = model.posterior(good.X) if isinstance(model, (NMF, LDA)) else ()
    for row, explained in zip(good.plain, posterior, strict=bool(posterior)):
        np.testing.assert_array_equal(explained.features, np.flatnonzero(row))
        sums = explained.probabilities.sum(axis=1)
        np.testing.assert_allclose(sums, known[explained.features], rtol=1e-9)
    if model._priors()[0].is_bayesian:
        lower, upper = model.credible_interval()
        assert np.all((lower >= 0) & (lower <= upper))
    drawn = model.sample(3, random_state=0) if good.plain.max() < 1e9 else np.zeros((3, 1))
    assert drawn.shape[0] == 3


def test_the_oracle_agrees_with_the_paper(fitted_models):
    """Two independent computations of the objectives that have a name there."""
    X = counts()
    names = ("nmf", "nmf-with-scale", "plsa", "lda", "smoothed-lda", "gamma-poisson", "gamma-gamma")
    nmf, scaled, plsa, lda, smoothed, gamma, both = (fitted_models[name] for name in names)
    for model in (nmf, scaled):
        named = paper.generalized_kl(X, model.weights_, model.components_)
        assert objective_of(model, X) == pytest.approx(named)
    named = paper.plsa_log_likelihood(X, plsa.weights_, plsa.components_)
    assert objective_of(plsa, X) == pytest.approx(-named)
    named = paper.lda_bound(X, lda.components_, 0.5, lda.weights_posterior_)
    assert objective_of(lda, X) == pytest.approx(-named)
    parameters = smoothed.components_posterior_, 0.2, 0.3, smoothed.weights_posterior_
    assert objective_of(smoothed, X) == pytest.approx(-paper.smoothed_lda_bound(X, *parameters))
    parameters = gamma.components_, 0.7, 0.3, gamma.weights_posterior_, 1.3
    assert objective_of(gamma, X) == pytest.approx(-paper.gamma_poisson_bound(X, *parameters))
    named = paper.bayesian_poisson_bound(
        X,
        both.weights_posterior_,
        both.components_posterior_,
        both.weights_posterior_rate_,
        both.components_posterior_rate_,
        shape=0.7,
        rate=0.3,
        shape_t=0.4,
        rate_t=0.6,
    )
    assert objective_of(both, X) == pytest.approx(-named)


# The weights of a sample of which nothing is known: those of the prior, or none.
UNKNOWN_SAMPLE = {
    "nmf": 0.0,
    "nmf-with-scale": 0.0,
    "plsa": 0.5,
    "lda": 0.5,
    "smoothed-lda": 0.5,
    "gamma-poisson": 0.7 / 0.3,
    "lasso-simplex": 0.0,
    "l2-lasso": 0.0,
    "simplex-log": 0.0,
    "l3-power": 0.0,
    "lasso-lasso": 0.0,
    "gamma-gamma": 0.7 / 0.3,
    "gamma-dirichlet": 0.7 / 0.3,
    "simplex-dirichlet": 0.5,
    "free-dirichlet": 0.0,
}


def missing_row():
    mask = np.zeros((6, 5), bool)
    mask[2] = True
    return mask


MASKS = {
    "nothing": lambda: np.zeros((6, 5), bool),
    "one-entry": lambda: np.eye(6, 5, k=-2) * np.eye(6)[2][:, np.newaxis] > 0,
    "diagonal": lambda: np.eye(6, 5) > 0,
    "row": missing_row,
    "column": lambda: np.tile(np.arange(5) == 1, (6, 1)),
    "all-but-one-entry": lambda: ~(np.outer(np.arange(6) == 2, np.arange(5) == 0)),
    "all-zeros": lambda: counts() == 0,
    "all-nonzeros-of-a-row": lambda: (counts() > 0) & missing_row(),
    "everything": lambda: np.ones((6, 5), bool),
}


def forms_of_missing(X, mask):
    """Return the ways of saying the same: data, mask, and parameters."""
    holes = np.where(mask, np.nan, X)
    nan = {"missing": "nan"}
    junk = np.where(mask, -7.0, X)
    half = mask & (np.indices(mask.shape).sum(axis=0) % 2 > 0)
    return {
        "mask": (X, mask, {}),
        "mask-over-junk": (junk, mask, {}),
        "mask-over-nan": (sparse.csr_array(holes), mask, {}),
        "mask-as-list": (X, mask.tolist(), {}),
        "mask-as-frame": (X, pd.DataFrame(mask), {}),
        "mask-as-sparse": (sparse.csr_array(X), sparse.coo_array(mask), {}),
        "nan-dense": (holes, None, nan),
        "nan-csr": (sparse.csr_array(holes), None, nan),
        "nan-csc": (sparse.csc_array(holes), None, nan),
        "nan-frame": (frame(holes), None, nan),
        "half-nan-half-mask": (np.where(half, np.nan, X), mask, nan),
    }


@each(MASKS)
@with_models
def test_missing_entries_in_any_form_are_left_out_of_the_objective(name, case):
    X, mask = counts(), MASKS[case]()
    plain = model_of(name).fit(X, missing_mask=mask)
    assert plain.objective_ == pytest.approx(objective_of(plain, X, missing=mask), rel=1e-9)
    assert np.all(np.isfinite(plain.weights_))
    assert np.all(np.isfinite(plain.components_))
    forms = forms_of_missing(X, mask)
    if name not in ("nmf", "smoothed-lda", "gamma-gamma"):  # all models read them in the same way
        forms = {"nan-csr": forms["nan-csr"]}
    for form, (data, given, parameters) in forms.items():
        model = model_of(name, **parameters).fit(data, missing_mask=given)
        np.testing.assert_allclose(model.weights_, plain.weights_, rtol=1e-10, err_msg=form)
        np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-10, err_msg=form)


@each(MASKS)
@with_models
def test_missing_entries_of_new_samples(name, case):
    X, mask = counts(), MASKS[case]()
    model = model_of(name, missing="nan").fit(X)
    weights = model.transform(X, missing_mask=mask)
    assert np.all(np.isfinite(weights))
    np.testing.assert_array_equal(model.transform(np.where(mask, np.nan, X)), weights)
    if name not in ("nmf", "plsa", "gamma-gamma"):  # all models read new samples in the same way
        return
    if (X[~mask] > 0).any():
        assert model.score(X, missing_mask=mask) <= 1e-12
    for row, explained in zip(
        np.where(mask, 0, X), model.posterior(X, missing_mask=mask), strict=True
    ):
        np.testing.assert_array_equal(explained.features, np.flatnonzero(row))


@each_model
def test_what_stands_at_missing_entries_does_not_matter(name):
    mask = np.eye(6, 5) > 0
    fits = [
        model_of(name).fit(np.where(mask, junk, counts()), missing_mask=mask)
        for junk in (0.0, 1e9, -1.0, np.nan, np.inf, -np.inf)
    ]
    for other in fits[1:]:
        assert fitted_bits(other) == fitted_bits(fits[0])


@each_model
def test_a_sample_of_which_nothing_is_known_has_the_weights_of_the_prior(name):
    model = model_of(name, max_iter=2000, tol=1e-10).fit(counts(), missing_mask=missing_row())
    expected = UNKNOWN_SAMPLE[name]
    np.testing.assert_allclose(model.weights_[2], expected, rtol=1e-5, atol=1e-5)
    new = model.transform(counts(), missing_mask=missing_row())
    np.testing.assert_allclose(new[2], expected, rtol=1e-5, atol=1e-5)


@each_model
def test_transform_of_samples_without_observed_counts_has_settled(name):
    """Zeros where a sample was looked at are evidence: its weights must be a fixed point."""
    mask = np.zeros((6, 5), bool)
    mask[2, :3] = True
    X = counts()
    X[2] = 0
    model = model_of(name, max_iter=3000, tol=1e-12).fit(X, missing_mask=mask)
    new = model.transform(X, missing_mask=mask)
    np.testing.assert_allclose(new[2], model.weights_[2], rtol=1e-4, atol=1e-6)


@each_model
@pytest.mark.parametrize("rows", [[2], [0, 5], [1, 2, 3]])
def test_empty_samples_keep_their_place(name, rows):
    X = counts()
    X[rows] = 0
    model = model_of(name).fit(X)
    rest = np.setdiff1d(np.arange(6), rows)
    settled = model.transform(X)
    np.testing.assert_array_equal(settled[rest], model.transform(X[rest]))
    alone = model.transform(np.zeros((len(rows), 5)))
    np.testing.assert_array_equal(settled[rows], alone)
    if name in POINTS:
        np.testing.assert_allclose(model.weights_[rows], UNKNOWN_SAMPLE[name])


@pytest.mark.parametrize("name", ["nmf", "nmf-with-scale", "plsa"])
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e-10, 3.0, 1e10, 1e100])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_topics_do_not_depend_on_the_scale_of_counts(name, scale, kind):
    plain = model_of(name, max_iter=20).fit(kind(counts()))
    scaled = model_of(name, max_iter=20).fit(kind(counts() * scale))

    def topics(model):
        return model.components_ / model.components_.sum(axis=1, keepdims=True)

    np.testing.assert_allclose(topics(scaled), topics(plain), rtol=1e-8, atol=1e-12)
    product = scaled.weights_ @ scaled.components_
    expected = plain.weights_ @ plain.components_ * (1 if name == "plsa" else scale)
    np.testing.assert_allclose(product, expected, rtol=1e-8, atol=1e-12 * expected.max())


@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e-30, 1e10, 1e25])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@with_models
def test_float32_at_its_extremes_agrees_with_float64(name, scale, kind):
    if not is_representable(name, counts() * scale):
        return
    X = (counts() * scale).astype(np.float32)
    # A decomposition of such data starts elsewhere after the last digit.
    single = model_of(name, init="random").fit(kind(X))
    double = model_of(name, init="random").fit(kind(X.astype(np.float64)))
    assert single.weights_.dtype == single.components_.dtype == np.float32
    for attribute in ("weights_", "components_"):
        one, two = getattr(single, attribute), getattr(double, attribute)
        scale_of = np.maximum(two.max(axis=1, keepdims=True), np.finfo(float).tiny)
        np.testing.assert_allclose(one / scale_of, two / scale_of, rtol=2e-3, atol=2e-3)


@each_model
def test_samples_that_count_zero_times_change_nothing(name):
    """Whatever they hold, the topics are those of the other samples."""
    X = np.vstack([counts(), np.full((1, 5), 1e6)])
    weighted = model_of(name).fit(X, sample_weight=[1, 1, 1, 1, 1, 1, 0])
    plain = model_of(name).fit(counts())
    np.testing.assert_allclose(weighted.components_, plain.components_, rtol=1e-10)
    np.testing.assert_allclose(weighted.weights_[:6], plain.weights_, rtol=1e-10)
    assert weighted.objective_ == pytest.approx(plain.objective_, rel=1e-10)


@each_model
def test_every_form_of_sample_weight_is_the_same(name):
    weights = [1, 0, 2, 3, 1, 1]
    forms = [weights, tuple(weights), np.array(weights), np.array(weights, float)]
    forms += [np.array(weights, np.uint8), pd.Series(weights, index=list("fedcba"))]
    forms += [pd.Series(weights, dtype="Int64"), np.repeat(weights, 2)[::2]]
    fits = [model_of(name).fit(counts(), sample_weight=form) for form in forms]
    for other in fits[1:]:
        assert fitted_bits(other) == fitted_bits(fits[0])


@each_model
def test_names_of_features_may_be_any_text(name, fitted_models):
    names = ["", " ", "日本語", "a\nb", "<script>"]
    forbidden = {0: ["日本語"]}
    model = model_of(name, forbidden=forbidden).fit(pd.DataFrame(counts(), columns=names))
    assert model.components_[0, 2] == 0
    assert model.feature_names_in_.tolist() == names
    assert set(model.top_terms(5)["term"]) == set(names)
    repr(model.top_terms(5))
    assert "<script>" not in model.top_terms(5)._repr_html_()
    several = fitted_models[name].top_terms(10**9)
    assert len(several) == 10


# --------------------------------------------------------------------------------------------------
# State
# --------------------------------------------------------------------------------------------------

ALL_METHODS = ("fit", "fit_transform", "transform", "score", "perplexity", "posterior")


def parts_of(X):
    """Return the arrays and flags of a matrix."""
    if not sparse.issparse(X):
        return {"values": X}
    if X.format == "dok":
        return {"items": np.array([(*key, value) for key, value in X.items()])}
    names = ("data", "indices", "indptr", "coords", "offsets", "rows")
    found = {name: getattr(X, name) for name in names if hasattr(X, name)}
    if "coords" in found:
        found["row"], found["column"] = found.pop("coords")
    for flag in ("_has_sorted_indices", "_has_canonical_format", "has_canonical_format"):
        if flag in vars(X):
            found[flag] = np.array(vars(X)[flag])
    return found


def snapshot(X):
    return {key: (part.dtype.str, part.tolist()) for key, part in parts_of(X).items()}


def _unsorted_csr():
    X = sparse.csr_array(counts()[:, ::-1])
    X.indices = 4 - X.indices
    return X


OWNED = {
    "dense": counts,
    "fortran": lambda: np.asfortranarray(counts()),
    "integers": lambda: counts().astype(np.int32),
    "single": lambda: counts().astype(np.float32),
    "unsorted": _unsorted_csr,
    "duplicates": duplicated,
    "duplicates-in-csr": lambda: sparse.csr_array(
        (np.ones(4), [1, 1, 0, 3], [0, 2, 3, 4, 4, 4, 4]), shape=(6, 5)
    ),
    "explicit-zeros": lambda: explicit_zeros().tocsr(),
    **{
        fmt: lambda fmt=fmt: sparse.csr_array(counts()).asformat(fmt)
        for fmt in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
    },
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["nmf", "nmf-with-scale", "smoothed-lda", "gamma-gamma"])
@each(OWNED)
def test_data_is_never_changed(name, case):
    X = OWNED[case]()
    before, model = snapshot(X), model_of(name, max_iter=2)
    mask, weights = np.eye(6, 5) > 0, np.array([1.0, 2, 0, 1, 1, 1])
    for method in ALL_METHODS:
        getattr(model, method)(X)
    model.fit(X, sample_weight=weights)
    model.fit(X, missing_mask=mask)
    model.transform(X, missing_mask=mask)
    assert snapshot(X) == before
    np.testing.assert_array_equal(mask, np.eye(6, 5) > 0)
    np.testing.assert_array_equal(weights, [1, 2, 0, 1, 1, 1])


@each_model
def test_given_knowledge_is_never_changed(name):
    given = {
        "init": (np.full((6, 2), 2.0), np.full((2, 5), 3.0)),
        "fixed_topics": np.arange(5.0)[np.newaxis] + 1,
        "forbidden": np.array([[False] * 5, [False] * 4 + [True]]),
    }
    if name not in ("nmf-with-scale", "lasso-lasso"):  # which refuse seeds
        given["seeds"] = np.array([[0.0] * 5, [1, 0, 0, 0, 0]])
    kept = copy.deepcopy(given)
    for array in (*given["init"], *(given[key] for key in list(given)[1:])):
        array.flags.writeable = False
    model = model_of(name, **given).fit(counts())
    for parameter, value in given.items():
        assert getattr(model, parameter) is value
        for one, other in zip(value, kept[parameter], strict=True):
            np.testing.assert_array_equal(one, other)


@each_model
def test_results_are_the_callers_own(name):
    """Writing to what one method gave does not change what the next one gives."""
    model = model_of(name).fit(counts())
    before = bits(model)
    for result in (
        model.transform(counts()),
        model.inverse_transform(np.ones((1, 2))),
        *model.top_terms(2).values(),
        *model.posterior(counts())[0],
    ):
        result[...] = 0
    if name in BAYESIAN:
        for bound in model.credible_interval():
            bound[...] = 0
    assert bits(model) == before


@each_model
def test_the_world_is_left_as_it_was(name):
    def world():
        libraries = [(lib["user_api"], lib["num_threads"]) for lib in threadpool_info()]
        state = np.random.get_state()  # noqa: NPY002
        return (
            os.environ.copy(),
            os.getcwd(),
            libraries,
            (state[1].tolist(), state[2:]),
            np.geterr(),
            np.get_printoptions(),
            len(warnings.filters),
            signal.getsignal(signal.SIGINT),
            np.float64(5e-324) / 1 > 0,  # subnormal numbers still work here
        )

    model_of(name).fit(counts())  # loads what is loaded lazily
    before = world()
    for X in (counts(), sparse.csr_array(counts())):
        for random_state in (0, None, np.random.default_rng(0)):
            model = model_of(name, n_jobs=2, random_state=random_state)
            for method in ALL_METHODS:
                getattr(model, method)(X)
            model.sample(2, random_state=0)
            model.top_terms()
    with pytest.raises(ValueError, match="X"):
        model.fit(-counts() - 1)
    assert world() == before


@each_model
def test_copies_of_a_model_give_the_same_bits(name, tmp_path):
    X = counts()
    model = model_of(name).fit(X)
    model.save(tmp_path / "model")
    joblib.dump(model, tmp_path / "joblib")
    copies = [
        clone(model).fit(X),
        copy.deepcopy(model),
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
        pickle.loads(pickle.dumps(model, protocol=2)),
        joblib.load(tmp_path / "joblib"),
        load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model_of(name))).fit(X),
    ]
    for other in copies:
        assert fitted_bits(other) == fitted_bits(model)
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
        assert fitted_bits(other.fit(X)) == fitted_bits(model)


@each_model
def test_a_memory_map_is_read_and_not_written(name, tmp_path):
    np.save(tmp_path / "X.npy", counts())
    before = (tmp_path / "X.npy").read_bytes()
    plain = model_of(name).fit(counts())
    for mode in ("r", "c", "r+"):
        X = np.load(tmp_path / "X.npy", mmap_mode=mode)
        assert fitted_bits(model_of(name).fit(X)) == fitted_bits(plain)
        np.testing.assert_array_equal(plain.transform(X), plain.transform(counts()))
    assert (tmp_path / "X.npy").read_bytes() == before


@each_model
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_same_bits_for_any_threads_and_several_fits_at_once(rng, name, kind):
    X = sparse_counts(rng, 600, 30, 0.2)
    X = X if kind == "sparse" else X.toarray()
    first = model_of(name, max_iter=3).fit(X)
    models = [model_of(name, max_iter=3, n_jobs=n) for n in (1, 2, 3, None)]
    with ThreadPoolExecutor(4) as executor:
        fits = list(executor.map(lambda model: model.fit(X), models))
    for other in fits:
        assert fitted_bits(other) == fitted_bits(first)


def test_one_model_serves_several_threads(rng):
    X = sparse_counts(rng, 300, 40, 0.3)
    model = paper_lda(3, max_iter=5, tol=0, random_state=0, n_jobs=2).fit(X)
    expected, results = model.transform(X), []
    threads = [threading.Thread(target=lambda: results.append(model.transform(X))) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)
    assert len(results) == 4


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_gives_the_same_bits(backend):
    X = sparse.csr_array(counts())
    names = list(MODELS)[::3]
    jobs = [joblib.delayed(model_of(name).fit)(X) for name in names]
    fits = joblib.Parallel(n_jobs=2, backend=backend)(jobs)
    for name, other in zip(names, fits, strict=True):
        assert fitted_bits(other) == fitted_bits(model_of(name).fit(X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_forked_process_can_fit_too(rng, kind):
    X = sparse_counts(rng, 600, 30, 0.2)
    X = X if kind == "sparse" else X.toarray()
    for model in (NMF(3), GammaPoisson(3)):
        model.set_params(max_iter=3, tol=0, n_jobs=2, random_state=0).fit(X)
        there = in_a_fork(lambda model=model: fitted_bits(clone(model).fit(X)))
        assert there == ("gives", fitted_bits(model))
        assert fitted_bits(clone(model).fit(X)) == fitted_bits(model)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_lock_that_was_held_at_a_fork_is_free_in_the_child(rng):
    X = sparse_counts(rng, 60, 30, 0.2).toarray()
    model = NMF(3, max_iter=3, tol=0, random_state=0).fit(X)
    with one_blas_thread._lock:  # as by another thread that sets up BLAS at this moment
        there = in_a_fork(lambda: fitted_bits(clone(model).fit(X)))
    assert there == ("gives", fitted_bits(model))

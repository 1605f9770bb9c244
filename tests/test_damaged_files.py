"""Model files and checkpoints in which something was changed: refused, or as good as new."""

import io
import json
import re
import tempfile
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import random_counts
from sklearn.base import clone

import isotopic
from isotopic import (
    LDA,
    NMF,
    PLSA,
    Accelerated,
    BetaNMF,
    Gamma,
    GammaPoisson,
    NegativeBinomialNMF,
    OnlineEM,
    Simplex,
    SparseNMF,
)
from isotopic.counts import CountMatrix
from isotopic.estimators.saved_state import check_saved_state
from isotopic.init import random_start
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers import solve

X = random_counts(np.random.default_rng(0))
SIZES = {"size_factors": np.linspace(0.5, 2, 12)}


def few(model, **given):
    return model.set_params(max_iter=4, tol=0, random_state=0), given


MODELS = {
    "NMF": few(NMF(3)),
    "NMF with starts": few(NMF(2, n_init=2, solver="joint")),
    "PLSA": few(PLSA(3), sample_weight=np.linspace(0.1, 1, 12)),
    "LDA": few(LDA(3, seeds={1: [1, 2]})),
    "LDA, variational": few(LDA(3, alpha=[0.1, 0.2, 0.3], eta=0.2, estimate="variational")),
    "LDA, online": few(LDA(3, solver=OnlineEM(batch_size=4))),
    "GammaPoisson": few(GammaPoisson(3, fixed_topics=np.full((1, 9), 1 / 9)), **SIZES),
    "SparseNMF": few(SparseNMF(3, 0.5, forbidden={2: [3]})),
    "BetaNMF": few(BetaNMF(3, beta=0.5)),
    "BetaNMF, squares": few(BetaNMF(3, beta=2)),
    "NegativeBinomialNMF": few(NegativeBinomialNMF(3)),
}


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@cache
def files():
    """Return the members of a model file and of a checkpoint of every model."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for name, (model, given_) in MODELS.items():
            model.fit(X, checkpoint=path, **given_)
            found[name, "checkpoint"] = members_of(path)
            model.save(path)
            found[name, "model"] = members_of(path)
            path.unlink()
        LDA(3, alpha=0.1, eta=0.1, random_state=0).partial_fit(X).partial_fit(X).save(path)
        found["partial_fit", "model"] = members_of(path)
    return found


def changed_array(data, array):
    """Return the array with one kind of damage."""
    flat = array.copy()
    if array.dtype.names:  # the history
        field = data.draw(st.sampled_from(array.dtype.names))
        kinds = ["short", "empty", "flat", "text", "reversed"]
        kinds += ["nan"] if array.dtype[field].kind == "f" else []
        view = flat[field]
    else:
        kinds = ["short", "empty", "flat", "text", "transposed"]
        kinds += ["nan", "inf", "negative", "huge"] if array.dtype.kind == "f" else []
        kinds += ["negative"] if array.dtype.kind == "i" else []
        view = flat
    kind = data.draw(st.sampled_from(kinds))
    at = data.draw(st.integers(0, max(array.size - 1, 0)))
    values = {"nan": np.nan, "inf": np.inf, "negative": -1, "huge": 1e300}
    if kind in values:
        with np.errstate(over="ignore"):
            if view.size:
                view.flat[at] = np.array(values[kind]).astype(view.dtype)
        return flat
    changed = {
        "short": lambda: array[:-1],
        "empty": lambda: array[:0],
        "flat": array.ravel,
        "text": lambda: np.full(array.shape, "x"),
        "transposed": lambda: np.ascontiguousarray(array.T),
        "reversed": lambda: array[::-1],
    }
    return changed[kind]() if array.ndim else np.zeros(2)


def leaves(node, place=()):
    """Yield the places of all values in a JSON tree."""
    if isinstance(node, (dict, list)) and node:
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from leaves(node[key], (*place, key))
    else:
        yield place


def damaged(data, members, path):
    """Write the file with one array or one value of the tree changed."""
    manifest = json.loads(members["manifest.json"])
    arrays = sorted(name for name in members if name.endswith(".npy"))
    changed = dict(members)
    if data.draw(st.booleans()):
        name = data.draw(st.sampled_from(arrays))
        array = np.load(io.BytesIO(members[name]))
        file = io.BytesIO()
        np.lib.format.write_array(file, changed_array(data, array), version=(1, 0))
        changed[name] = file.getvalue()
        what = name
    else:
        *parents, last = what = data.draw(st.sampled_from(list(leaves(manifest["tree"]))))
        node = manifest["tree"]
        for key in parents:
            node = node[key]
        node[last] = data.draw(
            st.sampled_from(
                [None, True, -1, 0, 10**12, 1e300, "x", [], {"float": "nan:7ff8000000000000"}]
                + [{"float": "inf"}, {"dict": {}}, {"tuple": []}]
                + [{"array": name.removesuffix(".npy")} for name in arrays[:2]]
            )
        )
        changed["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in changed.items():
            archive.writestr(name, content)
    return what


def check_usable(model):
    for array in (model.components_, model.weights_):
        assert np.isfinite(array).all()
        assert (array >= 0).all()


FREELY = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.filterwarnings("ignore")
@FREELY
@given(st.data())
def test_a_damaged_model_is_refused_or_usable(tmp_path, data):
    name, path = data.draw(st.sampled_from([*MODELS, "partial_fit"])), tmp_path / "model"
    damaged(data, files()[name, "model"], path)
    try:
        model = isotopic.load(path)
    except ValueError as error:
        if str(path) not in str(error):
            raise
        return
    check_usable(model)
    given_ = SIZES if name == "GammaPoisson" else {}
    try:
        weights = model.transform(X, **given_)
    except ValueError:  # such as for another beta, or parameters, which are checked when used
        return
    except TypeError as error:  # of a parameter, which it must name
        if not re.match(r"\w+ must ", str(error)):
            raise
        return
    assert np.isfinite(weights).all()


@pytest.mark.filterwarnings("ignore")
@FREELY
@given(st.data())
def test_a_damaged_checkpoint_is_refused_or_usable(tmp_path, data):
    name, path = data.draw(st.sampled_from(list(MODELS))), tmp_path / "fit"
    damaged(data, files()[name, "checkpoint"], path)
    model, given_ = MODELS[name]
    more = clone(model).set_params(max_iter=4 if model.n_init > 1 else 6)
    try:
        more.fit(X, checkpoint=path, **given_)
    except ValueError as error:
        if str(path) not in str(error):
            raise
        return
    check_usable(more)


@pytest.mark.parametrize("change", [np.ravel, np.float32], ids=["shape", "precision"])
def test_earlier_counts_of_another_form_are_refused(change):
    problem = Problem(Gamma(0.5, 0.5), Simplex(), CountMatrix(X), 2)
    start = random_start(problem, np.random.default_rng(0))
    found = solve(problem, Accelerated(), start, max_iter=3)
    seeds = np.zeros((1, 2), np.int64)
    saved = {"seeds": seeds, "number": 0, "best": None, "here": found}
    check_saved_state(saved, problem, 1)
    previous = found.state.previous
    damaged_counts = previous._replace(weights=change(previous.weights))
    state = replace(found.state, previous=damaged_counts)
    with pytest.raises(ValueError, match=r"previous\.weights"):
        check_saved_state({**saved, "here": replace(found, state=state)}, problem, 1)


def test_wrong_sums_of_rows_that_cancel_are_refused(tmp_path):
    model = PLSA(3, max_iter=2, tol=0, random_state=0).fit(X)
    weights = model.fitted_.weights.mean.copy()
    weights[:2] *= [[0.5], [1.5]]
    wrong = replace(model.fitted_, weights=Posterior(weights, weights))
    model.with_fitted(wrong).save(tmp_path / "model")
    with pytest.raises(ValueError, match="Row 0 of the weights must sum to one"):
        isotopic.load(tmp_path / "model")

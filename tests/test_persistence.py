"""Saved models, and fits that survive their process."""

import copy
import dataclasses
import io
import pathlib
import sys
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import paper_lda, random_counts, sparse_counts
from processes import LIMIT, started_python
from scipy import sparse
from sklearn.base import clone

import isotopic
from isotopic import (
    LDA,
    NMF,
    PLSA,
    Alternating,
    BetaNMF,
    Checkpoint,
    Dirichlet,
    Gamma,
    GammaPoisson,
    JointEM,
    Lasso,
    LogPenalty,
    NegativeBinomialNMF,
    SparseNMF,
    TopicModel,
)
from isotopic.estimators.digest import digest
from isotopic.problem import Problem

MODELS = [
    NMF(3),
    NMF(3, normalize=False, init="nndsvd"),
    PLSA(3, solver=JointEM()),
    LDA(3),
    LDA(3, estimate="variational", alpha="symmetric"),
    paper_lda(3, alpha=[0.1, 0.2, 0.3], eta=0.2),
    GammaPoisson(3, fixed_topics=np.full((1, 9), 1 / 9)),
    TopicModel(3, weights=Lasso(0.5), seeds={0: [1, 2]}, forbidden={1: [3]}),
    TopicModel(3, weights=Gamma(0.5, 0.5), topics=Dirichlet(0.5), random_state=3),
    SparseNMF(3, 0.5, fixed_topics=np.full((1, 9), 1 / 9), seeds={1: [1, 2]}, forbidden={2: [3]}),
    SparseNMF(3, 0.5, norm="l1", penalty="log"),
    SparseNMF(3, 0.5, norm=1.5, penalty="power", solver="alternating"),
    BetaNMF(3, beta="frobenius", penalty=LogPenalty(0.1, 0.5)),
    BetaNMF(3, beta=0.5, normalize=False, solver="joint"),
    BetaNMF(3, beta=1.5, solver=Alternating(), fixed_topics=np.full((1, 9), 1 / 9)),
    NegativeBinomialNMF(3),
]


@pytest.fixture(params=MODELS, ids=lambda m: str(m)[:50])
def model(request):
    return clone(request.param).set_params(max_iter=12, tol=0)


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.flags.f_contiguous) == (b.dtype, b.flags.f_contiguous)
        np.testing.assert_array_equal(a, b)
    elif dataclasses.is_dataclass(a):
        ours, theirs = (value.__getstate__() or {} for value in (a, b))  # vars() has caches too
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            assert_same(value, theirs[name])
    else:
        assert str(a) == str(b)


def test_a_saved_model_comes_back_bit_for_bit(rng, model, tmp_path):
    X = random_counts(rng)
    model.set_params(random_state=0).fit(X, sample_weight=rng.random(12))
    model.save(tmp_path / "model.isotopic")
    loaded = isotopic.load(tmp_path / "model.isotopic")
    assert_same(model, loaded)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    refit = clone(loaded).fit(X)
    np.testing.assert_array_equal(refit.components_, clone(model).fit(X).components_)


def test_names_generators_and_starts_are_kept(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(random_counts(rng, 12, 3), columns=["sea", "ship", "star"])
    start = paper_lda(2, max_iter=3, tol=0, random_state=0).fit(X)
    model = NMF(2, init=start, random_state=np.random.default_rng(5), max_iter=3, tol=0).fit(X)
    model.save(tmp_path / "m")
    loaded = isotopic.load(str(tmp_path / "m"))
    assert list(loaded.feature_names_in_) == ["sea", "ship", "star"]
    assert loaded.random_state.bit_generator.state == model.random_state.bit_generator.state
    np.testing.assert_array_equal(loaded.init.components_, start.components_)
    assert list(loaded.top_terms(1)["term"]) == list(model.top_terms(1)["term"])


def test_callbacks_are_left_out_with_a_warning(rng, tmp_path):
    model = NMF(2, callbacks=print, max_iter=1, tol=0).fit(random_counts(rng))
    with pytest.warns(UserWarning, match="callbacks are code"):
        model.save(tmp_path / "m")
    assert isotopic.load(tmp_path / "m").callbacks is None


def test_what_is_not_a_whole_model_is_refused(rng, tmp_path):
    path = tmp_path / "m"
    NMF(2, max_iter=1, tol=0).fit(random_counts(rng)).save(path)
    content = path.read_bytes()
    for bad in (b"", b"no zip", content[:-30], content[: len(content) // 2]):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=str(path)):
            isotopic.load(path)
    with pytest.raises(FileNotFoundError):
        isotopic.load(tmp_path / "nothing")


def test_arrays_that_do_not_fit_are_refused(rng, tmp_path):
    """The core would read beyond a table that is too small."""
    path, other = tmp_path / "m", tmp_path / "n"
    paper_lda(2, eta=0.1, max_iter=1, tol=0).fit(random_counts(rng)).save(path)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    arrays = [name for name in members if name.endswith(".npy") and ".topics." in name]
    assert len(arrays) >= 4
    for name in arrays:
        small = io.BytesIO()
        np.save(small, np.ones((2, 3)))
        with zipfile.ZipFile(other, "w") as new:
            for member, content in members.items():
                new.writestr(member, small.getvalue() if member == name else content)
        with pytest.raises(
            ValueError, match=r"do not match|do not fit|does not fit|has( the)? shape"
        ):
            isotopic.load(other)


def test_a_file_from_the_future_says_so(rng, tmp_path):
    path, other = tmp_path / "m", tmp_path / "n"
    NMF(2, max_iter=1, tol=0).fit(random_counts(rng)).save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                content = content.replace(b'"format_version": 2', b'"format_version": 99')
            new.writestr(name, content)
    with pytest.raises(ValueError, match="newer"):
        isotopic.load(other)


DATA = pathlib.Path(__file__).parent / "data"


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ["lda", "gamma_poisson", "online", "general"])
def test_files_of_version_1_are_read(name, tmp_path):
    """Written before there was a Fitted, with fixed topics, sizes, partial_fit, or a solver."""
    expected = np.load(DATA / f"{name}-version-1.npz")
    model = isotopic.load(DATA / f"{name}-version-1.isotopic")
    np.testing.assert_array_equal(model.components_, expected["components"])
    np.testing.assert_array_equal(model.weights_, expected["weights"])
    assert model.objective_ == expected["objective"]
    offsets = model.fitted_.offsets
    given = {"size_factors": offsets.size_factors, "fixed_weights": offsets.fixed_weights}
    transformed = model.transform(expected["X"], **given)
    # Inference stops when an update moves a millionth; where it stops is not part of the file.
    np.testing.assert_allclose(transformed, expected["transformed"], rtol=3e-5, atol=1e-9)
    model.save(tmp_path / "m")
    assert_same(model, isotopic.load(tmp_path / "m"))
    if name == "online":
        assert model.partial_fit(expected["X"]).n_samples_seen_ == 24


def test_what_fit_takes_can_be_saved(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"f{i}" for i in range(9)]
    X = pandas.DataFrame(random_counts(rng), columns=names)
    held = pandas.DataFrame(rng.dirichlet(np.ones(9), 1), columns=names)
    model = NMF(3, fixed_topics=held, seeds={np.int64(1): {"f1", "f2"}}, max_iter=2, tol=0).fit(X)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(isotopic.load(tmp_path / "m").components_, model.components_)


def test_what_load_would_refuse_is_not_saved(rng, tmp_path):
    class Own(NMF):
        pass

    model = Own(2, max_iter=1, tol=0).fit(random_counts(rng))
    with pytest.raises(TypeError, match="cannot save a Own"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


# Checkpoints


def stop_after(n):
    return lambda at: at.iteration >= n


def test_a_resumed_fit_ends_with_the_same_bits(rng, model, tmp_path):
    X = random_counts(rng)
    whole = clone(model).set_params(max_iter=12, random_state=0).fit(X)
    path = tmp_path / "fit"
    clone(model).set_params(random_state=0, callbacks=stop_after(5)).fit(X, checkpoint=path)
    rest = clone(model).set_params(random_state=0).fit(X, checkpoint=path)
    np.testing.assert_array_equal(rest.components_, whole.components_)
    np.testing.assert_array_equal(rest.weights_, whole.weights_)
    np.testing.assert_array_equal(rest.history_["objective"], whole.history_["objective"])
    assert np.all(np.diff(rest.history_["seconds"]) > 0)
    again = clone(model).set_params(random_state=0).fit(X, checkpoint=path)
    np.testing.assert_array_equal(again.components_, whole.components_)


def test_a_finished_fit_can_go_further(rng, tmp_path):
    X = random_counts(rng)
    path = tmp_path / "fit"
    NMF(3, max_iter=5, tol=0, random_state=0).fit(X, checkpoint=path)
    more = NMF(3, max_iter=9, tol=0, random_state=0).fit(X, checkpoint=path)
    whole = NMF(3, max_iter=9, tol=0, random_state=0).fit(X)
    np.testing.assert_array_equal(more.components_, whole.components_)


@pytest.mark.parametrize("seed", [0, None])
def test_restarts_go_on_where_they_were(rng, tmp_path, seed):
    X = random_counts(rng)
    path = tmp_path / "fit"
    calls = []

    def crash(at):
        calls.append(at)
        if len(calls) == 17:
            raise RuntimeError("power cut")

    model = NMF(3, n_init=4, max_iter=6, tol=0, random_state=seed, callbacks=crash)
    with pytest.raises(RuntimeError, match="power cut"):
        model.fit(X, checkpoint=Checkpoint(path, seconds=0))
    model.set_params(callbacks=calls.append).fit(X, checkpoint=path)
    assert len(calls) == 17 + 8  # the 17th was not written down
    if seed is not None:
        whole = NMF(3, n_init=4, max_iter=6, tol=0, random_state=0).fit(X)
        np.testing.assert_array_equal(model.components_, whole.components_)


def test_a_checkpoint_of_another_fit_is_refused(rng, tmp_path):
    X = random_counts(rng)
    path = tmp_path / "fit"
    paper_lda(3, max_iter=2, tol=0).fit(X, checkpoint=path)
    before = path.read_bytes()
    for model, data, what in (
        (NMF(3), X, "a fit of LDA"),
        (paper_lda(2), X, "other values of n_components"),
        (paper_lda(3, alpha=0.7), X, "other values of alpha"),
        (paper_lda(3, init="nndsvd"), X, "another start"),
        (paper_lda(3), X + 1, "other data"),
        (paper_lda(3), X.astype(np.float32), "other data"),
    ):
        with pytest.raises(ValueError, match=what):
            model.fit(data, checkpoint=path)
    assert path.read_bytes() == before


def test_settings_are_compared_by_what_they_say(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, path = random_counts(rng), tmp_path / "fit"
    held = rng.dirichlet(np.ones(9), 1)
    mask = np.zeros((3, 9), dtype=bool)
    other_mask = mask.copy()
    other_mask[0, 0] = True
    pairs = [
        ({"random_state": 1}, {"random_state": 2}),
        (
            {"fixed_topics": pandas.DataFrame(held)},
            {"fixed_topics": pandas.DataFrame(held[:, ::-1])},
        ),
        (
            {"topics": Dirichlet(0.1, forbidden=mask)},
            {"topics": Dirichlet(0.1, forbidden=other_mask)},
        ),
        ({"seeds": {0: {1, 2}}}, {"seeds": {0: {1, 3}}}),
    ]
    for first, second in pairs:
        settings = {"max_iter": 2, "tol": 0, "random_state": 0}
        TopicModel(3, **(settings | first)).fit(X, checkpoint=path)
        TopicModel(3, **(settings | first)).fit(X, checkpoint=path)
        with pytest.raises(ValueError, match="belongs to a fit"):
            TopicModel(3, **(settings | second)).fit(X, checkpoint=path)
        path.unlink()
    sparse_X = sparse.csr_array(X)
    NMF(2, max_iter=1, tol=0).fit(sparse_X, checkpoint=path)
    wider = sparse.csr_array((sparse_X.data, sparse_X.indices, sparse_X.indptr), shape=(12, 11))
    with pytest.raises(ValueError, match="other data"):
        NMF(2, max_iter=1, tol=0).fit(wider, checkpoint=path)


def large_seeds(changed=0):
    """Return pseudo-counts of which NumPy prints only a part."""
    seeds = np.full((3, 2000), 0.5)
    seeds[1, 1000] += changed
    return seeds


def other_topics(changed=0.0):
    topics = np.full((1, 2000), 1.0)
    topics[0, 1000] += changed
    return topics / topics.sum()


DIFFERENT = {
    "seeds": ({"seeds": large_seeds()}, {"seeds": large_seeds(1)}),
    "seeds as a dict": ({"seeds": {0: list(range(1500))}}, {"seeds": {0: list(range(1501))}}),
    "fixed_topics": (
        {"fixed_topics": other_topics()},
        {"fixed_topics": other_topics(1.0)},
    ),
    "fixed_topics of objects": (
        {"fixed_topics": other_topics().astype(object)},
        {"fixed_topics": other_topics(1.0).astype(object)},
    ),
    "forbidden": ({"forbidden": large_seeds(-0.5) == 0}, {"forbidden": large_seeds() == 0}),
    "alpha": ({"alpha": [0.1, 0.2, 0.3]}, {"alpha": [0.1, 0.2, 0.4]}),
    "eta": ({"eta": large_seeds()}, {"eta": large_seeds(1e-6)}),
    "random_state: no seed, a seed": ({"random_state": None}, {"random_state": 1}),
    "random_state: a seed, no seed": ({"random_state": 1}, {"random_state": None}),
    "random_state": (
        {"random_state": np.random.default_rng(1)},
        {"random_state": np.random.default_rng(2)},
    ),
    "random_state: RandomState": (
        {"random_state": np.random.RandomState(1)},
        {"random_state": np.random.RandomState(2)},
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_checkpoint_of_other_settings_is_refused(rng, tmp_path, name):
    """Settings are compared by their whole content; NumPy's repr leaves out most of it."""
    X, path = rng.poisson(1.0, (12, 2000)) + 0.0, tmp_path / "fit"
    first, second = DIFFERENT[name]
    settings = {"alpha": 0.1, "eta": 0.1, "max_iter": 2, "tol": 0, "random_state": 0}
    fresh = copy.deepcopy(first)
    LDA(3, **(settings | first)).fit(X, checkpoint=path)
    with pytest.raises(ValueError, match=f"other values of {name.split()[0].rstrip(':')}"):
        LDA(3, **(settings | second)).fit(X, checkpoint=path)
    again = LDA(3, **(settings | fresh | {"max_iter": 3})).fit(X, checkpoint=path)
    assert again.n_iter_ == 3


def test_a_checkpoint_of_other_samples_is_refused(rng, tmp_path):
    X, path = random_counts(rng), tmp_path / "fit"
    ones = {"sample_weight": np.ones(12), "size_factors": np.ones(12)}
    for name, values in ones.items():
        other = values.copy()
        other[5] = 1.5
        model = NMF(2, max_iter=1, tol=0, random_state=0)
        model.fit(X, checkpoint=path, **{name: values})
        with pytest.raises(ValueError, match=r"other data|sample weights"):
            model.fit(X, checkpoint=path, **{name: other})
        path.unlink()


def test_a_checkpoint_of_other_row_blocks_is_refused(tmp_path):
    """Also if all sums are the same: these are ones and zeros with the same margins."""
    rows = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 1]])
    model, path = NMF(2, max_iter=2, tol=0, random_state=0), tmp_path / "fit"
    model.fit(isotopic.open_blocks([rows, rows]), checkpoint=path)
    model.fit(isotopic.open_blocks([rows, rows]), checkpoint=path)
    other = rows.copy()
    other[:2, :2] = rows[1::-1, :2]
    assert np.array_equal(other.sum(axis=0), rows.sum(axis=0))
    assert np.array_equal(other.sum(axis=1), rows.sum(axis=1))
    with pytest.raises(ValueError, match="other data"):
        model.fit(isotopic.open_blocks([other, rows]), checkpoint=path)


@given(st.data())
def test_a_digest_sees_every_entry(data):
    """Two values have the same digest if and only if they have the same content."""
    arrays = st.lists(st.floats(0, 1), min_size=2, max_size=2).map(np.array)
    values = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), arrays
    )
    value = data.draw(st.dictionaries(st.text(), st.lists(values), max_size=3))
    assert digest(value) == digest(copy.deepcopy(value))
    changed = copy.deepcopy(value)
    changed[data.draw(st.text())] = data.draw(st.lists(values))
    assert (digest(changed) == digest(value)) == (repr(changed) == repr(value))


def test_fewer_iterations_than_were_made_are_refused(rng, tmp_path):
    X, path = random_counts(rng), tmp_path / "fit"
    NMF(3, max_iter=5, tol=0).fit(X, checkpoint=path)
    with pytest.raises(ValueError, match="has made 5 iterations"):
        NMF(3, max_iter=3, tol=0).fit(X, checkpoint=path)


def test_several_starts_are_compared_at_the_same_length(rng, tmp_path):
    X, path = random_counts(rng), tmp_path / "fit"
    NMF(3, n_init=2, max_iter=3, tol=0).fit(X, checkpoint=path)
    with pytest.raises(ValueError, match="other values of max_iter"):
        NMF(3, n_init=2, max_iter=9, tol=0).fit(X, checkpoint=path)


def test_an_interrupted_step_does_not_spoil_the_checkpoint(rng, tmp_path, monkeypatch):
    """The priors take over the counts of the point before."""
    X, path = random_counts(rng), tmp_path / "fit"
    settings = {"init": "random", "max_iter": 9, "tol": 0, "random_state": 0, "solver": "joint"}
    whole = NMF(3, **settings).fit(X)
    right, calls = Problem.absorb_topics, []

    def interrupt(self, counts, topics, weights):
        result = right(self, counts, topics, weights)
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return result

    model = NMF(3, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(Problem, "absorb_topics", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, checkpoint=path)
    assert model.n_iter_ == 4
    np.testing.assert_array_equal(model.fit(X, checkpoint=path).components_, whole.components_)


def test_a_full_disk_does_not_end_the_fit(rng, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(isotopic.archive, "write", full)
    with pytest.warns(UserWarning, match="No space left"):
        model = NMF(3, max_iter=5, tol=0).fit(random_counts(rng), checkpoint=tmp_path / "fit")
    assert model.n_iter_ == 5


def test_a_checkpoint_is_not_a_model(rng, tmp_path):
    path = tmp_path / "fit"
    NMF(2, max_iter=1, tol=0).fit(random_counts(rng), checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint"):
        isotopic.load(path)


KILLED = """
import sys, numpy as np
from scipy import sparse
from isotopic import LDA, Checkpoint
X = sparse.random_array((200, 100), density=0.1, format="csr", random_state=0)
model = LDA(8, max_iter=10**9, tol=0, random_state=0)
model.fit(X, checkpoint=Checkpoint(sys.argv[1], seconds=0.05))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_fit_is_resumed_with_the_same_bits(tmp_path):
    path = tmp_path / "fit"
    for _ in range(2):  # killed twice, at any moment, also while it writes
        written = path.stat().st_mtime_ns if path.exists() else 0
        deadline = time.monotonic() + LIMIT
        with started_python("-c", KILLED, path) as process:  # killed at the end of the block
            while not (path.exists() and path.stat().st_mtime_ns > written):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
    seen = []

    def stop(at):
        seen.append(at.iteration)
        return len(seen) == 30

    X = sparse.random_array((200, 100), density=0.1, format="csr", random_state=0)
    model = LDA(8, max_iter=10**9, tol=0, random_state=0)
    resumed = clone(model).set_params(callbacks=stop).fit(X, checkpoint=path)
    assert seen[0] > 1
    whole = model.set_params(max_iter=resumed.n_iter_).fit(X)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.weights_posterior_, whole.weights_posterior_)
    assert [p.name for p in pathlib.Path(tmp_path).iterdir() if "tmp" in p.name] == []


def test_warm_start_goes_on(rng):
    X = sparse_counts(rng, 60, 40, 0.3)
    whole = paper_lda(3, max_iter=12, tol=0, random_state=0, solver="joint").fit(X)
    warm = paper_lda(3, max_iter=6, tol=0, random_state=0, solver="joint", warm_start=True)
    warm.fit(X).fit(X)
    np.testing.assert_allclose(warm.components_, whole.components_, rtol=1e-6)
    warm.fit(X[:20])  # other samples: the topics go on
    assert warm.weights_.shape == (20, 3)
    with pytest.raises(ValueError, match="topics"):
        warm.fit(X[:, :30])

"""Data in row blocks: the same fits, from every format, within a limit on memory."""

import ast
import contextlib
import os
import pickle
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import paper_lda, random_counts, sparse_counts
from processes import run_python
from scipy import io, sparse

from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    Lasso,
    NegativeBinomialNMF,
    Simplex,
    SparseNMF,
    TopicModel,
    load,
    open_blocks,
)
from isotopic.blocks import BlockedCounts, BlockedProblem, Blocks, memory
from isotopic.blocks.block import (
    Buffers,
    SourceRows,
    Stack,
    can_load_in_place,
    load_in_place,
    load_raw,
)
from isotopic.blocks.engine import LocalEngine
from isotopic.blocks.memory import Memory
from isotopic.blocks.row_store import FolderStore
from isotopic.blocks.tasks import BlockFacts, PlacedBlock, TreeSum
from isotopic.io import open_source
from isotopic.priors import CollapsedDirichlet
from isotopic.threads import use_threads

PAIRS = [
    (Free(), Free()),
    (Free(), Simplex()),
    (Lasso(0.7), Dirichlet(0.4)),
    (Simplex(), Simplex()),
    (Dirichlet(0.3), Simplex()),
    (Dirichlet([0.2, 0.5, 0.3]), Dirichlet(0.4)),
    (Gamma(0.4, 2.0), Dirichlet(0.4)),
    (Gamma(0.4, 2.0), Gamma(0.4, 2.0)),
]


@pytest.fixture
def X(rng):  # noqa: N802
    return sparse_counts(rng, 60, 40, 0.3)


def cut(X, *edges, **how):
    """Rows in blocks that are not joined, however small they are."""
    edges = [0, *(edges or (7, 8, 40)), X.shape[0]]
    parts = [X[a:b] for a, b in pairwise(edges)]
    return open_blocks(parts, block_entries=1, **how)


def assert_same_fit(one, other):
    for name in ("components_", "weights_"):
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * np.max(b))
    np.testing.assert_allclose(one.history_["objective"], other.history_["objective"], rtol=1e-12)
    np.testing.assert_allclose(
        one.history_["residual"], other.history_["residual"], rtol=1e-6, atol=1e-13
    )


def assert_same_bits(one, other):
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one.weights_, other.weights_)
    assert one.objective_ == other.objective_


@pytest.mark.parametrize(
    ("weights", "topics", "solver"),
    [
        (weights, topics, solver)
        for weights, topics in PAIRS
        for solver in ("joint", "alternating", "accelerated")
        if solver != "joint" or topics.is_normalized
    ],
    ids=str,
)
@pytest.mark.parametrize("dense", [False, True])
def test_a_fit_to_blocks_is_the_fit_to_the_matrix(X, weights, topics, solver, dense):
    X = X.toarray() if dense else X
    model = TopicModel(3, weights=weights, topics=topics, solver=solver, max_iter=12, tol=0)
    model.set_params(random_state=0, init="random")
    whole = pickle.loads(pickle.dumps(model.fit(X)))
    assert_same_fit(model.fit(cut(X)), whole)
    np.testing.assert_allclose(
        model.transform(cut(X)), whole.transform(X), rtol=1e-6, atol=1e-9 * whole.weights_.max()
    )
    if not topics.is_normalized or topics.is_bayesian:
        np.testing.assert_allclose(model.score(cut(X)), whole.score(X), rtol=1e-9)


LEARNING = [
    LDA(3),
    LDA(3, alpha=0.3),
    LDA(3, estimate="smoothed", solver="joint"),
    LDA(3, estimate="variational", alpha="auto", eta="auto"),
    TopicModel(3, weights=Dirichlet(0.3), topics=CollapsedDirichlet(0.1)),
    TopicModel(3, weights=Gamma(learn="asymmetric"), topics=Gamma(learn="symmetric")),
    TopicModel(3, weights=Gamma(learn="symmetric"), topics=Dirichlet(0.4, learn="symmetric")),
    ARDNMF(3),
    NegativeBinomialNMF(3),
]


@pytest.mark.every(2)
@pytest.mark.parametrize("model", LEARNING, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_priors_learn_the_same_from_blocks(rng, X, tmp_path, model, weighted):
    copies = rng.uniform(0.5, 3, 60) if weighted else None
    model.set_params(max_iter=45, tol=0, random_state=0, init="random")  # three lessons
    whole = pickle.loads(pickle.dumps(model.fit(X, sample_weight=copies)))
    assert_same_fit(model.fit(cut(X), sample_weight=copies), whole)
    for side in ("weights_prior", "topics_prior"):
        one, other = getattr(model.fitted_, side), getattr(whole.fitted_, side)
        for name, setting in vars(other).items():
            if isinstance(setting, np.ndarray):
                np.testing.assert_allclose(getattr(one, name), setting, rtol=1e-9)
    here = pickle.loads(pickle.dumps(model))
    on_disk = model.set_params(n_jobs=2).fit(cut(X, scratch=tmp_path), sample_weight=copies)
    assert_same_bits(on_disk, here)


def test_arrays_are_read_without_the_parser_of_the_interpreter(X, tmp_path, monkeypatch):
    """In CPython 3.11 it can fail when several threads use it."""

    def fail(text):
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ast, "literal_eval", fail)
    counts = sparse.csr_array(X)
    sparse.save_npz(tmp_path / "x.npz", counts)
    (block,) = open_blocks([tmp_path / "x.npz"]).blocks
    np.testing.assert_array_equal(load_raw(block).toarray(), counts.toarray())
    NMF(2, max_iter=2, tol=0).fit(open_blocks([tmp_path / "x.npz"], scratch=tmp_path))
    NMF(2, max_iter=2, tol=0).fit(X).save(tmp_path / "model.isotopic")
    load(tmp_path / "model.isotopic")


def test_a_folder_is_deleted_while_a_thread_still_writes_into_it(tmp_path):
    store, stop = FolderStore(str(tmp_path / "rows")), threading.Event()
    os.mkdir(store.folder)

    def write():
        for number in range(200):
            if stop.is_set():
                return
            with contextlib.suppress(FileNotFoundError):
                store.put("key", number, np.ones(1000))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        store.close()
    finally:
        stop.set()
        writer.join()
    assert not os.path.exists(store.folder)


def test_lessons_about_settings_read_no_counts(X):
    blocks = [CountedBlock(X[i : i + 20]) for i in (0, 20, 40)]
    limit = _needed(LDA(3), Blocks(tuple(blocks), keep_weights=False))
    for block in blocks:
        block.loads.clear()
    model = LDA(3, estimate="smoothed", solver="joint", max_iter=25, tol=0, init="random")
    model.fit(Blocks(tuple(blocks), memory_limit=limit, keep_weights=False))
    assert model.fitted_.weights_prior.concentration.shape == (1, 3)
    assert [len(block.loads) for block in blocks] == [28] * 3  # checked, 26 passes, calibrated


@pytest.mark.parametrize("model", [NMF(3), paper_lda(3, alpha=0.3, eta=0.1), LDA(3)], ids=str)
def test_sample_weights_starts_and_knowledge(rng, X, model):
    model.set_params(max_iter=10, tol=0, random_state=0)
    copies = rng.uniform(0.5, 3, 60)
    whole = pickle.loads(pickle.dumps(model.fit(X, sample_weight=copies)))
    assert_same_fit(model.fit(cut(X), sample_weight=copies), whole)
    start = rng.gamma(2.0, size=(60, 3)) + 0.1, rng.gamma(2.0, size=(3, 40)) + 0.1
    for settings in ({"init": start}, {"init": whole}, {"seeds": {0: [3]}, "forbidden": {1: [2]}}):
        model.set_params(**{"init": "random", "seeds": None, "forbidden": None} | settings)
        whole_again = pickle.loads(pickle.dumps(model.fit(X)))
        assert_same_fit(model.fit(cut(X)), whole_again)


@pytest.mark.parametrize("model", [NMF(3), GammaPoisson(3, learn="asymmetric"), ARDNMF(3)], ids=str)
def test_what_is_known_of_samples(rng, X, tmp_path, model):
    known = {"size_factors": rng.uniform(0.5, 3, 60), "fixed_weights": rng.uniform(0.1, 1, 60)}
    model.set_params(max_iter=25, tol=0, random_state=0)
    whole = pickle.loads(pickle.dumps(model.fit(X, **known)))
    assert_same_fit(model.fit(cut(X, scratch=tmp_path), **known), whole)
    assert isinstance(model.weights_, np.memmap)
    weights = model.transform(cut(X), **known)
    np.testing.assert_allclose(weights, whole.transform(X, **known), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.score(cut(X), **known), whole.score(X, **known), rtol=1e-9)
    with pytest.raises(ValueError, match="fitted with size_factors"):
        model.transform(cut(X))
    model.fit(cut(X, keep_weights=False), **known)
    assert model.weights_.shape == (0, 3)
    again = NMF(3, init=model, max_iter=1, tol=0).fit(X)
    assert np.isfinite(again.objective_)


def test_a_model_of_a_part_is_a_start_for_all(X):
    part = paper_lda(3, alpha=0.3, eta=0.1, max_iter=5, tol=0, random_state=0).fit(X[:20])
    model = paper_lda(3, alpha=0.3, eta=0.1, init=part, max_iter=5, tol=0)
    whole = pickle.loads(pickle.dumps(model.fit(X)))
    assert_same_fit(model.fit(cut(X)), whole)


@pytest.mark.parametrize(
    "model",
    [NMF(3, init="nndsvd"), PLSA(3, init="kmeans"), LDA(3), GammaPoisson(3, n_init=2)],
    ids=str,
)
def test_starts_are_those_of_the_matrix_if_all_samples_fit(rng, X, model):
    copies = rng.uniform(0.5, 3, 60)
    model.set_params(max_iter=12, tol=0, random_state=0)
    whole = pickle.loads(pickle.dumps(model.fit(X, sample_weight=copies)))
    assert_same_fit(model.fit(cut(X), sample_weight=copies), whole)


def planted(rng, n_samples, n_components, width):
    """Samples of topics that share no feature."""
    weights = rng.dirichlet(np.full(n_components, 0.3), n_samples)
    topics = np.kron(np.eye(n_components), rng.dirichlet(np.ones(width)))
    return sparse.csr_array(rng.poisson(60 * weights @ topics).astype(float)), topics


@pytest.mark.parametrize(
    "model", [LDA(3), LDA(3, estimate="variational"), NMF(3, init="spectral")], ids=str
)
def test_topics_of_some_samples_are_handed_over_to_all(rng, monkeypatch, model):
    X, topics = planted(rng, 200, 3, 8)
    first = model.set_params(random_state=0, max_iter=0, tol=0).fit(cut(X))
    entry_bytes = 64 * X.nnz / 200 + 12 * 3 * 8
    monkeypatch.setattr(memory, "_MOST_FOR_SAMPLES", 50 * entry_bytes)
    blocks = cut(X)
    assert BlockedProblem(*model._priors(), BlockedCounts(blocks), 3).memory.n_sampled == 50
    some = model.fit(blocks)
    assert some.weights_.shape == first.weights_.shape
    shares = some.components_ / some.components_.sum(axis=1, keepdims=True)
    same = shares @ (topics > 0).T  # how much of each is where each planted one is
    assert np.all(same.max(axis=1) > 0.6)  # a third at random
    assert sorted(same.argmax(axis=1)) == [0, 1, 2]
    again = pickle.loads(pickle.dumps(some))
    assert_same_bits(model.set_params(n_jobs=2).fit(blocks), again)


def test_without_room_for_samples_starts_are_random(X):
    blocks = cut(X, keep_weights=False)
    tight = Blocks(blocks.blocks, memory_limit=_needed(LDA(3), blocks), keep_weights=False)
    model = LDA(3, random_state=0, max_iter=5, tol=0)
    found = pickle.loads(pickle.dumps(model.fit(tight)))
    random = model.set_params(init="random").fit(tight)
    assert np.array_equal(random.components_, found.components_)
    with pytest.raises(ValueError, match=r"init='nndsvd' .*memory_limit leaves no room"):
        model.set_params(init="nndsvd").fit(tight)


@pytest.mark.parametrize("threads", [2, 3])
def test_bits_do_not_depend_on_threads_or_on_where_rows_are_kept(X, tmp_path, threads):
    model = paper_lda(3, alpha=0.3, eta=0.1, max_iter=10, tol=0, random_state=0, n_jobs=1)
    one = pickle.loads(pickle.dumps(model.fit(cut(X))))
    model.set_params(n_jobs=threads)
    assert_same_bits(model.fit(cut(X)), one)
    assert_same_bits(model.fit(cut(X, scratch=tmp_path)), one)
    assert isinstance(model.weights_, np.memmap)
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} == {"weights"}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=70), st.integers(0, 4))
def test_groups_of_blocks_add_up_to_the_same_bits(values, height):
    @dataclass
    class Number:
        value: float

        def plus(self, later):
            return Number(self.value + later.value)

    size = 2**height
    groups = [values[i : i + size] for i in range(0, len(values), size)]
    by_group = [TreeSum(map(Number, group)).total() for group in groups]
    assert TreeSum(by_group).total() == TreeSum(map(Number, values)).total()
    while len(by_group) > 1:  # as a cluster adds
        pairs = [by_group[i : i + 2] for i in range(0, len(by_group), 2)]
        by_group = [TreeSum(pair).total() for pair in pairs]
    assert by_group[0] == TreeSum(map(Number, values)).total()


# Formats


def write_npz(X, path):
    (path / "shards").mkdir()
    sparse.save_npz(path / "shards" / "0.npz", X[:20])
    sparse.save_npz(path / "shards" / "1.npz", X[20:].tocsc(), compressed=False)
    return path / "shards"


def write_npy(X, path):
    np.save(path / "X.npy", X.toarray())
    return path / "X.npy"


def write_mtx(X, path):
    io.mmwrite(path / "a.mtx", sparse.coo_matrix(X[:30]))
    io.mmwrite(path / "b.mtx", sparse.coo_matrix(X[30:]))
    return [path / "a.mtx", str(path / "b.mtx")]


def write_parts(X, path):
    for name in ("data", "indices", "indptr"):
        np.save(path / f"{name}.npy", getattr(X, name))
    np.save(path / "shape.npy", X.shape)
    return path


def annotated(X):
    anndata = pytest.importorskip("anndata")
    anndata.settings.allow_write_nullable_strings = True  # pandas has no others any more
    return anndata.AnnData(sparse.csr_matrix(X))


def write_h5ad(X, path):
    annotated(X).write_h5ad(path / "x.h5ad")
    return path / "x.h5ad"


def write_backed(X, path):
    anndata = pytest.importorskip("anndata")
    return anndata.read_h5ad(write_h5ad(X, path), backed="r")


def write_dense_h5(X, path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "x.h5", "w") as file:
        file["X"], file["other"] = X.toarray(), np.ones(3)
    return path / "x.h5"


def write_zarr(X, path):
    pytest.importorskip("zarr")
    annotated(X).write_zarr(path / "x.zarr")
    return path / "x.zarr"


def write_zarr_array(X, path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(path / "a.zarr"), shape=X.shape, chunks=(20, 40), dtype="f8")
    array[:] = X.toarray()
    return array


def write_parquet(X, path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    coo = sparse.coo_array(X)
    order = np.argsort(coo.row, kind="stable")
    columns = {"cell": coo.row[order], "gene": coo.col[order], "n": coo.data[order]}
    pq.write_table(pa.table(columns), path / "x.parquet", row_group_size=100)
    return path / "x.parquet"


def write_memmap(X, path):
    mapped = np.memmap(path / "x.bin", "float64", "w+", offset=64, shape=(70, 40))
    mapped[10:] = X.toarray()
    mapped.flush()
    return mapped[10:]


def make_list(X, path):
    return [X[:10], X[10:].toarray()]


def make_generator(X, path):
    return (X[i : i + 6] for i in range(0, 60, 6))


WRITERS = [
    write_npz,
    write_npy,
    write_mtx,
    write_parts,
    write_h5ad,
    write_backed,
    write_dense_h5,
    write_zarr,
    write_zarr_array,
    write_parquet,
    write_memmap,
    make_list,
    make_generator,
]


@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__)
@pytest.mark.parametrize("entries", [None, 150])
def test_every_format_holds_the_same_counts(X, tmp_path, write, entries):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the libraries say of each other
        written = write(X, tmp_path)
    blocks = open_blocks(written, n_features=40, block_entries=entries)
    assert blocks.shape == X.shape
    assert len(blocks.blocks) > 1 or entries is None
    loaded = [pickle.loads(pickle.dumps(block)).load() for block in blocks.blocks]
    assert [part.shape for part in loaded] == [block.shape for block in blocks.blocks]
    together = sparse.vstack([sparse.csr_array(part) for part in loaded])
    assert np.array_equal(together.toarray(), X.toarray())
    fitted = PLSA(2, max_iter=3, tol=0, random_state=0).fit(blocks)
    assert_same_fit(fitted, PLSA(2, max_iter=3, tol=0, random_state=0).fit(X))


@pytest.mark.filterwarnings("ignore")  # what the libraries say of each other
def test_names_of_features_come_with_anndata(X):
    data = annotated(X)
    data.var_names = [f"gene{i}" for i in range(40)]
    model = NMF(2, max_iter=3, tol=0).fit(data)
    assert list(model.feature_names_in_[:2]) == ["gene0", "gene1"]
    assert model.top_terms(1)["term"][0].startswith("gene")
    data.var_names = [f"other{i}" for i in range(40)]
    with pytest.raises(ValueError, match="feature names"):
        model.transform(data)


# What can be wrong


@pytest.fixture
def shards(X, tmp_path):
    for i in range(4):
        sparse.save_npz(tmp_path / f"{i}.npz", X[15 * i : 15 * (i + 1)])
    return tmp_path


def file_block(path):
    source = open_source(path)[0]
    return SourceRows(source, 0, source.shape[0], source.entries)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_files_are_read_again_as_they_were(tmp_path, X, compressed, form, dtype):
    paths, buffers = [tmp_path / f"{i}.npz" for i in range(2)], Buffers()
    opened = None
    for values in (X, X[::-1] * 2):  # the second time other files have the names
        parts = [sparse.csr_array(part).astype(dtype) for part in (values[:50], values[50:])]
        for path, part in zip(paths, parts, strict=True):
            sparse.save_npz(path, part.asformat(form), compressed=compressed)
            os.utime(path, ns=(0, int(values[0].sum())))
        if opened is not None:
            assert load_in_place(opened, np.float64, buffers) is None
        opened = Stack(tuple(map(file_block, paths)))
        np.testing.assert_array_equal(load_raw(opened).toarray(), values.toarray())
        if compressed or form != "csr":
            assert not can_load_in_place(opened)
            assert load_in_place(opened, np.float64, buffers) is None
            continue
        for precision in (np.float32, np.float64):
            rows = load_in_place(opened, precision, buffers)
            assert rows.values.dtype == precision
            read = sparse.csr_array((rows.values, rows.features, rows.row_starts), shape=rows.shape)
            np.testing.assert_array_equal(read.toarray(), values.toarray())


def test_a_file_that_was_cut_short_in_between_is_an_error(tmp_path, X):
    path = tmp_path / "block.npz"
    sparse.save_npz(path, sparse.csr_array(X), compressed=False)
    block = file_block(path)
    part = SourceRows(block.source, 5, 50, 1)
    load_raw(block)
    path.write_bytes(path.read_bytes()[:-100])
    assert load_in_place(block, np.float64, Buffers()) is None
    for again in (block, part):
        with pytest.raises(ValueError, match=r"block\.npz"):
            load_raw(again)


@pytest.mark.parametrize("wrong", [-1, 40, 2**31 - 1])
def test_indices_that_lead_outside_are_never_believed(tmp_path, X, wrong):
    path = tmp_path / "block.npz"
    sparse.save_npz(path, sparse.csr_array(X), compressed=False)
    block = file_block(path)
    status, content = os.stat(path), path.read_bytes()
    features = sparse.csr_array(X).indices.astype(np.int32)
    damaged = features.copy()
    damaged[len(features) // 2] = wrong
    assert content.count(features.tobytes()) == 1
    path.write_bytes(content.replace(features.tobytes(), damaged.tobytes()))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if nothing had happened
    assert load_in_place(block, np.float64, Buffers()) is None  # something has happened
    unaware = replace(block, source=replace(block.source, status=()))
    with pytest.raises(ValueError, match=r"the indices of .*block\.npz are damaged"):
        load_in_place(unaware, np.float64, Buffers())
    with pytest.raises(ValueError, match=r"block\.npz"):
        load_raw(block)  # checksums are verified


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_share_their_memory_give_the_same_bits(X, tmp_path, threads):
    for i in range(6):  # of different lengths
        part = X[10 * i : 10 * i + 10] if i % 2 else X[10 * i : 10 * i + 5 + i // 2]
        sparse.save_npz(tmp_path / f"{i}.npz", part, compressed=False)
    model = NMF(3, max_iter=6, tol=0, init="random", random_state=0, n_jobs=threads)
    blocks = open_blocks(tmp_path, block_entries=1)
    one = pickle.loads(pickle.dumps(model.fit(blocks)))
    tight = Blocks(blocks.blocks, memory_limit=_least(model, blocks))
    assert_same_bits(model.fit(tight), one)


def test_a_corrupt_block_is_named_before_the_first_pass(shards):
    blocks = open_blocks(shards, block_entries=1)
    content = bytearray((shards / "2.npz").read_bytes())
    content[150:400] = bytes(250)
    (shards / "2.npz").write_bytes(content)
    passes = []
    model = NMF(2, callbacks=passes.append)
    with pytest.raises(ValueError, match=r"2\.npz"):
        model.fit(blocks)
    (shards / "2.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"2\.npz: this is not an archive"):
        model.fit(shards)
    assert passes == []


def test_a_missing_block_is_named_before_the_first_pass(shards):
    blocks = open_blocks(shards, block_entries=1)
    (shards / "1.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"The block .*1\.npz is missing"):
        NMF(2).fit(blocks)
    with pytest.raises(FileNotFoundError, match=r"There is no .*1\.npz"):
        NMF(2).fit([shards / "0.npz", shards / "1.npz"])


def test_bad_counts_are_named_with_their_block(X, shards):
    bad = X[:15].copy()
    bad.data[3] = -1
    sparse.save_npz(shards / "3.npz", bad)
    with pytest.raises(ValueError, match=r"3\.npz cannot be used: .*-1"):
        NMF(2).fit(shards)
    sparse.save_npz(shards / "3.npz", X[:15, :30])
    with pytest.raises(ValueError, match=r"differ in their number of features.*3\.npz has 30"):
        NMF(2).fit(shards)


def test_a_block_that_changes_during_a_fit_is_named(X, shards):
    def change(at):
        sparse.save_npz(shards / "1.npz", X[:15] * (X[:15] > 1))

    blocks = open_blocks(shards, block_entries=1)
    blocks = Blocks(blocks.blocks, memory_limit=160_000_000)
    engine_keeps_nothing = NMF(2, callbacks=change, solver="joint")
    with pytest.raises(ValueError, match=r"1\.npz cannot be read: it has changed"):
        engine_keeps_nothing.fit(Blocks(blocks.blocks, memory_limit=_least(NMF(2), blocks)))


def _needed(model, blocks):
    """What a fit needs besides its weights."""
    with pytest.raises(ValueError, match="too small") as error:
        model.fit(Blocks(blocks.blocks, memory_limit=1000))
    return int(str(error.value).split("need about ")[1].split(" ")[0].replace(",", ""))


def _least(model, blocks):
    """The smallest limit that a fit accepts, which leaves no room for blocks to stay."""
    needed = _needed(model, blocks)
    with pytest.raises(
        ValueError, match=r"too small: weights_ needs .*keep_weights=False"
    ) as error:
        model.fit(Blocks(blocks.blocks, memory_limit=needed))
    kept = int(str(error.value).split("weights_ needs ")[1].split(" ")[0].replace(",", ""))
    assert kept == 8 * blocks.shape[0] * model.n_components
    return needed + kept


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("/nowhere/at/all", FileNotFoundError, "There is no file or folder '/nowhere"),
        ([], ValueError, "no row blocks"),
        (3.0, TypeError, "Cannot read row blocks from float"),
        ([np.ones((2, 2)), 3.0], TypeError, "block 1 is a float"),
    ],
    ids=str,
)
def test_what_cannot_be_opened(source, error, message):
    with pytest.raises(error, match=message):
        open_blocks(source)


def test_wrong_settings(X, tmp_path):
    parts = [X[:10], X[10:]]
    for limit in ("2 parsecs", -1, 0, True, "nan GB"):
        with pytest.raises(ValueError, match="memory_limit"):
            open_blocks(parts, memory_limit=limit)
    with pytest.raises(FileNotFoundError, match="scratch"):
        open_blocks(parts, scratch=tmp_path / "absent")
    with pytest.raises(ValueError, match="row blocks"):
        NMF(2).fit(X, memory_limit="1 GB")
    with pytest.raises(ValueError, match="open_blocks"):
        NMF(2).fit(open_blocks(parts), memory_limit="1 GB")
    with pytest.raises(ValueError, match="Missing entries"):
        NMF(2, missing="nan").fit(parts)
    with pytest.raises(ValueError, match="must be positive for row blocks"):
        NMF(2).fit(parts, sample_weight=np.arange(60))
    for model, message in (
        (NMF(2, solver="coordinate"), "solver='auto'"),
        (NMF(2, solver="online"), "partial_fit"),
        (SparseNMF(2, norm=2.0), "sum to one"),
    ):
        with pytest.raises(ValueError, match=f"memory.*{message}"):
            model.fit(parts)
    with pytest.raises(ValueError, match="30 features"):
        NMF(2, max_iter=1, tol=0).fit(X).transform([X[:, :30]])
    with pytest.raises(TypeError, match="take row blocks"):
        NMF(2, max_iter=1, tol=0).fit(X).posterior(parts)
    (tmp_path / "a.txt").write_text("no counts")
    with pytest.raises(ValueError, match="this is text"):
        open_blocks(tmp_path / "a.txt")


# Memory


@dataclass(frozen=True)
class CountedBlock:
    """A block of a user's own making, which counts how often it is loaded."""

    X: object
    loads: list = field(default_factory=list)
    name = "counted"

    @property
    def shape(self):
        return self.X.shape

    @property
    def entries(self):
        return self.X.nnz

    def load(self):
        self.loads.append(1)
        return self.X


def test_blocks_stay_while_there_is_room(X):
    model = NMF(3, max_iter=5, tol=0, init="random", random_state=0, solver="joint")
    blocks = [CountedBlock(X[i : i + 20]) for i in (0, 20, 40)]
    one = pickle.loads(pickle.dumps(model.fit(Blocks(tuple(blocks)))))
    assert [len(block.loads) for block in blocks] == [2, 2, 2]  # checked, then kept
    least = _least(NMF(3), Blocks(tuple(blocks)))
    for block in blocks:
        block.loads.clear()
    assert_same_bits(model.fit(Blocks(tuple(blocks), memory_limit=least)), one)
    assert [len(block.loads) for block in blocks] == [7, 7, 7]  # checked, and 6 passes
    for block in blocks:
        block.loads.clear()
    # BlockCache for one block, and for the indexes by feature of all.
    room = 12 * blocks[0].X.nnz + 21 * 8 + 6 * X.nnz
    assert_same_bits(model.fit(Blocks(tuple(blocks), memory_limit=least + room)), one)
    assert [len(block.loads) for block in blocks] == [2, 7, 7]


KILLED_FIT = """
import os, signal, sys, numpy as np
from isotopic import NMF, open_blocks

def kill(at):
    print(os.listdir(sys.argv[1]))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)

X = [np.ones((20, 6)), np.ones((20, 6))]
model = NMF(2, init="random", callbacks=[kill])
model.fit(open_blocks(X, scratch=sys.argv[1]))
"""


def test_what_a_killed_fit_left_in_its_scratch_folder_is_deleted_by_the_next(rng, tmp_path):
    killed = run_python("-c", KILLED_FIT, str(tmp_path), check=False)
    left = os.listdir(tmp_path)
    assert len(left) == 1
    assert repr(left) == killed.stdout.strip()
    model = NMF(2, max_iter=2, tol=0)
    model.fit(open_blocks([rng.random((20, 6))], scratch=tmp_path))
    assert left[0] not in os.listdir(tmp_path)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 3000))
def test_what_stays_never_exceeds_the_room(sizes, room):
    engine = LocalEngine(room)
    blocks = [sparse.csr_array(np.ones((1, size))) for size in sizes]
    pieces = [
        PlacedBlock(
            i, i, i + 1, CountedBlock(X), BlockFacts("float64", True, X.nnz, float(X.data.sum()), 0)
        )
        for i, X in enumerate(blocks)
    ]
    for _ in range(3):
        for piece, X in engine.blocks(pieces):
            assert len(X.by_feature.arrays()[3]) == piece.facts.entries
        kept = sum(X.nbytes for X in engine.cache._blocks.values())
        kept += sum(6 * len(index.arrays()[3]) for index in engine.cache._indexes.values())
        assert kept == engine.cache._used <= room
    left, indexes = room, 0
    for size in sizes:
        if 6 * size <= left:
            left, indexes = left - 6 * size, indexes + 1
    # No block stays at the cost of an index.
    assert len(engine.cache._blocks) + len(engine.cache._indexes) >= indexes


@pytest.mark.parametrize("threads", [1, 2, 3])  # two have a block each, three share one
def test_the_next_block_is_read_while_one_is_worked_on(X, threads):
    second_was_read = threading.Event()

    @dataclass(frozen=True)
    class Second(CountedBlock):
        def load(self):
            second_was_read.set()
            return self.X

    @dataclass
    class Nothing:
        def plus(self, later):
            return self

    def work(piece, counts):
        assert second_was_read.wait(100)
        return Nothing()

    pieces = [PlacedBlock(0, 0, 20, CountedBlock(X[:20])), PlacedBlock(1, 20, 60, Second(X[20:]))]
    with use_threads(threads):
        LocalEngine(None).total(work, pieces)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_pass_that_fails_leaves_no_threads_behind(X, threads):
    def fail(piece, counts):
        raise ZeroDivisionError

    pieces = [
        PlacedBlock(i, 20 * i, 20 * i + 20, CountedBlock(X[20 * i : 20 * i + 20])) for i in range(3)
    ]
    before = threading.active_count()
    with use_threads(threads), pytest.raises(ZeroDivisionError) as caught:
        LocalEngine(None).total(fail, pieces)
    assert caught.tb is not None  # which holds the frames of the pass
    assert threading.active_count() == before


def test_weights_that_are_not_kept(X, tmp_path):
    model = paper_lda(3, alpha=0.3, max_iter=10, tol=0, random_state=0)
    kept = pickle.loads(pickle.dumps(model.fit(cut(X))))
    model.fit(cut(X, keep_weights=False))
    assert model.weights_.shape == (0, 3)
    assert np.array_equal(model.components_, kept.components_)
    assert np.array_equal(model.transform(X), kept.transform(X))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.transform(X), kept.transform(X))
    started = NMF(3, init=again, max_iter=0, tol=0).fit(X)
    np.testing.assert_allclose(started.components_, kept.components_, rtol=1e-6, atol=1e-9)
    weights = model.fit_transform(cut(X, keep_weights=False))
    assert weights.shape == (60, 3)


@pytest.mark.parametrize("model", [NMF(3), GammaPoisson(3, init="random"), LDA(3)], ids=str)
def test_a_fit_goes_on_from_its_checkpoint(X, tmp_path, model):
    model.set_params(max_iter=36, tol=0, random_state=0)
    straight = pickle.loads(pickle.dumps(model.fit(cut(X))))

    def stop(at):
        return at.iteration == 25

    model.set_params(callbacks=stop).fit(cut(X), checkpoint=tmp_path / "fit")
    assert model.n_iter_ == 25
    model.set_params(callbacks=None).fit(cut(X, scratch=tmp_path), checkpoint=tmp_path / "fit")
    assert_same_bits(model, straight)
    other = X.copy()
    other.data[0] += 1
    with pytest.raises(ValueError, match="other data"):
        model.fit(cut(other), checkpoint=tmp_path / "fit")


def test_an_interrupted_fit_leaves_a_model(X):
    def interrupt(at):
        if at.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    model = NMF(3, max_iter=12, tol=0, random_state=0, callbacks=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(cut(X))
    assert model.n_iter_ == 3
    assert model.weights_.shape == (60, 3)


def test_threads_have_blocks_of_their_own_only_where_topics_are_small(X):
    blocks = tuple(CountedBlock(X[i : i + 10]) for i in range(0, 60, 10))
    model = NMF(3, max_iter=2, tol=0, random_state=0)
    fits = {}
    for n_components, threads in ((3, 2), (3, 6), (40, 6)):
        model.set_params(n_components=n_components, n_jobs=threads)
        counts = BlockedCounts(Blocks(blocks))
        with use_threads(threads):
            Memory(counts, n_components, Free())
            fits[n_components, threads] = counts.engine.concurrent_blocks(len(blocks))
    assert fits == {(3, 2): 2, (3, 6): 1, (40, 6): 1}
    many = BlockedCounts(Blocks(tuple(CountedBlock(X) for _ in range(40))))
    with use_threads(4):
        Memory(many, 3, Free())
        assert many.engine.concurrent_blocks(40) == 4  # each block is a small part of all
        Memory(many, 400, Free())
        assert (
            many.engine.concurrent_blocks(40) == 1
        )  # copies of the topics would be more than the data


def test_no_two_threads_work_with_the_same_memory():
    engine, used, lock = LocalEngine(None), set(), threading.Lock()

    def borrow(_):
        with engine._workspace() as workspace:
            with lock:
                assert id(workspace) not in used
                used.add(id(workspace))
            with lock:
                used.remove(id(workspace))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as team:
            list(team.map(borrow, range(4000)))
    finally:
        sys.setswitchinterval(interval)
    assert len(engine._workspaces) <= 8


def test_ctrl_c_is_heard_while_blocks_are_read(X):
    iterations, pressed = [], []

    @dataclass(frozen=True)
    class Interrupting(CountedBlock):
        def load(self):
            if iterations and not pressed:
                pressed.append(1)
                signal.raise_signal(signal.SIGINT)
            return self.X

    blocks = tuple(Interrupting(X[i : i + 20]) for i in (0, 20, 40))
    limit = _least(NMF(3), Blocks(blocks))
    model = NMF(3, max_iter=12, tol=0, random_state=0, solver="joint", n_jobs=2)
    model.set_params(callbacks=lambda at: iterations.append(at.iteration))
    with pytest.raises(KeyboardInterrupt):
        model.fit(Blocks(blocks, memory_limit=limit))
    assert model.n_iter_ == 1
    assert np.isfinite(model.components_).all()


def test_single_precision_and_empty_rows(rng):
    X = random_counts(rng, 30, 9).astype(np.float32)
    X[5:12] = 0
    model = PLSA(2, max_iter=8, tol=0, random_state=0)
    whole = pickle.loads(pickle.dumps(model.fit(X)))
    model.fit(cut(X, 5, 12))
    assert model.components_.dtype == np.float32
    np.testing.assert_allclose(model.components_, whole.components_, rtol=1e-3, atol=1e-5)
    mixed = [X[:10], X[10:].astype(float)]
    assert model.fit(mixed).components_.dtype == np.float64

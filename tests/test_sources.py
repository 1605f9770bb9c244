"""Every format is read by one reader, as a whole and by rows, with the same protections."""

import gc
import os
import pickle
import warnings

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import io as scipy_io
from scipy import sparse

from isotopic import NMF, FeatureOrderWarning, open_blocks, read_counts
from isotopic.blocks import BlockedCounts
from isotopic.blocks.block import SourceRows
from isotopic.io import open_source

with warnings.catch_warnings():  # of what these libraries import
    warnings.simplefilter("ignore")
    import anndata

pytestmark = pytest.mark.filterwarnings("ignore")  # of anndata's own

RNG = np.random.default_rng(0)
DENSE = RNG.poisson(0.7, (40, 6))
DENSE[-1, -1] = 3  # so that formats without a shape know the last feature
COUNTS = sparse.csr_array(DENSE)
SAMPLES = [f"s{i}" for i in range(40)]
FEATURES = [f"f{i}" for i in range(6)]


def lines(path, names):
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def write_npz(folder, X, compressed=False):
    sparse.save_npz(folder / "x.npz", X, compressed=compressed)
    lines(folder / "rows.txt", SAMPLES)
    lines(folder / "vocab.txt", FEATURES)
    return folder / "x.npz"


def write_packed_npz(folder, X):
    return write_npz(folder, X, compressed=True)


def write_npy(folder, X):
    write_npz(folder, X)
    np.save(folder / "x.npy", X.toarray())
    return folder / "x.npy"


def write_csr_folder(folder, X):
    write_npz(folder, X)
    path = folder / "csr"
    path.mkdir(exist_ok=True)
    for name in ("data", "indices", "indptr"):
        np.save(path / f"{name}.npy", getattr(X, name))
    np.save(path / "shape.npy", X.shape)
    lines(path / "rows.txt", SAMPLES)
    lines(path / "vocab.txt", FEATURES)
    return path


def write_h5ad(folder, X, form=sparse.csr_matrix, name="x.h5ad"):
    data = anndata.AnnData(form(X.toarray().astype(float)))
    data.obs_names, data.var_names = SAMPLES, FEATURES
    if name.endswith("zarr"):
        data.write_zarr(folder / name)
    else:
        data.write_h5ad(folder / name)
    return folder / name


def write_dense_h5ad(folder, X):
    return write_h5ad(folder, X, np.asarray)


def write_csc_h5ad(folder, X):
    return write_h5ad(folder, X, sparse.csc_matrix)


def write_zarr(folder, X):
    return write_h5ad(folder, X, name="x.zarr")


def write_mtx(folder, X):
    scipy_io.mmwrite(folder / "x.mtx", sparse.coo_array(X))
    lines(folder / "x.mtx_rows", SAMPLES)
    lines(folder / "x.mtx_cols", FEATURES)
    return folder / "x.mtx"


def write_10x(folder, X):
    path = folder / "cells"
    path.mkdir(exist_ok=True)
    scipy_io.mmwrite(path / "matrix.mtx", sparse.coo_array(X.T))
    lines(path / "barcodes.tsv", SAMPLES)
    lines(path / "features.tsv", FEATURES)
    return path


def write_wide(folder, X, name="x.parquet"):
    frame = pd.DataFrame(X.toarray(), index=SAMPLES, columns=FEATURES)
    if name.endswith("csv"):
        frame.to_csv(folder / name)
    else:
        frame.to_parquet(folder / name, row_group_size=7)
    return folder / name


def write_csv(folder, X):
    return write_wide(folder, X, "x.csv")


def write_triplets(folder, X):
    coo = sparse.coo_array(X)
    columns = {"row": coo.row, "col": coo.col, "value": coo.data}
    parquet.write_table(pa.table(columns), folder / "t.parquet", row_group_size=20)
    return folder / "t.parquet"


WRITERS = [
    write_npz,
    write_packed_npz,
    write_npy,
    write_csr_folder,
    write_h5ad,
    write_dense_h5ad,
    write_csc_h5ad,
    write_zarr,
    write_mtx,
    write_10x,
    write_wide,
    write_csv,
    write_triplets,
]
each_format = pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__[6:])
BY_ROWS = (write_npz, write_npy, write_csr_folder, write_h5ad, write_dense_h5ad, write_zarr)
BY_ROWS = (*BY_ROWS, write_wide, write_triplets)


@each_format
def test_the_whole_and_its_rows_are_the_same(tmp_path, write):
    path = write(tmp_path, COUNTS)
    given_format = "triplets" if write is write_triplets else None
    data = read_counts(path, format=given_format)
    np.testing.assert_array_equal(data.counts.toarray(), COUNTS.toarray())
    source = pickle.loads(pickle.dumps(open_source(path, format=given_format)[0]))
    assert source.shape == COUNTS.shape
    for start, stop in ((0, 40), (0, 1), (7, 23), (39, 40), (5, 5)):
        if write in (write_csr_folder, write_wide) and start == stop:
            continue
        rows = source.rows(start, stop)
        found = rows.toarray() if sparse.issparse(rows) else rows
        np.testing.assert_array_equal(found, COUNTS[start:stop].toarray())
    if write is not write_triplets:
        assert data.sample_names.tolist() == SAMPLES
        assert data.feature_names.tolist() == FEATURES
        assert source.feature_names().tolist() == FEATURES
        assert source.sample_names(3, 6).tolist() == SAMPLES[3:6]
    if write in BY_ROWS:
        assert source.can_read_rows


@pytest.mark.every(2)
@each_format
@pytest.mark.parametrize("has_scratch", [False, True])
def test_names_travel_with_blocks(tmp_path, write, has_scratch):
    path = write(tmp_path, COUNTS)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    blocks = open_blocks(path, block_entries=30, scratch=scratch if has_scratch else None)
    if write is not write_triplets:
        assert blocks.feature_names.tolist() == FEATURES
        assert blocks.sample_names.tolist() == SAMPLES
    assert len(blocks.blocks) > 1 or (write not in BY_ROWS and not has_scratch)
    fitted = NMF(2, max_iter=5, tol=0, random_state=0, init="random").fit(blocks)
    whole = NMF(2, max_iter=5, tol=0, random_state=0, init="random").fit(COUNTS)
    np.testing.assert_allclose(fitted.components_, whole.components_, rtol=1e-9)
    if write is not write_triplets:
        assert fitted.feature_names_in_.tolist() == FEATURES
    del blocks, fitted
    gc.collect()
    left = [name for name in os.listdir(scratch) if not name.startswith("weights")]
    assert left == []  # what was written by rows is gone


def test_formats_that_are_read_as_a_whole_need_scratch_within_a_limit(tmp_path):
    path = write_csv(tmp_path, COUNTS)
    with pytest.raises(ValueError, match=r"x\.csv.* scratch= folder"):
        open_blocks(path, memory_limit="1 GB", block_entries=10)
    blocks = open_blocks(path, memory_limit="1 GB", block_entries=10, scratch=tmp_path)
    assert len(blocks.blocks) > 4
    assert len(open_blocks(path, memory_limit="1 GB").blocks) == 1  # small enough


def test_names_of_files_are_aligned(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    paths = [write_h5ad(first, COUNTS), write_h5ad(second, COUNTS)]
    plain = open_blocks(paths)
    assert plain.sample_names.tolist() == SAMPLES * 2
    settings = {"max_iter": 3, "tol": 0, "random_state": 0}
    expected = NMF(2, **settings).fit(plain).components_
    data = anndata.read_h5ad(paths[1])
    data[:, ::-1].copy().write_h5ad(paths[1])
    with pytest.warns(FeatureOrderWarning, match="another order than those of earlier blocks"):
        blocks = open_blocks(paths)
    assert blocks.feature_names.tolist() == FEATURES
    assert blocks.sample_names.tolist() == SAMPLES * 2
    np.testing.assert_array_equal(NMF(2, **settings).fit(blocks).components_, expected)
    data.var_names = [name + "?" for name in FEATURES]
    data.write_h5ad(paths[1])
    with pytest.raises(ValueError, match=r"should match those of earlier blocks"):
        open_blocks(paths)


# Hostile files: both ways of reading must refuse them, and name them


def both_ways(path, match, **options):
    """Check that reading everything and reading blocks end with an error that names the file."""
    for read in (
        lambda: read_counts(path, **options),
        lambda: BlockedCounts(open_blocks(path, block_entries=20, **options)),
        lambda: BlockedCounts(open_blocks([path], **options)),
    ):
        with pytest.raises(ValueError, match=match) as error:
            read()
        assert path.name in str(error.value)


def changed(X, value):
    X = X.astype(float)
    X.data[20] = value
    return X


@each_format
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_counts_are_refused(tmp_path, write, value):
    options = {"format": "triplets"} if write is write_triplets else {}
    path = write(tmp_path, changed(COUNTS, value))
    name = "matrix.mtx" if write is write_10x else path.name
    for read in (
        lambda: read_counts(path, **options),
        lambda: BlockedCounts(open_blocks(path, block_entries=20, **options)),
    ):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - looked at below
            read()
        assert path.name in str(error.value) or name in str(error.value)


@pytest.mark.parametrize("wrong", [-1, 6, 2**30])
@pytest.mark.parametrize("write", [write_npz, write_packed_npz, write_csr_folder])
def test_indices_outside_are_refused(tmp_path, write, wrong):
    X = COUNTS.copy()
    X.indices[11] = wrong
    both_ways(write(tmp_path, X), "ind")


def alter(path, key, values):
    with h5py.File(path, "a") as file:
        attributes = dict(file["X"].attrs)
        if key in file["X"]:
            del file[f"X/{key}"]
            file[f"X/{key}"] = values
        else:
            file["X"].attrs[key] = values
        assert set(attributes) == set(file["X"].attrs)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("indices", np.full(COUNTS.nnz, 6)),
        ("indices", np.full(COUNTS.nnz, -1)),
        ("indices", COUNTS.indices[:-3]),
        ("indptr", COUNTS.indptr[::-1]),
        ("indptr", COUNTS.indptr[:-2]),
        ("indptr", COUNTS.indptr.astype(np.int64) + 2**40),
        ("indptr", COUNTS.indptr.astype(float)),
        ("data", np.array([b"x"] * COUNTS.nnz)),
        ("shape", [2**40, 6]),
        ("shape", [40, 2**40]),
        ("shape", [-1, 6]),
    ],
    ids=str,
)
def test_damaged_parts_of_h5ad_are_refused(tmp_path, key, values):
    path = write_h5ad(tmp_path, COUNTS)
    alter(path, key, values)
    both_ways(path, "x.h5ad")


@pytest.mark.parametrize("shape", [[2**40, 6], [40, 2**40], [-1, 6], [40], [40.0, 6.0]])
@pytest.mark.parametrize("form", [None, b"csr", b"csc", b"coo"])
def test_shapes_that_promise_too_much_are_refused(tmp_path, shape, form):
    coo = sparse.coo_array(COUNTS)
    parts = {"data": COUNTS.data, "shape": shape}
    if form == b"coo":
        parts |= {"row": coo.row, "col": coo.col}
    else:
        parts |= {"indices": COUNTS.indices, "indptr": COUNTS.indptr}
    np.savez(tmp_path / "x.npz", **parts, **({} if form is None else {"format": form}))
    both_ways(tmp_path / "x.npz", "x.npz")


def test_headers_that_promise_too_much_are_refused(tmp_path):
    path = tmp_path / "x.mtx"
    for sizes in ("4000000000000 6 1", "6 4000000000000 1", "4000000000 6 4000000000"):
        path.write_text(f"%%MatrixMarket matrix coordinate integer general\n{sizes}\n1 1 1\n")
        both_ways(path, "promises")
    header = {"descr": "<i8", "fortran_order": False, "shape": (2**40, 6)}
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(800))
    both_ways(tmp_path / "x.npy", "promises")
    with (write_csr_folder(tmp_path, COUNTS) / "data.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header | {"shape": (COUNTS.nnz,)})
        file.write(bytes(80))
    both_ways(tmp_path / "csr", "cut off")
    table = pa.table({"row": [0, 2**40], "col": [0, 1], "value": [1, 1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    both_ways(tmp_path / "t.parquet", "promises", format="triplets")
    table = pa.table({"row": [0, -1], "col": [0, 1], "value": [1, 1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    both_ways(tmp_path / "t.parquet", "start at 0", format="triplets")


def test_wrong_kinds_are_refused(tmp_path):
    for name, array in {
        "object": np.array([[None, 1]]),
        "text": np.array([["a", "b"]]),
        "complex": np.array([[1j, 2]]),
        "flat": np.arange(5),
    }.items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
        both_ways(tmp_path / f"{name}.npy", "not a table of counts")
        np.savez(tmp_path / f"{name}.npz", array, allow_pickle=True)
        both_ways(tmp_path / f"{name}.npz", name)
    group = zarr.open_group(str(tmp_path / "z.zarr"), mode="w")
    group.create_array("X", shape=(5,), dtype="f8")
    both_ways(tmp_path / "z.zarr", "dimensions")


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """Return the bytes of a file of each binary format, and of Matrix Market."""
    folder = tmp_path_factory.mktemp("whole")
    writers = (write_npz, write_npy, write_h5ad, write_mtx, write_wide, write_triplets)
    paths = [write(folder, COUNTS) for write in writers]
    return {path.name: path.read_bytes() for path in paths}


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_damaged_files_never_break_either_way(tmp_path_factory, whole_files, data):
    name = data.draw(st.sampled_from(sorted(whole_files)))
    content = bytearray(whole_files[name])
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=20))
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(content)
    for read in (
        lambda: read_counts(path).counts,
        lambda: BlockedCounts(open_blocks(path, block_entries=20)),
        lambda: BlockedCounts(open_blocks([path])),
    ):
        try:
            shape = read().shape
        except ValueError as error:
            message = str(error)
        else:
            assert len(shape) == 2
            continue
        assert name in message


def test_checksums_are_verified_when_archives_are_read_by_rows(tmp_path):
    path = write_npz(tmp_path, COUNTS)
    content = path.read_bytes()
    values = COUNTS.data.tobytes()
    assert content.count(values) == 1
    other = COUNTS.data.copy()
    other[0] += 1  # a good count, but not the one that was written
    path.write_bytes(content.replace(values, other.tobytes()))
    both_ways(path, "x.npz")


def test_a_block_of_rows_notices_that_its_file_has_changed(tmp_path):
    path = write_npz(tmp_path, COUNTS)
    source = open_source(path)[0]
    block = SourceRows(source, 10, 20, int(COUNTS[10:20].nnz))
    np.testing.assert_array_equal(block.load().toarray(), COUNTS[10:20].toarray())
    sparse.save_npz(path, sparse.vstack([COUNTS, COUNTS]), compressed=False)
    with pytest.raises(ValueError, match="has changed"):
        block.load()


def test_sources_are_small_when_they_are_sent(tmp_path):
    for write in BY_ROWS:
        format = "triplets" if write is write_triplets else None
        source = open_source(write(tmp_path, COUNTS), format=format)[0]
        assert len(pickle.dumps(source)) < 2000, write.__name__

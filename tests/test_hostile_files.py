"""Hostile files: claims cost nothing, nothing outside of a file is read, changes are seen."""

import gzip
import io
import json
import os
import pickle
import time
import tracemalloc
import zipfile
from dataclasses import replace

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from scipy import sparse

from isotopic import NMF, archive, npy, open_blocks, read_counts
from isotopic.blocks import BlockedCounts
from isotopic.io import open_source

RNG = np.random.default_rng(0)
COUNTS = sparse.csr_array(RNG.poisson(0.7, (40, 6)))
MM = "%%MatrixMarket matrix coordinate integer"


def refuse(path, match, **options):
    """Check that reading ends with an error, at once and without memory; return the message."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(ValueError, match=match) as error:
            read_counts(path, **options)
        assert tracemalloc.get_traced_memory()[1] < 100e6
        assert time.process_time() - began < 10
    finally:
        tracemalloc.stop()
    assert str(path) in str(error.value)
    return str(error.value)


# Claims


def claim_mtx(folder, rows, columns, entries=1):
    (folder / "x.mtx").write_text(f"{MM} general\n{rows} {columns} {entries}\n1 1 1\n")
    return folder / "x.mtx"


def claim_docword(folder, rows, columns, entries=1):
    (folder / "docword.x.txt").write_text(f"{rows}\n{columns}\n{entries}\n1 1 1\n")
    return folder / "docword.x.txt"


def claim_svmlight(folder, rows, columns):
    (folder / "x.svm").write_text(f"1 1:1 {max(rows, columns)}:2\n")
    return folder / "x.svm"


def claim_ldac(folder, rows, columns):
    (folder / "x.ldac").write_text(f"2 1:1 {max(rows, columns)}:2\n")
    return folder / "x.ldac"


def claim_npz(folder, rows, columns, form="coo"):
    parts = {"row": [0], "col": [0]}
    if form != "coo":
        parts = {"indices": [0], "indptr": [0, 1]}
    np.savez(folder / "x.npz", format=form.encode(), shape=[rows, columns], data=[1], **parts)
    return folder / "x.npz"


def claim_csr_folder(folder, rows, columns):
    path = folder / "csr"
    path.mkdir()
    for name, values in {"data": [1], "indices": [0], "indptr": [0, 1]}.items():
        np.save(path / f"{name}.npy", values)
    np.save(path / "shape.npy", [1, max(rows, columns)])
    return path


def claim_own(folder, rows, columns):
    tree = {
        "counts": sparse.coo_array(([1], ([0], [0])), shape=(rows, columns)),
        "sample_names": np.array(["a"], object),
        "feature_names": np.array(["b"], object),
        "documents": None,
    }
    archive.write(folder / "x.isotopic", "counts", tree)
    return folder / "x.isotopic"


def claim_h5ad(folder, rows, columns):
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("X", shape=(rows, columns), dtype="f4", chunks=(1, 5))
    return folder / "x.h5"


def claim_zarr(folder, rows, columns):
    zarr.create_array(folder / "x.zarr", shape=(rows, columns), dtype="f4", chunks=(1, 1000))
    return folder / "x.zarr"


def claim_parquet(folder, rows, columns):
    """Write 200 million zeros in some kilobytes."""
    zeros = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**7, np.int8)), pa.array([0]))
    with parquet.ParquetWriter(folder / "x.parquet", pa.schema({"a": zeros.type})) as writer:
        for _ in range(20):
            writer.write_table(pa.table({"a": zeros}))
    return folder / "x.parquet"


CLAIMS = [claim_mtx, claim_docword, claim_npz, claim_own, claim_h5ad, claim_zarr]
WIDE_CLAIMS = [claim_svmlight, claim_ldac, claim_csr_folder]


@pytest.mark.parametrize("shape", [(10**8, 5), (5, 10**18), (10**10, 10**10)], ids=str)
@pytest.mark.parametrize("write", [*CLAIMS, *WIDE_CLAIMS], ids=lambda w: w.__name__[6:])
def test_a_claim_costs_nothing(tmp_path, write, shape):
    message = refuse(write(tmp_path, *shape), "promises .* counts but holds only")
    assert "max_size=" in message
    assert "--max-size " in message


@pytest.mark.parametrize("entries", [10**8, 10**18])
@pytest.mark.parametrize("write", [claim_mtx, claim_docword])
def test_claimed_entries_do_not_make_a_claim_true(tmp_path, write, entries):
    refuse(write(tmp_path, 10**8, 5, entries), "promises")


def test_columns_that_repeat_one_value_are_a_claim_too(tmp_path):
    path = claim_parquet(tmp_path, 0, 0)
    assert path.stat().st_size < 10**6
    for format in (None, "wide", "long", "text-table"):
        refuse(path, "promises 200,000,000 (rows|x 1)", format=format)


@pytest.mark.parametrize("part", ["data", "indices", "names", "categories"])
def test_claimed_entries_and_names_of_hdf5_cost_nothing(tmp_path, part):
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (1, 5)
        n = 10**11 if part in ("data", "indices") else 2
        for name in ("data", "indices"):
            group.create_dataset(name, (n,), "i8", chunks=(1000,) if n > 2 else None)
        group["indptr"] = [0, n]
        if n == 2:
            group["data"][:], group["indices"][:] = [1, 2], [0, 1]
        for frame in ("obs", "var"):
            names = file.create_group(frame)
            names.attrs["_index"] = "_index"
            if part == "categories":
                index = names.create_group("_index")
                index["codes"] = [0] * (1 if frame == "obs" else 5)
                index.create_dataset("categories", (10**11,), "S5", chunks=(1000,))
            else:
                names.create_dataset("_index", (10**11,), "S5", chunks=(1000,))
    refuse(path, "promises 100,000,000,000 (entries|names)")


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, np.zeros((1000, 1000)))
    assert read_counts(path).counts.shape == (1000, 1000)
    refuse(path, "promises .* bytes when it is unpacked", max_size="1 MB")


@pytest.mark.parametrize("write", [claim_mtx, claim_docword, claim_npz, claim_svmlight])
def test_a_right_claim_can_be_allowed(tmp_path, write):
    path = write(tmp_path, 5, 1_100_000)
    refuse(path, "max_size='282 MB'")
    tracemalloc.start()
    data = read_counts(path, max_size="282 MB")
    names_cost = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.counts.shape[1] >= 1_099_999
    assert names_cost < 20e6  # names are made when they are asked for
    assert len(pickle.loads(pickle.dumps(data)).sample_names) == data.counts.shape[0]


def test_what_a_hashing_vectorizer_makes_is_read(tmp_path):
    X = sparse.csr_array(([1], [0], [0, 1]), shape=(1, 2**20))
    sparse.save_npz(tmp_path / "x.npz", X)
    assert read_counts(tmp_path / "x.npz").counts.shape == (1, 2**20)
    assert open_blocks(tmp_path / "x.npz").shape == (1, 2**20)


@pytest.mark.parametrize("value", [0, -1, "many", "2 XB", None, True])
def test_sizes_that_are_none_are_refused(tmp_path, value):
    path = claim_mtx(tmp_path, 10**8, 5)
    with pytest.raises(ValueError, match="max_size"):
        read_counts(path, max_size=value)
    with pytest.raises(ValueError, match="max_size"):
        open_blocks(path, max_size=value)


@pytest.mark.parametrize("start", ["a,b\n", "", f"{MM} general\n5 5 1\n"])
@pytest.mark.parametrize("unit", ["0,", " "])
def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch, start, unit):
    monkeypatch.setattr("isotopic.io.limits.MAX_SIZE", 2**20)
    suffix = ".csv" if start.startswith("a") else ".mtx" if start else ".txt"
    path = tmp_path / f"x{suffix}.gz"
    path.write_bytes(gzip.compress((start + unit * (2**21 // len(unit))).encode()))
    refuse(path, "unpack to more than 200 times as many.*unpack it first")


def test_an_array_must_not_claim_more_than_its_member_holds(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2)}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", file.getvalue())
    refuse(tmp_path / "x.npz", "cut off or damaged")


def test_members_that_are_not_arrays_are_named(tmp_path):
    for members in ({"data.npy": b"x", "shape.npy": b""}, {"data": b"1", "shape": b"2"}):
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        refuse(tmp_path / "x.npz", "not an array|no array")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("notes.txt", "counts")
    refuse(tmp_path / "x.npz", "no array notes.txt")


# Headers of arrays


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
        '{"descr": "<f8", "fortran_order": False, "shape": (3,)}',
        "{'shape': (3L,), 'fortran_order': False, 'descr': '<f8'}\n",
    ],
)
def test_headers_of_other_programs_are_read(header):
    text = header.encode()
    stream = io.BytesIO(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(24))
    assert npy.read_array(stream).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} 1",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<q9', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (3,)}",
        "{[1]: '<f8', 'fortran_order': False, 'shape': (3,)}",
        "(" * 9000,
        "{'descr': '\\q', 'fortran_order': False, 'shape': (3,)}",
    ],
)
def test_damaged_headers_are_refused(header):
    text = header.encode()
    stream = io.BytesIO(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(24))
    with pytest.raises(ValueError, match="array"):
        npy.read_array(stream)


# Data that lies elsewhere


def write_secret(folder):
    secret = folder / "secret"
    secret.write_bytes(np.arange(12.0).tobytes())
    with h5py.File(folder / "other.h5", "w") as file:
        file["X"] = np.ones((3, 4))
    return secret


def external_dataset(file, folder):
    file.create_dataset("X", (3, 4), "f8", external=[(str(write_secret(folder)), 0, 96)])


def virtual_dataset(file, folder):
    write_secret(folder)
    layout = h5py.VirtualLayout((3, 4), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "X", (3, 4))
    file.create_virtual_dataset("X", layout)


def external_link(file, folder):
    write_secret(folder)
    file["X"] = h5py.ExternalLink(str(folder / "other.h5"), "/X")


def link_to_external_link(file, folder):
    write_secret(folder)
    file["Y"] = h5py.ExternalLink(str(folder / "other.h5"), "/X")
    file["X"] = h5py.SoftLink("/Y")


def link_through_external_group(file, folder):
    write_secret(folder)
    file["elsewhere"] = h5py.ExternalLink(str(folder / "other.h5"), "/")
    file["X"] = h5py.SoftLink("elsewhere/X")


def external_parts(file, folder):
    group = file.create_group("X")
    group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (3, 4)
    group["indices"], group["indptr"] = np.arange(4), [0, 4, 4, 4]
    group.create_dataset("data", (4,), "f8", external=[(str(write_secret(folder)), 0, 32)])


def circular_link(file, folder):
    file["X"] = h5py.SoftLink("/X")


ELSEWHERE = [
    external_dataset,
    virtual_dataset,
    external_link,
    link_to_external_link,
    link_through_external_group,
    external_parts,
    circular_link,
]


@pytest.mark.parametrize("store", ELSEWHERE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["x.h5", "x.h5ad"])
def test_data_outside_of_an_hdf5_file_is_not_read(tmp_path, store, name):
    with h5py.File(tmp_path / name, "w") as file:
        store(file, tmp_path)
        for frame in ("obs", "var"):
            file.create_group(frame)
    match = "links that lead" if store is circular_link else "other file|another file"
    refuse(tmp_path / name, match)
    with pytest.raises(ValueError, match=match):
        open_blocks(tmp_path / name)


def test_names_outside_of_an_hdf5_file_are_not_read(tmp_path):
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = np.ones((3, 4))
        for frame, size in (("obs", 3), ("var", 4)):
            file.create_group(frame).attrs["_index"] = "names"
            file[f"{frame}/names"] = [f"{frame}{i}".encode() for i in range(size)]
    assert read_counts(tmp_path / "x.h5ad").feature_names.tolist() == [f"var{i}" for i in range(4)]
    with h5py.File(tmp_path / "x.h5ad", "a") as file:
        del file["var/names"]
        secret = str(write_secret(tmp_path))
        file["var"].create_dataset("names", (4,), "S3", external=[(secret, 0, 12)])
    refuse(tmp_path / "x.h5ad", "names is stored in other files")


def test_links_inside_an_hdf5_file_are_followed(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["data/counts"] = COUNTS.toarray()
        file["X"] = h5py.SoftLink("/data/counts")
    np.testing.assert_array_equal(read_counts(tmp_path / "x.h5").counts.toarray(), COUNTS.toarray())


def test_links_out_of_a_zarr_folder_are_not_followed(tmp_path):
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.ones((3, 4)), compressors=None)
    assert read_counts(path).counts.sum() == 12
    (chunk,) = [file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json"]
    chunk.rename(chunk.with_name("kept"))
    chunk.symlink_to(chunk.with_name("kept"))
    assert read_counts(path).counts.sum() == 12  # a link inside
    chunk.unlink()
    chunk.symlink_to(write_secret(tmp_path))
    refuse(path, "is a link to .*secret")


def test_codecs_of_zarr_that_run_code_are_refused(tmp_path):
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.ones((3, 4)), zarr_format=2, compressors=None)
    metadata = json.loads((path / ".zarray").read_text())
    metadata["filters"] = [{"id": "pickle", "protocol": 5}]
    (path / ".zarray").write_text(json.dumps(metadata))
    refuse(path, "codec 'pickle', which is not safe")


# Changes between passes


def write_blocks(folder):
    for i in range(4):
        part = COUNTS[10 * i : 10 * i + 10].astype(np.float64)
        sparse.save_npz(folder / f"{i}.npz", part, compressed=False)
    return folder


def fit_changing(folder, change, **options):
    """Fit blocks, none of which stays in memory, and change a file after the first pass."""
    blocks = open_blocks(folder, block_entries=1, **options)
    blocks = type(blocks)(blocks.blocks, memory_limit=_least_memory(blocks))
    model = NMF(2, callbacks=lambda at: change() if at.iteration == 2 else None, solver="joint")
    return model.set_params(max_iter=5, tol=0, random_state=0, init="random").fit(blocks)


def _least_memory(blocks):
    limit = 1000
    for _ in range(3):
        try:
            NMF(2, max_iter=1, tol=0).fit(type(blocks)(blocks.blocks, memory_limit=limit))
        except ValueError as error:
            words = str(error).replace(",", "").replace(".", " ").split()
            limit = sum(int(word) for word in words if word.isdecimal())
    return limit


def rewrite(path, change):
    """Change the numbers of a block, with the same size and time of the file."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    stream = io.BytesIO(members["data.npy"])
    values = npy.read_array(stream)
    stream = io.BytesIO()
    np.save(stream, change(values))
    members["data.npy"] = stream.getvalue()
    status = path.stat()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES = {
    "missing": lambda values: values * np.nan,
    "negative": lambda values: -values,
    "other": lambda values: values + 1,
    "permuted": lambda values: values[::-1],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_hidden", [False, True])
def test_blocks_that_change_between_passes_end_the_fit(tmp_path, change, is_hidden):
    folder = write_blocks(tmp_path)
    path = folder / "1.npz"
    rewrite(path, lambda values: values)

    def happen():
        time.sleep(0.02)  # clocks of file systems are coarse
        rewrite(path, CHANGES[change])
        if not is_hidden:
            os.utime(path)

    with pytest.raises(ValueError, match=r"1\.npz cannot be .*: it has changed since"):
        fit_changing(folder, happen)


def test_blocks_that_are_only_linked_or_touched_are_used(tmp_path):
    folder = write_blocks(tmp_path)
    whole = fit_changing(folder, lambda: None)

    def link():
        time.sleep(0.02)
        os.link(folder / "1.npz", folder / "backup")

    np.testing.assert_array_equal(fit_changing(folder, link).components_, whole.components_)


def test_blocks_in_memory_that_change_end_the_fit():
    parts = [COUNTS[:20].astype(float), COUNTS[20:].astype(float)]

    def change():
        parts[1].data[3] = -5.0

    blocks = open_blocks(parts)
    limit = _least_memory(blocks)
    model = NMF(2, callbacks=lambda at: change(), solver="joint", max_iter=5, tol=0)
    with pytest.raises(ValueError, match="it has changed since"):
        model.fit(type(blocks)(blocks.blocks, memory_limit=limit))


@pytest.mark.parametrize("name", ["x.npy", "x.mtx", "x.h5", "x.zarr", "x.npz"])
def test_sources_of_every_kind_notice_changes(tmp_path, name):
    def write(values):
        path = tmp_path / name
        if name == "x.npy":
            np.save(path, values)
        elif name == "x.mtx":
            path.write_text(f"{MM} general\n2 2 1\n1 1 {values[0, 0]}\n")
        elif name == "x.h5":
            with h5py.File(path, "w") as file:
                file["X"] = values
        elif name == "x.zarr":
            zarr.create_array(path, data=values, overwrite=True)
        else:
            np.savez(path, values)
        return path

    source = open_source(write(np.full((2, 2), 3)))[0]
    source.checked_rows(0, 2)
    time.sleep(0.02)
    write(np.full((2, 2), 5))
    with pytest.raises(ValueError, match="it has changed since it was opened; open it again"):
        source.checked_rows(0, 2)


# Numbers and triangles


@pytest.mark.parametrize("order", ["<", ">"])
def test_blocks_of_either_byte_order_are_read_again(tmp_path, order):
    parts = {
        "data": COUNTS.data.astype(f"{order}f8"),
        "indices": COUNTS.indices.astype(f"{order}i4"),
        "indptr": COUNTS.indptr.astype(f"{order}i8"),
    }
    folder = tmp_path / "csr"
    folder.mkdir()
    for name, values in parts.items():
        np.save(folder / f"{name}.npy", values)
    np.save(folder / "shape.npy", np.array(COUNTS.shape, f"{order}i8"))
    np.savez(tmp_path / "x.npz", **parts, shape=COUNTS.shape, format=b"csr")
    made = sparse.csr_array(COUNTS.shape)
    made.data, made.indices, made.indptr = parts.values()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", COUNTS.shape
        for name, values in parts.items():
            group[name] = values
    for given in (folder, tmp_path / "x.npz", [tmp_path / "x.npz"], [made], tmp_path / "x.h5"):
        counts = BlockedCounts(open_blocks(given, block_entries=20))
        for piece in counts.pieces:
            rows = piece.load()
            found = sparse.csr_array((rows.values, rows.features, rows.row_starts), rows.shape)
            np.testing.assert_array_equal(found.toarray(), COUNTS[piece.rows].toarray())
    np.testing.assert_array_equal(read_counts(folder).counts.toarray(), COUNTS.toarray())


@pytest.mark.parametrize("entries", ["1 1 4\n2 1 3", "1 1 4\n1 2 3", "1 1 4\n1 2 3\n2 1 3"])
def test_a_symmetric_matrix_is_mirrored_from_either_triangle(tmp_path, entries):
    n = len(entries.splitlines())
    (tmp_path / "x.mtx").write_text(f"{MM} symmetric\n2 2 {n}\n{entries}\n")
    assert read_counts(tmp_path / "x.mtx").counts.toarray().tolist() == [[4, 3], [3, 0]]


def test_a_symmetric_matrix_whose_triangles_differ_is_refused(tmp_path):
    (tmp_path / "x.mtx").write_text(f"{MM} symmetric\n2 2 2\n1 2 3\n2 1 4\n")
    refuse(tmp_path / "x.mtx", "the two triangles differ; write 'general'")


# Text


def test_json_that_is_nested_deeply_is_refused(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": ' + "[" * 10**5 + "\n")
    refuse(tmp_path / "x.jsonl", "line 1 is JSON that is nested too deeply")


@pytest.mark.parametrize("encoding", ["klingon", "hex", "", None])
@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl", "x.mtx", "x.dat"])
def test_unknown_encodings_are_named(tmp_path, name, encoding):
    (tmp_path / name).write_text("cat,mat\n1,2\n")
    with pytest.raises(ValueError, match=r"encoding=.*--encoding.*is not the name of a text enc"):
        read_counts(tmp_path / name, encoding=encoding)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"ngrams": 0}, "ngrams must be the lengths .*, not 0"),
        ({"ngrams": ()}, "must be the lengths"),
        ({"ngrams": "12"}, "must be the lengths"),
        ({"token_pattern": "("}, "is not a regular expression"),
        ({"token_pattern": "(a)(b)"}, "has 2 groups"),
        ({"token_pattern": "a*"}, "matches the empty string"),
        ({"min_df": 0.9, "max_df": 0.1}, "at least min_df=0.9 and at most max_df=0.1 documents"),
        ({"min_df": 3, "max_df": 2}, "at least min_df=3 and at most max_df=2 documents"),
        ({"min_df": 2, "max_df": 0.5}, "at least min_df=2 and at most max_df=0.5 documents"),
        ({"min_df": 1.5}, "min_df=1.5 is neither a number of documents"),
        ({"min_df": -1}, "min_df=-1 is neither"),
        ({"max_df": float("nan")}, "max_df=nan is neither"),
        ({"max_features": 0}, "max_features=0 is not a positive"),
        ({"min_df": 2}, "no terms remain that occur in at least min_df=2"),
    ],
)
def test_limits_on_terms_are_explained_in_own_words(tmp_path, options, match):
    (tmp_path / "x.txt").write_text("a cat\na mat\n")
    refuse(tmp_path / "x.txt", match, **options)


def test_documents_of_stop_words_alone_are_explained(tmp_path):
    (tmp_path / "x.txt").write_text("the\nof a\n")
    refuse(tmp_path / "x.txt", "no words of two or more letters or digits besides stop words")


@pytest.mark.parametrize(
    ("format", "kind"), [("mtx", "folder"), ("npz", "folder"), ("10x", "file")]
)
def test_formats_of_files_and_folders_are_not_confused(tmp_path, format, kind):
    path = tmp_path / "x"
    path.mkdir() if kind == "folder" else path.write_text("x")
    refuse(path, f"{format} is the format of a .*, but this is a {kind}", format=format)
    (tmp_path / "fit").mkdir()
    refuse(tmp_path / "fit", "not the folder of a fit", format="isotopic")


def test_copies_on_other_machines_are_compared_by_content(tmp_path):
    """Workers of a cluster may have the same files with other times."""
    path = tmp_path / "x.npz"
    sparse.save_npz(path, COUNTS.astype(float), compressed=False)
    (piece,) = BlockedCounts(open_blocks([path])).pieces
    elsewhere = replace(piece.block, source=replace(piece.block.source, machine="another"))
    copy = replace(piece, block=elsewhere)
    os.utime(path, ns=(1, 1))
    with pytest.raises(ValueError, match="it has changed since"):
        piece.load()
    np.testing.assert_array_equal(copy.load().values, COUNTS.data)
    rewrite(path, lambda values: values[::-1])
    with pytest.raises(ValueError, match="it has changed since"):
        copy.load()


@pytest.mark.parametrize("shape", [(10**12, 0), (0, 10**12)])
def test_an_array_without_counts_claims_no_rows(tmp_path, shape):
    with (tmp_path / "x.npy").open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
    refuse(tmp_path / "x.npy", "promises 1,000,000,000,000 x 0|promises 0 x 1,000,000,000,000")


def test_a_line_of_very_many_cells_is_read_in_seconds(tmp_path):
    (tmp_path / "x.csv").write_text("s," + "0," * 10**5 + "1\n" + "x," + "0," * 10**5 + "1\n")
    began = time.process_time()
    with pytest.raises(ValueError, match="may be data"):
        read_counts(tmp_path / "x.csv")
    assert read_counts(tmp_path / "x.csv", header=False).counts.shape == (2, 10**5 + 1)
    assert time.process_time() - began < 10

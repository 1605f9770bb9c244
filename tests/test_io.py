"""Counts from files: what other programs wrote is read as it was meant; errors say where."""

import bz2
import gzip
import json
import lzma
import shutil
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

import isotopic
from isotopic.io import FORMATS, CountData, read_counts, write_counts

with warnings.catch_warnings():  # of what these libraries import
    warnings.simplefilter("ignore")
    import anndata
    from gensim.corpora import BleiCorpus, MmCorpus, SvmLightCorpus, UciCorpus

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.7, size=(7, 5))
COUNTS[3] = 0  # a sample without counts
COUNTS[0, -1] = 3  # so that files without a shape know the last feature
COUNTS[-1, 0] = 2
SAMPLES = [f"s{i}" for i in range(7)]
FEATURES = ["a b", "beta", "ж", "<b>", 'd"q,']
BAGS = [[(v, int(n)) for v, n in enumerate(row) if n] for row in COUNTS]
FRAME = pd.DataFrame(COUNTS, index=SAMPLES, columns=FEATURES)


def check(path, format, *, samples=SAMPLES, features=FEATURES, counts=COUNTS, **options):
    """Read, recognised and named, and compare with what was meant."""
    samples, features = (None if names is None else list(names) for names in (samples, features))
    for named in (None, format):
        data = read_counts(path, format=named, **options)
        assert data.format == format
        np.testing.assert_array_equal(data.counts.toarray(), counts)
        assert data.counts.dtype.kind == ("i" if np.all(counts == np.rint(counts)) else "f")
        if samples is not None:
            assert data.sample_names.tolist() == samples
        if features is not None:
            assert data.feature_names.tolist() == features


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


# Matrices


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_matrix_market_of_scipy_with_names_beside(tmp_path, kind):
    file = tmp_path / "x.mtx"
    scipy_io.mmwrite(file, sparse.coo_array(COUNTS.astype(kind)))
    check(file, "mtx", samples=map(str, range(7)), features=[f"x{i}" for i in range(5)])
    write_lines(tmp_path / "x.mtx_rows", SAMPLES)
    write_lines(tmp_path / "x.mtx_cols", FEATURES)
    check(file, "mtx")
    scipy_io.mmwrite(file, sparse.coo_array(COUNTS.T.astype(kind)))
    write_lines(tmp_path / "x.mtx_rows", FEATURES)
    write_lines(tmp_path / "x.mtx_cols", SAMPLES)
    check(file, "mtx", transpose=True)


def test_every_kind_of_matrix_market(tmp_path):
    file = tmp_path / "x.mtx"
    scipy_io.mmwrite(file, sparse.coo_array(COUNTS), field="pattern")
    check(file, "mtx", counts=COUNTS > 0, samples=None, features=None)
    square = COUNTS @ COUNTS.T
    scipy_io.mmwrite(file, sparse.coo_array(square), symmetry="symmetric", comment="a\nb")
    check(file, "mtx", counts=square, samples=None, features=None)
    scipy_io.mmwrite(file, COUNTS + 0.5)  # an array
    check(file, "mtx", counts=COUNTS + 0.5, samples=None, features=None)


def test_matrix_market_of_gensim(tmp_path):
    file = str(tmp_path / "x.mm")
    MmCorpus.serialize(file, BAGS)
    features = write_lines(tmp_path / "words", FEATURES)
    check(file, "mtx", sample_names=SAMPLES, feature_names=features)


@pytest.mark.parametrize("packed", [True, False])
def test_folder_of_10x(tmp_path, packed):
    scipy_io.mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(COUNTS.T))
    genes = [f"ENSG{i}\tgene{min(i, 3)}\tGene Expression" for i in range(5)]
    write_lines(tmp_path / ("features.tsv" if packed else "genes.tsv"), genes)
    write_lines(tmp_path / "barcodes.tsv", SAMPLES)
    if packed:
        for file in list(tmp_path.iterdir()):
            with gzip.open(f"{file}.gz", "wb") as stream:
                stream.write(file.read_bytes())
            file.unlink()
    names = ["gene0", "gene1", "gene2", "gene3 (ENSG3)", "gene3 (ENSG4)"]
    check(tmp_path, "10x", features=names)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_npz_of_scipy(tmp_path, kind):
    file = tmp_path / "x.npz"
    sparse.save_npz(file, sparse.coo_array(COUNTS).asformat(kind))
    check(file, "npz", samples=None, features=None)
    write_lines(tmp_path / "vocab.txt", FEATURES)
    check(file, "npz", samples=None)
    write_lines(tmp_path / "vocab.txt", FEATURES[1:])  # of something else
    check(file, "npz", samples=None, features=[f"x{i}" for i in range(5)])


def test_npz_of_numpy(tmp_path):
    file = tmp_path / "x.npz"
    np.savez(file, counts=COUNTS, feature_names=FEATURES, sample_names=SAMPLES)
    check(file, "npz")
    np.savez_compressed(file, COUNTS + 0.5)
    check(file, "npz", counts=COUNTS + 0.5, samples=None, features=None)


@pytest.mark.filterwarnings("ignore")  # of anndata's own
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_anndata(tmp_path, kind):
    file = tmp_path / "x.h5ad"
    cells = anndata.AnnData(kind(np.log1p(COUNTS)))
    cells.obs_names, cells.var_names = SAMPLES, FEATURES
    cells.layers["counts"] = kind(COUNTS)
    cells.write_h5ad(file)
    check(file, "h5ad", layer="counts")
    np.testing.assert_allclose(read_counts(file).counts.toarray(), np.log1p(COUNTS))
    with pytest.raises(ValueError, match="no layer 'raw'; it has the layers counts"):
        read_counts(file, layer="raw")


@pytest.mark.filterwarnings("ignore::UserWarning:anndata")
@pytest.mark.parametrize("as_stored", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_forgotten_layer_of_a_file_is_named(as_stored, tmp_path):
    cells = anndata.AnnData(as_stored(np.log1p(COUNTS)), layers={"counts": as_stored(COUNTS)})
    cells.layers["scaled"] = as_stored(COUNTS / 7.0)
    cells.write_h5ad(tmp_path / "x.h5ad")
    with pytest.warns(isotopic.CountsWarning, match="X is not counts.*Pass layer='counts'"):
        read_counts(tmp_path / "x.h5ad")
    read_counts(tmp_path / "x.h5ad", layer="counts")  # warnings are errors
    del cells.layers["counts"]
    cells.write_h5ad(tmp_path / "y.h5ad")
    read_counts(tmp_path / "y.h5ad")


def test_own_files(tmp_path):
    data = CountData(sparse.csr_array(COUNTS), np.array(SAMPLES), np.array(FEATURES), "x")
    write_counts(tmp_path / "counts.isotopic", data)
    check(tmp_path / "counts.isotopic", "isotopic")
    check(tmp_path, "isotopic")  # as in the folder of a fit
    isotopic.NMF(2, max_iter=1, tol=0).fit(COUNTS).save(tmp_path / "model.isotopic")
    with pytest.raises(ValueError, match="model"):
        read_counts(tmp_path / "model.isotopic")


# Tables


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz"])
def test_wide_csv_of_pandas(tmp_path, suffix):
    file = tmp_path / f"x{suffix}"
    FRAME.to_csv(file)
    check(file, "wide")
    FRAME.T.to_csv(file)
    check(file, "wide", transpose=True)
    FRAME.to_csv(file, index=False)
    check(file, "wide", samples=map(str, range(7)))
    pd.DataFrame(COUNTS).to_csv(file, index=False)
    check(file, "wide", samples=None, features="01234")
    pd.DataFrame(COUNTS).to_csv(file, index=False, header=False)
    check(file, "wide", samples=None, features=[f"x{i}" for i in range(5)])


def test_wide_tables_of_other_delimiters(tmp_path):
    FRAME.to_csv(tmp_path / "x.tsv", sep="\t")
    check(tmp_path / "x.tsv", "wide")
    FRAME.to_csv(tmp_path / "x.csv", sep=";")
    check(tmp_path / "x.csv", "wide")
    FRAME.rename_axis("cell").reset_index().to_csv(tmp_path / "y.csv", index=False)
    check(tmp_path / "y.csv", "wide", name_column="cell")


def test_wide_csv_of_polars(tmp_path):
    file = tmp_path / "x.csv"
    pl.from_pandas(FRAME.reset_index()).write_csv(file)
    check(file, "wide")


def test_wide_parquet(tmp_path):
    file = tmp_path / "x.parquet"
    FRAME.to_parquet(file)
    check(file, "wide")
    FRAME.rename_axis("cell").to_parquet(file)
    check(file, "wide", name_column="cell")
    pl.from_pandas(FRAME.reset_index()).write_parquet(file)
    check(file, "wide")
    FRAME.reset_index(drop=True).to_parquet(file)
    check(file, "wide", samples=map(str, range(7)))


def long_frame():
    long = FRAME.rename_axis("sample").reset_index().melt("sample", None, "feature", "count")
    return long.rename(columns={"variable": "feature"})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("columns", [["sample", "feature", "count"], ["who", "what", "times"]])
def test_long_tables(tmp_path, suffix, columns):
    file = tmp_path / f"x{suffix}"
    long = long_frame().set_axis(columns, axis=1)
    if suffix == ".parquet":
        long.to_parquet(file)
    else:
        long.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    check(file, "long")


def test_long_tables_sum_what_stands_twice_and_go_by_the_names_of_columns(tmp_path):
    long = long_frame()
    twice = pd.concat([long, long])[["count", "feature", "sample"]]
    twice.to_csv(tmp_path / "x.csv", index=False)
    check(tmp_path / "x.csv", "long", counts=2 * COUNTS)


def test_tables_in_chunks_are_the_same(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "x.csv")
    long_frame().to_parquet(tmp_path / "y.parquet")
    monkeypatch.setattr("isotopic.io.tables._TEXT_CELLS", 12)
    monkeypatch.setattr("isotopic.io.tables._PARQUET_CELLS", 12)
    check(tmp_path / "x.csv", "wide")
    check(tmp_path / "y.parquet", "long")


SBS = ["A[C>A]A", "T[T>G]C", "G[C>T]G"]
CATALOGUES = {
    "SBS96": SBS,
    "SBS288": [f"{strand}:{SBS[0]}" for strand in "TUN"],
    "SBS1536": ["AA[C>A]AT", "CT[T>G]CC", "GG[C>T]GA"],
    "DBS78": ["AC>CA", "AC>CG", "TT>GG"],
    "ID83": ["1:Del:C:0", "5:Ins:R:5", "2:Del:M:1"],
    "PCAWG": ["DEL_C_1_0", "INS_repeats_5+_0", "DEL_MH_2_1"],
}


@pytest.mark.parametrize("types", CATALOGUES.values(), ids=CATALOGUES)
@pytest.mark.parametrize("suffix", [".all", ".txt", ".tsv", ".csv"])
def test_catalogues_of_mutations(tmp_path, types, suffix):
    file = tmp_path / f"tumours{suffix}"
    tumours = pd.DataFrame(COUNTS[:, :3].T, index=types, columns=SAMPLES).rename_axis(
        "MutationType"
    )
    tumours.to_csv(file, sep="," if suffix == ".csv" else "\t")
    check(file, "catalogue", counts=COUNTS[:, :3], features=types)


def test_catalogues_with_the_type_in_two_columns(tmp_path):
    tumours = pd.DataFrame(COUNTS[:, :3].T, columns=SAMPLES)
    tumours.insert(0, "Mutation type", ["C>A", "T>G", "C>T"])
    tumours.insert(1, "Trinucleotide", ["ACA", "TTC", "GCG"])
    tumours.to_csv(tmp_path / "sbs.csv", index=False)
    check(tmp_path / "sbs.csv", "catalogue", counts=COUNTS[:, :3], features=SBS)
    tumours["Mutation type"], tumours["Trinucleotide"] = ["AC", "AC", "TT"], ["CA", "CG", "GG"]
    tumours.to_csv(tmp_path / "dbs.csv", index=False)
    check(tmp_path / "dbs.csv", "catalogue", counts=COUNTS[:, :3], features=CATALOGUES["DBS78"])


# Bags of words


def test_docword_of_gensim(tmp_path):
    file = str(tmp_path / "docword.x.txt")
    UciCorpus.serialize(file, BAGS, id2word=dict(enumerate(FEATURES)))
    check(file, "docword", samples=None)
    shutil.move(f"{file}.vocab", tmp_path / "vocab.x.txt")
    check(file, "docword", samples=None)


def test_ldac_of_gensim(tmp_path):
    file = str(tmp_path / "x.lda-c")
    BleiCorpus.serialize(file, BAGS, id2word=dict(enumerate(FEATURES)))
    check(file, "ldac", samples=None)
    shutil.copy(file, tmp_path / "x.dat")  # known by its content
    check(tmp_path / "x.dat", "ldac", samples=None, feature_names=FEATURES)


def test_svmlight_of_gensim(tmp_path):
    file = str(tmp_path / "x.svmlight")
    SvmLightCorpus.serialize(file, BAGS)
    check(file, "svmlight", samples=None, feature_names=FEATURES)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("suffix", [".svm", ".dat"])
def test_svmlight_of_scikit_learn(tmp_path, zero_based, suffix):
    file = tmp_path / f"x{suffix}"
    dump_svmlight_file(
        COUNTS, np.linspace(-1, 1, 7), str(file), zero_based=zero_based, comment="a: b",
        query_id=np.arange(7),
    )  # fmt: skip
    check(file, "svmlight", samples=None, features=[f"x{i}" for i in range(5)])


# Text

DOCUMENTS = [
    "The cat sat on the mat; the cat slept.",
    "",
    "Cats and mats: the mat was red, the cat was not.",
    "Αγάπη, agape; mat <b>red</b>\x1b[31m",
]
LIMITS = {"stop_words": "english", "min_df": 2, "max_df": 0.7}


def expected_words(**limits):
    vectorizer = CountVectorizer(**(LIMITS | limits))
    counts = vectorizer.fit_transform(DOCUMENTS)
    return {"counts": counts.toarray(), "features": vectorizer.get_feature_names_out()}


@pytest.mark.parametrize(
    "limits", [{}, {"stop_words": None}, {"min_df": 1}, {"stop_words": ["mat"]}]
)
def test_folder_of_texts(tmp_path, limits):
    (tmp_path / "sub").mkdir()
    names = ["1.txt", "2.txt", "3.txt.gz", "sub/4.txt"]
    for name, text in zip(names, DOCUMENTS, strict=True):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (tmp_path / "notes.md").write_text("not a document")
    check(tmp_path, "text-folder", samples=names, **expected_words(**limits), **(LIMITS | limits))


def test_document_a_line(tmp_path):
    file = write_lines(tmp_path / "x.txt", DOCUMENTS)
    names = [f"line {i}" for i in range(1, 5)]
    check(file, "text-lines", samples=names, **expected_words(), **LIMITS)


def test_jsonl(tmp_path):
    rows = [{"id": f"d{i}", "text": text, "year": 1999} for i, text in enumerate(DOCUMENTS)]
    file = write_lines(tmp_path / "x.jsonl", map(json.dumps, rows))
    check(file, "jsonl", samples=["d0", "d1", "d2", "d3"], **expected_words(), **LIMITS)
    rows = [{"n": f"d{i}", "body of it": text} for i, text in enumerate(DOCUMENTS)]
    file = write_lines(tmp_path / "x.jsonl", map(json.dumps, rows))
    options = {"text_column": "body of it", "name_column": "n", **LIMITS}
    check(file, "jsonl", samples=["d0", "d1", "d2", "d3"], **expected_words(), **options)
    write_lines(file, map(json.dumps, DOCUMENTS))
    check(file, "jsonl", samples=None, **expected_words(), **LIMITS)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_tables_with_a_column_of_text(tmp_path, suffix):
    file = tmp_path / f"x{suffix}"
    frame = pd.DataFrame({"id": ["d0", "d1", "d2", "d3"], "text": DOCUMENTS, "n": 1})
    if suffix == ".parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    check(file, "text-table", samples=frame["id"], **expected_words(), **LIMITS)
    options = {"text_column": "text", "name_column": "n", **LIMITS}
    check(file, "text-table", samples="1111", **expected_words(), **options)


def test_documents_are_kept_under_other_names(tmp_path):
    file = write_lines(tmp_path / "x.txt", ["a cat", "the cat"])
    data = read_counts(file, sample_names=["r", "s"], keep_text=3)
    assert data.sample_names.tolist() == ["r", "s"]
    assert data.documents.tolist() == ["a c\u2026", "the\u2026"]  # they were longer


def test_long_documents_in_a_table(tmp_path):
    """The csv module alone refuses cells of more than 128 KiB."""
    pd.DataFrame({"text": ["cat mat " * 50_000, "cat"]}).to_csv(tmp_path / "x.csv", index=False)
    data = read_counts(tmp_path / "x.csv", min_df=1)
    assert data.counts.toarray().tolist() == [[50_000, 50_000], [1, 0]]


def test_vocabulary_of_a_fit(tmp_path):
    file = write_lines(tmp_path / "x.txt", ["mat mat the cat", "dog"])
    data = read_counts(file, vocabulary=["the", "mat", "cow"], min_df=5, max_features=1)
    assert data.feature_names.tolist() == ["the", "mat", "cow"]
    assert data.counts.toarray().tolist() == [[1, 2, 0], [0, 0, 0]]


def test_other_encodings(tmp_path):
    (tmp_path / "x.txt").write_bytes("cafe\ncafé café\ncafé".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 2 is not utf-8 \(byte 0xe9"):
        read_counts(tmp_path / "x.txt")
    data = read_counts(tmp_path / "x.txt", encoding="latin-1")
    assert data.feature_names.tolist() == ["café"]
    (tmp_path / "y.csv").write_text("\ufeffsample,a\nA,1\n", encoding="utf-8")
    assert read_counts(tmp_path / "y.csv").feature_names.tolist() == ["a"]


def write_mixed(folder):
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"caf\u00e9 {name}{name}", encoding="utf-8")
    for name in "de":
        (folder / f"{name}.txt").write_bytes(f"\u201ccaf\u00e9\u201d {name}{name}".encode("cp1252"))


def test_files_in_another_encoding_are_counted_and_named(tmp_path):
    write_mixed(tmp_path)
    with pytest.raises(
        ValueError, match=r"2 of 5 files cannot be read as utf-8: d\.txt, e\.txt"
    ) as caught:
        read_counts(tmp_path)
    assert "encoding='utf-8,cp1252' (--encoding utf-8,cp1252)" in str(caught.value)
    assert caught.value.__suppress_context__  # one traceback
    assert caught.value.__cause__ is None


def test_each_file_is_read_in_the_first_encoding_that_fits(tmp_path):
    write_mixed(tmp_path)
    data = read_counts(tmp_path, encoding="utf-8,cp1252")
    assert data.feature_names.tolist() == ["caf\u00e9"]
    assert "files that are not utf-8, 2 of 5: d.txt" in data.notes[0]
    assert "d.txt (cp1252), e.txt (cp1252)" in repr(data)
    assert not read_counts(tmp_path, encoding="latin-1").notes


def test_a_file_of_lines_is_read_in_the_first_encoding_that_fits(tmp_path):
    (tmp_path / "x.txt").write_bytes("cafe\ncaf\u00e9 caf\u00e9\ncaf\u00e9".encode("latin-1"))
    data = read_counts(tmp_path / "x.txt", encoding="utf-8, cp1252")
    assert data.feature_names.tolist() == ["caf\u00e9"]


def test_documents_without_a_word_are_named(tmp_path):
    (tmp_path / "x.csv").write_text("title,text\na,the sea\nb,\nc,sea sea\nd,of the\n")
    data = read_counts(tmp_path / "x.csv", min_df=1)
    assert data.notes[0].startswith("documents without a counted word, 2 of 4: b, d;")
    assert data.notes[0] in repr(data)
    new = read_counts(tmp_path / "x.csv", vocabulary=["the"], stop_words=None)
    assert "1 of 4" not in new.notes[0]
    (tmp_path / "y.csv").write_text("title,text\na,sea\nb,sun\n")
    assert not read_counts(tmp_path / "y.csv", min_df=1, text_column="text").notes


# Compression


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("make", ["mtx", "npz", "h5ad", "wide", "docword"])
@pytest.mark.filterwarnings("ignore")  # of anndata's own
def test_compressed_files(tmp_path, make, packer):
    plain = tmp_path / "plain"
    if make == "mtx":
        scipy_io.mmwrite(tmp_path / "plain.mtx", sparse.coo_array(COUNTS))
        (tmp_path / "plain.mtx").rename(plain)
    elif make == "npz":
        with plain.open("wb") as stream:
            sparse.save_npz(stream, sparse.csr_array(COUNTS))
    elif make == "h5ad":
        anndata.AnnData(COUNTS.astype(np.float32)).write_h5ad(plain)
    elif make == "wide":
        FRAME.to_csv(plain)
    else:
        UciCorpus.serialize(str(plain), BAGS)
    suffix = {"wide": ".csv", "docword": ".txt"}.get(make, f".{make}")
    packed = tmp_path / f"x{suffix}{packer}"
    packed.write_bytes(PACKERS[packer](plain.read_bytes()))
    check(packed, make, samples=None, features=None)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ValueError, match=packed.name):
        read_counts(packed)


# Properties

tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 2**40), min_size=width, max_size=width), min_size=1, max_size=6
    )
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=40, deadline=None)
@given(tables, st.sampled_from(["mtx", "npz", "wide", "parquet", "isotopic"]), st.data())
def test_any_counts_survive(tmp_path_factory, table, kind, data):
    counts = np.array(table)
    rows = data.draw(st.lists(names, min_size=len(counts), max_size=len(counts)))
    columns = data.draw(
        st.lists(names, min_size=counts.shape[1], max_size=counts.shape[1], unique=True)
    )
    file = tmp_path_factory.mktemp("any") / f"x.{kind if kind != 'wide' else 'csv'}"
    frame = pd.DataFrame(counts, columns=columns)
    frame.insert(0, "the rows", rows, allow_duplicates=True)
    options = {}
    if kind == "mtx":
        scipy_io.mmwrite(file, sparse.coo_array(counts))
    elif kind == "npz":
        sparse.save_npz(file, sparse.csr_array(counts))
    elif kind == "isotopic":
        write_counts(file, CountData(sparse.csr_array(counts), rows, columns, ""))
    else:
        write = frame.to_csv if kind == "wide" else frame.to_parquet
        write(file, index=False)
        options = {"format": "wide", "name_column": "the rows"}
    found = read_counts(file, **options)
    np.testing.assert_array_equal(found.counts.toarray(), counts)
    if kind in ("parquet", "isotopic"):
        assert found.sample_names.tolist() == rows
        assert found.feature_names.tolist() == columns


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(FORMATS))
def test_garbage_is_refused_or_read_but_never_breaks(tmp_path_factory, content, format):
    file = tmp_path_factory.mktemp("garbage") / "x"
    file.write_bytes(content)
    try:
        data = read_counts(file, format=format)
    except ValueError as error:
        message = str(error)
    else:
        assert data.counts.shape == (len(data.sample_names), len(data.feature_names))
        return
    assert str(file) in message


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """Return a file of each kind, as bytes."""
    folder = tmp_path_factory.mktemp("whole")
    scipy_io.mmwrite(folder / "x.mtx", sparse.coo_array(COUNTS))
    sparse.save_npz(folder / "x.npz", sparse.csr_array(COUNTS), compressed=False)
    np.savez(folder / "y.npz", COUNTS)
    FRAME.to_csv(folder / "x.csv")
    FRAME.to_parquet(folder / "x.parquet")
    long_frame().to_csv(folder / "long.csv.gz", index=False)
    UciCorpus.serialize(str(folder / "docword.txt"), BAGS)
    BleiCorpus.serialize(str(folder / "x.ldac"), BAGS)
    SvmLightCorpus.serialize(str(folder / "x.svm"), BAGS)
    write_lines(folder / "x.txt", DOCUMENTS)
    write_lines(folder / "x.jsonl", map(json.dumps, DOCUMENTS))
    names = np.array(SAMPLES), np.array(FEATURES)
    write_counts(folder / "x.isotopic", CountData(sparse.csr_array(COUNTS), *names, ""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.AnnData(COUNTS.astype(np.float32)).write_h5ad(folder / "x.h5ad")
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files_are_refused_or_read_but_never_break(tmp_path_factory, whole_files, data):
    name = data.draw(st.sampled_from(sorted(whole_files)))
    content = bytearray(whole_files[name])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 20))
        content[start : start + length] = data.draw(st.binary(max_size=5))
    file = tmp_path_factory.mktemp("damaged") / name
    file.write_bytes(content)
    try:
        found = read_counts(file)
    except ValueError as error:
        message = str(error)
    else:
        assert found.counts.shape == (len(found.sample_names), len(found.feature_names))
        assert found.counts.data.min(initial=0) >= 0
        return
    assert str(file) in message


def test_indices_outside_of_the_shape_are_refused(tmp_path):
    parts = {"data": [1, 1], "indices": [0, 99], "indptr": [0, 1, 2], "shape": [2, 3]}
    for kind in ({}, {"format": b"csr"}, {"format": b"csc"}):
        np.savez(tmp_path / "x.npz", **parts, **kind)
        with pytest.raises(ValueError, match=r"x\.npz"):
            read_counts(tmp_path / "x.npz")


# What is wrong


def test_fingerprints_are_of_the_counts():
    def made(counts):
        names = np.array(["x"])
        return CountData(sparse.csr_array(counts), names, names, "x").fingerprint()

    assert made(COUNTS) == made(COUNTS.astype(np.float32))
    assert made(COUNTS) != made(COUNTS.T)
    assert made(COUNTS) != made(COUNTS + np.eye(7, 5))


MM = "%%MatrixMarket matrix"
BAD = {
    "x.csv": [
        ("a,b\nr,1\ns,two\n", "line 3, column 'b': 'two' is not a number"),
        ("a,b\nr,1\ns,\n", "line 3, column 'b': an empty cell is not a number"),
        ("a,b\nr,1\ns,-2\n", "line 3, column 'b': -2 is not a count"),
        ("a,b\nr,1\ns,inf\n", "line 3, column 'b': inf is not a count"),
        ("a,b\nr,1\ns,1,2\n", "line 3 has 3 cells; the header has 2"),
        ('a,b\n"r\nr",1\ns,?\n', "line 4, column 'b'"),
        ("sample,feature,count\nA,x,1\nA,y,-1\n", "line 3, column 'count': -1 is not a count"),
        ("a,b\n", "no rows"),
        ("", "line 1 is empty"),
        ("a\nb\n", "no column of counts"),
        ("T,S1\nA[C>A]A,1\n" * 30, "line 3"),
    ],
    "x.mtx": [
        (f"{MM} coordinate integer general\n2 2 2\n1 1 1\n3 1 1\n", "line 4: '3 1 1' is not a row"),
        (f"{MM} coordinate integer general\n%\n\n2 2 1\n1 1 x\n", "line 5: '1 1 x'"),
        (f"{MM} coordinate integer general\n2 2 1\n1 2 -1\n", "line 3: '1 2 -1'"),
        (f"{MM} coordinate integer general\n2 2 1\n1 2 1\0\n", "line 3"),
        (f"{MM} coordinate integer general\n2 2 2\n1 2 1\n", "line 2 promises 2 entries; 1 "),
        (f"{MM} coordinate integer general\n2 2\n", "line 2 must be the numbers of rows"),
        (f"{MM} coordinate complex general\n1 1 1\n1 1 1 1\n", "real numbers"),
        (f"{MM} array real general\n2 2\n1\n2\n", "line 2 promises 4 numbers; 2 follow"),
        (f"{MM} array real general\n1 1\nx\n", "'x'"),
    ],
    "docword.txt": [
        ("2\n2\n2\n1 1 1\n1 3 1\n", "line 5: '1 3 1' is not a document"),
        ("2\n2\n2\n1 1 1\n1 2\n", "line 5: '1 2'"),
        ("2\n2\n2\n1 1 1\n1 2 x\n", "line 5"),
        ("2\n2\n3\n1 1 1\n", "line 3 promises 3 entries; 1 follow"),
    ],
    "x.ldac": [
        ("1 0:1\n2 0:1\n", "line 2 promises 2 pairs; 1 follow"),
        ("1 0:1\n1 a:1\n", "line 2: 'a:1' is not feature:count"),
        ("1 0:1\n1 0:-1\n", "line 2: '0:-1'"),
        ("1 0:1\nx 0:1\n", "line 2 must begin with a number"),
        ("", "no samples"),
    ],
    "x.svm": [("1 1:1\n1 2:1 3\n", "line 2: '3' is not feature:count")],
    "x.jsonl": [
        ('{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        ('{"text": "a"}\n{"body of": "b"}\n', "line 2 has no text in 'text'"),
        ('{"text": "a"}\n[1]\n', "line 2 is neither"),
    ],
    "x.npz": [("no archive", "not an archive"), ("", "not an archive")],
    "x.h5ad": [("no archive", "x.h5ad")],
    "x.parquet": [("PAR1 not really", "not Parquet")],
    "x.txt": [("cat\ndog\n", "no terms remain")],
    "x.bin": [("\0\1\2", "binary"), ("what is this", "which format")],
}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [(name, content, message) for name, cases in BAD.items() for content, message in cases],
)
def test_errors_say_where(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError) as error:  # noqa: PT011 - looked at below
        read_counts(file)
    assert str(file) in str(error.value)
    assert message in str(error.value)


def test_errors_in_parquet_say_where(tmp_path):
    file = tmp_path / "x.parquet"
    pd.DataFrame({"a": [1, 2], "b": [1.0, None]}).to_parquet(file)
    with pytest.raises(ValueError, match="row 1, column 'b' is missing"):
        read_counts(file)
    pd.DataFrame({"a": [1, 2], "b": [1.0, -3.0]}).to_parquet(file)
    with pytest.raises(ValueError, match="row 1, column 'b': -3 is not a count"):
        read_counts(file)


def test_what_does_not_apply_is_refused(tmp_path):
    file = write_lines(tmp_path / "x.csv", ["a,b", "r,1"])
    with pytest.raises(ValueError, match="layer applies only to h5ad files, but this is wide"):
        read_counts(file, layer="counts")
    with pytest.raises(ValueError, match=r"format must be one of .*, not 'xls'"):
        read_counts(file, format="xls")
    with pytest.raises(ValueError, match="2 feature names for 1 features"):
        read_counts(file, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="2 sample names for 1 samples"):
        read_counts(file, sample_names=["r", "s"])
    with pytest.raises(ValueError, match="no column 'c'; the columns are 'a', 'b'"):
        read_counts(file, name_column="c")
    lines = write_lines(tmp_path / "x.txt", ["a cat", "a cat"])
    with pytest.raises(ValueError, match="transpose applies only to"):
        read_counts(lines, transpose=True)
    with pytest.raises(FileNotFoundError, match="missing"):
        read_counts(tmp_path / "missing.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no matrix"):
        read_counts(tmp_path / "empty")

"""The command line: what it prints and writes, what it refuses, and how it is interrupted."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tomllib
import unicodedata
import warnings
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import run_python
from scipy import sparse
from scipy.io import mmwrite

import isotopic
from isotopic.cli import main
from isotopic.cli.info import EXTRAS
from isotopic.cli.output import printable, short
from isotopic.verify import Claim, VerificationTable

COUNTS = np.random.default_rng(0).poisson(1.0, size=(30, 12))
COMMANDS = [
    "fit",
    "transform",
    "report",
    "serve",
    "topics",
    "consensus",
    "decompose",
    "refit",
    "convert",
    "verify",
    "info",
    "demo",
]


@pytest.fixture
def counts(tmp_path):
    file = tmp_path / "counts.csv"
    samples, features = ([f"{kind}{i}" for i in range(n)] for kind, n in (("s", 30), ("f", 12)))
    pd.DataFrame(COUNTS, index=samples, columns=features).to_csv(file)
    return str(file)


@pytest.fixture
def fitted(counts, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["fit", counts, "-k", "3", "-o", str(folder), "--tol", "1e-3"]) == 0
    capsys.readouterr()
    return folder


def run_json(capsys, *arguments, code=0):
    """Run a command for machines: JSON and nothing else, with no numbers that JSON lacks."""
    assert main([*map(str, arguments), "--json"]) == code

    def not_json(constant):
        raise AssertionError(constant)

    return json.loads(capsys.readouterr().out, parse_constant=not_json)


def error_of(capsys, *arguments, code=2):
    """Run a command that fails: one line, on stderr."""
    assert main(list(map(str, arguments))) == code
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("isotopic: error: ")
    return line


# fit


def test_fit_writes_a_folder_that_describes_itself(counts, fitted, capsys):
    manifest = json.loads((fitted / "manifest.json").read_text())
    assert sorted(manifest["files"]) == sorted(os.listdir(fitted))
    assert manifest["isotopic"] == isotopic.__version__
    assert manifest["model"]["class"] == "NMF"
    assert manifest["model"]["parameters"]["n_components"] == 3
    assert manifest["data"]["source"] == counts
    assert manifest["data"]["fingerprint"] == isotopic.read_counts(counts).fingerprint()
    assert manifest["seed"] == 0
    assert set(manifest["seconds"]) == {"reading", "fitting", "writing", "report"}
    model = isotopic.load(fitted / "model.isotopic")
    same = isotopic.NMF(3, tol=1e-3, random_state=0).fit(sparse.csr_array(COUNTS))
    np.testing.assert_array_equal(model.components_, same.components_)
    assert manifest["result"]["objective"] == model.objective_
    for kind, values in (("topics", model.components_.T), ("weights", model.weights_)):
        names = [f"{'f' if kind == 'topics' else 's'}{i}" for i in range(len(values))]
        csv = pd.read_csv(fitted / f"{kind}.csv", float_precision="round_trip")
        for table in (csv, pd.read_parquet(fitted / f"{kind}.parquet")):
            assert table.iloc[:, 0].tolist() == names
            np.testing.assert_array_equal(table.iloc[:, 1:].to_numpy(), values)
    assert "f11" in (fitted / "report.html").read_text(encoding="utf-8")


def test_fit_prints_topics(counts, tmp_path, capsys):
    assert main(["fit", counts, "-k", "3", "-o", str(tmp_path / "o"), "--tol", "1e-3"]) == 0
    out, err = capsys.readouterr()
    shares = [float(x) for x in re.findall(r"^ +\d +([\d.]+)%  f\d", out, flags=re.MULTILINE)]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert str(tmp_path / "o" / "report.html") in out
    assert "30 samples x 12 features" in err
    assert "iteration" not in err  # a short fit prints no progress
    assert "arquet" not in out + err
    assert "\x1b" not in out + err  # no terminal, no colours


def test_fit_takes_models_priors_and_settings(counts, tmp_path, capsys):
    found = run_json(
        capsys, "fit", counts, "-k", 2, "-o", tmp_path / "o", "--model", "lda",
        "--alpha", "0.2,0.4", "--eta", "0.1", "--solver", "joint", "--init", "nndsvd",
        "--max-iter", 7, "--tol", 0, "--threads", 1, "--seed", 4, "--no-report",
    )  # fmt: skip
    assert found["model"]["class"] == "LDA"
    expected = {
        "alpha": [0.2, 0.4], "eta": 0.1, "solver": "joint", "init": "nndsvd", "max_iter": 7,
        "tol": 0.0, "n_jobs": 1, "random_state": 4,
    }  # fmt: skip
    assert found["model"]["parameters"].items() >= expected.items()
    assert found["result"]["iterations"] == 7
    assert [topic["topic"] for topic in found["topics"]] == [0, 1]
    assert not (tmp_path / "o" / "report.html").exists()
    assert "report.html" not in found["files"]
    options = ["--set", "normalize=false", "--set", "missing=nan", "--max-iter", 1, "--no-report"]
    found = run_json(capsys, "fit", counts, "-k", 2, "-o", tmp_path / "p", *options)
    assert found["model"]["parameters"]["normalize"] is False
    assert found["model"]["parameters"]["missing"] == "nan"


def test_fit_to_texts(tmp_path, capsys):
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(12):
        word = "sailing ships" if i % 2 else "baking bread"
        (texts / f"{i}.txt").write_text(f"The {word} {word}, of <script>alert({i})</script>")
    found = run_json(capsys, "fit", texts, "-k", 2, "-o", tmp_path / "o", "--min-df", "3")
    assert found["data"]["format"] == "text-folder"
    assert found["data"]["features"] == 4  # the script is no text
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert 'id="texts-0"' in page  # the documents are shown
    assert (
        isotopic.read_counts(tmp_path / "o").documents[1] == "The sailing ships sailing ships, of"
    )
    assert "<script>alert" not in page
    new = tmp_path / "new.txt"
    new.write_text("bread and bread and baking\nships sailing ships never")
    assert main(["transform", str(tmp_path / "o"), str(new), "-o", str(tmp_path / "w.csv")]) == 0
    weights = pd.read_csv(tmp_path / "w.csv")
    assert weights["sample"].tolist() == ["line 1", "line 2"]
    assert weights.iloc[0, 1:].argmax() != weights.iloc[1, 1:].argmax()


def test_new_documents_are_split_as_those_of_the_fit(tmp_path, capsys):
    (tmp_path / "old.txt").write_text("The New York\nNew York Times\nThe Times")
    (tmp_path / "new.txt").write_text("new york of New York\nThe Times of York")
    splitting = ["--ngrams", "1,2", "--keep-case", "--stop-words", "none", "--min-df", 1]
    out, weights = tmp_path / "o", tmp_path / "w.csv"
    run_json(capsys, "fit", tmp_path / "old.txt", "-k", 1, "-o", out, "--no-report", *splitting)
    terms = isotopic.read_counts(out).feature_names.tolist()
    assert terms == [
        "New",
        "New York",
        "The",
        "The New",
        "The Times",
        "Times",
        "York",
        "York Times",
    ]
    run_json(capsys, "transform", out, tmp_path / "new.txt", "-o", weights)
    found = pd.read_csv(weights)["topic_0"]
    np.testing.assert_allclose(found, [3, 4])  # New, York, New York; The, Times, York, The Times
    assert main(["topics", str(out)]) == 0
    assert "New York, " in capsys.readouterr().out  # terms of several words need commas
    error = error_of(capsys, "info", tmp_path / "old.txt", "--keep-case", "--lowercase")
    assert "either --lowercase or --keep-case" in error
    assert "'x' is not a list" in error_of(capsys, "info", tmp_path / "old.txt", "--ngrams", "x")


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]])
def test_data_from_standard_input(tmp_path, capsys, monkeypatch, limit):
    def run(*arguments):
        text = "red wine\nred fish\nblue fish\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return main(list(map(str, arguments)))

    lines = ["--format", "text-lines", *limit]
    assert run("fit", "-", "-k", 1, "-o", tmp_path / "o", "--no-report", *lines) == 0
    assert "standard input: 3 samples x 2 features" in capsys.readouterr().err
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert manifest["data"]["source"] == "standard input"
    assert run("transform", tmp_path / "o", "-", "-o", tmp_path / "w.csv", *lines) == 0
    assert len(pd.read_csv(tmp_path / "w.csv")) == 3
    capsys.readouterr()
    assert run("info", "-") == 2
    err = capsys.readouterr().err
    assert err.startswith("isotopic: error: standard input: ")


@pytest.fixture
def documents(tmp_path):
    file = tmp_path / "documents.txt"
    file.write_text("red wine red wine\nfish sea\nblue sea water fish\nwine bread\n" * 3)
    return file


def test_seed_words_from_a_file(documents, tmp_path, capsys):
    (tmp_path / "seeds.txt").write_text("# two of three topics\n1: Fish, sea, sushi\n\nwine bread")
    fit = ["fit", documents, "-k", 3, "--model", "LDA", "--no-report"]
    found = run_json(capsys, *fit, "-o", tmp_path / "o", "--seed-words", tmp_path / "seeds.txt")
    names = isotopic.read_counts(documents).feature_names.tolist()
    expected = {"1": ["fish", "sea"], "2": ["wine", "bread"]}
    seeds = found["model"]["parameters"]["seeds"]
    assert {topic: [names[i] for i in words] for topic, words in seeds.items()} == expected
    (tmp_path / "seeds.json").write_text('{"0": {"fish": 5.5}}')
    assert main([*map(str, fit), "-o", str(tmp_path / "p"), "--seed-words",
                 str(tmp_path / "seeds.json")]) == 0  # fmt: skip
    assert isotopic.load(tmp_path / "p" / "model.isotopic").seeds == {0: {names.index("fish"): 5.5}}
    capsys.readouterr()
    for text, message in [
        ("", "holds no seed words"),
        ("sushi", "None of the seed words is a feature of the data: sushi."),
        ("0: a\n0: b", "topic 0 has two lines"),
        ('{"x": ["fish"]}', "does not hold seed words"),
        ('{"0": "fish"}', "must be a list of words"),
        ("7: fish", "topic 7 is not an integer between 0 and n_components - 1"),
    ]:
        (tmp_path / "bad").write_text(text)
        assert main([*map(str, fit), "-o", str(tmp_path / "q"), "--seed-words",
                     str(tmp_path / "bad")]) == 2  # fmt: skip
        assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("form", ["folder", "table"])
def test_fixed_topics_of_another_fit(documents, tmp_path, capsys, form):
    first, second = tmp_path / "first", tmp_path / "second"
    fit = ["fit", documents, "--model", "PLSA", "--no-report"]
    run_json(capsys, *fit, "-k", 2, "-o", first)
    new = tmp_path / "new.txt"
    new.write_text("fish sea\nwine bread\nred meat\nred meat wine fish\n")
    file = first if form == "folder" else first / "topics.csv"
    options = ["-k", 3, "--min-df", 1, "--model", "PLSA", "--no-report", "--fixed-topics", file]
    assert main([*map(str, ["fit", new, "-o", second, *options])]) == 0
    assert "does not have 2 features of the fixed topics" in capsys.readouterr().err
    old, fitted = (pd.read_csv(folder / "topics.csv", index_col=0) for folder in (first, second))
    shared = ["bread", "fish", "red", "sea", "wine"]
    expected = old.loc[shared] / old.loc[shared].sum()
    np.testing.assert_allclose(fitted.loc[shared].iloc[:, :2], expected, rtol=1e-12)
    assert np.all(fitted.loc["meat"].iloc[:2] == 0)
    (tmp_path / "names.csv").write_text("feature\nfish\n")
    error = error_of(
        capsys, "fit", new, "-o", tmp_path / "x", "--fixed-topics", tmp_path / "names.csv"
    )
    assert "one column" in error
    repeated = tmp_path / "repeated.csv"
    repeated.write_text("feature,topic_0\nfish,0.5\nfish,0.5\n")
    assert main([*map(str, ["fit", new, "-o", tmp_path / "x", "--fixed-topics", repeated])]) == 2
    assert "several features called 'fish'. Make the names unique." in capsys.readouterr().err


@pytest.mark.parametrize("form", ["csv", "npz", "parquet", "h5ad", "mtx"])
def test_fit_and_transform_within_a_memory_limit(counts, tmp_path, capsys, form):
    """The files are opened in row blocks; nothing but the results is written."""
    frame = pd.read_csv(counts, index_col=0)
    X = sparse.csr_array(np.vstack([COUNTS] * 40))
    names = [f"s{i}" for i in range(1200)]
    features = frame.columns.tolist()
    file = tmp_path / f"big.{form}"
    wide = pd.DataFrame(X.toarray(), index=names, columns=features)
    if form == "csv":
        wide.to_csv(file)
    elif form == "parquet":
        wide.to_parquet(file, row_group_size=100)
    elif form == "npz":
        sparse.save_npz(file, X)
        (tmp_path / "rows.txt").write_text("\n".join(names))
        (tmp_path / "vocab.txt").write_text("\n".join(features))
    elif form == "mtx":
        mmwrite(file, sparse.coo_array(X))
        (tmp_path / "big.mtx_rows").write_text("\n".join(names))
        (tmp_path / "big.mtx_cols").write_text("\n".join(features))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anndata = pytest.importorskip("anndata")
            data = anndata.AnnData(sparse.csr_matrix(X.astype(float)))
            data.obs_names, data.var_names = names, features
            data.write_h5ad(file)
    out = tmp_path / "o"
    limit = ["--memory-limit", "230MB"]
    found = run_json(capsys, "fit", file, "-k", 3, "-o", out, "--tol", "1e-3", *limit)
    assert sorted(found["files"]) == sorted(os.listdir(out))
    assert not {"counts.isotopic", "report.html"} & set(found["files"])
    data = found["data"]
    assert (data["samples"], data["features"], data["is_copied"]) == (1200, 12, False)
    assert data["source"] == str(file)
    assert data["total"] == X.sum()
    model = isotopic.load(out / "model.isotopic")
    whole = isotopic.NMF(3, tol=1e-3, random_state=0).fit(X).components_
    np.testing.assert_allclose(model.components_, whole, rtol=1e-5, atol=1e-6)
    for table in (pd.read_parquet(out / "weights.parquet"), pd.read_csv(out / "weights.csv")):
        assert table.iloc[:, 0].tolist() == names
        np.testing.assert_allclose(table.iloc[:, 1:], model.weights_, rtol=1e-5)
    assert pd.read_csv(out / "topics.csv")["feature"].tolist() == features
    new = tmp_path / "w.csv"
    shape = run_json(capsys, "transform", out, file, "-o", new, *limit)
    assert (shape["samples"], shape["counts_left_out"]) == (1200, 0)
    table = pd.read_csv(new)
    assert table["sample"].tolist() == names
    new_frame = pd.DataFrame(X, columns=features)
    np.testing.assert_allclose(table.iloc[:, 1:], model.transform(new_frame), rtol=1e-4, atol=1e-6)
    assert "--memory-limit" in error_of(capsys, "report", out)
    assert sorted(os.listdir(out)) == sorted(found["files"])


def test_memory_limits_that_are_refused(counts, tmp_path, capsys):
    fit = ["fit", counts, "-k", "3", "-o", tmp_path / "o", "--memory-limit"]
    assert "2 GB" in error_of(capsys, *fit, "much")
    assert main([*map(str, fit), "1MB"]) == 2
    assert "memory_limit=1,000,000 bytes is too small" in capsys.readouterr().err
    assert "report" in error_of(capsys, *fit, "1GB", "--open")
    assert not (tmp_path / "o").exists()


def test_nothing_is_overwritten_without_force(counts, fitted, tmp_path, capsys):
    before = {file.name: file.read_bytes() for file in fitted.iterdir()}
    commands = [
        ["fit", counts, "-k", "2", "-o", fitted],
        ["report", fitted],
        ["convert", fitted, "--to", "PLSA", "-o", fitted],
        ["transform", fitted, counts, "-o", fitted / "weights.csv"],
        ["demo", "-o", fitted],
    ]
    for command in commands:
        assert "--force" in error_of(capsys, *command)
    assert {file.name: file.read_bytes() for file in fitted.iterdir()} == before
    assert main(["fit", counts, "-k", "2", "-o", str(fitted), "--force"]) == 0
    assert len(isotopic.load(fitted / "model.isotopic").components_) == 2


def test_fit_stops_at_its_time_limit_and_can_go_on(counts, tmp_path, capsys):
    command = ["fit", counts, "-k", "3", "-o", str(tmp_path / "o"), "--tol", "1e-6", "--no-report"]
    assert main([*command, "--time-limit", "1e-9"]) == 0
    assert "--force" in capsys.readouterr().err.splitlines()[-1]
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert manifest["stopped"] == "time limit of 1e-09 s"
    assert manifest["result"]["iterations"] == 1
    assert main([*command, "--force"]) == 0
    assert "Continuing from" in capsys.readouterr().err
    model = isotopic.load(tmp_path / "o" / "model.isotopic")
    same = isotopic.NMF(3, tol=1e-6, random_state=0).fit(sparse.csr_array(COUNTS))
    np.testing.assert_array_equal(model.components_, same.components_)
    assert not (tmp_path / "o" / "checkpoint.isotopic").exists()


def start(*arguments, **options):
    command = [sys.executable, "-W", "error", "-m", "isotopic", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_can_go_on(counts, tmp_path, sent, capsys):
    fit = ["fit", counts, "-k", "3", "--tol", "0", "--no-report"]
    out = tmp_path / "an out"
    with start(*fit, "-o", out, "--max-iter", 10_000_000) as process:
        said = ""
        for line in process.stderr:
            said += line
            if line.startswith("iteration"):
                break
        process.send_signal(sent)
        said += process.stderr.read()
    assert process.returncode == 128 + sent, said
    made = int(re.search(r"Interrupted after (\d+) iterations", said)[1])
    assert f"To continue: isotopic fit {counts} " in said
    assert f"-o '{out}'" in said
    assert os.listdir(out) == ["checkpoint.isotopic"]
    enough = ["--max-iter", str(made + 5)]
    assert main([*fit, *enough, "-o", str(out)]) == 0
    assert "Continuing from" in capsys.readouterr().err
    assert main([*fit, *enough, "-o", str(tmp_path / "at once")]) == 0
    ours, theirs = (isotopic.load(tmp_path / name / "model.isotopic") for name in (out, "at once"))
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    assert ours.n_iter_ == made + 5


def test_checkpoints_of_other_fits_are_refused(counts, tmp_path, capsys):
    fit = ["fit", counts, "-o", str(tmp_path / "o"), "--checkpoint", str(tmp_path / "c"), "--force"]
    assert main([*fit, "-k", "2", "--no-report"]) == 0
    capsys.readouterr()
    assert main([*fit, "-k", "3"]) == 2
    assert "other values of n_components" in capsys.readouterr().err


def test_live_display_on_a_terminal(counts, tmp_path):
    terminal, end = pty.openpty()
    command = ["fit", counts, "-k", "3", "-o", tmp_path / "o", "--no-report"]
    arguments = [sys.executable, "-m", "isotopic", *map(str, command)]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(
        arguments, stderr=end, stdout=subprocess.PIPE, env=environment
    ) as process:
        os.close(end)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 2**16)
            except OSError:  # the terminal is gone with its process
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(terminal)
    assert b"\x1b[" in shown
    assert re.search(rb"iteration +\d+ .*objective", shown)


# The others


def test_report_of_a_folder(fitted, tmp_path, capsys):
    found = run_json(capsys, "report", fitted, "-o", tmp_path / "x.html", "--title", "A <b>title")
    assert found["report"] == str(tmp_path / "x.html")
    assert found["bytes"] == (tmp_path / "x.html").stat().st_size
    assert "A <b>title" not in (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "no manifest.json" in error_of(capsys, "report", tmp_path)


def test_topics_are_printed_again(counts, tmp_path, capsys):
    out = tmp_path / "o"
    assert main(["fit", counts, "-k", "3", "-o", str(out), "--no-report"]) == 0
    printed = capsys.readouterr().out
    assert main(["topics", str(out)]) == 0
    table = capsys.readouterr().out
    assert table.count("\n") == 4
    assert table in printed
    found = run_json(capsys, "topics", out, "--terms", 9)
    assert [len(topic["terms"]) for topic in found["topics"]] == [9, 9, 9]
    assert (
        found["topics"][1]["terms"][:7]
        == table.splitlines()[
            1 + [line.split()[0] for line in table.splitlines()[1:]].index("1")
        ].split()[2:9]
    )
    assert sum(topic["share"] for topic in found["topics"]) == pytest.approx(1)
    assert "no manifest.json" in error_of(capsys, "topics", tmp_path)


def test_transform_finds_features_by_name(fitted, counts, tmp_path, capsys):
    model = isotopic.load(fitted / "model.isotopic")
    frame = pd.read_csv(counts, index_col=0)
    other = frame[frame.columns[::-1]].iloc[:5].assign(unknown=7)
    other.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / "w.parquet"
    found = run_json(capsys, "transform", fitted, tmp_path / "new.parquet", "-o", out)
    assert found["counts_left_out"] == 35
    table = pd.read_parquet(out)
    assert table["sample"].tolist() == [f"s{i}" for i in range(5)]
    expected = model.transform(pd.DataFrame(COUNTS[:5], columns=model.feature_names_in_))
    np.testing.assert_allclose(table.iloc[:, 1:].to_numpy(), expected, rtol=1e-6)
    sparse.save_npz(tmp_path / "nameless.npz", sparse.csr_array(COUNTS[:5]))
    assert main(["transform", str(fitted), str(tmp_path / "nameless.npz"), "-o", f"{out}.csv"]) == 0
    capsys.readouterr()
    sparse.save_npz(tmp_path / "nameless.npz", sparse.csr_array(COUNTS[:5, :4]))
    error = error_of(
        capsys, "transform", fitted, tmp_path / "nameless.npz", "-o", tmp_path / "v.csv"
    )
    assert "X has 4 features, but" in error
    assert "is expecting 12 features" in error
    frame.iloc[:5, :4].rename(columns=str.upper).to_csv(tmp_path / "other.csv")
    error = error_of(capsys, "transform", fitted, tmp_path / "other.csv", "-o", tmp_path / "v.csv")
    assert "None of the 4 features of the data is among the 12 of the fit" in error
    error = error_of(capsys, "transform", fitted, counts, "-o", tmp_path / "w.xls")
    assert ".csv or .parquet" in error


def test_options_of_documents_are_refused_for_counts(fitted, counts, documents, tmp_path, capsys):
    given = ["--ngrams", "1,2", "--keep-case"]
    for command in (["fit", counts, "-k", 2, "-o", tmp_path / "o"], ["info", counts]):
        error = error_of(capsys, *command, *given)
        assert "ngrams, lowercase would have no effect: the format wide holds counts" in error
    assert not (tmp_path / "o").exists()
    error = error_of(capsys, "transform", fitted, counts, "-o", tmp_path / "w.csv", *given)
    assert "ngrams, lowercase would have no effect" in error
    # How the documents of a fit were split says nothing about files of counts.
    out = tmp_path / "text"
    run_json(capsys, "fit", documents, "-k", 2, "-o", out, "--ngrams", "1,2", "--no-report")
    words = isotopic.read_counts(out).feature_names[:3]
    pd.DataFrame(np.eye(3, dtype=int), columns=words).to_csv(tmp_path / "new.csv")
    for limit in ([], ["--memory-limit", "1GB"]):
        run_json(
            capsys,
            "transform",
            out,
            tmp_path / "new.csv",
            "-o",
            tmp_path / "w.csv",
            "--force",
            *limit,
        )


def test_transform_says_how_well_the_fit_knows_new_text(documents, tmp_path, capsys):
    fit = ["fit", documents, "-k", "2", "-o", tmp_path / "o", "--no-report"]
    assert main(list(map(str, fit))) == 0
    capsys.readouterr()
    new = tmp_path / "new.txt"
    new.write_text("the red wine of Italy\nil vino rosso\nla piazza\n")
    found = run_json(capsys, "transform", tmp_path / "o", new, "-o", tmp_path / "w.csv")
    assert (found["counts_left_out"], found["empty_samples"]) == (6, 2)
    assert found["known_share"] == 2 / 8
    command = ["transform", tmp_path / "o", new, "-o", tmp_path / "v.csv"]
    for limit in ([], ["--memory-limit", "1GB", "--force"]):
        assert main(list(map(str, [*command, *limit]))) == 0
        err = capsys.readouterr().err
        assert (
            "25.0% of the 8 words belong to features of the fit; the other 6 were ignored." in err
        )
        assert "2 of 3 samples have no feature of the fit" in err
    command = ["transform", tmp_path / "o", documents, "-o", tmp_path / "u.csv"]
    assert main(list(map(str, command))) == 0
    assert capsys.readouterr().err == ""


def test_convert_is_exact_or_refused(fitted, tmp_path, capsys):
    assert main(["convert", str(fitted), "--to", "plsa", "-o", str(tmp_path / "plsa")]) == 0
    nmf, plsa = (isotopic.load(f / "model.isotopic") for f in (fitted, tmp_path / "plsa"))
    np.testing.assert_allclose(
        plsa.weights_, nmf.weights_ / nmf.weights_.sum(axis=1, keepdims=True), rtol=1e-10
    )
    manifest = json.loads((tmp_path / "plsa" / "manifest.json").read_text())
    assert manifest["model"]["class"] == "PLSA"
    assert manifest["converted_from"]["class"] == "NMF"
    capsys.readouterr()
    error = error_of(capsys, "convert", fitted, "--to", "LDA", "-o", tmp_path / "lda")
    assert "Cannot convert NMF to LDA exactly" in error


def test_consensus_prints_tables_and_writes_the_model(counts, tmp_path, capsys):
    command = ["consensus", counts, "-k", "2:4", "--runs", "3", "--tol", "1e-2"]
    command += ["--choose", "3", "-o", tmp_path / "s"]
    found = run_json(capsys, *command)
    assert found["table"]["n_components"] == [2, 3, 4]
    assert found["n_components"] == len(found["components"]["stability"]) == 3
    assert found["reason"].startswith("3 was asked for")
    for name in ("numbers.png", "components.png"):
        assert (tmp_path / "s" / name).read_bytes().startswith(b"\x89PNG")
    assert b'"stability":[' in (tmp_path / "s" / "report.html").read_bytes()
    table = pd.read_csv(tmp_path / "s" / "numbers.csv")
    np.testing.assert_allclose(table["score"], found["table"]["score"])
    model = isotopic.load(tmp_path / "s" / "model.isotopic")
    assert model.components_.shape[0] == 3
    assert len(model.feature_names_in_) == model.components_.shape[1]
    assert "would be overwritten" in error_of(capsys, *command)
    assert pd.read_csv(tmp_path / "s" / "topics.csv").shape[1] == 1 + 3
    assert len(run_json(capsys, "topics", tmp_path / "s")["topics"]) == 3
    again = ["transform", tmp_path / "s", counts, "-o", tmp_path / "w.csv"]
    assert main(list(map(str, again))) == 0
    capsys.readouterr()
    assert main(list(map(str, command[:-2]))) == 0
    out = capsys.readouterr().out
    assert re.search(r"^n_components +stability", out)
    assert "3 was asked for" in out


@pytest.fixture
def signatures(tmp_path):
    """Write three known topics, features in rows, and counts of two of them; return the files."""
    topics = np.random.default_rng(1).dirichlet(np.full(12, 0.2), 3)
    known = pd.DataFrame(topics.T, index=[f"t{v}" for v in range(12)], columns=list("abc"))
    weights = np.random.default_rng(2).gamma(0.5, 400, (40, 2))
    weights[0] = [500, 0]
    counts = pd.DataFrame(np.random.default_rng(3).poisson(weights @ topics[:2]))
    counts.columns = known.index
    counts.to_csv(tmp_path / "tumours.csv")
    known.to_csv(tmp_path / "known.csv")
    return tmp_path / "tumours.csv", tmp_path / "known.csv"


def test_refit_finds_the_known_topics_of_each_sample(signatures, tmp_path, capsys):
    output = tmp_path / "exposures.csv"
    command = ["refit", *signatures, "-o", output]
    found = run_json(capsys, *command)
    assert set(found["table"]["topic"]) == {"a", "b"}
    table = pd.read_csv(output)
    assert list(table["topic"][table["sample"] == 0]) == ["a"]
    np.testing.assert_allclose(table["weight"], found["table"]["weight"])
    assert "would be overwritten" in error_of(capsys, *command)
    assert main(list(map(str, ["refit", *signatures]))) == 0
    assert "2 reference" not in capsys.readouterr().out.partition("<Refit of 40 samples")[0]


def test_decompose_names_the_topics_of_a_folder(signatures, tmp_path, capsys):
    data, known = signatures
    run_json(capsys, "fit", data, "-k", "2", "--tol", "1e-4", "-o", tmp_path / "out")
    command = ["decompose", tmp_path / "out", known, "--label", "-o", tmp_path / "names.csv"]
    found = run_json(capsys, *command)
    assert sorted(found["table"]["names"]) == ["a", "b"]
    assert set(pd.read_csv(tmp_path / "names.csv")["verdict"]) == {"known"}
    named = run_json(capsys, "topics", tmp_path / "out")["topics"]
    assert [topic["name"] for topic in named] == found["table"]["names"]
    assert "would be overwritten" in error_of(capsys, *command)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("5:7", [5, 6, 7]), ("5:20:5", [5, 10, 15, 20]), ("3", [3]), ("8,2", [8, 2])],
)
def test_numbers_of_components(text, numbers):
    from isotopic.cli.consensus import component_numbers

    assert component_numbers(text) == numbers


def test_info(counts, fitted, capsys):
    found = run_json(capsys, "info")
    assert set(found) >= {"isotopic", "python", "numpy", "scipy", "scikit-learn", "core", "threads"}
    found = run_json(capsys, "info", counts)
    assert (found["samples"], found["features"], found["format"]) == (30, 12, "wide")
    assert found["total"] == COUNTS.sum()
    found = run_json(capsys, "info", fitted)
    assert (found["model"], found["components"], found["format"]) == ("NMF", 3, "wide")
    assert main(["info", counts]) == 0
    assert re.search(r"^samples +30$", capsys.readouterr().out, flags=re.MULTILINE)


def test_info_lists_the_optional_libraries_and_the_extras_that_install_them(capsys, monkeypatch):
    path = Path(__file__).parents[1] / "pyproject.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for library, extra in EXTRAS.items():
        assert any(re.match(rf"{library}\b", needed) for needed in known[extra])
    assert set(run_json(capsys, "info")) >= set(EXTRAS)

    def missing(library):
        raise PackageNotFoundError(library)

    monkeypatch.setattr("isotopic.cli.info.version", missing)
    assert main(["info"]) == 0
    assert "not installed (pip install 'isotopic[plot]')" in capsys.readouterr().out


def test_demo(tmp_path, capsys):
    assert main(["demo", "-k", "4", "--seed", "3", "-o", str(tmp_path / "demo")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert isotopic._core.native.level() in out
    trace = re.findall(r"^ +(\d+) +[\d.]+ +([\d,.]+) +[\d.e+-]+$", out, flags=re.MULTILINE)
    objectives = [float(value.replace(",", "")) for _, value in trace]
    assert 8 <= len(trace) <= 12
    assert objectives == sorted(objectives, reverse=True)
    topics = re.findall(r"^ +\d +([\d.]+)%  (.+?)  +(.+)$", out, flags=re.MULTILINE)
    assert len(topics) == 4
    names = set(isotopic.datasets.load_kjv().sample_names)
    assert all(set(chapters.split(", ")) <= names for _, _, chapters in topics)
    *printed, where = out.splitlines()
    assert max(map(len, printed)) <= 120
    assert where.endswith(str(tmp_path / "demo" / "report.html"))
    assert "King James" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")


# verify


@pytest.fixture
def no_verification(monkeypatch):
    """Let ``verify`` find one thing that holds and one that does not."""

    def verify(X, n_components):
        return VerificationTable(
            [Claim("Lemma 1", "holds", 0.0, 1.0), Claim("Lemma 2", "does not", np.inf, 1.0)]
        )

    monkeypatch.setattr("isotopic.cli.verify.verify_claims", verify)


def test_verify_a_file(counts, capsys):
    assert main(["verify", counts, "--components", "2"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"^Algorithm 1 .* ok$", out, flags=re.MULTILINE)
    assert re.search(r"^(\d+) of \1 claims hold$", out, flags=re.MULTILINE)
    assert err == ""


def test_verify_takes_the_bundled_corpus_when_no_file_is_given(monkeypatch, capsys):
    asked = []

    def verify(*arguments):
        asked.append(arguments)
        return VerificationTable([Claim("Lemma 1", "holds", 0.0, 1.0)])

    monkeypatch.setattr("isotopic.cli.verify.verify_claims", verify)
    assert main(["verify"]) == 0
    assert asked == [(None, 5)]


@pytest.mark.usefixtures("no_verification")
def test_verify_returns_1_when_a_claim_does_not_hold(capsys):
    assert main(["verify"]) == 1
    assert "1 of 2 claims hold" in capsys.readouterr().out
    found = run_json(capsys, "verify", code=1)
    assert found["passed"] is False
    assert found["claims"][1] == {
        "where": "Lemma 2",
        "claim": "does not",
        "deviation": None,
        "tolerance": 1.0,
        "passed": False,
    }


# What cannot be used


def write_negative(file):
    sparse.save_npz(file, sparse.csr_array(-np.eye(3)))


def write_zeros(file):
    sparse.save_npz(file, sparse.csr_array((3, 3)))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda file: None, "does not exist"),
        (lambda file: file.mkdir(), "holds no matrix"),
        (lambda file: file.write_text("these are not counts"), "not an archive"),
        (lambda file: file.touch(), "not an archive"),
        (write_negative, "sample 0, feature 0"),
        (write_zeros, "no counts"),
    ],
)
def test_unusable_data_are_one_line_on_stderr(write, message, tmp_path, capsys):
    file = tmp_path / "X.npz"
    write(file)
    assert message in error_of(capsys, "verify", file)
    assert main(["verify", str(file), "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fit", "DATA", "--alpha", "0.1", "-o", "OUT"],
            "NMF has no parameter 'alpha'. Models that have it: LDA",
        ),
        (["fit", "DATA", "-k", "99", "-o", "OUT"], "n_components=99 is larger than the data"),
        (["fit", "DATA", "--model", "LDA", "--alpha", "-1", "-o", "OUT"], "concentration"),
        (["fit", "DATA", "--model", "LDA", "--alpha", "0.1,x", "-o", "OUT"], "is neither a number"),
        (["fit", "DATA", "--model", "LDA", "--alpha", "x", "-o", "OUT"], "'alpha' parameter"),
        (["fit", "DATA", "--model", "SVD", "-o", "OUT"], "SVD"),
        (["fit", "DATA", "--set", "colour=1", "-o", "OUT"], "NMF has no parameter 'colour'"),
        (
            ["fit", "DATA", "--set", "tol=1", "-o", "OUT"],
            "--set cannot change 'tol'. Use the option --tol.",
        ),
        (
            ["fit", "DATA", "--set", "random_state=1", "-o", "OUT"],
            "--set cannot change 'random_state'. Use the option --seed.",
        ),
        (["fit", "DATA", "--set", "verbose=1", "-o", "OUT"], "the command sets it. Leave it out."),
        (["fit", "DATA", "--set", "normalize=5", "-o", "OUT"], "'normalize' parameter"),
        (
            ["fit", "DATA", "--set", "normalize", "-o", "OUT"],
            "'normalize' is not of the form NAME=VALUE",
        ),
        (["fit", "DATA", "--layer", "x", "-o", "OUT"], "layer applies only to h5ad"),
        (
            ["fit", "DATA", "--min-df", "1.5", "-o", "OUT"],
            "--min-df: '1.5' is neither a number of documents",
        ),
        (["fit", "DATA", "-o", "DATA"], "is a file"),
        (["fit", "DATA"], "Missing option -o/--output."),
        (["fit"], "Missing argument DATA."),
        (["fit", "DATA", "DATA", "-o", "OUT"], "Unexpected argument"),
        (["fit", "DATA", "--modle", "LDA", "-o", "OUT"], "--modle. Did you mean --model?"),
        (["fit", "DATA", "--model", "LDX", "-o", "OUT"], "Did you mean LDA?"),
        (["fit", "DATA", "--alpha", "-1e-3", "-o", "OUT"], "NMF has no parameter 'alpha'"),
        (["fit", "DATA", "-o"], "-o/--output: expected one argument"),
        (["fit", "DATA", "-o", "--force"], "-o/--output: expected one argument"),
        (["fit", "DATA", "-k", "2.5", "-o", "OUT"], "'2.5' is not a whole number of at least 1"),
        (["fit", "DATA", "--tol", "nan", "-o", "OUT"], "--tol: 'nan' is not a number"),
        (["fit", "DATA", "--time-limit", "0", "-o", "OUT"], "'0' is not a number above 0"),
        (["report", "DATA"], "is a file, but must be the folder of a fit"),
        (["fit", "", "-o", "OUT"], "DATA: the path must not be empty."),
        (["fit", "DATA", "--stop-words", "no.txt", "-o", "OUT"], "no.txt: there is no such file"),
        (["fit", "DATA", "-o", ""], "-o/--output: the path must not be empty."),
        (["fit", "DATA", "-k", "+-5", "-o", "OUT"], "'+-5' is not a whole number"),
        (["fit", "DATA", "-k", "9" * 5000, "-o", "OUT"], "is not a whole number"),
        (["--versoin"], "No such option: --versoin. Did you mean --version?"),
        (["fitt", "DATA"], "No such command 'fitt'. Did you mean fit?"),
        (["fit", "DATA", "-o", "OUT", "--open", "--no-report"], "--open cannot be used with"),
        (["consensus", "DATA", "-k", "5-9"], "--components must be FIRST:LAST"),
        (["consensus", "DATA", "-k", "99", "--runs", "2"], "larger than the data"),
        (["demo", "--components", "0"], "--components"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, counts, tmp_path, capsys):
    places = {"DATA": counts, "OUT": str(tmp_path / "out")}
    assert main([places.get(argument, argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    *messages, line = err.splitlines()  # a fit says what it has read
    assert message in line
    assert not any("error" in other for other in messages)


# Without extras

WITHOUT_EXTRAS = """
import sys
import tomllib

class Absent:
    names = {
        "click", "rich", "pyarrow", "pandas", "polars", "matplotlib", "h5py", "zarr", "anndata",
        "dask", "distributed", "stop_words",
    }

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from isotopic.cli import main
for command in sys.argv[1:]:
    code = main(command.split())
    print(f"exit code {code} of {command}")
"""


def test_the_command_line_needs_no_extras(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(12):
        word = "sailing ships" if i % 2 else "baking bread"
        (texts / f"{i}.txt").write_text(f"The {word} {word}, of number{i % 3}")
    commands = [
        "info",
        "fit texts -k 2 -o out",
        "transform out texts -o weights.csv",
        "report out -o page.html",
        "consensus texts -k 1:2 --runs 2 -o selection",
        "convert out --to PLSA -o plsa",
        "info plsa",
        "fit texts -k 2 -o large --memory-limit 1GB",
        "transform large texts -o weights-large.csv",
        "transform out texts -o weights.parquet",
    ]
    run = run_python("-W", "error", "-c", WITHOUT_EXTRAS, *commands, cwd=tmp_path)
    codes = re.findall(r"^exit code (\d) of (.*)$", run.stdout, flags=re.MULTILINE)
    assert codes == [("2" if "parquet" in command else "0", command) for command in commands]
    assert "Left out" not in run.stdout  # nobody asked for Parquet
    assert "numbers.png is left out" in run.stderr
    assert "Or write a .csv file" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert sorted(manifest["files"]) == sorted(os.listdir(tmp_path / "out"))
    assert sorted(manifest["left_out"]) == ["topics.parquet", "weights.parquet"]
    assert "sailing" in (tmp_path / "page.html").read_text(encoding="utf-8")
    model = isotopic.load(tmp_path / "out" / "model.isotopic")
    table = pd.read_csv(tmp_path / "out" / "weights.csv", float_precision="round_trip")
    np.testing.assert_array_equal(table.iloc[:, 1:].to_numpy(), model.weights_)


# Help, versions, completion


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples_that_are_commands(command, capsys):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    examples = out.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.startswith(f"  isotopic {command}") for line in examples)
    options = set(re.findall(r" (--[a-z-]+)", " ".join(examples)))
    assert options <= set(re.findall(r"--[a-z-]+", out.partition("Examples:")[0]))


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^  (\w+) {2,}[A-Z]", out, flags=re.MULTILINE) == COMMANDS
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"isotopic {isotopic.__version__}\n"


def test_python_dash_m(tmp_path):
    def run(*code):
        command = [sys.executable, "-W", "error", *code]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    missing = run("-m", "isotopic", "info", "missing.npz")
    assert missing.returncode == 2
    assert missing.stderr.splitlines()[-1] == (
        "isotopic: error: DATA: 'missing.npz' does not exist."
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_scripts(shell, monkeypatch, capsys):
    monkeypatch.setenv("_ISOTOPIC_COMPLETE", f"{shell}_source")
    assert main([]) == 0
    assert "_ISOTOPIC_COMPLETE=words isotopic" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cons"], ["consensus"]),
        (["--v"], ["--version"]),
        (["fit", "--mod"], ["--model"]),
        (["fit", "x", "--model", "g"], ["GammaPoisson"]),
        (["fit", "x", "--output", "a"], []),  # a file: left to the shell
        (["fit", "tex"], []),
        (["nonsense", "--mod"], []),
    ],
)
def test_shell_completion(words, expected, monkeypatch, capsys):
    monkeypatch.setenv("_ISOTOPIC_COMPLETE", "words")
    monkeypatch.setenv("COMP_WORDS", "\n".join(["isotopic", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert main([]) == 0
    assert capsys.readouterr().out.split() == expected


def test_bash_completes_commands_and_options():
    """The script asks the program; a bash without a terminal calls its function as one would."""
    bin_folder = os.path.dirname(sys.executable)
    code = """
        eval "$(_ISOTOPIC_COMPLETE=bash_source isotopic)"
        COMP_WORDS=(isotopic fit "a file" --max-i) COMP_CWORD=3
        _isotopic_completion
        printf '%s;' "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout == "--max-iter;"


# Hostile text

HOSTILE = [
    "<script>alert(1)</script>",
    "\x1b[2J\x1b]0;owned\x07",
    "new\nline\r\ttab",
    "x" * 10_000,
    "👩‍👩‍👧 family",
    "\u202eright to left\u202c",
    "עברית",
    "[bold red]markup[/]",
    "\x9b31m\u2028",
    '=cmd|" /C calc"!A0',
    "%s {0} $(reboot) `ls`",
    "",
]


@pytest.fixture
def hostile(tmp_path):
    names = [f"{text}s" for text in HOSTILE]
    table = pd.DataFrame(COUNTS[:12], index=names, columns=HOSTILE)
    table.rename_axis("the names").to_parquet(tmp_path / "hostile.parquet")
    return tmp_path / "hostile.parquet"


def steering(text):
    """Find what a terminal would obey."""
    return [
        letter
        for letter in text.replace("\n", "")
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter != "\u200d"
    ]


def test_hostile_names_do_not_reach_the_terminal(hostile, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--name-column", "the names"]
    commands = [
        ["fit", hostile, "-k", "2", "-o", out, "--tol", "1e-3", *options],
        ["info", hostile, *options],
        ["info", out],
        ["transform", out, hostile, "-o", tmp_path / "w.csv", *options],
        ["report", out, "-o", tmp_path / "r.html"],
        ["info", hostile, "--name-column", HOSTILE[1]],
        ["info", hostile, "--name-column", "\x1b[2Jnone"],
    ]
    codes = [main(list(map(str, command))) for command in commands]
    printed, said = capsys.readouterr()
    assert codes == [0, 0, 0, 0, 0, 2, 2]
    assert steering(printed + said) == []
    assert max(map(len, printed.splitlines())) < 300
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page


@given(st.text(), st.integers(2, 60))
def test_nothing_steers_a_terminal(text, longest):
    assert steering(printable(text)) == []
    assert "\n" not in printable(text)
    assert len(short(text, longest)) <= longest
    plain = "".join(letter for letter in text if letter.isalnum())
    assert printable(plain) == plain


def test_names_that_are_cut_keep_both_ends():
    names = [f"speeches/1994/january/session-{i}.txt" for i in range(20)]
    assert len({short(name) for name in names}) == 20
    assert short(names[3]) == "speeches/1…ion-3.txt"
    assert short("x" * 20) == "x" * 20


def test_hostile_names_of_files(tmp_path, capsys):
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in (b"\xff.txt", b"\x1b[2J.txt", "é\n.txt".encode()):
        (texts / os.fsdecode(name)).write_text("cat mat")
    assert main(["fit", str(texts), "-k", "1", "-o", str(tmp_path / "o")]) == 0
    assert steering("".join(capsys.readouterr())) == []
    names = isotopic.read_counts(tmp_path / "o").sample_names.tolist()
    assert sorted(names) == sorted(["\\udcff.txt", "\x1b[2J.txt", "é\n.txt"])
    weird = tmp_path / "o" / "report.html" / os.fsdecode(b"\xfe\x1b")  # a file is no folder
    assert main(["fit", str(texts), "-o", str(weird)]) == 2
    printed, said = capsys.readouterr()
    assert steering(printed + said) == []
    assert "Not a directory" in said.splitlines()[-1]


def test_hostile_names_survive_in_files(hostile, tmp_path, capsys):
    options = ["--name-column", "the names", "--no-report"]
    found = run_json(capsys, "fit", hostile, "-k", 2, "-o", tmp_path / "o", *options)
    assert {term for topic in found["topics"] for term in topic["terms"]} <= set(HOSTILE)
    assert pd.read_parquet(tmp_path / "o" / "topics.parquet")["feature"].tolist() == HOSTILE
    table = pd.read_csv(tmp_path / "o" / "topics.csv", keep_default_na=False, lineterminator="\n")
    assert table["feature"].tolist() == HOSTILE
    data = isotopic.read_counts(tmp_path / "o")
    assert data.sample_names.tolist() == [f"{text}s" for text in HOSTILE]


@pytest.mark.every(2)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_is_no_error(hostile, tmp_path, encoding):
    command = ["fit", hostile, "-k", "2", "-o", tmp_path / "ö", "--name-column", "the names"]
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o700)
    environment = os.environ | {"PYTHONIOENCODING": encoding, "BROWSER": f"{browser} %s"}
    process = start(*command, "--open", stdout=subprocess.DEVNULL, env=environment)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert seen.read_text() == f"{(tmp_path / 'ö' / 'report.html').as_uri()}\n"


def test_topics_of_a_fit_are_matched_with_a_reference_by_name(tmp_path, capsys, rng):
    """The reference has the features in another order; a folder of a fit means its topics."""
    topics = rng.dirichlet(np.full(12, 0.2), 3)
    names = [f"f{i}" for i in range(12)]
    X = pd.DataFrame(rng.poisson(300 * rng.dirichlet(np.ones(3), 40) @ topics), columns=names)
    X.to_csv(tmp_path / "counts.csv")
    known = pd.DataFrame(topics, index=["A", "B", "C"], columns=names)
    known[names[::-1]].to_csv(tmp_path / "known.csv")
    out = tmp_path / "out"
    run_json(capsys, "fit", tmp_path / "counts.csv", "-k", "3", "-o", out)
    model = isotopic.load(out / "model.isotopic")
    assert model.feature_names_in_.tolist() == names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", isotopic.FeatureOrderWarning)
        found = run_json(capsys, "decompose", out, tmp_path / "known.csv")["table"]
    assert set(found["verdict"]) == {"known"}
    same = run_json(capsys, "decompose", out, out)["table"]
    assert same["names"] == ["0", "1", "2"]
    assigned = run_json(capsys, "refit", tmp_path / "counts.csv", out)["table"]
    assert set(assigned["topic"]) <= {"0", "1", "2"}

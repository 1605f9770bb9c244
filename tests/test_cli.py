"""The command line prints what the library finds, and says in one line what it cannot use."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import isotopic
from isotopic import cli
from isotopic.cli import main
from isotopic.verify import Claim, VerificationTable


@pytest.fixture
def counts(tmp_path):
    file = tmp_path / "counts.npz"
    sparse.save_npz(file, sparse.csr_array(np.random.default_rng(0).poisson(1.0, size=(15, 10))))
    return str(file)


@pytest.fixture
def no_verification(monkeypatch):
    """Let ``verify`` find one thing that holds and one that does not."""

    def verify(X, n_components):
        return VerificationTable(
            [Claim("Lemma 1", "holds", 0.0, 1.0), Claim("Lemma 2", "does not", np.inf, 1.0)]
        )

    monkeypatch.setattr(cli, "verify", verify)


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

    monkeypatch.setattr(cli, "verify", verify)
    assert main(["verify"]) == 0
    assert asked == [(None, 5)]
    assert "1 of 1 claims hold" in capsys.readouterr().out


@pytest.mark.usefixtures("no_verification")
def test_verify_returns_1_when_a_claim_does_not_hold(capsys):
    assert main(["verify"]) == 1
    assert "1 of 2 claims hold" in capsys.readouterr().out


@pytest.mark.usefixtures("no_verification")
def test_verify_prints_json(capsys):
    assert main(["verify", "--json"]) == 1

    def not_json(constant):
        raise AssertionError(constant)

    found = json.loads(capsys.readouterr().out, parse_constant=not_json)
    assert found["passed"] is False
    assert found["claims"][1] == {
        "where": "Lemma 2",
        "claim": "does not",
        "deviation": None,
        "tolerance": 1.0,
        "passed": False,
    }


def write_garbage(file):
    file.write_text("these are not counts")


def write_nothing(file):
    file.touch()


def write_dense(file):
    np.savez(file, counts=np.ones((3, 3)))


def write_one_array(file):
    with file.open("wb") as stream:
        np.save(stream, np.ones((3, 3)))


def write_negative(file):
    sparse.save_npz(file, sparse.csr_array(-np.eye(3)))


def write_zeros(file):
    sparse.save_npz(file, sparse.csr_array((3, 3)))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda file: None, "No such file"),
        (lambda file: file.mkdir(), "Is a directory"),
        (write_garbage, "not a sparse matrix"),
        (write_nothing, "not a sparse matrix"),
        (write_dense, "not a sparse matrix"),
        (write_one_array, "not a sparse matrix"),
        (write_negative, "row 0, column 0"),
        (write_zeros, "no counts"),
    ],
)
def test_unusable_data_are_one_line_on_stderr(write, message, tmp_path, capsys):
    file = tmp_path / "X.npz"
    write(file)
    assert main(["verify", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("isotopic: error: ")
    assert err.count("\n") == 1
    assert str(file) in err
    assert message in err


def test_demo_prints_topics_and_the_trace(tmp_path, capsys):
    place = tmp_path / "demo.html"
    assert main(["demo", "--components", "4", "--seed", "3", "--report", str(place)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert isotopic._core.native.level() in out
    trace = re.findall(r"^ +(\d+) +[\d.]+ +([\d,.]+) +[\d.e+-]+$", out, flags=re.MULTILINE)
    objectives = [float(value.replace(",", "")) for _, value in trace]
    assert 8 <= len(trace) <= 12
    assert objectives == sorted(objectives, reverse=True)
    topics = re.findall(r"^ *([\d.]+)%  (.+?)  +(.+)$", out, flags=re.MULTILINE)
    shares = [float(share) for share, _, _ in topics]
    assert len(topics) == 4
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=0.3)
    names = set(isotopic.datasets.load_kjv().sample_names)
    assert all(set(chapters.split(", ")) <= names for _, _, chapters in topics)
    *printed, where = out.splitlines()
    assert max(map(len, printed)) <= 120
    assert where.endswith(str(place))
    assert "King James" in place.read_text(encoding="utf-8")


def test_demo_replaces_no_report_unless_told_to(tmp_path, capsys):
    place = tmp_path / "demo.html"
    place.write_text("mine")
    assert main(["demo", "--components", "2", "--report", str(place)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "exists" in err
    assert "--force" in err
    assert place.read_text() == "mine"
    assert main(["demo", "--components", "2", "--report", str(place), "--force"]) == 0
    assert place.read_text(encoding="utf-8") != "mine"


def test_demo_says_where_it_cannot_write(tmp_path, capsys):
    assert main(["demo", "--components", "2", "--report", str(tmp_path / "no" / "x.html")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_demo_is_the_same_for_the_same_seed(tmp_path, capsys):
    def topics():
        main(["demo", "--components", "2", "--report", str(tmp_path / "demo.html"), "--force"])
        return capsys.readouterr().out.partition("share")[2]

    assert topics() == topics()


def test_info(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    for name in ("isotopic", "python", "numpy", "scipy", "scikit-learn", "core", "threads"):
        assert re.search(rf"^{name} +\S", out, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--version"], 0, f"isotopic {isotopic.__version__}\n"),
        (["--help"], 0, "isotopic verify counts.npz"),
        (["verify", "--help"], 0, "FILE.npz"),
        ([], 2, "COMMAND"),
        (["demo", "--components", "0"], 2, "'0' is not a positive whole number"),
        (["verify", "--components", "many"], 2, "'many' is not a positive whole number"),
    ],
)
def test_help_version_and_wrong_usage(arguments, code, text, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == code
    out, err = capsys.readouterr()
    assert text in (err if code else out)
    assert (out if code else err) == ""


def test_python_dash_m(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "isotopic", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    assert run("--version").stdout == f"isotopic {isotopic.__version__}\n"
    missing = run("verify", "missing.npz")
    assert missing.returncode == 2
    assert missing.stderr == (
        "isotopic: error: cannot read missing.npz: No such file or directory\n"
    )

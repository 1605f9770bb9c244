"""Command lines that cannot work: one line on stderr, exit code 2, never a traceback."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from processes import LIMIT
from scipy import sparse

from isotopic.cli import main

LONG = "9" * 5000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with good data, a fit, damaged fits and files that are not what they seem."""
    folder = tmp_path_factory.mktemp("hostile")
    before = os.getcwd()
    os.chdir(folder)
    X = np.random.default_rng(0).poisson(1.0, (30, 12))
    pd.DataFrame(X, columns=[f"f{i}" for i in range(12)]).to_csv("c.csv")
    assert main(["fit", "c.csv", "-k", "3", "-o", "fit", "--tol", "1e-2"]) == 0
    good = json.loads((folder / "fit" / "manifest.json").read_text())
    manifests = {
        "data is null": json.dumps(good | {"data": None}),
        "data is a list": json.dumps(good | {"data": [1]}),
        "seconds is a number": json.dumps(good | {"seconds": 5}),
        "reading is a number": json.dumps(good | {"data": {"reading": 7}}),
        "not copied": json.dumps(good | {"data": {"is_copied": False}}),
        "deep": "[" * 100_000,
        "null": "null",
        "half": '{"data": ',
        "no text": b"\xff\xfe\x00",
    }
    for name, text in manifests.items():
        shutil.copytree("fit", name)
        content = text if isinstance(text, bytes) else text.encode()
        (folder / name / "manifest.json").write_bytes(content)
    for file in ("model.isotopic", "counts.isotopic"):
        shutil.copytree("fit", f"half {file}")
        (folder / f"half {file}" / file).write_bytes((folder / "fit" / file).read_bytes()[:300])
        shutil.copytree("fit", f"no {file}")
        (folder / f"no {file}" / file).unlink()
        shutil.copytree("fit", f"folder {file}")
        (folder / f"folder {file}" / file).unlink()
        (folder / f"folder {file}" / file).mkdir()
    (folder / "deep.json").write_text("[" * 200_000)
    (folder / "deep.jsonl").write_text('{"a":' * 50_000 + "1" + "}" * 50_000)
    (folder / "a.txt").write_text("cat mat\ndog log\ncat dog\nmat log\n" * 3)
    (folder / "bin.txt").write_bytes(bytes(range(256)) * 4)
    with zipfile.ZipFile("member.npz", "w") as archive:
        archive.writestr("data.npy", b"no array")
        archive.writestr("format.npy", b"")
    np.save("complex.npy", np.array([[1 + 2j]]))
    np.save("cube.npy", np.ones((2, 3, 4)))
    sparse.save_npz("zero.npz", sparse.csr_array((3, 3)))
    (folder / "empty").touch()
    (folder / "emptydir").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo("pipe")
    (folder / "negative.csv").write_text("s,a,b\nx,1,-2\ny,3,4\n")
    yield folder
    os.chdir(before)


DAMAGED = ["data is null", "data is a list", "seconds is a number", "deep", "null", "half"]
DAMAGED += ["no text", "emptydir", "c.csv", "nowhere", "loop", "pipe", ""]
DAMAGED += [
    f"{how} {what}.isotopic" for how in ("half", "no", "folder") for what in ("model", "counts")
]
FILES = ["deep.json", "deep.jsonl", "bin.txt", "member.npz", "complex.npy", "cube.npy", "empty"]
FILES += ["emptydir", "loop", "negative.csv", "zero.npz", "nowhere", "", "\0", "c.csv/x"]
FIT = ["fit", "c.csv", "-k", "3", "-o", "out"]
COMMANDS = [
    *(["report", folder, "-o", "r.html"] for folder in DAMAGED),
    *(["transform", folder, "c.csv", "-o", "w.csv"] for folder in DAMAGED),
    *(["convert", folder, "--to", "PLSA", "-o", "plsa"] for folder in DAMAGED),
    *(["info", file] for file in FILES if file != "zero.npz"),
    *(["fit", file, "-k", "2", "-o", "out"] for file in FILES),
    *(["transform", "fit", file, "-o", "w.csv"] for file in FILES),
    *(["info", "a.txt", "--encoding", name] for name in ("klingon", "", "utf-8\0", "base64")),
    ["info", "a.txt", "--stop-words", "a.txt", "--encoding", "klingon"],
    ["info", "bin.txt", "--encoding", "ascii"],
    ["verify", "c.csv", "-k", "99"],
    ["verify", "c.csv", "-k", LONG],
    *([*FIT, "--checkpoint", path] for path in ("emptydir", "c.csv", "nowhere/x", "pipe")),
    [*FIT, "--checkpoint", "/dev/null"],
    [*FIT, "--checkpoint", "fit/model.isotopic"],
    *([*FIT[:-1], path] for path in ("c.csv", "c.csv/x", "loop", "", "a\0b", "x" * 5000, "pipe")),
    *([*FIT, "--memory-limit", size] for size in ("-1", "", "nan", "1kB", "infGB")),
    *([*FIT, "--seed", seed] for seed in ("-1", LONG, "x")),
    *([*FIT, "--time-limit", seconds] for seconds in ("0", "nan", "-1")),
    *([*FIT, "--set", text] for text in ("x", "=", f"seeds={LONG}", "seeds=[[NaN]]", "init=[1]")),
    [*FIT, "--set", "fixed_topics=" + "[" * 50_000],
    *([*FIT, "--format", name] for name in ("h5ad", "isotopic", "klingon", "npz")),
    [*FIT, "--feature-names", "nowhere"],
    [*FIT, "--sample-names", "emptydir"],
    ["fit", "a.txt", "-o", "out", "--min-df", "0.9", "--max-df", "0.1"],
    ["fit", "a.txt", "-o", "out", "--stop-words", "klingon"],
    *(["consensus", "c.csv", "-k", k] for k in ("1:99999999999", LONG, "0", "", "5:2", "99")),
    ["consensus", "c.csv", "-k", "2", "-o", "c.csv"],
    *(["refit", "c.csv", file, "-o", "r.csv"] for file in ("nowhere", "bin.txt", "emptydir", "")),
    ["refit", "c.csv", "c.csv", "-o", "r.xls"],
    *(["refit", "c.csv", "c.csv", "--certainty", p] for p in ("1", "-1", "x")),
    *(["decompose", folder, "c.csv", "--label"] for folder in DAMAGED),
    *(["decompose", "fit", file, "--label"] for file in ("nowhere", "bin.txt", "emptydir")),
    *(["report", "fit", "-o", path, "--force"] for path in ("emptydir", "nowhere/x", "pipe", "")),
    ["report", "fit", "-o", "/dev/null", "--force"],
    *(["transform", "fit", "c.csv", "-o", path] for path in ("nowhere/w.csv", "w.xls", "")),
    ["convert", "fit", "--to", "LDA", "-o", "lda"],
    ["demo", "-k", "99999999", "-o", "demo"],
    ["demo", "-o", "c.csv"],
    *(["info", name] for name in ("\udcff", "a\nb")),
    ["--nope"],
    ["nonsense"],
    ["fit"],
    ["\0"],
]


def short_id(command):
    return " ".join(command)[:60].encode("unicode_escape").decode()


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("command", COMMANDS, ids=short_id)
def test_what_cannot_work_is_one_line(command, capsys, monkeypatch):
    monkeypatch.setenv("ISOTOPIC_DEBUG", "1")  # an error that nobody expected is a traceback
    existing = set(os.listdir())
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    errors = [line for line in err.splitlines() if line.startswith("isotopic: error: ")]
    assert err.splitlines()[-1:] == errors
    assert len(errors[0]) < 1100
    assert "Traceback" not in err
    assert set(os.listdir()) == existing  # nothing is left behind


def test_an_error_that_nobody_expected_is_one_line(monkeypatch, capsys):
    def fail(*_):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("isotopic.cli.app._dispatch", fail)
    assert main(["info"]) == 2
    assert "ZeroDivisionError: by zero" in capsys.readouterr().err
    monkeypatch.setenv("ISOTOPIC_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info"])


def test_streams_that_cannot_be_written_are_no_traceback():
    code = "import sys; from isotopic.cli import main; sys.exit(main(sys.argv[1:]))"
    command = f"{sys.executable} -c '{code}'"
    for line, codes in (
        (f"{command} --help > /dev/full", {2}),
        (f"{command} --help >&-", {0}),
        (f"{command} nonsense 2>&-", {2}),
        (f"set -o pipefail; {command} --help | true", {0, 1}),  # the pipe is closed, or not yet
    ):
        run = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert run.returncode in codes, (line, run.stderr)
        assert "Traceback" not in run.stderr
        assert "Exception ignored" not in run.stderr

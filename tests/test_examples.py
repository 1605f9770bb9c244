"""Programs and commands of the pages, run on small data. Doctests are run in test_docs.py."""

import io
import re
import shlex
import textwrap

import anndata
import distributed
import numpy as np
import pandas as pd
import pytest
from documentation import PAGES, ROOT, blocks, commands, is_program
from scipy import sparse

from isotopic import datasets
from isotopic.cli import main

PROGRAMS = [page for page in PAGES if any(map(is_program, blocks(page, "python")))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
COMMANDS = sorted(
    {c for page in PAGES for c in commands(page) if re.match("isotopic (?!serve)", c)}
    | {
        line
        for page in TUTORIALS
        for line in re.findall(r"^# +\$ (isotopic .*)$", page.read_text(), re.MULTILINE)
    }
)
EXCERPTS = [page for page in TUTORIALS if ".. code-block:: python" in page.read_text()]
SLOW = {
    "n_runs=20": "n_runs=2",
    "range(2, 26)": "range(2, 4)",
    "LDA(50)": "LDA(5, tol=0.1)",
    "--runs 100": "--runs 2",
    "--runs 20": "--runs 2",
    "-k 2:25": "-k 2:3",
    "-k 5:20": "-k 2:3",
    "-k 50": "-k 5",
    "--n-init 10": "--n-init 2",
}


# What other commands of a page have written before.
BEFORE = {"isotopic decompose": "consensus tumours.SBS96.all -k 2:3 --runs 2 -o consensus"}


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """Go to a folder with everything that the pages read, but small."""
    corpus = datasets.load_kjv()
    most = np.sort(np.argsort(-corpus.data.sum(axis=0), kind="stable")[:200])
    corpus.data, corpus.feature_names = corpus.data[:60][:, most], corpus.feature_names[most]
    corpus.sample_names = corpus.sample_names[:60]
    monkeypatch.setattr(datasets, "load_kjv", lambda: corpus)
    monkeypatch.chdir(tmp_path)
    _write_texts(tmp_path, np.random.default_rng(0))
    _write_counts(tmp_path, np.random.default_rng(0))
    return tmp_path


def _write_texts(folder, rng):
    words = np.array(["sea", "ship", "sail", "wind", "storm", "cat", "dog", "king", "law", "war"])
    # Few words a text, so that none is in too many.
    texts = [" ".join(rng.choice(rng.choice(words, 2, replace=False), 30)) for _ in range(40)]
    (folder / "texts").mkdir()
    for d, text in enumerate(texts):
        (folder / "texts" / f"{d}.txt").write_text(text)
    (folder / "news.txt").write_text("\n".join(texts))
    pd.DataFrame({"body": texts}).to_csv(folder / "news.csv", index=False)
    known = pd.DataFrame({"party": list("ab") * 20, "year": 1980 + np.arange(40)})
    names = [f"headline {d}" for d in range(40)]
    known.assign(text=texts, headline=names).to_csv(folder / "press.csv", index=False)
    files = pd.Index([f"{d}.txt" for d in range(40)], name="file")
    table = known.rename(columns={"party": "author"}).set_axis(files)
    table.to_csv(folder / "authors.csv")
    counts = pd.DataFrame(rng.poisson(3.0, (40, 10)), columns=words)
    pd.concat([known, counts], axis=1).to_csv(folder / "wide.csv", index=False)


def _write_counts(folder, rng):
    counts = rng.poisson(1.0, (60, 30))
    sparse.save_npz(folder / "counts.npz", sparse.csr_array(counts))
    (folder / "scratch").mkdir()
    (folder / "shards").mkdir()
    for i in range(2):
        sparse.save_npz(folder / "shards" / f"{i}.npz", sparse.csr_array(counts[30 * i :][:30]))
    cells = anndata.AnnData(counts.astype(np.float32), layers={"counts": counts})
    cells.write_h5ad(folder / "cells.h5ad")
    cells.write_h5ad(folder / "big.h5ad")
    types = [
        f"{a}[{m}]{b}"
        for m in ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
        for a in "ACGT"
        for b in "ACGT"
    ]
    table = pd.DataFrame(rng.poisson(20, (96, 12)), index=pd.Index(types, name="MutationType"))
    table.columns = [f"T{i}" for i in range(12)]
    table.to_csv(folder / "tumours.SBS96.all", sep="\t")
    of_tumours = pd.DataFrame({"sample": table.columns, "cancer_type": list("ab") * 6})
    of_tumours.to_csv(folder / "clinical.csv", index=False)
    known = rng.dirichlet(np.full(96, 0.3), size=3).T
    pd.DataFrame(known, table.index, ["SBS1", "SBS2", "SBS3"]).to_csv(
        folder / "COSMIC.txt", sep="\t"
    )


def _shortened(text):
    for long, short in SLOW.items():
        text = text.replace(long, short)
    return text


class _Local(distributed.Client):
    """A cluster in this process."""

    def __init__(self):
        one = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
        super().__init__(processes=False, **one)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_programs_run(page, small_data, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setattr(distributed, "Client", _Local)
    names = {}
    for block in filter(is_program, blocks(page, "python")):
        program = _shortened(block).replace("/shared/", f"{small_data}/")
        exec(compile(program, page.name, "exec"), names)
    if "client" in names:
        names["client"].close()


@pytest.mark.filterwarnings("ignore:The chosen number")
@pytest.mark.parametrize("page", EXCERPTS, ids=lambda page: page.name)
def test_lines_for_the_readers_own_data_run(page, small_data):
    """The site runs the rest of a tutorial, but not what stands in its text."""
    found = re.findall(
        r"^\.\. code-block:: python\n\n(.*?)\n\n(?=\S)", page.read_text(), re.M | re.S
    )
    assert found
    for block in found:
        exec(compile(textwrap.dedent(_shortened(block)), page.name, "exec"), {})
    assert list(small_data.glob("*.html"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, small_data, monkeypatch, capsys):
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    _, *arguments = shlex.split(_shortened(command).partition(" < ")[0], comments=True)
    stdin = io.TextIOWrapper(io.BytesIO((small_data / "news.txt").read_bytes()))
    monkeypatch.setattr("sys.stdin", stdin)
    for name, before in BEFORE.items():
        if command.startswith(name):
            main(before.split())
    assert main(arguments) == 0, capsys.readouterr().err


def test_every_block_of_code_is_run():
    """A block in another language than these would be run by nobody.

    `isotopic serve` runs until it is interrupted and has tests of its own.
    """
    pages = "".join(page.read_text() for page in PAGES)
    languages = set(re.findall(r"^```(\S+)$", pages, re.MULTILINE))
    markup = {"text", "json", "js", "{image}", "{card-footer}", "{toctree}", "{eval-rst}"}
    assert languages <= {"python", "console"} | markup
    skipped = re.findall(r"^>>> (.*?)\(.*# doctest: \+SKIP$", pages, re.MULTILINE)
    assert set(skipped) <= {
        "panel = pyLDAvis.prepare",
        "topicwizard.visualize",
        "ax.figure.savefig",
    }

"""Consensus of many runs on single cells, against cNMF: time, the same programs, held-out score."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

from benchmarks import data
from benchmarks.processes import python_for, run_alone
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, NMF, consensus, evaluate

RUNS, NUMBER = 100, 6

# The genes that cNMF chooses by default, and where our runs and the last fit stop.
GENES, TOL, LAST_TOL = 2000, 1e-2, 1e-3

PEER = "benchmarks.cnmf_peer"


def by_cnmf(X, n_runs: int):
    """Run cNMF; give its spectra over all genes, its genes and seconds, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"X": X.toarray(), "n_components": NUMBER, "n_runs": n_runs}
        np.savez(Path(folder) / "given.npz", **given)
        problem = run_alone(python_for("cnmf"), PEER, Path(folder), threads=1, timeout=3600)
        if problem is not None:
            return problem
        found = np.load(Path(folder) / "found.npz")
        topics = np.zeros((NUMBER, X.shape[1]))
        topics[:, found["features"]] = found["topics"]
        return topics, found["chosen"], float(found["seconds"])


def spectra_of_all_genes(X, weights):
    """Fit the topics of all genes next to known weights."""
    known = weights.T / weights.sum(axis=0)[:, None]
    model = NMF(NUMBER, fixed_topics=known, tol=LAST_TOL, n_jobs=1)
    return model.fit(X.T.tocsr()).weights_.T


def of_new_cells(topics, test) -> LDA:
    """Fit the weights of new cells."""
    topics = topics / topics.sum(axis=1, keepdims=True) + 1e-9
    topics /= topics.sum(axis=1, keepdims=True)
    settings = {"alpha": 1 / NUMBER, "eta": None, "estimate": "variational", "init": "random"}
    return LDA(NUMBER, fixed_topics=topics, max_iter=1, tol=0, n_jobs=1, **settings).fit(test)


def told_apart(weights, labels) -> dict[str, float]:
    """Give for each sorted type the area under the curve of the program that tells it best."""
    return {
        str(label): max(roc_auc_score(labels == label, column) for column in weights.T)
        for label in np.unique(labels)
    }


def measure(settings: Settings) -> Iterator[Row]:
    X, test = data.dataset("pbmc_facs"), data.dataset("pbmc_facs_test")
    if X is None or test is None:
        yield Row("programs", detail="needs pbmc_facs and pbmc_facs_test")
        return
    n_runs = settings.repetitions(RUNS)
    peer = by_cnmf(X, n_runs)
    if isinstance(peer, str):
        yield Row("cNMF", detail=peer)
        return
    spectra, genes, theirs = peer
    began = time.process_time()
    found = consensus(
        NMF(tol=TOL), X[:, genes], NUMBER, n_runs=n_runs, resampling="none", test_size=0,
        random_state=0, n_jobs=1,
    )  # fmt: skip
    topics = spectra_of_all_genes(X, found.model.weights_)
    ours = time.process_time() - began
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (topics, spectra)]
    cosines = units[0] @ units[1].T
    matched = np.sort(cosines[linear_sum_assignment(cosines, maximize=True)])
    yield Row(f"consensus, {n_runs} runs", ours, " s", detail=f"{GENES} genes, tol={TOL:g}")
    yield Row(f"cNMF, {n_runs} runs", theirs, " s", detail="its defaults")
    yield Row("cNMF, times slower", theirs / ours, target=Target(50))
    listed = ", ".join(f"{value:.2f}" for value in matched)
    yield Row("programs: mean cosine with cNMF's", float(matched.mean()), detail=listed)
    file = data.REAL_DATA / "pbmc_facs" / "labels_subpop.txt"
    labels = np.array(file.read_text().splitlines())
    for name, rows in (("consensus", topics), ("cNMF", spectra)):
        model = of_new_cells(rows, test)
        perplexity = evaluate.completion_perplexity(model, test, random_state=0)
        yield Row(f"{name}: perplexity of new cells", perplexity)
        areas = told_apart(model.transform(X), labels)
        listed = ", ".join(f"{label} {area:.3f}" for label, area in areas.items())
        mean = float(np.mean(list(areas.values())))
        yield Row(f"{name}: sorted types, mean area under the curve", mean, detail=listed)


SECTION = Section(
    "programs",
    "Consensus on 3,774 sorted cells, 6 programs, against cNMF",
    measure,
    (
        "Processor time, one thread. Both use the 2,000 genes that cNMF chooses.",
        "cNMF in the environment peers/cnmf.",
    ),
)

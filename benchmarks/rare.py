"""How often fits find all of the parts that counts were drawn from, some of which are rare."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import data
from benchmarks.table import Row, Section, Settings
from benchmarks.tumours import known_signatures
from isotopic import NMF, PLSA

DRAWS = 10

# A part is found by a topic of at least this cosine.
FOUND = 0.9

MODELS: dict[str, Callable[..., Any]] = {"NMF": NMF, "PLSA": PLSA}
STARTS: dict[str, dict[str, Any]] = {
    "default start": {},
    "random start": {"init": "random"},
    "best of 10 random starts": {"init": "random", "n_init": 10},
}

# Real data, and the number of components for each.
REAL = {"ap": 20, "pcawg_sbs96": 20, "pbmc_facs": 10, "20news_pruned": 20}
REAL_SEEDS = 3


def short_documents(rng):
    """Draw 400 documents of 100 words."""
    topics = rng.dirichlet(np.full(1000, 0.05), 8)
    shares = rng.dirichlet(np.geomspace(0.03, 0.6, 8), 400)
    return rng.poisson(100 * shares @ topics), topics


def documents(rng):
    """Draw 1,000 documents of 150 words, whose topics overlap more."""
    topics = rng.dirichlet(np.full(600, 0.1), 8)
    shares = rng.dirichlet(np.geomspace(0.03, 0.6, 8), 1000)
    return rng.poisson(150 * shares @ topics), topics


def cells(rng):
    """Draw 1,500 cells of eight types, of which the rarest are 2 % each."""
    changes = rng.gamma(0.3, 1 / 0.3, (8, 800))
    topics = rng.dirichlet(np.full(800, 0.3)) * changes
    topics /= topics.sum(axis=1, keepdims=True)
    types = rng.choice(8, 1500, p=[0.4, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.02])
    shares = 0.2 * rng.dirichlet(np.full(8, 0.05), 1500)
    shares[np.arange(1500), types] += 0.8
    return rng.poisson(rng.gamma(3, 500 / 3, (1500, 1)) * (shares @ topics)), topics


def tumours(rng):
    """Draw 400 tumours with ten signatures, which 3 to 60 % of the tumours have."""
    known = known_signatures()
    topics = known[rng.choice(len(known), 10, replace=False)]
    topics /= topics.sum(axis=1, keepdims=True)
    present = rng.random((400, 10)) < np.geomspace(0.03, 0.6, 10)
    return rng.poisson((present * rng.gamma(1, 1500, (400, 10))) @ topics), topics


DESIGNS = {
    "documents of 100 words": short_documents,
    "documents of 150 words": documents,
    "cells of 8 types": cells,
    "tumours with 10 signatures": tumours,
}


def finds_all(found, topics) -> bool:
    """Tell whether every topic has a match of its own."""
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (topics, found)]
    cosines = units[0] @ units[1].T
    return bool(cosines[linear_sum_assignment(cosines, maximize=True)].min() > FOUND)


def drawn(design: Callable, model: Callable, start: dict, n_draws: int) -> tuple[float, float]:
    """Give the percentage of draws in which all parts are found, and the seconds of a fit."""
    found, began = [], time.process_time()
    for seed in range(n_draws):
        X, topics = design(np.random.default_rng(seed))
        X = X[X.any(axis=1)]
        fitted = model(len(topics), **start, random_state=seed, n_jobs=1).fit(X)
        found.append(finds_all(fitted.components_, topics))
    return 100 * float(np.mean(found)), (time.process_time() - began) / n_draws


def ends(X, n_components: int, start: dict) -> tuple[float, float]:
    """Give the mean objective and seconds of fits of NMF from several seeds."""
    began = time.process_time()
    found = [
        NMF(n_components, **start, random_state=seed, n_jobs=1).fit(X).objective_
        for seed in range(REAL_SEEDS)
    ]
    return float(np.mean(found)), (time.process_time() - began) / REAL_SEEDS


def measure(settings: Settings) -> Iterator[Row]:
    has_signatures = (data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv").exists()
    n_draws = settings.repetitions(DRAWS)
    warnings.simplefilter("ignore")  # of fits that end before they converge
    for name, design in DESIGNS.items():
        if design is tumours and not has_signatures:
            yield Row(name, detail="needs pcawg_sbs96 with reference_signatures.csv")
            continue
        for model, kind in MODELS.items():
            for start, given in STARTS.items():
                share, seconds = drawn(design, kind, given, n_draws)
                detail = f"of {n_draws} draws; {seconds:.2f} s a fit, with the draw"
                yield Row(f"{name}, {model}, {start}: all found", share, " %", detail=detail)
    for name, X in data.real_datasets(tuple(REAL)):
        usual, slow = (ends(X, REAL[name], STARTS[s]) for s in ("default start", "random start"))
        change = 100 * (usual[0] / slow[0] - 1)
        detail = f"{usual[1]:.2f} s a fit, {slow[1]:.2f} s from random starts, {REAL_SEEDS} seeds"
        yield Row(f"{name}: objective, default to random start", change, " %", detail=detail)


SECTION = Section(
    "rare",
    "Rare parts: how often a fit finds all",
    measure,
    (
        "Planted parts with shares of about 1 to 30 % of the counts; found: a cosine above 0.9.",
        "Objective: below 0 the default start of NMF ends lower.",
        "Processor time, one thread.",
    ),
)

"""How long differences by topic take next to the fit, and whether false sign rates are true."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from isotopic import NMF, PLSA, evaluate
from isotopic.threads import use_threads

DRAWS = 5
RATES = (0.01, 0.05, 0.2)


def planted(seed: int):
    """Draw 300 samples of 4 topics; 70 % of the 3,000 features have the same rate in a topic."""
    rng = np.random.default_rng(seed)
    rates = np.tile(rng.gamma(0.5, 1, 3000) + 1e-3, (4, 1))
    rates *= 2 ** (rng.normal(0, 1.5, rates.shape) * (rng.random(rates.shape) > 0.7))
    rates[:, -1] = rates.sum(axis=1).max() + 1 - rates[:, :-1].sum(axis=1)  # equal sums
    rates /= rates.sum(axis=1, keepdims=True)
    weights = rng.dirichlet(np.full(4, 0.3), 300)
    return rng.poisson(rng.integers(1000, 5000, (300, 1)) * weights @ rates), weights, rates


def signs(versus: str | int, n_draws: int):
    """Give the false sign rates of all draws, and whether each sign is wrong; zero is."""
    found, wrong = [], []
    for seed in range(n_draws):
        X, weights, rates = planted(seed)
        model = PLSA(4, init=(weights, rates), tol=1e-3, random_state=0).fit(X)
        result = evaluate.differential(model, X, versus=versus)
        logs = np.log2(rates)
        if versus == "mean":
            other = np.log2(evaluate.prevalence(model) @ rates)
        else:
            other = np.take_along_axis(logs, result.versus, axis=0)
        truth = np.where(np.abs(logs - other) < 1e-9, 0, logs - other)
        known = np.isfinite(result.se)
        found.append(result.lfsr[known])
        wrong.append((np.sign(truth) != np.sign(result.lfc))[known])
    return np.concatenate(found), np.concatenate(wrong)


def measure(settings: Settings) -> Iterator[Row]:
    for versus in ("nearest", "mean", 0):
        found, wrong = signs(versus, settings.repetitions(DRAWS))
        for rate in RATES:
            chosen = found < rate
            yield Row(
                f"versus {versus}: wrong signs below {rate:g}",
                100 * float(wrong[chosen].mean()),
                " %",
                target=Target(100 * rate, at_least=False),
                detail=f"of {chosen.sum()} features, all draws together",
            )
    X = data.dataset("pbmc_facs")
    if X is None:
        yield Row("time next to the fit", detail="needs pbmc_facs")
        return
    with use_threads(1):
        began = time.process_time()
        model = NMF(6, random_state=1, n_jobs=1).fit(X)
        fit = time.process_time() - began
        began = time.process_time()
        evaluate.differential(model, X)
        seconds = time.process_time() - began
    detail = f"{seconds:.2f} s, NMF(6).fit {fit:.2f} s; 3,774 cells x 16,791 genes, one thread"
    target = Target(0.5, at_least=False)
    yield Row("differential, part of the fit's time", seconds / fit, target=target, detail=detail)


SECTION = Section(
    "differential",
    "Differences by topic: false sign rates of planted differences, and time",
    measure,
    ("Weights are fitted. A sign counts as wrong, too, if the rates do not differ.",),
)

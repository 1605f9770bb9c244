"""How many passes, and how much time, until a fit is as good as many plain passes."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.data import REAL_DATA, real_datasets
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, NMF, GammaPoisson, datasets

_PLAIN_PASSES = 600
_COMPONENTS = 20
_REAL = ("ap", "pcawg_sbs96", "20news_pruned", "pbmc_facs")
_MODELS = {
    "NMF": NMF(),
    "NMF, free topics": NMF(normalize=False),
    "LDA": LDA(),
    "LDA, variational": LDA(estimate="variational"),
    "Gamma-Poisson": GammaPoisson(),
}


def measure(settings: Settings) -> Iterator[Row]:
    """Fit with plain passes, then accelerated until it is as good, then until it converges."""
    if not REAL_DATA.is_dir():
        yield Row("real data", detail=f"skipped: no folder {REAL_DATA}")
    for name, X in _data():
        for label in _MODELS if name in ("kjv", "ap") else ("NMF",):
            yield from _compared(name, X, label, settings.repetitions(3))


def _data() -> Iterator[tuple]:
    yield "kjv", datasets.load_kjv().data
    yield from real_datasets(_REAL)


def _compared(name, X, label: str, n_starts: int) -> Iterator[Row]:
    passes, seconds, converged, lower = [], [], [], []
    for seed in range(n_starts):
        model = _MODELS[label].set_params(
            n_components=_COMPONENTS, random_state=seed, n_jobs=1, **_plainly(label)
        )
        goal = model.fit(X).objective_
        model.set_params(solver="auto", max_iter=2000, tol=1e-4)
        began = time.process_time()
        model.fit(X)
        seconds.append(time.process_time() - began)
        reached = model.history_["objective"] <= goal
        made = model.history_["passes"].astype(float)
        passes.append(made[np.argmax(reached)] if reached.any() else np.inf)
        converged.append(made[-1])
        lower.append((goal - model.objective_) / abs(goal))
    yield Row(
        f"{name}, {label}: passes",
        float(np.mean(passes)),
        spread=(min(passes), max(passes)),
        target=Target(_PLAIN_PASSES / 5, at_least=False),
        detail=f"converged after {np.mean(converged):.0f} passes and {np.mean(seconds):.2f} s, "
        f"{100 * np.mean(lower):+.2f} % lower",
    )


def _plainly(label: str) -> dict:
    if label == "NMF, free topics":
        return {"solver": "alternating", "max_iter": _PLAIN_PASSES // 2, "tol": 0}
    return {"solver": "joint", "max_iter": _PLAIN_PASSES, "tol": 0}


SECTION = Section(
    "convergence",
    f"passes until a fit is as good as {_PLAIN_PASSES} plain passes, {_COMPONENTS} components",
    measure,
    (
        "passes: of the accelerated solver, from the same starts, one thread.",
        "lower: by how much the objective ends below that of the plain passes. Seconds are of the",
        "processor, and of the whole fit.",
    ),
)

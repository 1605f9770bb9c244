"""Beta divergences: joint against sequential updates, and both against scikit-learn."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import decomposition
from sklearn.datasets import load_digits

from benchmarks.table import Row, Section, Settings
from benchmarks.timing import Ratio, interleaved, one_thread, per_iteration
from isotopic import BetaNMF, beta_divergence, datasets

_COMPONENTS = 10
_PEERS_ITERATIONS = 200
_ITERATIONS_TIMED = 20
_BETAS = {
    "spectrogram": (-0.5, 0, 0.5),
    "kjv": (0.5, 1.5, 2),
    "kjv, sparse": (2,),
    "digits": (0.5, 1.5, 2, 3),
}
_SOLVERS = ("alternating", "joint", "accelerated")


def measure(settings: Settings) -> Iterator[Row]:
    """One iteration of each kind, then the time to what the peer ends with."""
    with one_thread():
        for name, X in _data().items():
            for beta in _BETAS[name]:
                yield _iteration(name, X, beta, settings.repetitions(5))
                yield from _race(name, X, beta, "mu")
                if beta == 2:
                    yield from _race(name, X, beta, "cd")


def _data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    spectra, loudness = rng.gamma(0.3, size=(8, 400)) + 1e-3, rng.gamma(0.5, size=(600, 8)) + 1e-3
    kjv = datasets.load_kjv().data
    frequent = np.argsort(-np.asarray(kjv.sum(axis=0)))[:400]
    return {
        "spectrogram": loudness @ spectra * rng.exponential(size=(600, 400)) + 1e-12,
        "kjv": kjv[:, frequent].toarray(),
        "kjv, sparse": kjv.astype(np.float64),
        "digits": load_digits().data,
    }


def _start(X: Any) -> tuple[np.ndarray, np.ndarray]:
    rng, scale = np.random.default_rng(1), np.sqrt(X.mean() / _COMPONENTS)
    shapes = (X.shape[0], _COMPONENTS), (_COMPONENTS, X.shape[1])
    weights, topics = (scale * (rng.random(shape) + 0.1) for shape in shapes)
    return weights, topics


def _fit(X: Any, beta: float, solver: str, max_iter: int, **settings) -> BetaNMF:
    model = BetaNMF(
        _COMPONENTS,
        beta=beta,
        solver=solver,
        init=_start(X),
        max_iter=max_iter,
        tol=0,
        n_jobs=1,
        **settings,
    )
    return model.fit(X)


def _iteration(name: str, X: Any, beta: float, repetitions: int) -> Row:
    tasks = {
        f"{solver}_{n}": partial(_fit, X, beta, solver, n)
        for solver in ("alternating", "joint")
        for n in (0, _ITERATIONS_TIMED)
    }
    times = interleaved(repetitions, **tasks)
    each = {
        solver: per_iteration(
            times[f"{solver}_0"], times[f"{solver}_{_ITERATIONS_TIMED}"], _ITERATIONS_TIMED
        )
        for solver in ("alternating", "joint")
    }
    ratio = Ratio.of(each["alternating"], each["joint"])
    return Row(
        f"{name}, beta={beta:g}: one iteration",
        ratio.value,
        "x",
        (ratio.low, ratio.high),
        detail=f"sequential {each['alternating'].ms}, joint {each['joint'].ms}",
    )


def _race(name: str, X: Any, beta: float, kind: str) -> Iterator[Row]:
    """Give the peer its iterations, and see when each solver is as low."""
    weights, topics = _start(X)
    peer = decomposition.NMF(
        _COMPONENTS,
        solver=kind,
        beta_loss=beta,
        init="custom",
        max_iter=_PEERS_ITERATIONS,
        tol=0,
    )
    began = time.process_time()
    found = peer.fit_transform(X, W=weights.copy(), H=topics.copy())
    seconds = time.process_time() - began
    goal = beta_divergence(X, found, peer.components_, beta)
    for solver in (*_SOLVERS, "coordinate") if beta == 2 else _SOLVERS:
        began = time.process_time()
        model = _fit(
            X,
            beta,
            solver,
            3 * _PEERS_ITERATIONS,
            callbacks=lambda at: at.objective <= goal * (1 + 1e-9),
        )
        ours = time.process_time() - began
        reached = beta_divergence(X, model.weights_, model.components_, beta)
        yield Row(
            f"{name}, beta={beta:g}: {solver} against {kind}",
            seconds / ours if reached <= goal * (1 + 1e-8) else None,
            "x",
            detail=f"{model.n_iter_} iterations, {ours:.2f} s; scikit-learn {_PEERS_ITERATIONS}, "
            f"{seconds:.2f} s, to {goal:.5g}",
        )


SECTION = Section(
    "beta",
    f"beta divergences, {_COMPONENTS} components, one thread",
    measure,
    (
        "One iteration: the sequential one's time over the joint one's.",
        f"Otherwise: the time of {_PEERS_ITERATIONS} iterations of scikit-learn's NMF "
        "(solver='mu', 'cd') over that to the same divergence from the same start.",
    ),
)

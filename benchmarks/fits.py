"""Fits of a given number of iterations, ours and scikit-learn's, and the time of one of those."""

from collections.abc import Callable
from functools import partial

from sklearn import decomposition

from benchmarks.timing import Samples, Task, interleaved, per_iteration
from isotopic import LDA, NMF, PLSA

Fit = Callable[[int], Task]


def own_nmf(X, weights, topics) -> Fit:
    """Fit NMF by the joint update."""
    return _own(NMF, X, weights, topics)


def own_plsa(X, weights, topics) -> Fit:
    return _own(PLSA, X, weights, topics)


def own_lda(X, weights, topics) -> Fit:
    """Fit the paper's LDA; the weights are taken as the expected counts."""
    given = {"estimate": "variational", "alpha": 0.1, "eta": 0.05}
    return _own(partial(LDA, **given), X, weights + 1 / len(topics), topics)


def sklearn_nmf(X, weights, topics) -> Fit:
    """Fit NMF by scikit-learn's multiplicative updates, which write into their start."""

    def of(n: int) -> Task:
        model = decomposition.NMF(
            len(topics),
            solver="mu",
            beta_loss="kullback-leibler",
            init="custom",
            tol=0,
            max_iter=n,
        )
        return lambda: _done(model.fit(X, W=weights.copy(), H=topics.copy()), n)

    return of


def _own(estimator, X, weights, topics) -> Fit:
    def of(n: int) -> Task:
        model = estimator(
            len(topics), solver="joint", init=(weights, topics), max_iter=n, tol=0, n_jobs=1
        )
        return lambda: _done(model.fit(X), n)

    return of


def _done(model, n: int) -> None:
    assert model.n_iter_ == n, f"{model} made {model.n_iter_} iterations, not {n}"


def iterations_of(repetitions: int, **fits: tuple[Fit, int]) -> dict[str, Samples]:
    """Time one iteration of each fit, as the difference of one and ``1 + iterations`` of them."""
    tasks = {}
    for name, (fit, iterations) in fits.items():
        tasks[name + " short"], tasks[name + " long"] = fit(1), fit(1 + iterations)
    times = interleaved(repetitions, **tasks)
    return {
        name: per_iteration(times[name + " short"], times[name + " long"], iterations)
        for name, (_, iterations) in fits.items()
    }

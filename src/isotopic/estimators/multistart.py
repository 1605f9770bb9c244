"""Solve a problem from each of several starts, and keep the best solution."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from isotopic import archive
from isotopic.arrays import Array
from isotopic.containers import align_table, is_named
from isotopic.counts import CountMatrix
from isotopic.estimators.callbacks import Watcher
from isotopic.estimators.checkpoint import CheckpointWriter
from isotopic.fitted import Fitted
from isotopic.fitted.calibration import calibrated
from isotopic.fitted.fitting import Fit, SampleNames
from isotopic.fitted.reordering import with_features
from isotopic.fitted.sampled import (
    can_be_sampled,
    choose_ending,
    sampled_likelihood,
    with_samples,
)
from isotopic.fitted.warm_start import problem_from_fitted, start_from_fitted
from isotopic.init import Start, random_start, start_from_arrays, strategy_start
from isotopic.names import stacklevel_of_caller
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.random import generator
from isotopic.registry import registered_types
from isotopic.solvers import OnlineEM, Solution, choose_solver, solve
from isotopic.solvers.batches import number_of_batches


def best_solution(
    model: Any,
    fit: Fit,
    callbacks: list[Watcher],
    checkpoint: Any,
) -> Solution[State]:
    """Solve from every start, and return the best solution.

    It has the lowest objective, or is the most likely one if the fit ends with Gibbs sampling.

    An interruption ends the search; the solution says so.
    """
    problem, data = fit.problem, fit.data
    solver, rows = choose_solver(model.solver, problem), data.used_rows
    init = read_init(model, data.feature_names, data.sample_names)
    writer: CheckpointWriter | None = None
    if checkpoint is not None:  # before random numbers are drawn: the state is compared
        parts = {"solver": solver, "weights": problem.weights, "topics": problem.topics}
        archive.check("checkpoint", parts, registered_types())  # now, not after hours
        writer = CheckpointWriter(checkpoint, model, problem, init)
    seeds, first = generator(model.random_state).integers(2**63, size=(model.n_init, 2)), 0
    best: Solution[State] | None = None
    resumed: Solution[State] | None = None
    if writer is not None:
        seeds, first, best, resumed = writer.resume(seeds)
        callbacks = [*callbacks, writer]
    if isinstance(init, Fitted):
        problem = problem_from_fitted(problem, init, rows)
        solver = solver.continued(init.passes)
    starts = make_starts(model, problem, init, rows, seeds)
    is_sampled = can_be_sampled(model, problem)
    is_better = _has_lower_objective
    max_iter = model.max_iter
    if is_sampled:
        solver, max_iter = _until_sampled(problem, solver, max_iter)
        is_better = partial(_is_more_likely, problem, int(seeds[0, 0]))
    try:
        for number, start in enumerate(starts[first:], first):
            if writer is not None:
                writer.begin(number, best, resumed)
            solution = solve(
                problem,
                solver,
                start() if resumed is None else resumed,  # and nothing else refers to its arrays
                max_iter=max_iter,
                tol=model.tol,
                min_gain=model.min_gain,
                callbacks=callbacks,
                keep_interrupted=True,
            )
            if best is None or is_better(solution, best):
                best = solution
            if writer is not None:
                writer.check_continued(resumed, solution)
                writer.end(solution)
            resumed = None
            if solution.interrupted:
                best = replace(best, interrupted=True)
                break
        assert best is not None
        best = replace(best, state=solver.finish(problem, best.state))
        if not is_sampled:
            return calibrated(problem, best)
        rng = np.random.default_rng([*seeds[0], model.n_init])
        return with_samples(problem, best, rng)
    except KeyboardInterrupt:  # between the iterations: the best start so far is complete
        if best is None:
            raise
        return replace(best, interrupted=True)


def make_starts(
    model: Any, problem: Problem, init: Any, rows: Array | None, seeds: Array
) -> list[Callable[[], Start]]:
    """Return a function for each start, so that its arrays exist only while they are used.

    ``init`` is what :func:`read_init` returns.
    """
    if isinstance(init, str):
        solver = OnlineEM() if model.solver == "online" else model.solver
        if init == "auto" and isinstance(solver, OnlineEM) and isinstance(problem.X, CountMatrix):
            # The first iteration over mini-batches is as good as a decomposition, and sooner done.
            init = "random" if number_of_batches(problem.X, solver.batch_size) > 1 else init
        starts: list[Callable[[], Start]] = []
        for number, seed in enumerate(seeds):
            rng = np.random.default_rng(seed)
            starts.append(partial(strategy_start, problem, init, rng, number=number))
        return starts
    is_continued = model.warm_start and hasattr(model, "fitted_")
    if model.n_init > 1 and not is_continued:
        raise ValueError(
            f"n_init={model.n_init} needs different starts, but init gives only one. Use n_init=1, "
            "or init='random'."
        )
    if isinstance(init, Fitted):
        return [partial(start_from_fitted, problem, init, rows)]
    return [partial(start_from_arrays, problem, *init)]


def first_topics(
    model: Any, feature_names: Array | None, problem: Problem, seeds: Array
) -> Posterior:
    """Return the topics that ``partial_fit`` starts from, by default at random.

    A decomposition of the first batch takes longer than it saves.
    """
    if isinstance(model.init, str) and model.init == "auto":
        return random_start(problem, np.random.default_rng(seeds[0]))[1]
    return make_starts(model, problem, read_init(model, feature_names), None, seeds)[0]()[1]


def read_init(model: Any, names: Array | None, samples: SampleNames | None = None) -> Any:
    """Return where a fit starts: a strategy's name, a pair of arrays, or a fitted value.

    Topics that name their features, and weights that name their samples, have them in the order of
    those that are fitted: ``names`` and ``samples``. Without ``samples`` the weights are not
    needed, and stay as they are.
    """
    if model.warm_start and hasattr(model, "fitted_"):
        return with_features(model.fitted_, names, what="the model", than="X")
    init = model.init
    if isinstance(init, str):
        return init
    if isinstance(init, Fitted):
        return with_features(init, names, what="init", than="X")
    if isinstance(init, BaseEstimator):
        if isinstance(getattr(init, "fitted_", None), Fitted):
            return with_features(init.fitted_, names, what="init", than="X")
        if hasattr(init, "components_"):
            raise TypeError(
                f"init={init!r} is not a model of this package. Pass its factors as "
                "init=(weights, topics)."
            )
        raise ValueError(
            f"init={init!r} is not fitted. Fit it first. If you did, scikit-learn's clone (called "
            "by GridSearchCV) has removed the fit; pass init=model.fitted_, which clone keeps."
        )
    if len(init) != 2:
        raise ValueError(f"init must be a pair (weights, topics), but has {len(init)} items.")
    weights, topics = init
    if samples is not None and is_named(weights):
        weights = align_table("init weights", weights, samples=samples())
    return weights, align_table("init topics", topics, features=names)


def warn_unless_converged(model: Any, solution: Solution[State], feature_totals: Array) -> None:
    """Warn if the data cannot be explained, or if there were too few iterations."""
    name, state = type(model).__name__, solution.state
    if not np.isfinite(state.objective):
        warnings.warn(
            f"{name} ended with an objective of {state.objective}. "
            + _why_not_finite(state, feature_totals),
            ConvergenceWarning,
            stacklevel=stacklevel_of_caller(),
        )
        return
    is_exact = (
        model.tol == model.min_gain == 0 or model.max_iter == 0
    )  # max_iter iterations were wanted
    if solution.converged or is_exact or len(solution.history) < model.max_iter:
        return
    reason = (
        f"an update would still move {state.residual:.1e} of the counts, more than "
        f"tol={float(model.tol):.1e}"
    )
    if np.isinf(state.residual):
        reason = (
            "the hyperparameters have not been updated yet (by default the first update comes "
            "after at most 20 passes, with more than 32 components after 5)"
        )
    warnings.warn(
        f"{name} stopped at max_iter={model.max_iter} before converging: {reason}. Raise max_iter "
        "or tol.",
        ConvergenceWarning,
        stacklevel=stacklevel_of_caller(),
    )


def _why_not_finite(state: State, feature_totals: Array) -> str:
    """Return why the objective is not finite, as far as the state shows it, and what to do."""
    if np.isnan(state.objective):
        return (
            "A value overflowed or underflowed. Pass X as float64, rescale it so that its entries "
            "are near 1, or choose less extreme hyperparameters."
        )
    nowhere = (feature_totals > 0) & ~np.any(state.topics.effective, axis=0)
    if nowhere.any():
        return (
            f"Some counts cannot be explained: X has counts of {np.count_nonzero(nowhere)} "
            f"features (the first is feature {int(np.argmax(nowhere))}) that are zero in every "
            "topic. Pass a start, or fixed topics, that are positive there; under a prior, raise "
            "the concentration of the topics (eta)."
        )
    return (
        "Some counts cannot be explained: some samples have counts of features that none of their "
        "topics has. Zeros of the start "
        "stay zero, and small concentrations with estimate='map' or 'variational' make zeros: try "
        "another init, or raise the concentrations."
    )


def _until_sampled(problem: Problem, solver: Any, max_iter: int) -> tuple[Any, int]:
    """Return the solver and the number of iterations before a fit ends with samples."""
    passes = choose_ending(problem).passes
    if passes is None:
        return solver, max_iter
    return solver.continued(passes), min(max_iter, passes)  # its start is sampled: updates begin


def _has_lower_objective(solution: Solution[State], other: Solution[State]) -> bool:
    """Return whether the objective is lower; any is lower than NaN."""
    objective, than = (
        np.inf if np.isnan(found.state.objective) else found.state.objective
        for found in (solution, other)
    )
    return bool(objective < than)


def _is_more_likely(
    problem: Problem, seed: int, solution: Solution[State], other: Solution[State]
) -> bool:
    """Return whether samples that begin at a solution are more likely than those of another."""
    likelihood, than = (sampled_likelihood(problem, found, seed) for found in (solution, other))
    return likelihood > than

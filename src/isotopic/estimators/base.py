"""What all estimators share: everything but the pair of priors."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from isotopic.counts import Array, CountMatrix
from isotopic.init import (
    Start,
    random_start,
    start_from_arrays,
    start_from_model,
    uniform_start,
)
from isotopic.priors import Fixed, Posterior, Prior
from isotopic.problem import Pair, Problem, State
from isotopic.random import generator
from isotopic.solvers import FoldIn, Iteration, Solution, choose_solver, solve
from isotopic.threads import use_threads

# New samples are inferred until an update moves less than this share of a sample's total.
_FOLD_IN_TOL = 1e-6
_FOLD_IN_MAX_ITER = 5000

COMMON_PARAMETERS = """\
solver : {"auto", "joint", "alternating"} or solver object, default="auto"
        ``"joint"`` updates both sides from one pass over the data and needs normalised topics;
        ``"alternating"`` takes two passes (Lee & Seung). ``"auto"``: joint where possible.
    init : {"random"}, pair of arrays, or fitted model, default="random"
        A pair ``(weights, topics)`` is taken as the factors, or for a Bayesian side as the
        posterior's parameters. A fitted model of any kind hands over the counts that it explains.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-4
        Stop when the optimality residual, the share of all counts that an update would move, is
        at most this. With 0, exactly ``max_iter`` iterations are made.
    n_init : int, default=1
        Fits from that many independent random starts; the one with the lowest objective is kept.
    n_jobs : int or None, default=None
        Threads. ``None`` uses every core: the result has the same bits for any number.
    random_state : int, Generator, RandomState or None, default=None
        Of the random start.
    callbacks : callable, list of callables or None, default=None
        Each is called with an :class:`~isotopic.solvers.Iteration` after every iteration; one that
        returns ``True`` stops the fit.
    verbose : int, default=0
        Print a line every so many iterations."""

COMMON_ATTRIBUTES = """\
components_ : ndarray of shape (n_components, n_features)
        The topics (the mean of a Bayesian side).
    weights_ : ndarray of shape (n_samples, n_components)
        The weights of the samples that were fitted (the mean of a Bayesian side).
    weights_posterior_, components_posterior_ : ndarray
        Parameters of a Bayesian side's posterior, of the same shape; ``None`` for a point.
    weights_posterior_rate_, components_posterior_rate_ : ndarray
        Rates of a side with Gamma posteriors, whose shapes are above; ``None`` otherwise.
    objective_ : float
        What was minimised; see :meth:`isotopic.problem.Pair.objective`.
    n_iter_ : int
        Iterations made.
    converged_ : bool
        Whether the optimality residual reached ``tol``.
    history_ : structured ndarray
        A row for each iteration: ``iteration``, ``passes``, ``seconds``, ``objective``,
        ``residual``.
    sample_totals_ : ndarray of shape (n_samples,)
        The sum of each sample that was fitted."""

_Class = TypeVar("_Class", bound=type)


def documented(cls: _Class) -> _Class:
    """Fill the shared parameters and attributes into a class's docstring."""
    if cls.__doc__:  # absent under python -OO
        cls.__doc__ = cls.__doc__.replace("%(parameters)s", COMMON_PARAMETERS).replace(
            "%(attributes)s", COMMON_ATTRIBUTES
        )
    return cls


class BaseTopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fit, transform and the fitted attributes, for any pair of priors."""

    n_components: int
    solver: Any
    init: Any
    max_iter: int
    tol: float
    n_init: int
    n_jobs: int | None
    random_state: Any
    callbacks: Any
    verbose: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "solver": [str, object],
        "init": [StrOptions({"random"}), tuple, list, BaseEstimator],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "callbacks": [callable, list, tuple, None],
        "verbose": ["verbose"],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        """Give the model: the priors of its weights and its topics."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Non-negative counts (whole or not).
        y : ignored

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit the model and return the weights of the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Non-negative counts (whole or not).
        y : ignored

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        before = self.__dict__.copy()
        try:
            solution = self._solve(X)
        except BaseException:  # a failed refit leaves the earlier model as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        if solution.interrupted:
            raise KeyboardInterrupt
        self._warn_unless_converged(solution)
        return self.weights_

    def _solve(self, X: Any) -> Solution[State]:
        self._validate_params()
        counts = self._read(X, reset=True)
        weights, topics = self._priors()
        problem = Problem(
            _checked_prior(weights), _checked_prior(topics), counts, self.n_components
        )
        solver, callbacks = choose_solver(self.solver, problem), self._callbacks()
        max_iter, tol = self.max_iter, self.tol
        with use_threads(self.n_jobs):
            best = _best(
                solve(problem, solver, start(), max_iter=max_iter, tol=tol, callbacks=callbacks)
                for start in self._starts(problem)
            )
        self._keep(best, problem)
        return best

    def transform(self, X: Any) -> Array:
        """Infer the weights of samples, the topics being as they are.

        Each sample's own problem is solved until an update would move less than a millionth of its
        total; the result does not depend on the other samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        counts = self._read(X, reset=False).as_sparse()  # whose rows do not see each other
        weights_prior, topics_prior = self._fitted_priors
        topics = Posterior(
            self.components_.astype(counts.dtype, copy=False),
            self._effective_components.astype(counts.dtype, copy=False),
        )
        fixed = Fixed(topics, normalized=topics_prior.normalized)
        problem = Problem(weights_prior, fixed, counts, len(self.components_))
        with use_threads(self.n_jobs):
            solution = solve(
                problem,
                FoldIn(_FOLD_IN_TOL),
                uniform_start(counts, problem, topics),
                max_iter=_FOLD_IN_MAX_ITER,
                tol=_FOLD_IN_TOL,
            )
        if solution.interrupted:
            raise KeyboardInterrupt
        if not solution.converged and counts.total > 0:
            warnings.warn(
                f"the weights of some samples still move by {solution.state.residual:.1e} of their "
                f"total after {_FOLD_IN_MAX_ITER} updates",
                ConvergenceWarning,
                stacklevel=2,
            )
        return weights_prior.absorb(solution.state.counts, problem.topics_totals(topics)).mean

    def _read(self, X: Any, *, reset: bool) -> CountMatrix:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=True,
            dtype="numeric",
            ensure_all_finite=False,  # CountMatrix looks too, and says where
        )
        return CountMatrix(X)

    def _starts(self, problem: Problem) -> list[Callable[[], Start]]:
        """Give the starts as functions, so that nobody holds on to their arrays."""
        if isinstance(self.init, str):
            streams = generator(self.random_state).spawn(self.n_init)
            return [partial(random_start, problem, stream) for stream in streams]
        if isinstance(self.init, BaseEstimator):
            return [partial(start_from_model, problem, self.init)]
        if len(self.init) != 2:
            raise ValueError(f"init must be a pair (weights, topics), not {len(self.init)} things")
        return [partial(start_from_arrays, problem, *self.init)]

    def _callbacks(self) -> list[Callable[[Iteration[State]], Any]]:
        given = self.callbacks
        callbacks = list(given) if isinstance(given, (list, tuple)) else [given] if given else []
        return [*callbacks, _Lines(int(self.verbose))] if self.verbose else callbacks

    def _keep(self, solution: Solution[State], problem: Problem) -> None:
        """Set the fitted attributes."""
        state = solution.state
        self._keep_sides(problem, state.weights, state.topics)
        self.objective_ = state.objective
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        self.history_ = solution.history
        self.sample_totals_ = problem.X.sample_totals
        self._log_likelihood = state.counts.log_likelihood
        self._saturated_divergence = problem.X.saturated_divergence

    def _keep_sides(self, pair: Pair, weights: Posterior, topics: Posterior) -> None:
        self._fitted_priors = pair.weights, pair.topics
        self.weights_, self.weights_posterior_ = weights.mean, weights.parameters
        self.weights_posterior_rate_ = weights.rates
        self.components_posterior_rate_ = topics.rates
        self.components_ = np.ascontiguousarray(topics.mean)
        self.components_posterior_ = (
            None if topics.parameters is None else np.ascontiguousarray(topics.parameters)
        )
        self._effective_weights = weights.effective
        self._effective_components = topics.effective
        self._weights_explained = weights.explained
        self._components_explained = topics.explained

    def _warn_unless_converged(self, solution: Solution[State]) -> None:
        if not np.isfinite(solution.state.objective):
            warnings.warn(
                f"{type(self).__name__} ended with an objective of {solution.state.objective}: "
                "some counts cannot be explained at all. Was the start zero where X is not, or is "
                "X too large or too small for its precision? Try another init, or float64.",
                ConvergenceWarning,
                stacklevel=4,
            )
        exact = self.tol == 0 or self.max_iter == 0  # that many iterations were asked for
        if solution.converged or exact or len(solution.history) < self.max_iter:
            return
        warnings.warn(
            f"{type(self).__name__} stopped at max_iter={self.max_iter} before converging: an "
            f"update would still move {solution.state.residual:.1e} of the counts, more than "
            f"tol={self.tol:.1e}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Lines:
    """Print a line every so many iterations."""

    def __init__(self, every: int) -> None:
        self.every = every

    def __call__(self, at: Iteration[State]) -> None:
        if at.iteration % self.every == 0:
            print(
                f"iteration {at.iteration:5d}  passes {at.passes:5d}  {at.seconds:8.2f} s  "
                f"objective {at.objective:.8g}  residual {at.residual:.2e}",
                flush=True,
            )


def _checked_prior(prior: Any) -> Prior:
    if isinstance(prior, type) or not hasattr(prior, "absorb"):
        raise TypeError(f"a prior must be an object such as Dirichlet(0.1), not {prior!r}")
    checked: Prior = prior
    return checked


def _best(solutions: Iterable[Solution[State]]) -> Solution[State]:
    """Lowest objective; an interruption ends the search."""
    best: Solution[State] | None = None
    for solution in solutions:
        if best is None or solution.state.objective < best.state.objective:
            best = solution
        if solution.interrupted:
            return replace(best, interrupted=True)
    assert best is not None
    return best

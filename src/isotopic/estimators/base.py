"""What all estimators share: everything but the pair of priors."""

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts, is_blocks, problem_of
from isotopic.counts import CountMatrix
from isotopic.estimators.checkpoint import Checkpoint, Keeper
from isotopic.estimators.data import read_blocks, read_counts, read_sample_weight
from isotopic.estimators.inference import Inference
from isotopic.estimators.keeping import Keeping
from isotopic.estimators.knowledge import informed
from isotopic.estimators.watching import CallbackSupport, Watcher, watchers, with_callbacks
from isotopic.init import (
    STRATEGIES,
    Start,
    start_from_arrays,
    start_from_model,
    strategy_start,
)
from isotopic.priors import Posterior, Prior, Weighted
from isotopic.problem import Pair, Problem, State
from isotopic.random import generator
from isotopic.solvers import Solution, choose_solver, solve
from isotopic.threads import use_threads

COMMON_PARAMETERS = """\
solver : {"auto", "accelerated", "joint", "alternating"} or solver object, default="auto"
        ``"joint"`` is the paper's update of both sides from one pass over the data, for normalised
        topics; ``"alternating"`` takes two passes (Lee & Seung); ``"accelerated"`` takes the joint
        update further along its way, and is what ``"auto"`` picks.
    init : {"random", "nndsvd", "spectral", "kmeans"}, pair of arrays, or fitted model
        Where the fit starts, by default at random. ``"spectral"`` looks for anchor words. A pair
        ``(weights, topics)`` is taken as the factors, or for a Bayesian side as the posterior's
        parameters. A fitted model of any kind hands over the counts that it explains, or if it
        was fitted to another number of samples only its topics.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-4
        Stop when the optimality residual, the share of all counts that an update would move, is
        at most this. With 0, exactly ``max_iter`` iterations are made.
    n_init : int, default=1
        Fits from that many independent starts; the one with the lowest objective is kept.
    warm_start : bool, default=False
        Whether another ``fit`` goes on from where the last one ended.
    fixed_topics : array-like of shape (n_fixed, n_features) or None, default=None
        The first topics, given and held; the others are learned. (Normalised like the others.)
    seeds : dict or array-like of shape (n_components, n_features) or None, default=None
        Counts that the topics have beforehand. ``{0: ["sea", "ship"]}`` seeds topic 0 with two
        features, each with as many counts as it has in ``X``; ``{0: {"sea": 50.0}}`` says how
        many. Features are column names or numbers.
    forbidden : dict or array-like of shape (n_components, n_features) or None, default=None
        Features that must not occur in a topic, as ``{0: ["sea"]}`` or as a mask.
    missing : {"nan"} or None, default=None
        Whether NaN in ``X`` is a missing entry rather than an error.
    n_jobs : int or None, default=None
        Threads. ``None`` uses every core: the result has the same bits for any number.
    random_state : int, Generator, RandomState or None, default=None
        Of the random start.
    callbacks : callable, list of callables or None, default=None
        Each is called with an :class:`~isotopic.solvers.Iteration` after every iteration; one that
        returns ``True`` stops the fit. Those of scikit-learn are set with ``set_callbacks``.
    verbose : int, default=0
        Show progress: a live line on a terminal if tqdm is installed, else a line every so many
        iterations."""

COMMON_ATTRIBUTES = """\
components_ : ndarray of shape (n_components, n_features)
        The topics (the mean of a Bayesian side).
    weights_ : ndarray of shape (n_samples, n_components)
        The weights of the samples that were fitted (the mean of a Bayesian side).
    weights_posterior_, components_posterior_ : ndarray
        Parameters of a Bayesian side's posterior, of the same shape; ``None`` for a point, NaN
        for fixed topics.
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
        The sum of each sample that was fitted.
    n_features_in_, feature_names_in_ : int, ndarray of str
        What ``X`` had; names only if it had any."""

_Class = TypeVar("_Class", bound=type)


def documented(cls: _Class) -> _Class:
    """Fill the shared parameters and attributes into a class's docstring."""
    if cls.__doc__:  # absent under python -OO
        cls.__doc__ = cls.__doc__.replace("%(parameters)s", COMMON_PARAMETERS).replace(
            "%(attributes)s", COMMON_ATTRIBUTES
        )
    return cls


@dataclass(eq=False, repr=False, kw_only=True)
class BaseTopicModel(
    Inference,
    Keeping,
    CallbackSupport,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Fit and the fitted attributes, for any pair of priors."""

    n_components: int = field(default=10, kw_only=False)
    solver: Any = "auto"
    init: Any = "random"
    max_iter: int = 1000
    tol: float = 1e-4
    n_init: int = 1
    warm_start: bool = False
    fixed_topics: Any = None
    seeds: Any = None
    forbidden: Any = None
    missing: str | None = None
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "solver": "no_validation",  # choose_solver looks at it
        "init": [StrOptions(set(STRATEGIES)), tuple, list, BaseEstimator],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "fixed_topics": ["array-like", None],
        "seeds": [dict, "array-like", None],
        "forbidden": [dict, "array-like", None],
        "missing": [StrOptions({"nan"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "callbacks": [callable, list, tuple, None],
        "verbose": ["verbose"],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        """Give the model: the priors of its weights and its topics."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        checkpoint: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
            Non-negative counts (whole or not). Row blocks are a path, a list of matrices or
            whatever else :func:`~isotopic.open_blocks` takes.
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each sample counts. One that counts twice has the same weights, and the
            topics see it twice; one that counts zero times is explained afterwards.
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing; what ``X`` has there is not looked at.
        checkpoint : path or :class:`~isotopic.Checkpoint`, default=None
            Where the fit writes down its state every minute. If the file exists, the fit goes on
            from there, and ends with the same bits as if it had never stopped.
        memory_limit : int, str or None, default=None
            What a fit to row blocks may use, such as ``"2 GB"``.
        client : distributed.Client or None, default=None
            The Dask cluster on which a fit to row blocks works.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight, missing_mask, checkpoint, memory_limit, client)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        checkpoint: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Array:
        """Fit the model and return the weights of the samples.

        They are those that ``transform`` infers, bit for bit. With ``tol=0``, when an exact number
        of iterations was asked for, they are ``weights_``, the last iterate.

        Parameters
        ----------
        X, y, sample_weight, missing_mask, checkpoint, memory_limit, client
            As for :meth:`fit`.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        counts = self._fit(X, sample_weight, missing_mask, checkpoint, memory_limit, client)
        kept = len(self.weights_) == counts.shape[0]
        return self.weights_ if self.tol == 0 and kept else self._transformed(counts)

    def transform(
        self, X: Any, *, missing_mask: Any = None, memory_limit: Any = None, client: Any = None
    ) -> Array:
        """Infer the weights of samples, the topics being as they are.

        Each sample's own problem is solved until an update would move less than a millionth of its
        total; the result does not depend on the other samples.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing.
        memory_limit, client
            For row blocks, as for :meth:`fit`.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        return self._transformed(self._read_data(X, missing_mask, memory_limit, client))

    def _fit(self, X: Any, *how: Any) -> CountMatrix | BlockedCounts:
        before = self.__dict__.copy()
        counts: CountMatrix | BlockedCounts
        try:
            counts, solution = self._solve(X, *how)
        except BaseException:  # a failed refit leaves the earlier model as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        if solution.interrupted:
            raise KeyboardInterrupt
        self._warn_unless_converged(solution)
        return counts

    @with_callbacks  # type: ignore[untyped-decorator]
    def _solve(
        self,
        X: Any,
        sample_weight: Any,
        missing_mask: Any,
        checkpoint: Any,
        memory_limit: Any,
        client: Any,
    ) -> tuple[CountMatrix | BlockedCounts, Solution[State]]:
        self._validate_params()
        counts = self._read(
            X, reset=True, missing_mask=missing_mask, memory_limit=memory_limit, client=client
        )
        copies = read_sample_weight(sample_weight, counts.shape[0])
        problem, seen = self._problem(counts, copies)
        keeper = None if checkpoint is None else Checkpoint.of(checkpoint).keeper(self, problem)
        fitted = partial(self._fitted, counts=counts, problem=problem, copies=copies, seen=seen)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        with use_threads(self.n_jobs), watchers(self, X, metadata, fitted) as watching:
            solution = self._search(problem, seen, watching, keeper)
            attributes = fitted(solution.state)
        self.__dict__.update(attributes)
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        self.history_ = solution.history
        return counts, solution

    def _problem(self, X: Any, copies: Array | None) -> tuple[Problem, Array | None]:
        """Give the problem, and which samples it sees if not all."""
        if isinstance(self.n_components, bool):
            raise TypeError("n_components must be a whole number, not a bool")
        if self.n_components > max(X.shape):
            raise ValueError(
                f"n_components={self.n_components} is larger than the data: X has {X.shape[0]} "
                f"samples and {X.shape[1]} features"
            )
        weights, topics = self._own_priors()
        weights.check((X.shape[0], self.n_components))
        seen = None
        if copies is not None:
            if not copies.all():
                if isinstance(X, BlockedCounts):
                    raise ValueError(
                        "sample_weight must be positive for row blocks: leave rows out"
                    )
                seen = np.flatnonzero(copies)
                X, weights, copies = X.rows(seen), weights.rows(seen), copies[seen]
            X, weights = _repeated(X, copies), Weighted(weights, copies)
        topics = informed(
            topics,
            (self.n_components, X.shape[1]),
            X.dtype,
            X.feature_totals,
            fixed_topics=self.fixed_topics,
            seeds=self.seeds,
            forbidden=self.forbidden,
            feature_names=getattr(self, "feature_names_in_", None),
        )
        return problem_of(weights, topics, X, self.n_components), seen

    def _search(
        self,
        problem: Problem,
        seen: Array | None,
        watching: list[Watcher],
        keeper: Keeper | None,
    ) -> Solution[State]:
        """Solve from every start, and keep the lowest objective; an interruption ends it."""
        solver = choose_solver(self.solver, problem)
        seeds = generator(self.random_state).integers(2**63, size=(self.n_init, 2))
        best: Solution[State] | None = None
        resumed: Solution[State] | None = None
        first = 0
        if keeper is not None:
            seeds, first, best, resumed = keeper.resume(seeds)
            watching = [*watching, keeper]
        starts = self._starts(problem, seen, seeds)
        for number, start in enumerate(starts[first:], first):
            if keeper is not None:
                keeper.begin(number, best, resumed)
            solution = solve(
                problem,
                solver,
                start() if resumed is None else resumed,  # and nobody holds on to it
                max_iter=self.max_iter,
                tol=self.tol,
                callbacks=watching,
            )
            if keeper is not None:
                keeper.end(solution)
            resumed = None
            if best is None or _badness(solution) < _badness(best):
                best = solution
            if solution.interrupted:
                return replace(best, interrupted=True)
        assert best is not None
        return best

    def _starts(
        self, problem: Problem, seen: Array | None, seeds: Array
    ) -> list[Callable[[], Start]]:
        """Give the starts as functions, so that nobody holds on to their arrays."""
        if self.warm_start and hasattr(self, "components_"):
            return [partial(start_from_model, problem, self, seen)]
        model = self.init
        if isinstance(model, str):
            streams = [np.random.default_rng(seed) for seed in seeds]
            return [partial(strategy_start, problem, model, stream) for stream in streams]
        if self.n_init > 1:
            raise ValueError(
                f"n_init={self.n_init} fits need different starts, but this one is given; "
                "use n_init=1, or init='random'"
            )
        if isinstance(model, BaseEstimator):
            return [partial(start_from_model, problem, model, seen)]
        if len(model) != 2:
            raise ValueError(f"init must be a pair (weights, topics), not {len(model)} things")
        return [partial(start_from_arrays, problem, *model)]

    def _own_priors(self) -> tuple[Prior, Prior]:
        """Give the priors of the parameters as they are now, for good."""
        weights, topics = (_checked_prior(prior) for prior in self._priors())
        return deepcopy(weights), deepcopy(topics)

    def _read(
        self,
        X: Any,
        *,
        reset: bool,
        missing_mask: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> CountMatrix | BlockedCounts:
        nan_is_missing = self.missing == "nan"
        if is_blocks(X):
            return read_blocks(
                self,
                X,
                reset=reset,
                missing=nan_is_missing or missing_mask is not None,
                memory_limit=memory_limit,
                client=client,
            )
        if memory_limit is not None or client is not None:
            raise ValueError(
                f"memory_limit and client are for data in row blocks; X is a {type(X).__name__}. "
                "open_blocks makes blocks of files, lists of matrices and memory maps"
            )
        return read_counts(
            self, X, reset=reset, missing_mask=missing_mask, nan_is_missing=nan_is_missing
        )

    def _fitted(
        self,
        state: State,
        *,
        counts: Any,
        problem: Problem,
        copies: Array | None,
        seen: Array | None,
    ) -> dict[str, Any]:
        """Give the fitted attributes of a state."""
        weights_prior = self._own_priors()[0]
        attributes = {
            **kept_sides(
                Pair(weights_prior, problem.topics), problem.whole(state.weights), state.topics
            ),
            "_copies": copies,
            "_has_missing": counts.missing is not None,
            "objective_": state.objective,
            "sample_totals_": counts.sample_totals,
            "_feature_totals": problem.X.feature_totals,
            "_log_likelihood": state.counts.log_likelihood,
            "_saturated_divergence": problem.X.saturated_divergence,
        }
        if len(attributes["weights_"]) == 0:  # row blocks whose weights are not kept
            attributes |= {"_copies": None, "sample_totals_": np.empty(0)}
        return attributes if seen is None else self._with_unseen(attributes, counts, seen)

    def _with_unseen(
        self, attributes: dict[str, Any], X: CountMatrix, seen: Array
    ) -> dict[str, Any]:
        """Explain the samples that counted zero times, with the topics as they are."""
        unseen = np.setdiff1d(np.arange(X.shape[0]), seen)
        model = type(self)(**self.get_params(deep=False))
        model.__dict__.update(attributes)
        found = model._infer(X.rows(unseen), unseen)
        for name, part in _weight_attributes(found).items():
            if part is not None:
                whole = np.empty((X.shape[0], part.shape[1]), part.dtype)
                whole[seen], whole[unseen] = attributes[name], part
                attributes[name] = whole
        return attributes

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
            stacklevel=4,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = self.missing == "nan"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def kept_sides(pair: Pair, weights: Posterior, topics: Posterior) -> dict[str, Any]:
    """Give what is kept of both sides."""
    parameters, rates = topics.parameters, topics.rates
    return {
        **_weight_attributes(weights),
        "_fitted_priors": (pair.weights, pair.topics),
        "components_": np.ascontiguousarray(topics.mean),
        "components_posterior_": None if parameters is None else np.ascontiguousarray(parameters),
        "components_posterior_rate_": None if rates is None else np.ascontiguousarray(rates),
        "_effective_components": topics.effective,
        "_components_explained": topics.explained,
    }


def _weight_attributes(weights: Posterior) -> dict[str, Any]:
    return {
        "weights_": weights.mean,
        "weights_posterior_": weights.parameters,
        "weights_posterior_rate_": weights.rates,
        "_effective_weights": weights.effective,
        "_weights_explained": weights.explained,
    }


def _badness(solution: Solution[State]) -> float:
    """Give the objective; NaN is worse than anything."""
    objective = solution.state.objective
    return np.inf if np.isnan(objective) else objective


def _repeated(X: CountMatrix, copies: Array) -> CountMatrix:
    try:
        return X.repeated(copies)
    except ValueError as error:
        raise ValueError(f"sample_weight times X: {error}") from None


def _checked_prior(prior: Any) -> Prior:
    if isinstance(prior, type) or not hasattr(prior, "absorb"):
        raise TypeError(f"a prior must be an object such as Dirichlet(0.1), not {prior!r}")
    checked: Prior = prior
    return checked

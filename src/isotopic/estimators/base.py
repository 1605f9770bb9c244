"""What all estimators share: everything but the pair of priors."""

import warnings
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts, is_blocks, make_problem
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence, KullbackLeibler
from isotopic.estimators.attributes import kept_sides, weight_attributes
from isotopic.estimators.callbacks import CallbackSupport, watchers, with_callbacks
from isotopic.estimators.checkpoint import Checkpoint
from isotopic.estimators.constraints import informed
from isotopic.estimators.data import read_blocks, read_counts, read_sample_weight
from isotopic.estimators.documentation import documented
from isotopic.estimators.multistart import Searching
from isotopic.estimators.offsets import NOTHING_KNOWN, Offsets, read_offsets
from isotopic.estimators.partial import PartialFit
from isotopic.estimators.persistence import Keeping
from isotopic.estimators.reordering import Rearranging
from isotopic.estimators.reporting import Reporting
from isotopic.estimators.summaries import Describing
from isotopic.init import (
    STRATEGIES,
)
from isotopic.priors import Posterior, Prior, SampleWeighted
from isotopic.problem import Pair, Problem, State
from isotopic.solvers import HyperparameterState, Solution
from isotopic.threads import use_threads

__all__ = ["BaseTopicModel", "documented"]


@dataclass(eq=False, repr=False, kw_only=True)
class BaseTopicModel(
    Searching,
    PartialFit,
    Describing,
    Rearranging,
    Keeping,
    Reporting,
    CallbackSupport,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Fit and the fitted attributes, for any pair of priors."""

    n_components: int = field(default=10, kw_only=False)
    solver: Any = "auto"
    init: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    min_gain: float = 0.0
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
        "init": [StrOptions({"auto", *STRATEGIES}), tuple, list, BaseEstimator],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "min_gain": [Interval(Real, 0, None, closed="left")],
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

    @property
    def _divergence(self) -> Divergence:
        """The divergence that is minimised."""
        return KullbackLeibler()

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
        size_factors: Any = None,
        fixed_weights: Any = None,
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
        size_factors : array-like of shape (n_samples,) or None, default=None
            Of a Poisson model: the known number by which a sample's counts are multiplied, such as
            its depth or exposure. Its weights are those of a sample of size one.
        fixed_weights : array-like of shape (n_samples, n_fixed) or None, default=None
            Of a Poisson model: the weights of the first components, given and held; the others are
            inferred. Together with ``fixed_topics`` they are a known background.
        memory_limit : int, str or None, default=None
            What a fit to row blocks may use, such as ``"2 GB"``.
        client : distributed.Client or None, default=None
            The Dask cluster on which a fit to row blocks works.

        Returns
        -------
        self
        """
        known = (size_factors, fixed_weights)
        self._fit(X, sample_weight, missing_mask, checkpoint, known, memory_limit, client)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        checkpoint: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Array:
        """Fit the model and return the weights of the samples.

        They are those that ``transform`` infers, bit for bit. With ``tol=0``, when an exact number
        of iterations was asked for, they are ``weights_``, the last iterate.

        Parameters
        ----------
        X, y, sample_weight, missing_mask, checkpoint, size_factors, fixed_weights, memory_limit,
        client
            As for :meth:`fit`.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        known = (size_factors, fixed_weights)
        counts = self._fit(X, sample_weight, missing_mask, checkpoint, known, memory_limit, client)
        if self.tol == 0 and len(self.weights_) == counts.shape[0]:
            return self.weights_
        return self._transformed(counts, *known)

    def transform(
        self,
        X: Any,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Array:
        """Infer the weights of samples, the topics being as they are.

        Each sample's own problem is solved until an update would move less than a millionth of its
        total; the result does not depend on the other samples.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing.
        size_factors, fixed_weights : array-like or None, default=None
            As for :meth:`fit`, of these samples. A model that was fitted with them needs them.
        memory_limit, client
            For row blocks, as for :meth:`fit`.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        counts = self._read_data(X, missing_mask, memory_limit, client)
        return self._transformed(counts, size_factors, fixed_weights)

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
        known: tuple[Any, Any],
        memory_limit: Any,
        client: Any,
    ) -> tuple[CountMatrix | BlockedCounts, Solution[State]]:
        self._validate_params()
        with use_threads(self.n_jobs):
            counts = self._read(
                X, reset=True, missing_mask=missing_mask, memory_limit=memory_limit, client=client
            )
            copies = read_sample_weight(sample_weight, counts.shape[0])
            weights_prior = self._own_priors()[0]
            offsets = read_offsets(*known, counts, weights_prior, self.n_components)
            problem, seen = self._problem(counts, copies, offsets)
        keeper = None if checkpoint is None else Checkpoint.of(checkpoint).keeper(self, problem)
        fitted = partial(
            self._fitted, counts=counts, problem=problem, copies=copies, seen=seen, offsets=offsets
        )
        given = {
            "sample_weight": sample_weight,
            "size_factors": known[0],
            "fixed_weights": known[1],
        }
        metadata = {name: value for name, value in given.items() if value is not None}
        with use_threads(self.n_jobs), watchers(self, X, counts, metadata, fitted) as watching:
            solution = self._search(problem, seen, watching, keeper)
            attributes = fitted(solution.state)
        self.__dict__.update(attributes)
        for name in ("_topic_average", "_latest_topics", "n_samples_seen_"):  # of partial_fit
            self.__dict__.pop(name, None)
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        self.history_ = solution.history
        return counts, solution

    def _problem(
        self, X: Any, copies: Array | None, offsets: Offsets
    ) -> tuple[Problem, Array | None]:
        """Give the problem, and which samples it sees if not all."""
        if isinstance(self.n_components, bool):
            raise TypeError("n_components must be a whole number, not a bool")
        if self.n_components > max(X.shape):
            raise ValueError(
                f"n_components={self.n_components} is larger than the data: X has {X.shape[0]} "
                f"samples and {X.shape[1]} features"
            )
        weights, topics = self._own_priors()
        weights.check_shape((X.shape[0], self.n_components))
        weights = offsets.around(weights)
        seen = None
        if copies is not None:
            if not copies.all():
                if isinstance(X, BlockedCounts):
                    raise ValueError(
                        "sample_weight must be positive for row blocks: leave rows out"
                    )
                seen = np.flatnonzero(copies)
                X, weights, copies = X.rows(seen), weights.rows(seen), copies[seen]
            X, weights = _repeated(X, copies), SampleWeighted(weights, copies)
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
        if offsets.n_fixed_weights and topics.learned and topics.norm not in (None, 1.0):
            raise ValueError(
                "fixed_weights need topics that sum to one or carry a scale: topics of another "
                "unit norm hand their scale to the weights, which are given"
            )
        return self._pose(weights, topics, X), seen

    def _pose(self, weights: Prior, topics: Prior, X: Any) -> Problem:
        """Put priors and data together."""
        return make_problem(weights, topics, X, self.n_components, self._divergence)

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
        offsets: Offsets = NOTHING_KNOWN,
        topics: Posterior | None = None,
    ) -> dict[str, Any]:
        """Give the fitted attributes of a state, with its topics or with those that followed."""
        weights_prior, topics_prior = self._own_priors()[0], problem.topics
        if isinstance(state, HyperparameterState):
            learned: Any = state.weights_prior
            learned = offsets.inside(learned if copies is None else learned.prior)
            weights_prior = weights_prior.with_learned(learned)
            topics_prior = topics_prior.with_learned(state.topics_prior)
        fitted = offsets if seen is None else offsets.rows(seen)

        def unsized(part: Posterior, rows: slice) -> Posterior:
            return fitted.rows(rows).unsized(weights_prior, part)

        weights = problem.collect_weights(state.weights, unsized)
        attributes = {
            **kept_sides(Pair(weights_prior, topics_prior), weights, topics or state.topics),
            "_copies": copies,
            "_size_factors": offsets.size_factors,
            "_n_fixed_weights": offsets.n_fixed_weights,
            "_has_missing": counts.missing is not None,
            "objective_": state.objective,
            "sample_totals_": counts.sample_totals,
            "_feature_totals": problem.X.feature_totals,
            "_log_likelihood": state.counts.log_likelihood,
            "_saturated_divergence": problem.X.saturated_divergence,
        }
        if len(attributes["weights_"]) == 0:  # row blocks whose weights are not kept
            attributes |= {"_copies": None, "sample_totals_": np.empty(0)}
            attributes["_size_factors"] = offsets.rows(slice(0)).size_factors
        if seen is None:
            return attributes
        return self._with_unseen(attributes, counts, seen, offsets)

    def _with_unseen(
        self, attributes: dict[str, Any], X: CountMatrix, seen: Array, offsets: Offsets
    ) -> dict[str, Any]:
        """Explain the samples that counted zero times, with the topics as they are."""
        unseen = np.setdiff1d(np.arange(X.shape[0]), seen)
        model = type(self)(**self.get_params(deep=False))
        model.__dict__.update(attributes)
        found = model._infer(X.rows(unseen), offsets.rows(unseen), unseen)
        for name, part in weight_attributes(found).items():
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
        exact = (
            self.tol == self.min_gain == 0 or self.max_iter == 0
        )  # that many iterations were asked for
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


def _repeated(X: CountMatrix, copies: Array) -> CountMatrix:
    try:
        return X.repeated(copies)
    except ValueError as error:
        raise ValueError(f"sample_weight times X: {error}") from None


def _checked_prior(prior: Any) -> Prior:
    if not isinstance(prior, Prior):
        raise TypeError(f"a prior must be an object such as Dirichlet(0.1), not {prior!r}")
    return prior

"""What all estimators share: parameters, validation, ``fit``, ``transform`` and ``score``.

A subclass says what its priors are. What a fit found is one value, ``fitted_``; all methods but
``fit`` and ``partial_fit`` hand it to a function of :mod:`isotopic.fitted`. Methods that only tell
about a fitted model are in :mod:`isotopic.estimators.fitted_model`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from isotopic.arrays import Array
from isotopic.blocks import BlockedProblem
from isotopic.containers import as_dense, read_container
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence, KullbackLeibler
from isotopic.estimators.callbacks import CallbackSupport, watchers, with_callbacks
from isotopic.estimators.constraints import align_settings, constrain_topics
from isotopic.estimators.count_hints import warn_unless_counts
from isotopic.estimators.data import read_data, read_new, warn_of_empty_samples
from isotopic.estimators.fitted_model import FittedModel
from isotopic.estimators.multistart import best_solution, first_topics, warn_unless_converged
from isotopic.estimators.parameters import plain_parameter, with_plain_parameters
from isotopic.fitted import Fitted, inference
from isotopic.fitted.fitting import Data, Fit
from isotopic.fitted.online import Progress, learn_batch, split_batches
from isotopic.fitted.value import check_likelihood
from isotopic.init import STRATEGIES
from isotopic.priors import Prior
from isotopic.problem import Pair, Problem, State
from isotopic.random import generator
from isotopic.solvers import OnlineEM, Solution
from isotopic.threads import use_threads


def _can_partial_fit(estimator: Any) -> bool:
    if not Pair(*estimator._priors()).topics.is_normalized:
        raise AttributeError(
            "partial_fit needs normalised topics (Simplex or Dirichlet): others depend on the "
            "weights of all samples at once."
        )
    if not estimator._divergence.is_likelihood:
        raise AttributeError(
            "partial_fit averages expected counts, which need the Kullback-Leibler divergence."
        )
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class BaseTopicModel(
    CallbackSupport,  # type: ignore[misc]
    FittedModel,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """An estimator for any pair of priors."""

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
        "solver": "no_validation",  # choose_solver checks it
        "init": [StrOptions({"auto", *STRATEGIES}), tuple, list, BaseEstimator, Fitted],
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

    # Parameters that are settings of a prior: its side (0: weights, 1: topics) and the setting's
    # name there, which is empty if the parameter is the prior itself.
    _prior_settings: ClassVar[dict[str, tuple[int, str]]] = {}

    _divergence: ClassVar[Divergence] = KullbackLeibler()

    def _priors(self) -> tuple[Prior, Prior]:
        """Return the priors of the weights and of the topics."""
        raise NotImplementedError

    # Fit and transform.

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

        %(arguments)s

        Returns
        -------
        self
        """
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        self._fit(X, checkpoint, where, {"sample_weight": sample_weight, **offsets})
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

        They are those that ``transform`` infers, bit for bit. With ``tol=0``, which asks for an
        exact number of iterations, they are ``weights_``, the last iterate.

        %(arguments)s

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        data = self._fit(X, checkpoint, where, {"sample_weight": sample_weight, **offsets})
        if self.tol == 0 and len(self.weights_) == data.counts.shape[0]:
            return self.fitted_.weights.mean
        with use_threads(self.n_jobs):
            return inference.infer_weights(self.fitted_, data.counts, data.offsets)

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
        """Infer the weights of samples, with the topics fixed.

        Each sample's own problem is solved until an update would move less than a millionth of its
        total; the result does not depend on the other samples.

        %(arguments)s

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        with use_threads(self.n_jobs):
            data = read_new(self, X, **offsets, **where)
            warn_of_empty_samples(data, self.fitted_.weights_prior)
            return inference.infer_weights(self.fitted_, data.counts, data.offsets)

    def inverse_transform(self, X: Any) -> Array:
        """Return the expected counts, ``weights @ components_``.

        Proportions (PLSA, LDA) give distributions over the features; multiply them by the totals of
        the samples for expected counts. Multiply by the size factors if the model was fitted with
        them.

        %(arguments)s

        Returns
        -------
        expected : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        given = as_dense(read_container(X)).matrix
        weights = check_array(given, dtype=[np.float64, np.float32], input_name="X")
        if weights.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {weights.shape[1]} columns; it must have one for each of the "
                f"{len(self.components_)} components."
            )
        return np.asarray(weights @ self.components_.astype(weights.dtype, copy=False))

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> float:
        r"""Return the mean log-likelihood of a count.

        .. math:: \sum_{dv} x_{dv} \log p_{dv} \Big/ \sum_{dv} x_{dv}, \qquad
            p_{dv} \propto (\text{weights topics})_{dv}

        with each sample's inferred weights (the mean of a Bayesian side) and
        :math:`\sum_v p_{dv} = 1`, so that all models are measured alike. Counts of features that no
        topic has are left out, with a warning. The weights are inferred from the counts that are
        scored, so more components rarely score lower: compare models of one size by it, and choose
        the number of components with :func:`~isotopic.consensus`, or with
        ``scoring=evaluate.completion_scorer`` in ``GridSearchCV``. A model with another divergence
        than Kullback-Leibler scores minus the mean divergence of an entry.

        %(arguments)s

        Returns
        -------
        score : float
            Higher is better.
        """
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        with use_threads(self.n_jobs):
            data = read_new(self, X, sample_weight=sample_weight, **offsets, **where)
            warn_of_empty_samples(data)
            return inference.score(self.fitted_, data.counts, data.copies, data.offsets)

    def perplexity(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> float:
        """Return ``exp(-score)``, the effective number of equally likely features.

        %(arguments)s

        Returns
        -------
        perplexity : float
            Lower is better.
        """
        check_is_fitted(self)
        check_likelihood(self.fitted_, "perplexity")
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        score = self.score(X, sample_weight=sample_weight, **offsets, **where)
        return float(np.exp(-score))

    @available_if(_can_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, missing_mask: Any = None
    ) -> Self:
        """Update the topics with more samples, each of which is seen once.

        The topics absorb an average over all batches so far; :class:`~isotopic.solvers.OnlineEM`
        says how much a new batch changes it (with its settings, if it is the ``solver``). After
        ``fit``, its samples count as earlier batches. ``weights_`` and ``objective_`` are those of
        the last batch. Hyperparameters that a fit would learn keep their starting values.

        %(arguments)s

        Returns
        -------
        self
        """
        plain = with_plain_parameters(self)
        plain._validate_params()
        with _restored_on_failure(self), use_threads(plain.n_jobs):
            fitted = getattr(self, "fitted_", None)
            if fitted is not None and fitted.n_components != plain.n_components:
                raise ValueError(
                    f"n_components={plain.n_components}, but partial_fit continues a model with "
                    f"{fitted.n_components} components. Set n_components back, or call fit."
                )
            samples = {"sample_weight": sample_weight, "missing_mask": missing_mask}
            data = read_data(self, X, reset=fitted is None, **samples)
            plain = with_plain_parameters(self)  # with the names of the features
            if fitted is None:
                warn_unless_counts(plain, data.counts, stacklevel=3)
            settings = plain.solver if isinstance(plain.solver, OnlineEM) else OnlineEM()
            progress, size = None, getattr(plain.solver, "batch_size", None)
            for counts, copies in split_batches(data.counts, data.copies, size):
                batch = plain._problem(Data(counts, copies, feature_names=data.feature_names))
                if progress is None and fitted is not None:
                    progress = Progress.of(fitted, batch.problem.X.shape[0])
                seeds = generator(plain.random_state).integers(2**63, size=(1, 2))
                update = learn_batch(batch, progress, settings, seeds, partial(first_topics, plain))
                progress = update.progress
            self.fitted_ = update.fitted()
        return self

    # How a fit is made.

    def _fit(
        self, X: Any, checkpoint: Any, where: dict[str, Any], metadata: dict[str, Any]
    ) -> Data:
        with _restored_on_failure(self):
            data: Data
            data, solution = self._solve(X, checkpoint, where, metadata)
        if solution.interrupted:
            raise KeyboardInterrupt
        warn_unless_converged(self, solution, data.counts.feature_totals)
        return data

    @with_callbacks  # type: ignore[untyped-decorator]
    def _solve(
        self, X: Any, checkpoint: Any, where: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[Data, Solution[State]]:
        plain = with_plain_parameters(self)
        plain._validate_params()
        with use_threads(plain.n_jobs):
            data = read_data(self, X, reset=True, **where, **metadata)
            plain = with_plain_parameters(self)  # with the names of the features
            fit = plain._problem(data)
            warn_unless_counts(plain, data.counts, stacklevel=6)
            with watchers(
                self, X, data.counts, metadata, lambda state: {"fitted_": fit.fitted_at(state)}
            ) as callbacks:
                solution = best_solution(plain, fit, callbacks, checkpoint)
                self.fitted_ = fit.fitted_at(
                    solution.state, history=solution.history, converged=solution.converged
                )
        return data, solution

    def _problem(self, data: Data) -> Fit:
        """Return the problem that data and parameters pose."""
        if isinstance(self.n_components, bool):
            raise TypeError("n_components must be an integer, not a bool.")
        n_samples, n_features = data.counts.shape
        if self.n_components > max(n_samples, n_features):
            raise ValueError(
                f"n_components={self.n_components} is larger than the data: X has {n_samples} "
                f"samples and {n_features} features."
            )
        needs_likelihood = self.seeds is not None or not data.offsets.is_empty
        if needs_likelihood and not self._divergence.is_likelihood:
            raise ValueError(
                "seeds, size_factors and fixed_weights need the Kullback-Leibler divergence "
                f"(beta=1), which is a likelihood of counts; this model has {self._divergence!r}."
            )
        weights, topics = deepcopy(self._priors())  # so that later changes of parameters do no harm
        for prior in (weights, topics):
            if not isinstance(prior, Prior):
                raise TypeError(f"A prior must be an object such as Dirichlet(0.1), not {prior!r}.")
        weights = plain_parameter("weights", align_settings(weights, samples=data.sample_names))
        weights.check_shape((n_samples, self.n_components))
        for prior in (weights, plain_parameter("topics", topics)):
            prior.check_range(data.counts.dtype)
        X, used_prior = data.used(weights)
        shape, names = (self.n_components, n_features), data.feature_names
        topics = constrain_topics(self, topics, shape, X.dtype, X.feature_totals, names)
        topics = plain_parameter("topics", topics)
        has_other_norm = topics.is_learned and topics.norm not in (None, 1.0)
        if data.offsets.fixed_weights is not None and has_other_norm:
            raise ValueError(
                "fixed_weights need topics that sum to one or carry a scale. Topics of another "
                "unit norm would change the scale of the weights."
            )
        kind = Problem if isinstance(X, CountMatrix) else BlockedProblem
        problem = kind(used_prior, topics, X, self.n_components, self._divergence)
        return Fit(data, weights, problem)

    # What scikit-learn asks for.

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


@contextmanager
def _restored_on_failure(estimator: BaseTopicModel) -> Iterator[None]:
    """Let a failed fit leave the earlier model as it was."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise

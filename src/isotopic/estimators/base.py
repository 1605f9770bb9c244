"""What all estimators share: parameters, validation, ``fit``, ``transform`` and ``score``.

A subclass says what its priors are. What a fit found is one value, ``fitted_``; all methods but
``fit`` and ``partial_fit`` hand it to a function of :mod:`isotopic.fitted`. Methods that only tell
about a fitted model are in :mod:`isotopic.estimators.fitted_model`.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from isotopic.arrays import Array
from isotopic.blocks import BlockedProblem
from isotopic.containers import as_dense, read_container, select_layer
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence, KullbackLeibler
from isotopic.estimators.callbacks import CallbackSupport, watchers, with_callbacks
from isotopic.estimators.constraints import align_settings, constrain_topics
from isotopic.estimators.count_hints import warn_unless_counts
from isotopic.estimators.data import read_data, read_new, warn_of_empty_samples
from isotopic.estimators.effects import CovariateEffects
from isotopic.estimators.fitted_model import FittedModel
from isotopic.estimators.multistart import (
    best_solution,
    warn_unless_converged,
)
from isotopic.estimators.parameters import plain_parameter, with_plain_parameters
from isotopic.estimators.partial_fit import can_partial_fit, learn_samples
from isotopic.estimators.unknown_parameters import KnownParameters
from isotopic.fitted import Fitted, inference
from isotopic.fitted.fitting import Data, Fit
from isotopic.fitted.value import check_likelihood
from isotopic.init import STRATEGIES
from isotopic.priors import Prior
from isotopic.problem import Problem
from isotopic.threads import use_threads


@dataclass(eq=False, repr=False, kw_only=True)
class BaseTopicModel(
    CallbackSupport,  # type: ignore[misc]
    FittedModel,
    CovariateEffects,
    KnownParameters,
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
        covariates: Any = None,
        formula: str | None = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Self:
        """Fit the model.

        %(arguments)s

        Returns
        -------
        self
        """
        self._fit(
            X,
            checkpoint,
            sample_weight=sample_weight,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
            covariates=covariates,
            formula=formula,
            memory_limit=memory_limit,
            client=client,
        )
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
        covariates: Any = None,
        formula: str | None = None,
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
        data = self._fit(
            X,
            checkpoint,
            sample_weight=sample_weight,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
            covariates=covariates,
            formula=formula,
            memory_limit=memory_limit,
            client=client,
        )
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
        covariates: Any = None,
        layer: str | None = None,
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
        with use_threads(self.n_jobs):
            data = read_new(
                self,
                select_layer(X, layer),
                missing_mask=missing_mask,
                size_factors=size_factors,
                fixed_weights=fixed_weights,
                covariates=covariates,
                memory_limit=memory_limit,
                client=client,
            )
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
        covariates: Any = None,
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
        with use_threads(self.n_jobs):
            data = read_new(
                self,
                X,
                sample_weight=sample_weight,
                missing_mask=missing_mask,
                size_factors=size_factors,
                fixed_weights=fixed_weights,
                covariates=covariates,
                memory_limit=memory_limit,
                client=client,
            )
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
        covariates: Any = None,
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
        score = self.score(
            X,
            sample_weight=sample_weight,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
            covariates=covariates,
            memory_limit=memory_limit,
            client=client,
        )
        return float(np.exp(-score))

    @available_if(can_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        covariates: Any = None,
        formula: str | None = None,
    ) -> Self:
        """Update the topics with more samples, each of which is seen once.

        The topics absorb an average over all batches so far; :class:`~isotopic.solvers.OnlineEM`
        says how much a new batch changes it (with its settings, if it is the ``solver``). After
        ``fit``, its samples count as earlier batches. ``weights_`` and ``objective_`` are those of
        the last batch. Coefficients of covariates are learned from an average over the batches,
        too; groups, means and knots are those of the first call. All other hyperparameters that a
        fit would learn keep their starting values.

        %(arguments)s

        Returns
        -------
        self
        """
        self.fitted_ = learn_samples(
            self,
            X,
            sample_weight=sample_weight,
            missing_mask=missing_mask,
            covariates=covariates,
            formula=formula,
        )
        return self

    # How a fit is made.

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(
        self,
        X: Any,
        checkpoint: Any,
        *,
        sample_weight: Any,
        size_factors: Any,
        fixed_weights: Any,
        covariates: Any,
        **reading: Any,
    ) -> Data:
        """Fit the model, and return what it was fitted to. A fit that fails changes nothing."""
        metadata = {
            "sample_weight": sample_weight,
            "size_factors": size_factors,
            "fixed_weights": fixed_weights,
            "covariates": covariates,
        }
        plain = with_plain_parameters(self)
        plain._validate_params()
        with use_threads(plain.n_jobs):
            data = read_data(plain, X, known=None, **metadata, **reading)
            fit = plain._pose(data)
            warn_unless_counts(plain, data.counts)
            with watchers(
                self, X, data.counts, metadata, lambda state: {"fitted_": fit.fitted_at(state)}
            ) as callbacks:
                solution = best_solution(plain, fit, callbacks, checkpoint)
                fitted = fit.fitted_at(
                    solution.state, history=solution.history, converged=solution.converged
                )
        self.fitted_ = fitted
        if solution.interrupted:
            raise KeyboardInterrupt
        warn_unless_converged(self, solution, data.counts.feature_totals)
        return data

    def _pose(self, data: Data) -> Fit:
        """Return the problem that data and parameters pose, with the data."""
        self._check_data(data)
        n_samples, n_features = data.counts.shape
        weights, topics = deepcopy(self._priors())  # so that later changes of parameters do no harm
        for prior in (weights, topics):
            if not isinstance(prior, Prior):
                raise TypeError(f"A prior must be an object such as Dirichlet(0.1), not {prior!r}.")
        weights = plain_parameter("weights", align_settings(weights, samples=data.sample_names))
        weights = data.offsets.given_covariates(weights)
        weights.check_shape((n_samples, self.n_components))
        X, used_prior = data.used(weights)
        shape, names = (self.n_components, n_features), data.feature_names
        topics = constrain_topics(self, topics, shape, X.dtype, X.feature_totals, names)
        topics = plain_parameter("topics", topics)
        for prior in (weights, topics):
            prior.check_range(data.counts.dtype)
        has_other_norm = topics.is_learned and topics.norm not in (None, 1.0)
        if data.offsets.fixed_weights is not None and has_other_norm:
            raise ValueError(
                "fixed_weights need topics that sum to one or carry a scale. Topics of another "
                "unit norm would change the scale of the weights."
            )
        kind = Problem if isinstance(X, CountMatrix) else BlockedProblem
        problem = kind(used_prior, topics, X, self.n_components, self._divergence)
        return Fit(data, weights, problem)

    def _check_data(self, data: Data) -> None:
        """Raise unless the parameters fit the data."""
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

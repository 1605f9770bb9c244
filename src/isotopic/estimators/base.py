"""What all estimators share: parameters, validation, ``fit``, ``transform`` and ``score``.

A subclass says what its priors are. What a fit found is one value, ``fitted_``; all methods but
``fit`` and ``partial_fit`` hand it to a function of :mod:`isotopic.fitted`.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from isotopic import evaluate
from isotopic.arrays import Array
from isotopic.blocks import is_blocks, make_problem
from isotopic.counts import CountMatrix
from isotopic.divergences import Divergence, KullbackLeibler
from isotopic.estimators import persistence, reordering
from isotopic.estimators.callbacks import CallbackSupport, watchers, with_callbacks
from isotopic.estimators.checkpoint import CheckpointWriter
from isotopic.estimators.constraints import constrain_topics
from isotopic.estimators.data import check_offsets, read_offsets, read_sample_weight, read_samples
from isotopic.estimators.documentation import documented
from isotopic.estimators.multistart import best_solution, draw_seeds, make_starts, read_init
from isotopic.fitted import (
    NO_OFFSETS,
    Fitted,
    generation,
    inference,
    intervals,
    summaries,
)
from isotopic.fitted.fitting import Data, Fit
from isotopic.fitted.online import Progress, learn_batch, split_batches
from isotopic.fitted.value import check_likelihood
from isotopic.init import STRATEGIES, random_start
from isotopic.priors import Posterior, Prior
from isotopic.problem import Pair, Problem, State
from isotopic.random import Seed
from isotopic.responsibilities import Responsibilities
from isotopic.solvers import OnlineEM, Solution
from isotopic.table import Table
from isotopic.threads import use_threads

__all__ = ["BaseTopicModel", "documented"]


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


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BaseTopicModel(
    CallbackSupport,  # type: ignore[misc]
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

    def _priors(self) -> tuple[Prior, Prior]:
        """Return the priors of the weights and of the topics."""
        raise NotImplementedError

    @property
    def _divergence(self) -> Divergence:
        """The divergence that a fit minimises."""
        return KullbackLeibler()

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

        Parameters
        ----------
        %(X_or_blocks)s
        %(sample_weight)s
        %(missing_mask)s
        %(checkpoint)s
        %(offsets)s
        %(blocks)s

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

        Parameters
        ----------
        %(X_or_blocks)s
        %(sample_weight)s
        %(missing_mask)s
        %(checkpoint)s
        %(offsets)s
        %(blocks)s

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        data = self._fit(X, checkpoint, where, {"sample_weight": sample_weight, **offsets})
        if self.tol == 0 and len(self.weights_) == data.counts.shape[0]:
            return self.weights_
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
        """Infer the weights of samples, the topics being as they are.

        Each sample's own problem is solved until an update would move less than a millionth of its
        total; the result does not depend on the other samples.

        Parameters
        ----------
        %(X_or_blocks)s
        %(missing_mask)s
        %(offsets)s
        %(blocks)s

        Returns
        -------
        weights : ndarray of shape (n_samples, n_components)
        """
        data = self._read_new(
            X,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
            memory_limit=memory_limit,
            client=client,
        )
        with use_threads(self.n_jobs):
            return inference.infer_weights(self.fitted_, data.counts, data.offsets)

    def inverse_transform(self, X: Any) -> Array:
        """Multiply weights with the topics: the counts that are expected.

        Proportions (PLSA, LDA) give distributions over the features; multiply them by the totals of
        the samples for expected counts. Multiply by the size factors if the model was fitted with
        them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Weights.

        Returns
        -------
        expected : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        weights = check_array(X, dtype=[np.float64, np.float32], input_name="X")
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
        :math:`\sum_v p_{dv} = 1`, so that all models are measured alike. The weights are inferred
        from the counts that are scored, so more components rarely score lower: compare models of
        one size by it, and choose the number of components with
        :func:`~isotopic.select_components`. A model with another divergence than Kullback-Leibler
        scores minus the mean divergence of an entry.

        Parameters
        ----------
        %(X_or_blocks)s
        %(sample_weight)s
        %(missing_mask)s
        %(offsets)s
        %(blocks)s

        Returns
        -------
        score : float
            Higher is better.
        """
        data = self._read_new(
            X,
            sample_weight=sample_weight,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
            memory_limit=memory_limit,
            client=client,
        )
        with use_threads(self.n_jobs):
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

        Parameters
        ----------
        %(X_or_blocks)s
        %(sample_weight)s
        %(missing_mask)s
        %(offsets)s
        %(blocks)s

        Returns
        -------
        perplexity : float
            Lower is better.
        """
        check_is_fitted(self)
        check_likelihood(self.fitted_, "perplexity")
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        return float(np.exp(-self.score(X, y, sample_weight, **where, **offsets)))

    @available_if(_can_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, missing_mask: Any = None
    ) -> Self:
        """Update the topics with more samples, each of which is seen once.

        The topics absorb an average over all batches so far; :class:`~isotopic.solvers.OnlineEM`
        says how much a new batch changes it (with its settings, if it is the ``solver``). After
        ``fit``, its samples count as earlier batches. ``weights_`` and ``objective_`` are those of
        the last batch. Hyperparameters that a fit would learn keep their starting values.

        Parameters
        ----------
        %(X_or_blocks)s
            Samples that are too many for one batch, and row blocks, are split into several.
        %(sample_weight)s
        %(missing_mask)s

        Returns
        -------
        self
        """
        with _restored_on_failure(self), use_threads(self.n_jobs):
            self._validate_params()
            fitted = getattr(self, "fitted_", None)
            data = self._read(
                X, reset=fitted is None, sample_weight=sample_weight, missing_mask=missing_mask
            )
            settings = self.solver if isinstance(self.solver, OnlineEM) else OnlineEM()
            progress, size = None, getattr(self.solver, "batch_size", None)
            for counts, copies in split_batches(data.counts, data.copies, size):
                batch = self._problem(Data(counts, copies, feature_names=data.feature_names))
                if progress is None and fitted is not None:
                    progress = Progress.of(fitted, batch.problem.X.shape[0])
                seeds = draw_seeds(self.random_state, 1)
                update = learn_batch(batch, progress, settings, seeds, self._first_topics)
                progress = update.progress
            self.fitted_ = update.fitted()
        return self

    # What a fitted model tells.

    def posterior(
        self,
        X: Any,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
    ) -> Responsibilities:
        """Return the probability of each component for each count.

        Parameters
        ----------
        %(X)s
        %(missing_mask)s
        %(offsets)s

        Returns
        -------
        posterior : Responsibilities
            ``posterior[d]``, or each step of a loop over it, has the ``features`` of sample ``d``,
            their ``counts``, and the ``probabilities`` (n_entries x n_components).
        """
        check_is_fitted(self)
        check_likelihood(self.fitted_, "posterior")
        counts, weights = self._infer_new(
            X, missing_mask=missing_mask, size_factors=size_factors, fixed_weights=fixed_weights
        )
        return Responsibilities(counts, weights.effective, self.fitted_.topics.effective)

    def credible_interval(
        self,
        side: str = "weights",
        *,
        level: float = 0.9,
        X: Any = None,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
    ) -> tuple[Array, Array]:
        """Return the posterior's interval for each entry of a Bayesian side.

        Parameters
        ----------
        side : {"weights", "components"}, default="weights"
        level : float, default=0.9
            The probability of the interval; the rest is split equally between both sides of it.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
            The samples whose weights are meant; by default those that were fitted.
        %(missing_mask)s
        %(offsets)s

        Returns
        -------
        lower, upper : ndarray
            Of the shape of the side.

        Notes
        -----
        The variational posterior is narrower than the true one. For proportions (LDA) this grows
        with the number of missing entries. Only a model with a prior on the topics has intervals
        of the topics.
        """
        check_is_fitted(self)
        intervals.check_interval(self.fitted_, side, level)
        weights = None
        if X is not None:
            if side == "components":
                raise ValueError("X is for intervals of weights. Leave it out for the components.")
            offsets = {"size_factors": size_factors, "fixed_weights": fixed_weights}
            weights = self._infer_new(X, missing_mask=missing_mask, **offsets)[1]
        return intervals.credible_interval(self.fitted_, side, level, weights)

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> Any:
        """Draw new samples from the model.

        Their weights come from the prior. Without a prior they are those of fitted samples, drawn
        with replacement. So are totals (of models of proportions), size factors and fixed weights.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        X : sparse array of shape (n_samples, n_features)
            Whole counts.
        """
        check_is_fitted(self)
        return generation.draw_samples(self.fitted_, n_samples, random_state)

    def top_terms(self, n: int = 10, *, feature_names: Any = None) -> Table:
        """Return the strongest features of each topic.

        Parameters
        ----------
        n : int, default=10
            The number of features of each topic.
        %(feature_names)s

        Returns
        -------
        table : Table
            With the columns ``topic``, ``rank``, ``term`` and ``weight``: the feature's share of
            its topic. ``pandas.DataFrame(table)`` takes it as it is.
        """
        check_is_fitted(self)
        return summaries.top_terms(self.fitted_, n, feature_names)

    def topic_info(
        self, X: Any = None, *, n: int = 10, feature_names: Any = None, measure: str = "npmi"
    ) -> Table:
        """Describe the topics, the most prevalent first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
            The counts from which the coherence is computed, since the model does not keep its
            data; without ``X`` there is no coherence.
        n : int, default=10
            The number of terms that stand for a topic.
        %(feature_names)s
        measure : {"npmi", "umass"}, default="npmi"
            Of the coherence.

        Returns
        -------
        table : Table
            With the columns ``topic``, ``prevalence`` (share of all counts), ``coherence`` (with
            ``X``), ``exclusivity``, and ``terms``, the strongest ones.
        """
        check_is_fitted(self)
        return summaries.topic_info(self.fitted_, X, n, feature_names, measure)

    def document_info(self, X: Any = None, *, sample_names: Any = None) -> Table:
        """Describe samples: those that were fitted, or others.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
            Other samples, whose weights are inferred; by default those that were fitted.
        sample_names : array-like of shape (n_samples,) or None, default=None
            By default their numbers.

        Returns
        -------
        table : Table
            With the columns ``sample``, ``total`` (its counts), ``topic`` (the one that explains
            most of it), ``share`` (of that topic), and ``effective_topics``: the exponential of
            the entropy of its proportions, one if a single topic explains it all. A sample without
            counts has the topic -1.
        """
        check_is_fitted(self)
        if X is None:
            return summaries.document_info(self.fitted_, sample_names=sample_names)
        counts = self.read_counts(X)
        with use_threads(self.n_jobs):
            weights = inference.infer(self.fitted_, counts).mean
        return summaries.document_info(self.fitted_, weights, counts.sample_totals, sample_names)

    def distinctive_terms(
        self, X: Any, n: int = 10, *, feature_names: Any = None, level: float = 0.95
    ) -> Table:
        """Return the features that most surely distinguish each topic from all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The counts that were fitted.
        n : int, default=10
            The number of features of each topic.
        %(feature_names)s
        level : float, default=0.95
            Of the confidence interval.

        Returns
        -------
        table : Table
            See :func:`isotopic.evaluate.distinctive_terms`.
        """
        return evaluate.distinctive_terms(self, X, n, feature_names=feature_names, level=level)

    def read_counts(self, X: Any, *, missing_mask: Any = None) -> CountMatrix:
        """Return samples as counts, read and checked as ``transform`` does.

        Parameters
        ----------
        %(X)s
        %(missing_mask)s

        Returns
        -------
        counts : CountMatrix
        """
        check_is_fitted(self)
        _check_in_memory(X)
        with use_threads(self.n_jobs):
            counts: Any = self._read(X, reset=False, missing_mask=missing_mask).counts
        sparse: CountMatrix = counts.as_sparse()
        return sparse

    # Other models, files and reports.

    def reorder(self, order: Any = "prevalence") -> Self:
        """Return the same model with its topics in another order.

        Parameters
        ----------
        order : "prevalence" or array-like of int of shape (n_components,), default="prevalence"
            ``order[i]`` is the topic that becomes topic ``i``, as in
            ``isotopic.match(a, b).order``; or the most prevalent first.

        Returns
        -------
        model : fitted estimator
            A new one. All that belongs to topics moves with them: posteriors, priors, seeds,
            forbidden features, a given ``init``. Fixed topics must stay in front.
        """
        check_is_fitted(self)
        model: Self = reordering.reorder_model(self, order)
        return model

    def merge(self, groups: Any, X: Any, *, missing_mask: Any = None) -> Self:
        r"""Return a model in which groups of topics are merged.

        The counts that they explain are added, and the priors absorb the sum. Proportions, and
        Dirichlet and Gamma posteriors of weights, add up exactly: the prior of a merged topic has
        the sum of the concentrations (shapes) of its parts.

        Parameters
        ----------
        groups : list of lists of int
            The topics to merge, such as ``[[0, 3], [2, 5, 6]]``. A group takes the place of its
            first topic; the others keep their order.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The data that the model was fitted to, for the new objective.
        %(missing_mask)s

        Returns
        -------
        model : fitted estimator
            A new one, as if fitted with ``max_iter=0`` from there: ``n_iter_`` is 0, the history
            empty. ``model.set_params(warm_start=True).fit(X)`` continues from it. An ``init`` that
            is a pair or a model has too many topics and becomes ``"random"``.

        Raises
        ------
        ValueError
            If the merged topic has no prior of the same kind: for fixed topics, for Gamma weights
            with different rates, for topics with different priors.
        """
        check_is_fitted(self)
        model: Self = reordering.merge_model(self, groups, X, missing_mask)
        return model

    def with_fitted(self, fitted: Fitted) -> Self:
        """Return a copy of this estimator that holds another fitted value.

        Parameters
        ----------
        fitted : Fitted

        Returns
        -------
        model : fitted estimator
        """
        model = copy(self)
        model.fitted_, model.n_features_in_ = fitted, fitted.n_features
        if fitted.feature_names is not None:
            model.feature_names_in_ = fitted.feature_names
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model in a file, without pickle.

        :func:`isotopic.load` gives back the same bits: parameters, priors, feature names, history
        and all. ``callbacks`` are code and are left out, with a warning. An existing file is
        replaced once the new one is complete.

        Parameters
        ----------
        path : str or path-like
        """
        check_is_fitted(self)
        persistence.save_model(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any,
        *,
        feature_names: Any = None,
        sample_names: Any = None,
        documents: Any = None,
        title: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write an interactive HTML report, one file that needs no network.

        Parameters
        ----------
        path : str or path-like
            The file to write. An existing one is kept unless ``overwrite`` is true.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The counts to report on: those that were fitted, or others.
        feature_names, sample_names, documents, title, overwrite
            As for :func:`isotopic.report.write_report`.

        Returns
        -------
        path : pathlib.Path
            The file.
        """
        from isotopic.report import write_report  # noqa: PLC0415 - a leaf, loaded when needed

        names = {"feature_names": feature_names, "sample_names": sample_names}
        how = {"documents": documents, "title": title, "overwrite": overwrite}
        return write_report(self, X, path, **names, **how)

    # Views of what the fit found. Without a fit they raise AttributeError, so that hasattr works.

    @property
    def components_(self) -> Array:
        """The topics."""
        return self.fitted_.topics.mean

    @property
    def weights_(self) -> Array:
        """The weights of the fitted samples."""
        return self.fitted_.weights.mean

    @property
    def components_posterior_(self) -> Array | None:
        """The parameters of the topics' posterior."""
        return self.fitted_.topics.parameters

    @property
    def components_posterior_rate_(self) -> Array | None:
        """The rates of the topics' Gamma posterior."""
        return self.fitted_.topics.rates

    @property
    def weights_posterior_(self) -> Array | None:
        """The parameters of the weights' posterior."""
        return self.fitted_.weights.parameters

    @property
    def weights_posterior_rate_(self) -> Array | None:
        """The rates of the weights' Gamma posterior."""
        return self.fitted_.weights.rates

    @property
    def objective_(self) -> float:
        """What was minimised."""
        return self.fitted_.objective

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return self.fitted_.n_iter

    @property
    def converged_(self) -> bool:
        """Whether the fit converged."""
        return self.fitted_.converged

    @property
    def history_(self) -> Array:
        """A row for each iteration."""
        return self.fitted_.history

    @property
    def sample_totals_(self) -> Array:
        """The sum of each fitted sample."""
        return self.fitted_.sample_totals

    @property
    def n_samples_seen_(self) -> float:
        """The number of samples that ``partial_fit`` has seen."""
        if self.fitted_.online is None:
            raise AttributeError("n_samples_seen_ is set by partial_fit only.")
        return self.fitted_.online.n_samples

    # How a fit is made.

    def _fit(
        self, X: Any, checkpoint: Any, where: dict[str, Any], metadata: dict[str, Any]
    ) -> Data:
        with _restored_on_failure(self):
            data: Data
            data, solution = self._solve(X, checkpoint, where, metadata)
        if solution.interrupted:
            raise KeyboardInterrupt
        self._warn_unless_converged(solution)
        return data

    @with_callbacks  # type: ignore[untyped-decorator]
    def _solve(
        self, X: Any, checkpoint: Any, where: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[Data, Solution[State]]:
        self._validate_params()
        with use_threads(self.n_jobs):
            data = self._read(X, reset=True, **where, **metadata)
            fit = self._problem(data)
            writer = None
            if checkpoint is not None:
                is_warm = self.warm_start and hasattr(self, "fitted_")
                start = self.fitted_ if is_warm else read_init(self.init)
                writer = CheckpointWriter(checkpoint, self, fit.problem, start)
            given = {name: value for name, value in metadata.items() if value is not None}
            with watchers(
                self, X, data.counts, given, lambda state: {"fitted_": fit.fitted_at(state)}
            ) as callbacks:
                solution = best_solution(self, fit.problem, data.used_rows, callbacks, writer)
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
        weights, topics = self._checked_priors()
        weights.check_shape((n_samples, self.n_components))
        X, used_prior = data.used(weights)
        topics = constrain_topics(
            topics,
            (self.n_components, n_features),
            X.dtype,
            X.feature_totals,
            fixed_topics=self.fixed_topics,
            seeds=self.seeds,
            forbidden=self.forbidden,
            feature_names=data.feature_names,
        )
        if (
            data.offsets.fixed_weights is not None
            and topics.learned
            and topics.norm not in (None, 1.0)
        ):
            raise ValueError(
                "fixed_weights need topics that sum to one or carry a scale. Topics of another "
                "unit norm would change the scale of the weights."
            )
        return Fit(data, weights, self._pose(used_prior, topics, X))

    def _pose(self, weights: Prior, topics: Prior, X: Any) -> Problem:
        """Return the problem of both priors and the data."""
        return make_problem(weights, topics, X, self.n_components, self._divergence)

    def _checked_priors(self) -> tuple[Prior, Prior]:
        """Return copies of the priors, which later changes of parameters do not touch."""
        priors = self._priors()
        for prior in priors:
            if not isinstance(prior, Prior):
                raise TypeError(f"A prior must be an object such as Dirichlet(0.1), not {prior!r}.")
        weights, topics = deepcopy(priors)
        return weights, topics

    def _first_topics(self, problem: Problem, seeds: Array) -> Posterior:
        """Return the topics that ``partial_fit`` starts from, by default at random.

        A decomposition of the first batch takes longer than it saves.
        """
        if isinstance(self.init, str) and self.init == "auto":
            return random_start(problem, np.random.default_rng(seeds[0]))[1]
        return make_starts(self, problem, None, seeds)[0]()[1]

    def _read(
        self,
        X: Any,
        *,
        reset: bool,
        sample_weight: Any = None,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Data:
        """Read and check samples, and what was given with them."""
        where = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        counts = read_samples(self, X, reset=reset, **where)
        copies, offsets = None, NO_OFFSETS
        if sample_weight is not None:
            copies = read_sample_weight(sample_weight, counts.shape[0])
        if size_factors is not None or fixed_weights is not None:
            prior, n_components = self._priors()[0], self.n_components
            if not reset:
                prior, n_components = self.fitted_.weights_prior, self.fitted_.n_components
            offsets = read_offsets(size_factors, fixed_weights, counts, prior, n_components)
        return Data(counts, copies, offsets, getattr(self, "feature_names_in_", None))

    def _read_new(self, X: Any, **given: Any) -> Data:
        """Read and check samples for a fitted model."""
        check_is_fitted(self)
        with use_threads(self.n_jobs):
            data = self._read(X, reset=False, **given)
        check_offsets(data.offsets, self.fitted_.offsets)
        return data

    def _infer_new(self, X: Any, **given: Any) -> tuple[CountMatrix, Posterior]:
        """Read samples that must be in memory, and infer their weights."""
        _check_in_memory(X)
        data = self._read_new(X, **given)
        counts: Any = data.counts
        with use_threads(self.n_jobs):
            return counts, inference.infer(self.fitted_, counts, data.offsets)

    def _warn_unless_converged(self, solution: Solution[State]) -> None:
        name = type(self).__name__
        if not np.isfinite(solution.state.objective):
            warnings.warn(
                f"{name} ended with an objective of {solution.state.objective}: some counts cannot "
                "be explained at all. Was the start zero where X is not, or is X too large or too "
                "small for its precision? Try another init, or float64.",
                ConvergenceWarning,
                stacklevel=4,
            )
        is_exact = self.tol == self.min_gain == 0 or self.max_iter == 0  # so many were asked for
        if solution.converged or is_exact or len(solution.history) < self.max_iter:
            return
        warnings.warn(
            f"{name} stopped at max_iter={self.max_iter} before converging: an update would still "
            f"move {solution.state.residual:.1e} of the counts, more than tol={self.tol:.1e}. "
            "Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )

    # What scikit-learn and the file format ask for.

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

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, and below it the topics of a fitted model."""
        diagram: str = super()._repr_html_inner()
        is_fitted = hasattr(self, "fitted_")
        return diagram + summaries.topics_as_html(self.fitted_) if is_fitted else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the same for notebooks that ask for all forms at once."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "fitted_"):
            bundle["text/html"] += summaries.topics_as_html(self.fitted_)
        return bundle

    def __archive__(self) -> dict[str, Any]:
        return persistence.to_archive(self)

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        model: Self = persistence.from_archive(cls, content)
        return model


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


def _check_in_memory(X: Any) -> None:
    if is_blocks(X):
        raise TypeError(
            f"X is a {type(X).__name__}, which is read in row blocks. Only fit, partial_fit, "
            "transform, score and perplexity take row blocks."
        )

"""Attributes and methods of estimators that need only ``fitted_``.

Each method calls a function of :mod:`isotopic.fitted` or of a module that is named after what it
does. Their parameters are described in :mod:`isotopic.estimators.documentation`.
"""

import os
import warnings
from copy import copy
from dataclasses import fields
from operator import attrgetter
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from isotopic import archive, evaluate
from isotopic.arrays import Array
from isotopic.blocks import is_blocks
from isotopic.containers import sample_names_of
from isotopic.counts import CountMatrix
from isotopic.estimators import persistence
from isotopic.estimators.data import read_data, read_new
from isotopic.estimators.documentation import documented
from isotopic.estimators.pages import Pages
from isotopic.estimators.parameters import plain_parameter
from isotopic.estimators.topic_editing import TopicEditing
from isotopic.fitted import Fitted, fitted_of, generation, inference, intervals, summaries
from isotopic.fitted.offsets import read_new_covariates
from isotopic.fitted.value import check_likelihood
from isotopic.priors import Posterior
from isotopic.random import Seed
from isotopic.registry import registered_types
from isotopic.responsibilities import Responsibilities
from isotopic.table import Table
from isotopic.threads import use_threads


def _view(path: str) -> Any:
    """Return a property that reads ``path``, without the docstring of ``attrgetter``."""
    return property(attrgetter(path), doc="")


@documented
class FittedModel(TopicEditing, Pages):
    """Base class of the estimators: attributes and methods that need only ``fitted_``."""

    n_jobs: int | None
    fitted_: Fitted

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        documented(cls)

    # Without a fit these raise AttributeError, so that hasattr works. The class docstring of every
    # estimator describes them.
    components_: Any = _view("fitted_.topics.mean")
    components_posterior_: Any = _view("fitted_.topics.parameters")
    components_posterior_rate_: Any = _view("fitted_.topics.rates")
    weights_: Any = _view("fitted_.weights.mean")
    weights_posterior_: Any = _view("fitted_.weights.parameters")
    weights_posterior_rate_: Any = _view("fitted_.weights.rates")
    objective_: Any = _view("fitted_.objective")
    n_iter_: Any = _view("fitted_.n_iter")
    converged_: Any = _view("fitted_.converged")
    history_: Any = _view("fitted_.history")
    sample_totals_: Any = _view("fitted_.sample_totals")
    n_features_in_: Any = _view("fitted_.n_features")
    topic_names_: Any = _view("fitted_.topic_names")

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if the data had them."""
        if self.fitted_.feature_names is None:
            raise AttributeError("feature_names_in_ is set only by data that names its features.")
        return self.fitted_.feature_names

    @property
    def n_samples_seen_(self) -> float:
        """The number of samples that ``partial_fit`` has seen."""
        if self.fitted_.online is None:
            raise AttributeError("n_samples_seen_ is set by partial_fit only.")
        return self.fitted_.online.n_samples

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> Any:
        """Draw new samples from the model.

        Their weights come from the prior. Without a prior they are those of fitted samples, drawn
        with replacement. So are totals (of models of proportions), size factors and fixed weights.

        %(arguments)s

        Returns
        -------
        X : sparse array of shape (n_samples, n_features)
            Whole counts.
        """
        return generation.draw_samples(fitted_of(self), n_samples, random_state)

    def top_terms(self, n: int = 10, *, feature_names: Any = None) -> Table:
        """Return the strongest features of each topic.

        %(arguments)s

        Returns
        -------
        table : Table
            With the columns ``topic``, ``rank``, ``term`` and ``weight``: the feature's share of
            its topic. ``pandas.DataFrame(table)`` takes it as it is.
        """
        return summaries.top_terms(fitted_of(self), n, feature_names)

    def topic_info(
        self, X: Any = None, *, n: int = 10, feature_names: Any = None, measure: str = "npmi"
    ) -> Table:
        """Describe the topics, the most prevalent first.

        %(arguments)s

        Returns
        -------
        table : Table
            With the columns ``topic``, ``prevalence`` (share of all counts), ``coherence`` (with
            ``X``), ``exclusivity``, and ``terms``, the strongest ones.
        """
        return summaries.topic_info(fitted_of(self), X, n, feature_names, measure)

    def document_info(
        self, X: Any = None, *, sample_names: Any = None, covariates: Any = None
    ) -> Table:
        """Describe samples: those that were fitted, or others.

        %(arguments)s

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
        counts = self.validate_counts(X)
        offsets = read_new_covariates(self.fitted_.offsets, covariates, X, counts.shape[0])
        with use_threads(self.n_jobs):
            weights = inference.infer(self.fitted_, counts, offsets).mean
        names = sample_names_of(X) if sample_names is None else sample_names
        return summaries.document_info(self.fitted_, weights, counts.sample_totals, names)

    def distinctive_terms(
        self,
        X: Any,
        n: int = 10,
        *,
        versus: str | int = "nearest",
        feature_names: Any = None,
        level: float = 0.95,
    ) -> Table:
        """Return the features that most surely distinguish each topic from others.

        %(arguments)s

        Returns
        -------
        table : Table
            See :func:`isotopic.evaluate.distinctive_terms`.
        """
        return evaluate.distinctive_terms(
            self, X, n, versus=versus, feature_names=feature_names, level=level
        )

    def posterior(
        self,
        X: Any,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        covariates: Any = None,
    ) -> Responsibilities:
        """Return the probability of each component for each count.

        %(arguments)s

        Returns
        -------
        posterior : Responsibilities
            ``posterior[d]``, or each step of a loop over it, has the ``features`` of sample ``d``,
            their ``counts``, and the ``probabilities`` (n_entries x n_components).
        """
        check_is_fitted(self)
        check_likelihood(self.fitted_, "posterior")
        counts, weights = self._infer_new(
            X,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
            covariates=covariates,
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
        covariates: Any = None,
    ) -> tuple[Array, Array]:
        """Return the posterior's interval for each entry of a Bayesian side.

        %(arguments)s

        Returns
        -------
        lower, upper : ndarray
            Of the shape of the side.

        Notes
        -----
        The variational posterior is narrower than the true one: on simulated data its 90 %
        intervals covered 57 % to 77 % (``docs/uncertainty.md``). Use :func:`~isotopic.bootstrap`
        where coverage matters. For proportions (LDA) this grows with the number of missing
        entries. Only a model with a prior on the topics has intervals of the topics.
        """
        check_is_fitted(self)
        intervals.check_interval(self.fitted_, side, level)
        weights = None
        if X is not None:
            if side == "components":
                raise ValueError(
                    "X applies only to intervals of weights. Leave it out for the components."
                )
            weights = self._infer_new(
                X,
                missing_mask=missing_mask,
                size_factors=size_factors,
                fixed_weights=fixed_weights,
                covariates=covariates,
            )[1]
        return intervals.credible_interval(self.fitted_, side, level, weights)

    def validate_counts(self, X: Any, *, missing_mask: Any = None) -> CountMatrix:
        """Return samples as validated counts, with the features of the model.

        %(arguments)s

        Returns
        -------
        counts : CountMatrix
        """
        check_is_fitted(self)
        _check_in_memory(X)
        with use_threads(self.n_jobs):
            counts: Any = read_data(self, X, known=self.fitted_, missing_mask=missing_mask).counts
        sparse: CountMatrix = counts.as_sparse()
        return sparse

    def _infer_new(self, X: Any, **given: Any) -> tuple[CountMatrix, Posterior]:
        """Read samples that must be in memory, and infer their weights."""
        _check_in_memory(X)
        with use_threads(self.n_jobs):
            data = read_new(self, X, **given)
            counts: Any = data.counts
            return counts, inference.infer(self.fitted_, counts, data.offsets)

    def with_fitted(self, fitted: Fitted) -> Self:
        """Return a copy of this estimator that holds another fitted value.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
        """
        model: Any = copy(self)
        model.fitted_ = fitted
        result: Self = model
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model in a file, without pickle.

        :func:`isotopic.load` gives back the same bits: parameters, priors, feature names, history
        and all. ``callbacks`` are code and are left out, with a warning. An existing file is
        replaced once the new one is complete.

        %(arguments)s
        """
        fitted_of(self)
        archive.write(path, "model", self, registered_types())

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, and below it the topics of a fitted model."""
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        is_fitted = hasattr(self, "fitted_")
        return diagram + summaries.topics_as_html(self.fitted_) if is_fitted else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the HTML and text representations for notebooks."""
        bundle: dict[str, str] = super()._repr_mimebundle_(  # type: ignore[misc]
            **kwargs
        )
        if "text/html" in bundle and hasattr(self, "fitted_"):
            bundle["text/html"] += summaries.topics_as_html(self.fitted_)
        return bundle

    def __archive__(self) -> dict[str, Any]:
        model: Any = self
        parameters = model.get_params(deep=False)
        if parameters["callbacks"] is not None:
            warnings.warn(
                "callbacks are code and are not saved. The loaded model has none.",
                UserWarning,
                stacklevel=7,
            )
            parameters["callbacks"] = None
        fitted = getattr(self, "fitted_", None)
        names = getattr(fitted, "feature_names", None)
        plain = {name: plain_parameter(name, v, names) for name, v in parameters.items()}
        return {"parameters": plain, "fitted": fitted}

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        parameters, fitted = content["parameters"], content["fitted"]
        unknown = set(parameters) - {item.name for item in fields(cls)}  # type: ignore[arg-type]
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"{cls.__name__} has no parameter {names}.")
        if isinstance(fitted, dict):
            fitted = persistence.fitted_of_version_1(fitted)
        if not isinstance(fitted, (Fitted, type(None))):
            raise ValueError(
                f'The file\'s entry "fitted" must be a Fitted, not a {type(fitted).__name__}.'
            )
        model = cls(**parameters)
        return model if fitted is None else model.with_fitted(fitted)


def _check_in_memory(X: Any) -> None:
    if is_blocks(X):
        raise TypeError(
            f"X is a {type(X).__name__}, which is read in row blocks. Only fit, partial_fit, "
            "transform, score and perplexity take row blocks."
        )

"""Exact maps between fitted models.

One rule makes all of them: the target's priors absorb the counts that the model explains. What is
exact about it are the paper's lemmas:

- free NMF and normalised NMF have the same products (Lemma 4.1);
- normalised NMF and PLSA differ by the samples' totals (Lemma 4.2, and iterate by iterate);
- the Lasso with normalised topics scales the weights by ``1 / (1 + strength)`` (Lemma 6.1);
- Gamma-Poisson with a common rate and LDA have the same posteriors (Gamma-Poisson appendix).
"""

from typing import Any, TypeVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from isotopic.estimators.attributes import kept_sides
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.constraints import informed
from isotopic.init import explained_counts
from isotopic.priors import Posterior, SampleWeighted
from isotopic.problem import Pair

Model = TypeVar("Model", bound=BaseTopicModel)


@overload
def convert(model: BaseTopicModel, to: type[Model]) -> Model: ...
@overload
def convert(model: BaseTopicModel, to: Model) -> Model: ...
def convert(model: BaseTopicModel, to: Any) -> Any:
    """Turn a fitted model into another one that is exactly equivalent to it.

    Parameters
    ----------
    model : fitted estimator
    to : estimator class or unfitted estimator
        What it shall become, e.g. ``PLSA`` or ``GammaPoisson(rate=0.1)``. A class takes over the
        settings of any fit (tolerance, threads, ...) and the concentration of Bayesian weights.

    Returns
    -------
    converted : fitted estimator
        With the topics, the weights rescaled, and the objective that it has on the same data.

    Raises
    ------
    ValueError
        If the two are not exactly equivalent. The error names the warm start that is possible
        instead.

    Examples
    --------
    >>> from isotopic import NMF, PLSA, convert, datasets
    >>> X = datasets.load_kjv().data
    >>> plsa = convert(NMF(5, max_iter=20, tol=0, random_state=0).fit(X), to=PLSA)
    >>> bool(abs(plsa.weights_.sum(axis=1) - 1).max() < 1e-12)
    True
    """
    check_is_fitted(model)
    target: Any = _with_settings_of(model, to) if isinstance(to, type) else clone(to)
    if not isinstance(target, BaseTopicModel):
        raise TypeError(f"to must be a model of this package or its class, not {to!r}")
    source, pair = Pair(*model._fitted_priors), _informed_pair(target, model)
    reason = _why_not_exact(source, pair)
    if not (model._divergence.is_likelihood and target._divergence.is_likelihood):
        reason = "the relations are those of the Kullback-Leibler divergence, beta=1"
    if model._has_missing:
        reason = "the counts that fill its missing entries are not those of the other model"
    if model._size_factors is not None or model._n_fixed_weights:
        reason = "its size_factors or fixed_weights are not the other model's"
    if reason:
        name = type(target).__name__
        raise ValueError(
            f"{type(model).__name__} to {name} is not an exact relation: {reason}. "
            f"For a warm start use {name}(..., init=model).fit(X)"
        )
    weight_counts, topic_counts = explained_counts(model)
    totals = pair.topics.initial_totals(topic_counts)
    weights = pair.weights.absorb(weight_counts.copy("C"), totals)  # takes over what it absorbs
    if model._copies is not None:
        repeated = SampleWeighted(pair.weights, model._copies)
        pair, weights = Pair(repeated, pair.topics), repeated.repeated(weights)
    topics = pair.topics.absorb(topic_counts.copy("F"), pair.weights_totals(weights))
    log_likelihood = model._log_likelihood + _likelihood_gain(model, weights, topics)
    objective = pair.objective(weights, topics, log_likelihood, model._saturated_divergence)
    target.__dict__.update(kept_sides(Pair(target._priors()[0], pair.topics), weights, topics))
    target.n_components = len(model.components_)
    target.objective_, target._log_likelihood = objective, log_likelihood
    target.history_ = model.history_.copy()
    target.history_["objective"] += objective - model.objective_
    for name in _SAME_FOR_BOTH:
        if hasattr(model, name):
            setattr(target, name, getattr(model, name))
    return target


_SAME_FOR_BOTH = (
    "n_iter_",
    "converged_",
    "sample_totals_",
    "n_features_in_",
    "feature_names_in_",
    "_saturated_divergence",
    "_feature_totals",
    "_copies",
    "_has_missing",
)


def _informed_pair(target: BaseTopicModel, model: BaseTopicModel) -> Pair:
    """Give the priors that the target would have, fitted to the model's data."""
    weights, topics = target._priors()
    weights.check_shape(model.weights_.shape)
    topics = informed(
        topics,
        model.components_.shape,
        model.components_.dtype,
        model._feature_totals,
        fixed_topics=target.fixed_topics,
        seeds=target.seeds,
        forbidden=target.forbidden,
        feature_names=getattr(model, "feature_names_in_", None),
    )
    return Pair(weights, topics)


def _likelihood_gain(model: BaseTopicModel, weights: Posterior, topics: Posterior) -> float:
    """Compare the likelihoods: they differ by how the rows of the effective product are scaled."""
    before = model._effective_weights @ model._effective_components.sum(axis=1)
    after = weights.effective @ topics.effective.sum(axis=1)
    totals = model.sample_totals_ * (1.0 if model._copies is None else model._copies)
    some = totals > 0
    return float((totals[some] * np.log(after[some] / before[some])).sum())


# What does not make a model another one.
_SETTINGS_OF_ANY_FIT = (
    "n_components",
    "max_iter",
    "tol",
    "n_init",
    "warm_start",
    "fixed_topics",
    "seeds",
    "forbidden",
    "missing",
    "n_jobs",
    "random_state",
    "callbacks",
    "verbose",
)

# The parameter by which a class takes the concentration of its Bayesian weights.
_CONCENTRATION = {"LDA": "alpha", "GammaPoisson": "shape"}

# What a class has to be asked for to be the paper's model.
_OF_THE_PAPER: dict[str, dict[str, Any]] = {"LDA": {"estimate": "variational", "eta": None}}


def _with_settings_of(model: BaseTopicModel, cls: type[Model]) -> Model:
    """Make an unfitted estimator of the class with what both have in common."""
    settings = {name: getattr(model, name) for name in _SETTINGS_OF_ANY_FIT}
    prior: Any = model._fitted_priors[0]
    name = _CONCENTRATION.get(cls.__name__)
    if prior.is_bayesian and name is not None:
        settings[name] = prior.prior_counts
    return cls(**settings, **_OF_THE_PAPER.get(cls.__name__, {}))


def _why_not_exact(source: Pair, target: Pair) -> str:
    """Say why two pairs of priors are not equivalent; nothing if they are."""
    both_factors = source.topics.linear_penalty == target.topics.linear_penalty == 0
    if not (both_factors or source.topics == target.topics):
        return "their topics have different priors"
    pairs: tuple[Any, ...] = (source, target)
    if not all(p.topics.is_normalized or _has_free_weights(p) for p in pairs):
        return "only free weights are equivalent when the topics carry a scale"
    if not all(p.weights.linear_penalty is not None or p.weights.is_bayesian for p in pairs):
        return "a concave penalty, or another prior, changes more than the scale of the weights"
    if source.weights.is_bayesian != target.weights.is_bayesian:
        return "one has a prior on the weights, the other has none"
    weights: Any = source.weights
    if weights.is_bayesian and weights != target.weights:
        reason: str = weights.why_posterior_differs(target.weights)
        return reason
    return ""


def _has_free_weights(pair: Pair) -> bool:
    return pair.weights.linear_penalty == 0 and not pair.weights.is_normalized

"""Turn a fitted model into another one that is exactly equivalent.

One rule makes all conversions: the target's priors absorb the counts that the model explains. The
paper's lemmas say when this is exact:

- free NMF and normalised NMF have the same products, under any divergence (Lemma 4.1);
- normalised NMF and PLSA differ by the samples' totals (Lemma 4.2, and iterate by iterate);
- the Lasso with normalised topics scales the weights by ``1 / (1 + strength)`` (Lemma 6.1);
- Gamma-Poisson with a common rate and LDA have the same posteriors (Gamma-Poisson appendix).
"""

from dataclasses import fields, replace
from typing import Any, TypeVar, overload

import numpy as np
from sklearn.base import clone

from isotopic.divergences import Divergence
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.constraints import constrain_topics
from isotopic.fitted import Fitted, fitted_of
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.fitting import topics_for_new_samples
from isotopic.fitted.value import without_terms
from isotopic.priors import Posterior, SampleWeighted
from isotopic.problem import Pair

Model = TypeVar("Model", bound=BaseTopicModel)

# The parameters that any two models have in common. Solver and start belong to one model.
_COMMON = {item.name for item in fields(BaseTopicModel)} - {"solver", "init"}

# The parameter that is the concentration (or shape) of Bayesian weights.
_CONCENTRATION = {"LDA": "alpha", "GammaPoisson": "shape"}

# The parameters that make a class the paper's model.
_PAPER: dict[str, dict[str, Any]] = {"LDA": {"estimate": "variational", "eta": None}}


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
        The target, e.g. ``PLSA`` or ``GammaPoisson(rate=0.1)``. A class takes over the parameters
        that all models have (tolerance, threads, ...) and the concentration of Bayesian weights.

    Returns
    -------
    converted : fitted estimator
        With the same topics, rescaled weights, and its objective on the same data.

    Raises
    ------
    ValueError
        If the two are not exactly equivalent. The error says how to use the model as a warm start
        instead.

    Examples
    --------
    >>> from isotopic import NMF, PLSA, convert, datasets
    >>> X = datasets.load_kjv().data
    >>> plsa = convert(NMF(5, max_iter=20, tol=0, random_state=0).fit(X), to=PLSA)
    >>> bool(abs(plsa.weights_.sum(axis=1) - 1).max() < 1e-12)
    True
    """
    fitted = fitted_of(model)
    target: Any = _with_parameters_of(model, to) if isinstance(to, type) else clone(to)
    if not isinstance(target, BaseTopicModel):
        raise TypeError(f"to must be a model of this package or its class, not {to!r}.")
    weights, topics = target._priors()
    weights.check_shape(fitted.weights.mean.shape)
    shape, dtype = fitted.topics.mean.shape, fitted.topics.mean.dtype
    names = fitted.feature_names
    topics = constrain_topics(target, topics, shape, dtype, fitted.feature_totals, names)
    pair = Pair(weights, topics)
    reason = _why_not_exact(fitted, pair, target._divergence)
    if reason:
        name = type(target).__name__
        raise ValueError(
            f"Cannot convert {type(model).__name__} to {name} exactly: {reason}. "
            f"For a warm start use {name}(..., init=model).fit(X)."
        )
    target.n_components = fitted.n_components
    return target.with_fitted(_convert_fitted(fitted, pair))


def _with_parameters_of(model: BaseTopicModel, cls: type[Model]) -> Model:
    """Return an unfitted estimator of a class with the parameters that both have in common."""
    parameters = {name: getattr(model, name) for name in _COMMON}
    prior: Any = model.fitted_.weights_prior
    name = _CONCENTRATION.get(cls.__name__)
    if prior.is_bayesian and name is not None:
        parameters[name] = prior.prior_counts
    return cls(**parameters, **_PAPER.get(cls.__name__, {}))


def _convert_fitted(fitted: Fitted, target: Pair) -> Fitted:
    """Return the model with other priors, its weights rescaled, and its objective on the data."""
    if fitted.pair == target:
        return fitted
    by_sample, by_topic = explained_counts(fitted)
    totals = target.topics.initial_totals(by_topic)
    weights = target.weights.absorb(by_sample.copy("C"), totals)  # it keeps what it absorbs
    pair = target
    if fitted.copies is not None:
        weighted = SampleWeighted(target.weights, fitted.copies)
        pair, weights = Pair(weighted, target.topics), weighted.repeated(weights)
    topics = target.topics.absorb(by_topic.copy("F"), pair.weights_totals(weights))
    log_likelihood, objective = fitted.log_likelihood, fitted.objective
    if fitted.divergence.is_likelihood:  # under others the product is the same, and all that counts
        log_likelihood += _likelihood_gain(fitted, weights, topics)
        objective = pair.objective(weights, topics, log_likelihood, fitted.saturated_divergence)
    history = fitted.history.copy()
    history["objective"] += objective - fitted.objective
    return replace(
        fitted,
        weights_prior=target.weights,
        topics_prior=target.topics,
        weights=without_terms(weights),
        topics=topics_for_new_samples(target.topics, topics),
        objective=objective,
        log_likelihood=log_likelihood,
        history=history,
        online=None,
    )


def _likelihood_gain(fitted: Fitted, weights: Posterior, topics: Posterior) -> float:
    """Return the gain in log-likelihood: the rows of the effective product are scaled."""
    before = fitted.weights.effective @ fitted.topics.effective.sum(axis=1)
    after = weights.effective @ topics.effective.sum(axis=1)
    totals = fitted.sample_totals * fitted.sample_weight
    some = totals > 0
    return float((totals[some] * np.log(after[some] / before[some])).sum())


def _why_not_exact(fitted: Fitted, target: Pair, divergence: Divergence) -> str:
    """Return the reason why another model is not equivalent; empty if it is."""
    if fitted.divergence != divergence.continuing(fitted.divergence):
        return f"it minimises {fitted.divergence!r}, the other one {divergence!r}"
    if not fitted.offsets.is_empty:
        return "the model has size_factors or fixed_weights, the other one has none"
    if fitted.has_missing:
        return "entries were missing, and the other model would fill them in differently"
    if fitted.pair == target:
        return ""
    return _why_priors_differ(fitted.pair, target, divergence)


def _why_priors_differ(source: Pair, target: Pair, divergence: Divergence) -> str:
    have_free_topics = source.topics.linear_penalty == target.topics.linear_penalty == 0
    if not (have_free_topics or source.topics == target.topics):
        return "their topics have different priors"
    pairs: tuple[Any, ...] = (source, target)
    bound = [p for p in pairs if p.weights.linear_penalty != 0 or p.weights.is_normalized]
    if not all(pair.topics.is_normalized for pair in bound):
        return "without normalised topics, only models with free weights are equivalent"
    if bound and not divergence.is_likelihood:
        return "under this divergence, only models with free weights are equivalent"
    if not all(p.weights.linear_penalty is not None or p.weights.is_bayesian for p in pairs):
        return "a concave penalty, or another prior, changes more than the scale of the weights"
    if source.weights.is_bayesian != target.weights.is_bayesian:
        return "one has a prior on the weights, the other has none"
    weights: Any = source.weights
    is_other_posterior = weights.is_bayesian and weights != target.weights
    return str(weights.why_posterior_differs(target.weights)) if is_other_posterior else ""

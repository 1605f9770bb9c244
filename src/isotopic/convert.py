"""Turn a fitted estimator into an exactly equivalent one of another class."""

from dataclasses import fields
from typing import Any, TypeVar, overload

from sklearn.base import clone

from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.constraints import constrain_topics
from isotopic.fitted import fitted_of
from isotopic.fitted.conversion import convert_fitted, why_not_exact
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
    reason = why_not_exact(fitted, pair)
    if not (fitted.divergence.is_likelihood and target._divergence.is_likelihood):
        reason = "only models with the Kullback-Leibler divergence (beta=1) are related"
    if reason:
        name = type(target).__name__
        raise ValueError(
            f"Cannot convert {type(model).__name__} to {name} exactly: {reason}. "
            f"For a warm start use {name}(..., init=model).fit(X)."
        )
    target.n_components = fitted.n_components
    return target.with_fitted(convert_fitted(fitted, pair))


def _with_parameters_of(model: BaseTopicModel, cls: type[Model]) -> Model:
    """Return an unfitted estimator of a class with the parameters that both have in common."""
    parameters = {name: getattr(model, name) for name in _COMMON}
    prior: Any = model.fitted_.weights_prior
    name = _CONCENTRATION.get(cls.__name__)
    if prior.is_bayesian and name is not None:
        parameters[name] = prior.prior_counts
    return cls(**parameters, **_PAPER.get(cls.__name__, {}))

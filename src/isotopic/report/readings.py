"""One fit, read as each of the named models: the paper's conversions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from isotopic.convert import convert
from isotopic.estimators import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Dirichlet, DirichletMode, Free, Gamma, Prior, Simplex
from isotopic.report.samples import shortened


class Rule(NamedTuple):
    """What a prior makes of the counts that the topics explain of a sample.

    ``(counts + add) / divide``, then normalised or not.
    """

    add: Any
    divide: Any
    normalize: bool


# The priors of the paper's models, for a source that has no concentration to hand over.
_PAPER: dict[type[BaseTopicModel], Callable[[Any], Prior]] = {
    NMF: lambda concentration: Free(),
    PLSA: lambda concentration: Simplex(),
    LDA: Dirichlet,
    GammaPoisson: Gamma,
}

_MEANING: dict[type[BaseTopicModel], tuple[str, str, str]] = {
    NMF: (
        "NMF",
        "counts",
        "Weights are amounts: how many of the sample's counts each topic explains, next to topics "
        "that sum to one.",
    ),
    PLSA: (
        "PLSA",
        "proportion",
        "Weights are proportions: the NMF weights divided by the sample's total.",
    ),
    LDA: (
        "LDA",
        "proportion",
        "Weights are posterior means of proportions: the Dirichlet prior adds its concentration "
        "to each topic's counts before they are normalised.",
    ),
    GammaPoisson: (
        "Gamma-Poisson",
        "rate",
        "Weights are posterior means of rates: the Gamma prior adds its shape to each topic's "
        "counts and divides by one plus its rate.",
    ),
}


def readings(model: BaseTopicModel) -> list[dict[str, Any]]:
    """Say for each named model what its weights would be, and whether that is exact.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    readings : list of dict
        With the rule by which the weights come from the explained counts (``add``, ``divide``,
        ``normalize``), whether the weights are a posterior's means, and ``why_not``: empty if
        :func:`isotopic.convert` knows the relation to be exact.
    """
    return [_reading(model, cls) for cls in _MEANING]


def _reading(model: BaseTopicModel, cls: type[BaseTopicModel]) -> dict[str, Any]:
    name, unit, meaning = _MEANING[cls]
    n_topics = len(model.components_)
    prior, why_not = _prior_of(model, cls)
    rule = _rule(prior)
    if any(np.ndim(values) == 2 and len(values) > 1 for values in (rule.add, rule.divide)):
        why_not = "the prior differs from sample to sample, and this page knows its mean only"
    if isinstance(prior, DirichletMode):
        why_not = "the weights are the mode of their posterior, and this page shows its mean"
    return {
        "name": name,
        "unit": unit,
        "meaning": meaning,
        "setting": _setting(prior),
        "own": type(model) is cls and not why_not,
        "why_not": why_not,
        "bayesian": prior.is_bayesian,
        "add": _for_each(rule.add, n_topics),
        "divide": _for_each(rule.divide, n_topics),
        "normalize": rule.normalize,
    }


def _rule(prior: Any) -> Rule:
    """Return the rule by which the prior makes weights of the counts that topics explain."""
    if prior.is_bayesian:
        return Rule(prior.prior_counts, 1.0 + np.asarray(prior.prior_rate), prior.is_normalized)
    return Rule(0.0, 1.0 + prior.linear_penalty, prior.is_normalized)


def _prior_of(model: BaseTopicModel, cls: type[BaseTopicModel]) -> tuple[Prior, str]:
    """Give the prior of the weights of that reading, and why it is not exact, if it is not."""
    own: Any = model.fitted_.weights_prior
    try:
        return (own if type(model) is cls else convert(model, to=cls).fitted_.weights_prior), ""
    except ValueError as error:
        concentration = own.prior_counts if own.is_bayesian else 1 / len(model.components_)
        return _PAPER[cls](concentration), _reason(error)


def _reason(error: ValueError) -> str:
    """Take the reason out of what ``convert`` says: after the relation, before the advice."""
    return str(error).partition(": ")[2].partition(". For a warm start")[0]


def _setting(prior: Prior) -> str:
    return shortened(repr(prior), 80) if prior.is_bayesian else ""


def _for_each(values: Any, n: int) -> list[float]:
    """Give one value for each topic; the mean over samples if they differ (which is not exact)."""
    values = np.asarray(values, dtype=float)
    by_topic = values.mean(axis=0) if values.ndim == 2 else values
    return [float(value) for value in np.broadcast_to(by_topic, n)]

"""One fit, read as NMF, PLSA, LDA and Gamma-Poisson: the paper's conversions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from isotopic.convert import convert
from isotopic.estimators import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Dirichlet, DirichletMode, Free, Gamma, Prior, Simplex

# For each model its name, the unit and the meaning of its weights, and its prior in the paper, for
# fits that ``convert`` cannot map to it.
_READINGS: dict[type[BaseTopicModel], tuple[str, str, str, Callable[[Any], Prior]]] = {
    NMF: (
        "NMF",
        "counts",
        "Weights are amounts: how many of the sample's counts each topic explains. The entries "
        "of each topic sum to one.",
        lambda concentration: Free(),
    ),
    PLSA: (
        "PLSA",
        "proportion",
        "Weights are proportions: the NMF weights divided by the sample's total.",
        lambda concentration: Simplex(),
    ),
    LDA: (
        "LDA",
        "proportion",
        "Weights are posterior means of proportions: the Dirichlet prior adds its concentration "
        "to each topic's counts, and the sums are normalised.",
        Dirichlet,
    ),
    GammaPoisson: (
        "Gamma-Poisson",
        "rate",
        "Weights are posterior means of rates: the Gamma prior adds its shape to each topic's "
        "counts and divides by one plus its rate.",
        Gamma,
    ),
}


def describe_readings(model: BaseTopicModel) -> list[dict[str, Any]]:
    """Return for each named model what its weights would be, and whether that is exact.

    The weights are ``(explained counts + add) / divide``, normalised if ``normalize``, and
    posterior means if ``bayesian``. ``why_not`` is empty if the relation is exact according to
    :func:`isotopic.convert`, and for the model's own weights; ``note`` says how the page shows
    these if not exactly as they were fitted.
    """
    n_topics = len(model.components_)
    own: Any = model.fitted_.weights_prior
    readings = []
    for cls, (name, unit, meaning, make_prior) in _READINGS.items():
        prior, why_not, is_own = own, "", type(model) is cls
        if not is_own:
            try:
                prior = convert(model, to=cls).fitted_.weights_prior
            except ValueError as error:
                prior = make_prior(own.prior_counts if own.is_bayesian else 1 / n_topics)
                # The reason in the message is between the relation and the advice.
                why_not = str(error).partition(": ")[2].partition(". For a warm start")[0]
        if prior.is_bayesian:
            add, divide = prior.prior_counts, 1.0 + np.asarray(prior.prior_rate)
        else:
            add, divide = 0.0, 1.0 + prior.linear_penalty
        add, divide = np.atleast_2d(add), np.atleast_2d(divide)
        note = ""
        if max(len(add), len(divide)) > 1:
            note = "the prior differs between samples, and the report uses its mean"
        if isinstance(prior, DirichletMode):
            note = "the weights are posterior modes, and the report shows posterior means"
        if not is_own and note:
            why_not, note = note, ""
        readings.append(
            {
                "name": name,
                "unit": unit,
                "meaning": meaning,
                "setting": _describe_parameters(prior),
                "own": is_own,
                "why_not": why_not,
                "note": note,
                "bayesian": prior.is_bayesian,
                "add": np.broadcast_to(add.mean(axis=0), n_topics).tolist(),
                "divide": np.broadcast_to(divide.mean(axis=0), n_topics).tolist(),
                "normalize": prior.is_normalized,
            }
        )
    return readings


def _describe_parameters(prior: Prior) -> str:
    """Return the parameters of the prior, such as ``rate = 0.5``; a range if topics differ."""
    parts = []
    for symbol, name in (("\u03b1", "concentration"), ("shape", "shape"), ("rate", "rate")):
        values = getattr(prior, name, None)
        if values is not None:
            low, high = np.min(values), np.max(values)
            parts.append(
                f"{symbol} = {low:.3g}" if low == high else f"{symbol} from {low:.3g} to {high:.3g}"
            )
    return ", ".join(parts)

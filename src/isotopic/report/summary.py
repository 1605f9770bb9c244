"""What the report says about the data, the model, the convergence of the fit, and how to cite."""

import re
from importlib.metadata import version
from typing import Any

import numpy as np

from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.report.samples import shorten

# As in ``CITATION.cff``.
PAPER = """\
@misc{geiger-park-nmf-lda,
  title  = {On the Connection Between Non-negative Matrix Factorization and
            Latent Dirichlet Allocation},
  author = {Geiger, Benedikt and Park, Peter J.}
}"""
LIBRARY = f"""\
@software{{isotopic,
  title   = {{isotopic: decompose count data into parts}},
  author  = {{{{The isotopic developers}}}},
  version = {{{version("isotopic")}}}
}}"""

_QUANTILES = {"smallest": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}


def describe_data(X: CountMatrix) -> dict[str, Any]:
    """Return a summary of the counts."""
    totals = X.sample_totals
    quantiles = np.quantile(totals, list(_QUANTILES.values())).tolist()
    return {
        "samples": X.shape[0],
        "features": X.shape[1],
        "counts": X.total,
        "nonzeros": len(X.values),
        "density": len(X.values) / (X.shape[0] * X.shape[1]),
        "missing entries": 0 if X.missing is None else len(X.missing.pattern.data),
        "empty samples": int((totals == 0).sum()),
        "features never seen": int((X.feature_totals == 0).sum()),
        "totals": {
            **dict(zip(_QUANTILES, quantiles, strict=True)),
            "largest": float(totals.max()),
            "mean": float(totals.mean()),
        },
    }


def describe_model(model: BaseTopicModel) -> dict[str, Any]:
    """Return the name, the priors and the parameters of the model, as text."""
    parameters = model.get_params(deep=False)
    fitted = model.fitted_
    texts = []
    for value in (fitted.weights_prior, fitted.topics_prior, *parameters.values()):
        texts.append(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)))  # no memory addresses
    weights, topics, *settings = shorten(texts, 200)
    return {
        "name": type(model).__name__,
        "version": version("isotopic"),
        "weights": weights,
        "topics": topics,
        "parameters": dict(zip(parameters, settings, strict=True)),
        "cite": [PAPER, LIBRARY],
    }


def describe_convergence(model: BaseTopicModel, n: int) -> dict[str, Any]:
    """Return ``n`` points of the history at geometric steps: more of its beginning than its end."""
    history = model.history_
    points = np.geomspace(1, max(1, len(history)), n).round().astype(int)
    some = history[np.unique(points) - 1] if len(history) else history
    told = {
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
        "tol": float(model.tol),
        "objective": _finite(model.objective_),
    }
    for name in ("iteration", "passes", "seconds", "objective", "residual"):
        told[f"by_{name}"] = _finite(some[name])
    return told


def _finite(values: Any) -> Any:
    """Return a number or a list of numbers; those that JSON cannot express become ``None``."""
    numbers = np.asarray(values, dtype=float)
    return np.where(np.isfinite(numbers), numbers, np.array(None)).tolist()

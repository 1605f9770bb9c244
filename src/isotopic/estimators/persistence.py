"""Saving a model in a file, and loading it again."""

import os
import warnings
from dataclasses import fields
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotopic import archive, blocks, priors, solvers
from isotopic.blocks import block_pass, row_store
from isotopic.kernels import Counts
from isotopic.priors.base import Side
from isotopic.problem import State

# What may be made when a file is read.
TYPES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        priors.CollapsedDirichlet,
        priors.Dirichlet,
        priors.DirichletMean,
        priors.DirichletMode,
        priors.Fixed,
        priors.Forbidden,
        priors.Free,
        priors.Gamma,
        priors.WithFixedWeights,
        priors.WithFixedTopics,
        priors.Lasso,
        priors.LogPenalty,
        priors.Posterior,
        priors.PowerPenalty,
        priors.Relevance,
        priors.Seeded,
        priors.Simplex,
        priors.WithSizeFactors,
        priors.UnitNorm,
        priors.SampleWeighted,
        solvers.Accelerated,
        solvers.AcceleratedState,
        solvers.IncrementalState,
        solvers.OnlineState,
        blocks.BlockedWeights,
        row_store.EqualShares,
        row_store.Extrapolated,
        row_store.StoredRows,
        row_store.RowsByNumber,
        row_store.RowsInMemory,
        block_pass.Recipe,
        block_pass.Sums,
        solvers.Alternating,
        solvers.CoordinateDescent,
        solvers.BlockUpdate,
        solvers.FurtherMM,
        solvers.FurtherMMState,
        solvers.JointEM,
        solvers.JointMM,
        solvers.JointMMState,
        solvers.SequentialMM,
        solvers.HyperparameterUpdates,
        solvers.HyperparameterState,
        solvers.LeastSquares,
        solvers.LeastSquaresState,
        solvers.Solution,
        Counts,
        State,
    )
}

# The models that files may hold, where they are all known.
MODELS: dict[str, type] = {}

OF_TOPICS = (
    "components_",
    "components_posterior_",
    "components_posterior_rate_",
    "_effective_components",
    "_components_explained",
)
OF_WEIGHTS = (
    "weights_",
    "weights_posterior_",
    "weights_posterior_rate_",
    "_effective_weights",
    "_weights_explained",
)

_PRIVATE = (
    "_fitted_priors",
    "_effective_weights",
    "_effective_components",
    "_weights_explained",
    "_components_explained",
    "_copies",
    "_feature_totals",
    "_has_missing",
    "_size_factors",
    "_n_fixed_weights",
    "_log_likelihood",
    "_saturated_divergence",
    "_topic_average",
)


class Keeping:
    """A model that can be kept in a file."""

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
        archive.write(path, "model", self, TYPES | MODELS)

    def __archive__(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        if parameters["callbacks"] is not None:
            warnings.warn("callbacks are code and are not saved", UserWarning, stacklevel=4)
            parameters["callbacks"] = None
        parameters = {name: _storable(value) for name, value in parameters.items()}
        kept = {
            name: value
            for name, value in vars(self).items()
            if name in _PRIVATE or _is_public_result(name)
        }
        return {"parameters": parameters, "fitted": kept}

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        parameters, fitted = content["parameters"], content["fitted"]
        known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        unknown = (set(parameters) - known) | {
            name for name in fitted if not (name in _PRIVATE or _is_public_result(name))
        }
        if unknown:
            raise ValueError(f"{cls.__name__} has no {', '.join(sorted(map(str, unknown)))}")
        model = cls(**parameters)
        if fitted:
            _check_shapes(fitted)
        model.__dict__.update(fitted)
        return model


def _storable(value: Any) -> Any:
    """Say a setting in what a file can hold."""
    if hasattr(value, "columns"):  # a data frame
        return np.asarray(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, dict):
        return {
            int(key) if isinstance(key, Integral) else key: _storable(item)
            for key, item in value.items()
        }
    return value


def _is_public_result(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _check_shapes(fitted: dict[str, Any]) -> None:
    """Raise if the arrays of a file do not fit each other."""
    topics, weights = fitted["components_"].shape, fitted["weights_"].shape
    good = topics[1] == fitted["n_features_in_"] and weights[1] == topics[0]
    for names, shape in ((OF_TOPICS, topics), (OF_WEIGHTS, weights)):
        good = good and all(
            fitted[name] is None
            or (
                isinstance(fitted[name], np.ndarray)
                and fitted[name].shape == shape
                and fitted[name].dtype in (np.float32, np.float64)
            )
            for name in names
        )
    good = good and fitted["sample_totals_"].shape == weights[:1]
    sizes, n_fixed = fitted.get("_size_factors"), fitted.get("_n_fixed_weights", 0)
    good = good and (sizes is None or np.shape(sizes) == weights[:1])
    good = good and isinstance(n_fixed, int) and 0 <= n_fixed <= weights[1]
    good = good and all(isinstance(prior, Side) for prior in fitted["_fitted_priors"])
    if not good:
        raise ValueError("the arrays of the model do not fit each other")
    fitted["_fitted_priors"][0].check(weights)
    fitted["_fitted_priors"][1].check(topics)

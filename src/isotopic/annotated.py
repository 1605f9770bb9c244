"""Fit models to annotated data (AnnData), with the conventions of scanpy."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from isotopic.blocks import is_blocks, open_blocks
from isotopic.containers import NamedMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.evaluate import prevalence
from isotopic.names import as_feature_names, as_sample_names

Model = TypeVar("Model", bound=BaseTopicModel)


def fit_anndata(
    adata: Any,
    model: Model,
    *,
    layer: str | None = None,
    key: str | None = None,
    overwrite: bool = False,
    **fit_params: Any,
) -> Model:
    """Fit a model to annotated data, and store the result in it.

    Parameters
    ----------
    adata : anndata.AnnData
        Observations (samples) x variables (features). The function adds

        ``obsm["X_" + key]``
            the weights, observations x components;
        ``varm[key + "_topics"]``
            the topics, variables x components;
        ``uns[key]``
            ``params`` (the model's, and the layer), ``prevalence`` of each topic, ``objective``,
            ``n_iter`` and ``converged``.
    model : estimator
        It is fitted.
    layer : str or None, default=None
        The layer with the counts; by default ``adata.X``.
    key : str or None, default=None
        By default the name of the model's class in lower case: ``"nmf"``, ``"lda"``, ...
    overwrite : bool, default=False
        Whether existing entries with these names may be replaced; otherwise they are an error.
    **fit_params
        Passed to the model's ``fit``, such as ``sample_weight``.

    Returns
    -------
    model : estimator
        The fitted model.

    Notes
    -----
    The model takes over the names of the variables: ``model.top_terms()`` and the other tables and
    plots show them, and ``model.transform`` aligns other annotated data by name.
    """
    if not all(hasattr(adata, name) for name in ("X", "layers", "obsm", "varm", "uns")):
        raise TypeError(f"adata must be an AnnData object, not {type(adata).__name__}.")
    key = type(model).__name__.lower() if key is None else key
    places = {"obsm": f"X_{key}", "varm": f"{key}_topics", "uns": key}
    taken = [f"{part}[{name!r}]" for part, name in places.items() if name in getattr(adata, part)]
    if taken and not overwrite:
        raise ValueError(
            f"{' and '.join(taken)} exists already. Use another key, or overwrite=True to replace "
            "it."
        )
    model.fit(_named_counts(adata, layer), **fit_params)
    adata.obsm[places["obsm"]] = model.weights_.copy()
    adata.varm[places["varm"]] = np.ascontiguousarray(model.components_.T)
    settings = {  # as values that a file of annotated data can hold
        name: value if isinstance(value, (bool, int, float, str)) else repr(value)
        for name, value in model.get_params(deep=False).items()
        if value is not None
    }
    adata.uns[key] = {
        "params": {"model": type(model).__name__, "layer": layer or "X", **settings},
        "prevalence": prevalence(model),
        "objective": float(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }
    return model


def _named_counts(adata: Any, layer: str | None) -> Any:
    """Return the counts with the names of observations and variables."""
    counts, names = _counts(adata, layer), as_feature_names(adata.var_names)
    if is_blocks(counts):  # a file that AnnData has open
        return replace(open_blocks(counts), feature_names=names)
    return NamedMatrix(counts, names, as_sample_names(adata.obs_names))


def _counts(adata: Any, layer: str | None) -> Any:
    if layer is None:
        if adata.X is None:
            raise ValueError(f"adata has no X. Choose one of its layers: {sorted(adata.layers)}.")
        return adata.X
    if layer not in adata.layers:
        raise ValueError(f"adata has no layer {layer!r}; it has {sorted(adata.layers)}.")
    return adata.layers[layer]

"""Fit models to annotated data (AnnData), with the conventions of scanpy."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from isotopic.blocks import is_blocks, open_blocks
from isotopic.containers import NamedMatrix, counts_of_layer, forgotten_layers
from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.count_hints import measures_counts
from isotopic.evaluate import Differential, differential, prevalence
from isotopic.names import as_feature_names, as_sample_names
from isotopic.transformed import warn_if_transformed

Model = TypeVar("Model", bound=BaseTopicModel)

_ROWS_TO_CHECK = 1000
_NOT_COUNTS = (
    "Programs are fitted to raw counts: of logarithms or scaled values they are others, and weak "
    "genes decide more. Pass the layer with the counts, or adata.raw.to_adata() if they are there."
)


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
        The layer with the counts; by default ``adata.X``. If that is not counts, there is a
        :class:`~isotopic.CountsWarning`.
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

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from isotopic import NMF, fit_anndata
    >>> cells = anndata.AnnData(np.random.default_rng(0).poisson(2.0, (20, 8)).astype(np.float32))
    >>> model = fit_anndata(cells, NMF(2, tol=1e-2, random_state=0))
    >>> cells.obsm["X_nmf"].shape, cells.varm["nmf_topics"].shape
    ((20, 2), (8, 2))
    """
    _check_anndata(adata)
    key = type(model).__name__.lower() if key is None else key
    places = {"obsm": f"X_{key}", "varm": f"{key}_topics", "uns": key}
    _check_free(adata, list(places.items()), overwrite)
    data = _named_counts(adata, layer)
    model.fit(data, **fit_params)
    is_warned = measures_counts(model) or (layer is None and forgotten_layers(adata))
    if model._divergence.is_likelihood and not is_warned and not is_blocks(data):
        warn_if_transformed(CountMatrix.of(data.matrix[:_ROWS_TO_CHECK], np.float64), _NOT_COUNTS)
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


def differential_anndata(
    adata: Any,
    model: Any,
    *,
    layer: str | None = None,
    key: str | None = None,
    versus: str | int = "nearest",
    overwrite: bool = False,
) -> Differential:
    """Find how each variable's rate differs between topics, and store it in annotated data.

    Parameters
    ----------
    adata : anndata.AnnData
        The data that the model was fitted to. The function adds, with one column for each topic,

        ``varm[key + "_lfc"]``
            the log-fold changes after adaptive shrinkage (base 2);
        ``varm[key + "_lfsr"]``
            their local false sign rates;
        ``varm[key + "_z"]``
            the z-scores, before shrinkage;

        and ``uns[key + "_differential"]`` with ``params``, and ``names``, ``scores`` (z),
        ``logfoldchanges`` and ``lfsr`` in the form of scanpy's ``rank_genes_groups``: record
        arrays with a field for each topic, variables with the largest z-scores first.
    model : fitted model
    layer, key, overwrite
        As for :func:`fit_anndata`.
    versus : {"nearest", "mean"} or int, default="nearest"
        As for :func:`isotopic.evaluate.differential`.

    Returns
    -------
    differential : Differential

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from isotopic import NMF, differential_anndata, fit_anndata
    >>> cells = anndata.AnnData(np.random.default_rng(0).poisson(2.0, (20, 8)).astype(np.float32))
    >>> model = fit_anndata(cells, NMF(2, tol=1e-2, random_state=0))
    >>> found = differential_anndata(cells, model)
    >>> cells.varm["nmf_lfc"].shape
    (8, 2)
    """
    _check_anndata(adata)
    key = type(model).__name__.lower() if key is None else key
    names = {"lfc": f"{key}_lfc", "lfsr": f"{key}_lfsr", "z": f"{key}_z"}
    stored = f"{key}_differential"
    _check_free(adata, [*(("varm", name) for name in names.values()), ("uns", stored)], overwrite)
    found = differential(model, _named_counts(adata, layer), versus=versus)
    tables = {"lfc": found.shrunken_lfc, "lfsr": found.lfsr, "z": found.z}
    for part, table in tables.items():
        adata.varm[names[part]] = np.ascontiguousarray(table.T)
    order = np.argsort(-found.z, axis=1, kind="stable")
    fields = [f"topic {topic}" for topic in range(len(order))]

    def records(table: Any) -> Any:
        ordered = np.take_along_axis(table, order, axis=1)
        return np.rec.fromarrays(list(ordered), dtype=[(name, table.dtype) for name in fields])

    variables = np.asarray(adata.var_names, dtype=str)
    adata.uns[stored] = {
        "params": {"model": type(model).__name__, "layer": layer or "X", "versus": str(versus)},
        "names": records(np.broadcast_to(variables, order.shape)),
        "scores": records(tables["z"]),
        "logfoldchanges": records(tables["lfc"]),
        "lfsr": records(tables["lfsr"]),
    }
    return found


def _named_counts(adata: Any, layer: str | None) -> Any:
    """Return the counts with the names of observations and variables."""
    counts, names = counts_of_layer(adata, layer), as_feature_names(adata.var_names)
    if is_blocks(counts):  # a file that AnnData has open
        return replace(open_blocks(counts), feature_names=names)
    return NamedMatrix(counts, names, as_sample_names(adata.obs_names))


def _check_anndata(adata: Any) -> None:
    if not all(hasattr(adata, name) for name in ("X", "layers", "obsm", "varm", "uns")):
        raise TypeError(f"adata must be an AnnData object, not {type(adata).__name__}.")


def _check_free(adata: Any, places: list[tuple[str, str]], overwrite: bool) -> None:
    """Raise an error if one of the places, such as ``("varm", "nmf_topics")``, has an entry."""
    taken = [f"{part}[{name!r}]" for part, name in places if name in getattr(adata, part)]
    if taken and not overwrite:
        raise ValueError(
            f"adata has {' and '.join(taken)} already. Use another key, or overwrite=True to "
            "replace what is there."
        )

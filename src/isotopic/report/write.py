"""Write the report: the payload and the parts of the page in one HTML file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isotopic.atomic import atomic_file, check_folder_of, check_replaceable
from isotopic.containers import select_layer
from isotopic.estimators.base import BaseTopicModel
from isotopic.report.assembly import as_json, fill_page
from isotopic.report.chunks import Archive
from isotopic.report.limits import Limits
from isotopic.report.panels import read_part, read_script, read_style
from isotopic.report.payload import ReportData

# A payload of more bytes is made again with fewer samples and terms. Compressed counts and texts
# come on top of it; ``Limits`` has their limits.
LARGEST = 10_000_000

# The suffix of the file beside the page, for documents that are too large for it.
SIDECAR = ".texts"


def write_report(
    model: BaseTopicModel,
    X: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Any = None,
    sample_names: Any = None,
    documents: Any = None,
    metadata: Any = None,
    field: str | None = None,
    layer: str | None = None,
    consensus: Any = None,
    covariates: Any = None,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the report of a fitted model: one HTML file that opens in any browser, offline.

    It shows the topics with a map and a relevance slider, the samples with a structure plot and a
    search, the weights as NMF, PLSA, LDA or Gamma-Poisson would have them, the convergence of the
    fit, the data and the parameters. Large data is reduced so that the file has about 35 MB at
    most; the page states its size and what was left out.

    Parameters
    ----------
    model : fitted estimator
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The counts to report on: the fitted data, recognised by its row and column sums, or other
        samples, whose weights are inferred.
    path : str or path-like
        The file to write.
    feature_names : array-like of str of shape (n_features,) or None, default=None
        The default is the names of the fitted ``X``, or else ``x0``, ``x1``, ...
    sample_names : array-like of str of shape (n_samples,) or None, default=None
        The default is the index of a data frame, or else ``sample 0``, ``sample 1``, ...
    documents : sequence of str of length n_samples or None, default=None
        Raw texts, shown with the samples. The default is those that ``read_counts`` has kept.
    metadata : data frame, or dict of columns, or None, default=None
        What else is known of each sample, such as dates, numbers and groups. The default is the
        ``obs`` of AnnData, or the metadata that ``read_counts`` has read.
    field : {"counts", "text", "cells", "tumours"} or None, default=None
        Whose words the page uses: sample, term and topic; document and word; cell, gene and
        program; or tumour, mutation type and signature. The default is "text" with ``documents``,
        "cells" for AnnData, "tumours" if the features are mutation types, and else "counts".
    layer : str or None, default=None
        The layer of AnnData with the counts; by default its ``X``.
    consensus : Consensus or None, default=None
        The result of :func:`isotopic.consensus` to which the model belongs. The page then shows
        how stable each topic is.
    covariates : data frame, dict of columns, array-like, names of columns, or None, default=None
        Of samples that were not fitted, if the model was fitted with covariates.
    title : str or None, default=None
        The default names the model and its number of topics.
    overwrite : bool, default=False
        Whether to replace an existing file, once the new one is complete.

    Returns
    -------
    path : pathlib.Path
        The file that was written.

    Examples
    --------
    >>> import isotopic, os, tempfile
    >>> from isotopic.report import write_report
    >>> corpus = isotopic.datasets.load_kjv()
    >>> model = isotopic.NMF(5, max_iter=20, tol=0, random_state=0).fit(corpus.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(
    ...         model,
    ...         corpus.data,
    ...         os.path.join(folder, "kjv.html"),
    ...         feature_names=corpus.feature_names,
    ...         sample_names=corpus.sample_names,
    ...     )
    ...     path.stat().st_size < 10_000_000
    True
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} already exists. Choose another path or use overwrite=True."
        )
    check_replaceable(target)
    check_folder_of(target)
    X = select_layer(X, layer)
    names = feature_names, sample_names
    data = ReportData(model, X, *names, documents, metadata, field, consensus, covariates)
    if title is None:
        title = f"{type(model).__name__} with {model.n_components} {data.field.topics}"
    payload, limits = payload_within(data, title, Limits())
    beside = target.with_suffix(SIDECAR)
    archives, sidecar = data.archives(payload, limits, beside.name)
    if sidecar is not None:
        with atomic_file(beside, overwrite=overwrite) as file:
            file.write(sidecar.content)
    with atomic_file(target, overwrite=overwrite) as file:
        file.write(render(payload, archives))
    return target


def payload_within(data: ReportData, title: str, limits: Limits) -> tuple[dict[str, Any], Limits]:
    """Return a payload that is not too large, and the limits that it keeps to."""
    payload = data.payload(title, limits)
    while len(as_json(payload)) > LARGEST and limits != limits.smaller():
        limits = limits.smaller()
        payload = data.payload(title, limits)
    return payload, limits


def render(
    payload: dict[str, Any],
    archives: Mapping[str, Archive] | None = None,
    *,
    style: str = "",
    script: str = "",
    connect: str = "",
) -> bytes:
    """Return the bytes of the page.

    A page that is served has a further ``style`` and ``script``, and may ``connect`` to its server.
    """
    chunks = "".join(part.elements(kind) for kind, part in (archives or {}).items())
    styles, scripts = f"{read_style()}\n{style}", read_script(script)
    return fill_page(read_part("page/page.html"), payload, styles, scripts, chunks, connect)

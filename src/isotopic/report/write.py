"""Putting the report together and writing it."""

import base64
import hashlib
import html
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from isotopic.estimators.base import BaseTopicModel
from isotopic.report.encode import as_json
from isotopic.report.limits import Limits
from isotopic.report.payload import Material

# A report of more bytes is made again with less in it.
LARGEST = 10_000_000

# The parts of the page, in the order in which they need each other.
_STYLES = ("uplot/uPlot.min.css", "page/style.css")
_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    "page/elements.js",
    "page/data.js",
    "page/state.js",
    "page/map.js",
    "page/terms.js",
    "page/topics.js",
    "page/structure.js",
    "page/samples.js",
    "page/readings.js",
    "page/convergence.js",
    "page/about.js",
    "page/main.js",
)


def write_report(
    model: BaseTopicModel,
    X: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Any = None,
    sample_names: Any = None,
    documents: Any = None,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted model as one HTML file to look at, in any browser and without a network.

    Its topics with a map and a relevance slider, its samples with a structure plot and a search,
    the same weights read as NMF, PLSA, LDA or Gamma-Poisson, the course of the fit, the data and
    the settings. Of large data it keeps what matters, says what it left out, and stays below 10 MB.

    Parameters
    ----------
    model : fitted estimator
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The counts to report on: those that were fitted, or others, whose weights are inferred.
        The totals of rows and columns tell which of the two they are.
    path : str or path-like
        The file to write.
    feature_names : array-like of str of shape (n_features,) or None, default=None
        By default those of the ``X`` that was fitted, else ``x0``, ``x1``, ...
    sample_names : array-like of str of shape (n_samples,) or None, default=None
        By default the index of a data frame, else ``sample 0``, ``sample 1``, ...
    documents : sequence of str of length n_samples or None, default=None
        Raw texts, shown next to the samples.
    title : str or None, default=None
    overwrite : bool, default=False
        Whether an existing file is replaced.

    Returns
    -------
    path : pathlib.Path
        Where the report is.

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
            f"{target} exists and is not overwritten; choose another path, or overwrite=True"
        )
    if title is None:
        title = f"{type(model).__name__} with {model.n_components} topics"
    material = Material(model, X, feature_names, sample_names, documents)
    limits = Limits()
    page = render(material.payload(title, limits))
    while len(page) > LARGEST and limits != limits.smaller():
        limits = limits.smaller()
        page = render(material.payload(title, limits))
    with target.open("wb" if overwrite else "xb") as file:
        file.write(page)
    return target


def render(payload: dict[str, Any]) -> bytes:
    """Make the page of what it shows.

    Nothing of the data is part of the markup or of a script: it stands in one JSON element, and
    the page's policy lets the browser run and fetch nothing but what is in this file.
    """
    style = "\n".join(map(_part, _STYLES))
    script = "\n".join(map(_part, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "title": html.escape(payload["title"]),
        "policy": policy,
        "style": style,
        "script": script,
        "data": as_json(payload),
    }
    page = "".join(
        parts[piece] if number % 2 else piece
        for number, piece in enumerate(_part("page/page.html").split("%%"))
    )
    return page.encode("utf-8", "replace")  # half a surrogate pair is not a character


def _part(name: str) -> str:
    return files("isotopic.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""Write the report: the payload and the parts of the page in one HTML file."""

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.atomic import atomic_file, check_replaceable
from isotopic.estimators.base import BaseTopicModel
from isotopic.report.chunks import Archive, smallest_type
from isotopic.report.limits import Limits
from isotopic.report.panels import read_part, read_script, read_style
from isotopic.report.payload import ReportData

# A payload of more bytes is made again with fewer samples and terms. Compressed counts and texts
# come on top of it; ``Limits`` has their limits.
LARGEST = 10_000_000

# The suffix of the file beside the page, for documents that are too large for it.
SIDECAR = ".texts"

# These characters occur only in JSON strings, where escapes are equivalent; unescaped, they could
# end the script element.
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


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
        Raw texts, shown with the samples.
    metadata : data frame, or dict of columns, or None, default=None
        What else is known of each sample, such as dates, numbers and groups. The default is the
        ``obs`` of AnnData.
    field : {"counts", "text", "cells", "tumours"} or None, default=None
        Whose words the page uses: sample, term and topic; document and word; cell, gene and
        program; or tumour, mutation type and signature. The default is "text" with ``documents``,
        "cells" for AnnData, "tumours" if the features are mutation types, and else "counts".
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
    data = ReportData(model, X, feature_names, sample_names, documents, metadata, field)
    if title is None:
        title = f"{type(model).__name__} with {model.n_components} {data.field.topics}"
    limits = Limits()
    payload = data.payload(title, limits)
    while len(as_json(payload)) > LARGEST and limits != limits.smaller():
        limits = limits.smaller()
        payload = data.payload(title, limits)
    beside = target.with_suffix(SIDECAR)
    archives, sidecar = data.archives(payload, limits, beside.name)
    if sidecar is not None:
        with atomic_file(beside, overwrite=overwrite) as file:
            file.write(sidecar.content)
    with atomic_file(target, overwrite=overwrite) as file:
        file.write(render(payload, archives))
    return target


def render(payload: dict[str, Any], archives: Mapping[str, Archive] | None = None) -> bytes:
    """Return the bytes of the page.

    Text from the data never becomes markup or script: all of it is in one JSON element, and the
    content security policy allows only the script and the style of this file.
    """
    style, script = read_style(), read_script()
    parts = {
        "title": html.escape(payload["title"]),
        "policy": f"default-src 'none'; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; img-src blob:; base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "data": as_json(payload),
        "chunks": "".join(part.elements(kind) for kind, part in (archives or {}).items()),
    }
    parts["size"] = f"{sum(map(len, parts.values())) / 1e6:.1f} MB"
    pieces = _in_words_of(payload["words"]).split("%%")  # markup, name, markup, ..., markup
    for i in range(1, len(pieces), 2):
        pieces[i] = parts[pieces[i]]
    return "".join(pieces).encode("utf-8", "replace")  # lone surrogates cannot be encoded


def _in_words_of(words: Mapping[str, str]) -> str:
    """Return the markup of the page, in which ``{samples}`` and the like stand for words."""
    return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], read_part("page/page.html"))


def _digest(text: str) -> str:
    """Return the digest by which the policy of the page recognises a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a ``<script>`` element; arrays become base64."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_pack
    )
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _pack(value: Any) -> Any:
    """Return an array as base64 of the smallest type that holds it."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"A report cannot contain a {type(value).__name__}.")
    kind = smallest_type(value)
    data = value.astype(kind.newbyteorder("<")).tobytes()
    return {"packed": kind.name, "data": base64.b64encode(data).decode()}

"""Write the comparison of two fits as one HTML file."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.atomic import atomic_file, check_replaceable
from isotopic.report.assembly import fill_page
from isotopic.report.compare import ComparedFit, Comparison
from isotopic.report.panels import read_part
from isotopic.report.samples import shorten
from isotopic.report.summary import describe_model
from isotopic.report.topics import relevance

# Samples that are listed, those that changed most; topics of each; characters of a document.
_SAMPLES, _MIXTURE, _TEXT = 2000, 8, 600

# Terms that are kept of a topic: fewer if there are many topics.
_TERMS, _FEW_TERMS, _MANY_TOPICS = 20, 10, 60

# Bars of the histogram of changes.
_BINS = 20

# The weight of frequency against lift in the order of terms, as at first in the report.
_LAMBDA = 0.6

_STYLES = ("page/style.css", "page/panels/saving.css", "comparison/comparison.css")
_SCRIPTS = (
    "page/elements.js",
    "page/colours.js",
    "page/watching.js",
    "page/binary.js",
    "page/saving.js",
    "page/links.js",
    "comparison/state.js",
    "comparison/flow.js",
    "comparison/pair.js",
    "comparison/documents.js",
    "comparison/main.js",
)


def write_comparison(
    a: ComparedFit,
    b: ComparedFit,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a comparison of two fits: one HTML file that opens in any browser, offline.

    It shows which topics are matched, which counts moved between topics, the terms of two topics
    side by side, and the samples whose topics changed most. Topics are matched one to one by the
    cosine of their distributions; see :func:`isotopic.match`. Samples and features are matched by
    name. What only one fit has is left out, and the page says how much.

    Parameters
    ----------
    a, b : ComparedFit
        For example NMF and LDA, 10 and 20 topics, or two seeds.
    path : str or path-like
        The file to write.
    title : str or None, default=None
        The default names both fits.
    overwrite : bool, default=False
        Whether to replace an existing file, once the new one is complete.

    Returns
    -------
    path : pathlib.Path
        The file that was written.

    Examples
    --------
    >>> import os, tempfile
    >>> from isotopic import LDA, NMF, datasets
    >>> from isotopic.report import ComparedFit, write_comparison
    >>> X = datasets.load_kjv().data
    >>> a, b = (Model(5, max_iter=20, tol=0, random_state=0).fit(X) for Model in (NMF, LDA))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "compared.html")
    ...     path = write_comparison(ComparedFit(a, X, "NMF"), ComparedFit(b, X, "LDA"), file)
    ...     path.stat().st_size < 1_000_000
    True
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} already exists. Choose another path or use overwrite=True."
        )
    check_replaceable(target)
    page = render_comparison(a, b, title)
    with atomic_file(target, overwrite=overwrite) as file:
        file.write(page)
    return target


def render_comparison(a: ComparedFit, b: ComparedFit, title: str | None = None) -> bytes:
    """Return the bytes of the page."""
    payload = describe_comparison(Comparison(a, b), title)
    style, script = ("\n".join(map(read_part, names)) for names in (_STYLES, _SCRIPTS))
    return fill_page(read_part("comparison/page.html"), payload, style, script)


def describe_comparison(found: Comparison, title: str | None = None) -> dict[str, Any]:
    """Return what the page shows; its scripts know it as ``report``."""
    names = shorten([fit.name for fit in found.fits], 60)
    terms, tables = _describe_terms(found)
    moves, looked_at = found.moves
    return {
        "title": shorten([title or f"{names[0]} and {names[1]}"], 300)[0],
        "words": found.sides[0].field.words(),
        "fits": _describe_fits(found, names),
        "parameters": _differing_parameters(found),
        "common": {"samples": len(found.samples[0]), "features": len(found.features[0])},
        "terms": terms,
        "tables": tables,
        "similarity": found.similarity.ravel(),
        "moves": moves.ravel(),
        "looked_at": looked_at,
        "partners": found.partners.tolist(),
        "stays": found.stays,
        "samples": _describe_samples(found),
    }


def _describe_fits(found: Comparison, names: list[str]) -> list[dict[str, Any]]:
    perplexities = found.perplexities()
    fits = []
    for side, name, perplexity in zip(found.sides, names, perplexities, strict=True):
        given = side.fitted.topic_names
        fits.append(
            {
                "name": name,
                "model": type(side.model).__name__,
                "samples": side.X.shape[0],
                "features": side.X.shape[1],
                "iterations": int(side.model.n_iter_),
                "converged": bool(side.model.converged_),
                "perplexity": perplexity if np.isfinite(perplexity) else None,
                "counts": side.explained.sum(axis=0),
                "names": None if given is None else shorten(given, 80),
            }
        )
    return fits


def _differing_parameters(found: Comparison) -> list[list[str]]:
    """Return the parameters that differ: name, first and second value."""
    ours, theirs = (describe_model(side.model)["parameters"] for side in found.sides)
    every = dict.fromkeys([*ours, *theirs])
    rows = [[name, ours.get(name, "-"), theirs.get(name, "-")] for name in every]
    return [row for row in rows if row[1] != row[2]]


def _describe_terms(found: Comparison) -> tuple[dict[str, Any], list[Array]]:
    """Return the terms of each topic, and the shares of all of them in the topics of each side."""
    n = _FEW_TERMS if max(map(len, found.topics)) > _MANY_TOPICS else _TERMS
    lists: list[list[Array]] = []
    for side, topics, columns in zip(found.sides, found.topics, found.features, strict=True):
        totals = side.X.feature_totals[columns]
        best = []
        for row in topics:
            possible = np.flatnonzero((row > 0) & (totals > 0))
            values = relevance(row[possible], totals[possible] / side.X.total, _LAMBDA)
            best.append(possible[np.argsort(-values, kind="stable")[:n]])
        lists.append(best)
    used = np.unique(np.concatenate([*lists[0], *lists[1], np.empty(0, int)])).astype(int)
    names = shorten(found.sides[0].feature_names[found.features[0][used]], 80)
    listed = [[np.searchsorted(used, best).tolist() for best in side] for side in lists]
    return {"names": names, "listed": listed}, [topics[:, used].ravel() for topics in found.topics]


def _describe_samples(found: Comparison) -> dict[str, Any]:
    """Return the samples that changed most, with their topics on each side."""
    changes = found.changes
    order = np.argsort(-changes, kind="stable")[:_SAMPLES]
    ours = found.sides[0]
    rows = found.samples[0][order]
    sides = []
    for side, places in zip(found.sides, found.samples, strict=True):
        shares = side.proportions[places[order]]
        best = np.argsort(-shares, axis=1, kind="stable")[:, :_MIXTURE]
        values = np.take_along_axis(shares, best, axis=1)
        sides.append({"width": best.shape[1], "topics": best.ravel(), "shares": values.ravel()})
    texts = None if ours.documents is None else shorten(ours.documents[rows], _TEXT)
    bins = np.histogram(np.clip(changes, 0, 1), bins=_BINS, range=(0, 1))[0]
    return {
        "rows": rows,
        "names": shorten(ours.sample_names[rows], 80),
        "totals": ours.X.sample_totals[rows],
        "changes": changes[order],
        "mean": float(changes.mean()),
        "bins": bins.tolist(),
        "sides": sides,
        "texts": texts,
    }

"""The folder of a fit: what is in it, written and read."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import csv, parquet

import isotopic
from isotopic.cli.output import as_json
from isotopic.cli.problems import Unusable, in_one_line
from isotopic.cli.software import software
from isotopic.io import CountData, read_counts, write_counts

MODEL, COUNTS, MANIFEST, REPORT = (
    "model.isotopic",
    "counts.isotopic",
    "manifest.json",
    "report.html",
)
CHECKPOINT = "checkpoint.isotopic"

FILES = {
    MODEL: "the fitted model; isotopic.load reads it",
    COUNTS: "the data with its names; isotopic.read_counts reads it",
    "topics.parquet": "features x topics",
    "topics.csv": "the same",
    "weights.parquet": "samples x topics",
    "weights.csv": "the same",
    REPORT: "the report, for a browser",
    MANIFEST: "this file",
}
_FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, its data, and what is known of how it was made."""

    model: Any
    data: CountData
    facts: dict[str, Any]


def check_free(paths: Iterable[Path], force: bool) -> None:
    """Raise if a file is there, unless it may be overwritten."""
    taken = [path for path in paths if path.exists()]
    if taken and not force:
        others = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise Unusable(f"{taken[0]}{others} would be overwritten; --force allows it")


def check_folder(folder: Path, force: bool) -> None:
    """Raise if the folder cannot take a fit."""
    if folder.exists() and not folder.is_dir():
        raise Unusable(f"{folder} is a file; the output is a folder")
    check_free((folder / name for name in FILES), force)


def write_results(folder: Path, fit: Fit) -> None:
    """Write the model, the data, topics and weights."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)  # a folder with a manifest is whole
    fit.model.save(folder / MODEL)
    write_counts(folder / COUNTS, fit.data)
    tables = {
        "topics": named_table("feature", fit.data.feature_names, fit.model.components_.T),
        "weights": named_table("sample", fit.data.sample_names, fit.model.weights_),
    }
    for name, table in tables.items():
        write_table(table, folder / f"{name}.parquet")
        write_table(table, folder / f"{name}.csv")


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest, whole or not at all."""
    aside = folder / f"{MANIFEST}.new"
    aside.write_text(as_json(manifest) + "\n", encoding="utf-8")
    os.replace(aside, folder / MANIFEST)


def manifest_of(fit: Fit, files: dict[str, str]) -> dict[str, Any]:
    """Say what was fitted, how, to what, and with which result."""
    model, counts = fit.model, fit.data.counts
    facts = dict(fit.facts)
    return {
        "format": "isotopic fit",
        "format_version": _FORMAT_VERSION,
        "isotopic": isotopic.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "samples": counts.shape[0],
            "features": counts.shape[1],
            "nonzeros": counts.nnz,
            "total": counts.sum(),
            "fingerprint": fit.data.fingerprint(),
            **facts.pop("data", {}),
        },
        "model": {"class": type(model).__name__, "parameters": model.get_params(deep=False)},
        "seed": model.random_state,
        "result": {
            "objective": model.objective_,
            "iterations": model.n_iter_,
            "converged": model.converged_,
            "residual": model.history_["residual"][-1] if len(model.history_) else None,
        },
        **facts,
        "software": software(),
        "files": files,
    }


def named_table(kind: str, names: Any, values: Any) -> Any:
    """Make a table with a row for each name, and a column for each topic."""
    arrays = [pyarrow.array(list(names), pyarrow.string())]
    arrays += [pyarrow.array(np.ascontiguousarray(column)) for column in values.T]
    topics = [f"topic_{k}" for k in range(values.shape[1])]
    return pyarrow.Table.from_arrays(arrays, names=[kind, *topics])


def write_table(table: Any, path: Path) -> None:
    """Write Parquet or CSV, as the name says."""
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        raise Unusable(f"{path.name} must end with .csv or .parquet")


def read_folder(folder: Path) -> Fit:
    """Read a fit."""
    if not (folder / MANIFEST).is_file():
        raise Unusable(f"{folder} is not the folder of a fit: it has no {MANIFEST}")
    with in_one_line():
        facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        model = isotopic.load(folder / MODEL)
        data = read_counts(folder / COUNTS, format="isotopic")
    if not isinstance(facts, dict):
        raise Unusable(f"{folder / MANIFEST} is not a manifest")
    if data.counts.shape != (len(model.weights_), model.components_.shape[1]):
        raise Unusable(f"the model and the counts in {folder} do not belong together")
    return Fit(model, data, facts)

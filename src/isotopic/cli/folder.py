"""The folder that ``isotopic fit`` writes: its files, and how they are written and read."""

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import isotopic
from isotopic._core import native
from isotopic.atomic import (
    atomic_file,
    atomic_folder,
    check_replaceable,
    claimed_folder,
    settle_folder,
)
from isotopic.cli.covariates import write_effects
from isotopic.cli.output import (
    InputError,
    as_json,
    library_errors_as_messages,
    print_message,
    waiting,
)
from isotopic.cli.reading import LargeData, describe_data
from isotopic.cli.tables import (
    NEEDS_PYARROW,
    can_write_parquet,
    read_first_column,
    topic_table,
    write_tables,
)
from isotopic.consensus import Consensus
from isotopic.io import CountData, read_counts, write_counts
from isotopic.io.formats import BY_NAME
from isotopic.report import write_report
from isotopic.threads import available_cores

MODEL = "model.isotopic"
COUNTS = "counts.isotopic"
MANIFEST = "manifest.json"
LABELS = "labels.json"
EFFECTS = "effects.csv"
NUMBERS, COMPONENTS = "numbers.csv", "components.csv"
REPORT = "report.html"
REPORT_TEXTS = "report.texts"
CHECKPOINT = "checkpoint.isotopic"

# The files of a fit and what the manifest says about them.
FILES = {
    MODEL: "the fitted model; read it with isotopic.load",
    COUNTS: "the data with its names; read it with isotopic.read_counts",
    "topics.parquet": "features x topics",
    "topics.csv": "the same as CSV",
    "weights.parquet": "samples x topics",
    "weights.csv": "the same as CSV",
    EFFECTS: "coefficients of the covariates, with intervals, if there are covariates",
    LABELS: "names of topics, which you may add: save them from the report",
    REPORT: "the report; open it in a browser",
    NUMBERS: "of a consensus: stability and score of each number of components",
    COMPONENTS: "of a consensus: the stability of each topic",
    "numbers.png": "of a consensus: stability and score against the number of components",
    "components.png": "of a consensus: how similar the topics of all fits are",
    REPORT_TEXTS: "whole documents for the report, if it has no room for them",
    MANIFEST: "this file",
}
PARQUET_FILES = tuple(name for name in FILES if name.endswith(".parquet"))
_FORMAT_VERSION = 1

# The pictures of a consensus, and the plots that they are.
_PLOTS = {"numbers.png": "selection", "components.png": "consensus"}

# Numbers of an array that the manifest lists.
_LISTED = 1000

# Rows of weights that are written at once.
_ROWS_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class StoredFit:
    """A fitted model, its data, and facts about how it was made."""

    model: Any
    data: CountData | LargeData
    facts: dict[str, Any]


def check_free(paths: Iterable[Path], force: bool) -> None:
    """Raise if a file cannot be written, or if it exists and may not be overwritten."""
    wanted = list(paths)
    with library_errors_as_messages():
        existing = [path for path in wanted if path.exists()]
        if existing and not force:
            others = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
            raise InputError(
                f"{existing[0]}{others} would be overwritten. Use --force to allow it."
            )
        for path in wanted:
            check_replaceable(path)


@contextmanager
def output_folder(folder: Path, files: Iterable[str], force: bool) -> Iterator[None]:
    """Claim a folder for these files until the end of the block; make it if it is missing.

    Raise if another process writes to it, or if a file exists and may not be overwritten. A folder
    that was made, and into which nothing was written, is deleted again.
    """
    names = list(files)
    _check_output(folder, names, force)
    with ExitStack() as stack:
        with library_errors_as_messages():
            if not folder.exists():
                folder.mkdir(parents=True, exist_ok=True)
                stack.callback(_remove_if_empty, folder)
            stack.enter_context(claimed_folder(folder, names))
        _check_output(folder, names, force)  # another process may have been faster
        yield


def _check_output(folder: Path, names: list[str], force: bool) -> None:
    """Raise if the files cannot be written to the folder."""
    with library_errors_as_messages():
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file, but the output must be a folder.")
    check_free(map(folder.joinpath, names), force)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def write_fit(
    folder: Path,
    fit: StoredFit,
    *,
    report: bool = True,
    title: str | None = None,
    consensus: Consensus | None = None,
) -> dict[str, Any]:
    """Write the files of a fit to its folder, all or none, and return the manifest.

    ``consensus`` is the one that the model is of, if it is.
    """
    start = time.perf_counter()
    manifest = describe_fit(fit)
    manifest["files"] = dict(FILES)
    if not can_write_parquet():
        manifest["left_out"] = dict.fromkeys(PARQUET_FILES, NEEDS_PYARROW)
    with library_errors_as_messages(), atomic_folder(folder, list(FILES)) as new:
        fit.model.save(new / MODEL)
        if isinstance(fit.data, CountData):
            write_counts(new / COUNTS, fit.data)
        topics = topic_table("feature", fit.data.feature_names, fit.model.components_.T)
        for suffix in ("parquet", "csv") if can_write_parquet() else ("csv",):
            write_tables([topics], new / f"topics.{suffix}")
            write_tables(weight_tables(fit), new / f"weights.{suffix}")
        write_effects(fit.model, new / EFFECTS)
        if consensus is not None:
            _write_consensus(consensus, new)
        written = time.perf_counter()
        if report and isinstance(fit.data, CountData):
            write_fit_report(fit, new / REPORT, title=title, consensus=consensus)
        for name in FILES:
            if name != MANIFEST and not (new / name).exists():
                manifest["files"].pop(name, None)
        seconds = {"writing": written - start, "report": time.perf_counter() - written}
        manifest["seconds"] = manifest.get("seconds", {}) | seconds
        with atomic_file(new / MANIFEST) as file:
            file.write(f"{as_json(manifest)}\n".encode())
    return manifest


def _write_consensus(found: Consensus, folder: Path) -> None:
    """Write the tables of a consensus, and its plots if matplotlib is installed."""
    write_tables([dict(found.table)], folder / NUMBERS)
    write_tables([dict(found.components)], folder / COMPONENTS)
    for name, plot in _PLOTS.items():
        if plot == "selection" and "score" not in found.table:
            continue
        try:
            figure = getattr(import_module("isotopic.plot"), plot)(found).figure
        except ImportError as error:  # matplotlib is an extra
            print_message(f"warning: {name} is left out. {error}")
        else:
            with atomic_file(folder / name) as file:
                figure.savefig(file, format="png", dpi=150, bbox_inches="tight")


@contextmanager
def claimed_fit(folder: Path) -> Iterator[None]:
    """Claim the folder of a fit, to which a file is added, until the end of the block."""
    with ExitStack() as stack:
        with library_errors_as_messages():
            stack.enter_context(claimed_folder(folder, list(FILES)))
        yield


def write_fit_report(
    fit: StoredFit,
    path: Path,
    *,
    title: str | None = None,
    field: str | None = None,
    consensus: Any = None,
    overwrite: bool = True,
) -> None:
    """Write the HTML report of a fit; without ``overwrite`` only if there is no such file."""
    data = counts_of_fit(fit)
    with library_errors_as_messages(), waiting("writing the report"):
        write_report(
            fit.model,
            named_counts(fit.model, data),
            path,
            feature_names=data.feature_names,
            sample_names=data.sample_names,
            documents=data.documents,
            metadata=data.metadata,
            field=field or fit.facts.get("field") or field_of(fit),
            consensus=consensus,
            title=title,
            overwrite=overwrite,
        )


def read_reference(path: str) -> Any:
    """Return the fit that is in a folder, as known topics; of any other path, the path itself."""
    return read_folder(Path(path)).model if is_fit(Path(path)) else path


def named_counts(model: Any, data: CountData) -> Any:
    """Return data with its names, if the model has names, too."""
    return data if hasattr(model, "feature_names_in_") else data.counts


def counts_of_fit(fit: StoredFit) -> CountData:
    """Return the data of a fit; raise InputError if its folder has no counts."""
    if isinstance(fit.data, LargeData):
        raise InputError(
            "The report needs the counts, and the folder of this fit has none, because the data "
            "was read with --memory-limit. Fit without it, or fit a part of the samples."
        )
    return fit.data


def field_of(fit: StoredFit) -> str | None:
    """Return the field that the format of the data belongs to; None if it may be any."""
    format = fit.facts.get("data", {}).get("format") or describe_data(fit.data)["format"]
    return BY_NAME[format].field if format in BY_NAME else None


def describe_fit(fit: StoredFit) -> dict[str, Any]:
    """Return the manifest: data, model, settings, result and software of a fit."""
    model, data, facts = fit.model, fit.data, dict(fit.facts)
    described = describe_data(data)
    if isinstance(data, LargeData):
        # Without a copy of the counts there is no fingerprint; "source" says where the data is.
        described |= {"total": model.sample_totals_.sum(), "is_copied": False}
    else:
        described |= {"total": data.counts.sum(), "fingerprint": data.fingerprint()}
    return {
        "format": "isotopic fit",
        "format_version": _FORMAT_VERSION,
        "isotopic": isotopic.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": described | facts.pop("data", {}),
        "model": {"class": type(model).__name__, "parameters": _parameters(model)},
        "seed": model.random_state,
        "result": {
            "objective": model.objective_,
            "iterations": model.n_iter_,
            "converged": model.converged_,
            "residual": model.history_["residual"][-1] if len(model.history_) else None,
        },
        **facts,
        "software": describe_software(),
    }


def _parameters(model: Any) -> dict[str, Any]:
    """Return the parameters; the model file has the whole of large ones, such as fixed topics."""
    return {
        name: f"array of shape {value.shape}" if getattr(value, "size", 0) > _LISTED else value
        for name, value in model.get_params(deep=False).items()
    }


def describe_software() -> dict[str, str]:
    """Return versions, platform, instruction set and number of threads."""
    return {
        "isotopic": isotopic.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
        "core": f"{native.level()} (available: {', '.join(native.levels())})",
        "threads": str(available_cores()),
    }


def weight_tables(fit: StoredFit) -> Iterator[Any]:
    """Yield the weights with the names of the samples, some rows at a time."""
    weights = fit.model.weights_
    for start in range(0, max(1, len(weights)), _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, len(weights))
        yield topic_table("sample", fit.data.sample_names[start:stop], weights[start:stop])


def is_fit(folder: Path) -> bool:
    """Return whether a folder holds a fit; first complete a replacement that was interrupted."""
    with library_errors_as_messages():
        settle_folder(folder, list(FILES))
        return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a fit."""
    path = folder / MANIFEST
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    for name in ("data", "seconds"):
        if not isinstance(facts, dict) or not isinstance(facts.setdefault(name, {}), dict):
            raise InputError(f"{path} is not the manifest of a fit: {name} must be a JSON object.")
    return facts


def read_folder(folder: Path, labels: Path | None = None) -> StoredFit:
    """Return the fit in a folder; its topics have the names in ``labels``, or in its own file."""
    if not is_fit(folder):
        raise InputError(f"{folder} was not written by isotopic fit: it has no {MANIFEST}.")
    with library_errors_as_messages():
        facts, before = read_manifest(folder), (folder / MANIFEST).stat()
        model = isotopic.load(folder / MODEL)
        if facts["data"].get("is_copied", True):
            data: Any = read_counts(folder / COUNTS, format="isotopic")
            shape = data.counts.shape
        else:
            features, samples = (
                read_first_column(folder / f"{kind}.csv") for kind in ("topics", "weights")
            )
            kept = ("samples", "features", "nonzeros", "format")
            data = LargeData(features, samples, {name: facts["data"].get(name) for name in kept})
            shape = (len(samples), len(features))
        if not os.path.samestat(before, (folder / MANIFEST).stat()):
            raise InputError(f"{folder} was replaced while it was read. Run the command again.")
    if labels is None and (folder / LABELS).exists():
        labels = folder / LABELS
    if labels is not None:
        with library_errors_as_messages():
            model = model.label(labels)
    if shape != (len(model.weights_), model.components_.shape[1]):
        raise InputError(f"The model and the data in {folder} have different shapes.")
    return StoredFit(model, data, facts)

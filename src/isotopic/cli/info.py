"""``isotopic info``."""

from argparse import Namespace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from isotopic.cli import options, reading
from isotopic.cli.command import command
from isotopic.cli.folder import describe_software, is_fit, read_folder
from isotopic.cli.output import align_columns, as_json, printable, short
from isotopic.io import CountData

# Optional libraries, and the extra that installs each.
EXTRAS = {
    "matplotlib": "plot",
    "anndata": "anndata",
    "pyarrow": "parquet",
    "h5py": "files",
    "zarr": "files",
    "stop-words": "text",
    "formulaic": "covariates",
    "dask": "dask",
}

# Names that are printed of each kind.
_NAMES = 5


@command(
    options.OPTIONAL_DATA,
    options.JSON,
    *options.READING_OPTIONS,
    examples="""
    isotopic info               versions, instruction set, threads
    isotopic info counts.mtx    what a file holds and how it would be read
    isotopic info out           a fit and its data
    """,
)
def info(given: Namespace) -> int:
    """Describe this installation, or DATA: a count file or the folder of a fit."""
    data: str | None = given.data
    if data is None:
        facts: dict[str, Any] = describe_software() | _describe_extras()
    elif is_fit(Path(data)):
        facts = _fit_facts(Path(data))
    else:
        facts = _data_facts(reading.load_data(data, options.reading_settings(given)))
    if given.json:
        print(as_json(facts))
    else:
        rows = [(name, _format(value)) for name, value in facts.items()]
        print("\n".join(align_columns(rows)))
    return 0


def _describe_extras() -> dict[str, str]:
    """Return the versions of the optional libraries, or how to install them."""
    found = {}
    for library, extra in EXTRAS.items():
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = f"not installed (pip install 'isotopic[{extra}]')"
    return found


def _fit_facts(folder: Path) -> dict[str, Any]:
    fit = read_folder(folder)
    model = fit.model
    return {
        "model": type(model).__name__,
        "components": len(model.components_),
        "objective": float(model.objective_),
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "seed": fit.facts.get("seed"),
        "written by": f"isotopic {fit.facts.get('isotopic')}",
        "created": fit.facts.get("created"),
        **_data_facts(fit.data),
        "format": fit.facts["data"].get("format"),
    }


def _data_facts(data: CountData | reading.LargeData) -> dict[str, Any]:
    facts = reading.describe_data(data)
    facts["sample names"] = data.sample_names[:_NAMES].tolist()
    facts["feature names"] = data.feature_names[:_NAMES].tolist()
    if not isinstance(data, reading.LargeData):
        facts["density"] = facts["nonzeros"] / (facts["samples"] * facts["features"])
        facts["total"] = data.counts.sum().item()
        facts["type"] = str(data.counts.dtype)
        facts["fingerprint"] = data.fingerprint()
    return facts


def _format(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(short(str(item), 30) for item in value) + ", ..."
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return printable(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"

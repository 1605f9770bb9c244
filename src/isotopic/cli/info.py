"""``isotopic info``."""

from pathlib import Path
from typing import Any

import click

from isotopic.cli.folder import MANIFEST, read_folder
from isotopic.cli.help import Examples
from isotopic.cli.options import json_option, read_data, reading_options, reading_settings
from isotopic.cli.output import as_json, columns, printable, short
from isotopic.cli.software import software
from isotopic.io import CountData

_SHOWN = 5


@click.command(
    cls=Examples,
    short_help="Describe this installation, a file of counts, or a fit.",
    examples="""
    isotopic info               versions, instruction set, threads
    isotopic info counts.mtx    what is in a file of counts, and how it would be read
    isotopic info out           a fit
    """,
)
@click.argument("data", required=False, type=click.Path(exists=True))
@json_option
@reading_options
def info(data: str | None, **given: Any) -> int:
    """Describe this installation, or DATA: a file of counts, or the folder of a fit."""
    if data is None:
        facts: dict[str, Any] = dict(software())
    elif (Path(data) / MANIFEST).is_file():
        facts = _fit_facts(Path(data))
    else:
        facts = _data_facts(read_data(data, reading_settings(given)))
    if given["json_"]:
        click.echo(as_json(facts))
    else:
        rows = [(name, _cell(value)) for name, value in facts.items()]
        click.echo("\n".join(columns(rows)))
    return 0


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
        "made with": f"isotopic {fit.facts.get('isotopic')}",
        "created": fit.facts.get("created"),
        **_data_facts(fit.data),
        "format": fit.facts.get("data", {}).get("format"),
    }


def _data_facts(data: CountData) -> dict[str, Any]:
    counts = data.counts
    samples, features = counts.shape
    return {
        "format": data.format,
        "samples": samples,
        "features": features,
        "nonzeros": counts.nnz,
        "density": counts.nnz / (samples * features),
        "total": counts.sum().item(),
        "type": str(counts.dtype),
        "sample names": data.sample_names[:_SHOWN].tolist(),
        "feature names": data.feature_names[:_SHOWN].tolist(),
        "fingerprint": data.fingerprint(),
    }


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(short(str(item), 30) for item in value) + ", ..."
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return printable(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"

"""``isotopic convert``."""

from pathlib import Path
from typing import Any

import click

import isotopic
from isotopic.cli.folder import Fit, check_folder, read_folder
from isotopic.cli.help import Examples
from isotopic.cli.options import force_option, json_option
from isotopic.cli.output import as_json, printable
from isotopic.cli.problems import in_one_line
from isotopic.cli.writing import write_fit
from isotopic.estimators import MODELS


@click.command(
    cls=Examples,
    short_help="Turn a fit into another, exactly equivalent model.",
    examples="""
    isotopic convert out --to PLSA -o out-plsa            proportions instead of NMF's weights
    isotopic convert out-lda --to GammaPoisson -o out-gap
    """,
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--to",
    required=True,
    type=click.Choice([name for name in MODELS if name != "TopicModel"], case_sensitive=False),
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path))
@click.option("--no-report", is_flag=True, help="Do not write the HTML report.")
@force_option
@json_option
def convert(folder: Path, to: str, output: Path, no_report: bool, force: bool, json_: bool) -> int:
    """Turn the fit of FOLDER into another model that is exactly equivalent, without a second fit.

    Models that are not equivalent are refused; the error says how to fit the other one instead.
    """
    check_folder(output, force)
    source = read_folder(folder)
    with in_one_line():
        model: Any = isotopic.convert(source.model, to=MODELS[to])
    kept = ("source", "format", "reading")
    facts = {
        "data": {name: source.facts.get("data", {}).get(name) for name in kept},
        "seconds": source.facts.get("seconds", {}),
        "converted_from": {"folder": str(folder.absolute()), "class": type(source.model).__name__},
    }
    manifest = write_fit(output, Fit(model, source.data, facts), report=not no_report)
    if json_:
        click.echo(as_json({"output": str(output), **manifest}))
    else:
        click.echo(printable(f"wrote {output}: {type(source.model).__name__} as {to}"))
    return 0

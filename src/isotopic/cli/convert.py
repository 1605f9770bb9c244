"""``isotopic convert``."""

from pathlib import Path
from typing import Any

import click

import isotopic
from isotopic.cli import options
from isotopic.cli.folder import Fit, check_folder, read_folder, write_fit
from isotopic.cli.output import library_errors_as_messages, print_result
from isotopic.estimators import MODELS


@click.command(
    cls=options.CommandWithExamples,
    short_help="Convert a fit to an exactly equivalent model.",
    epilog="""
    isotopic convert out --to PLSA -o out-plsa            proportions instead of amounts
    isotopic convert out-lda --to GammaPoisson -o out-gap
    """,
)
@options.folder_argument
@click.option(
    "--to",
    required=True,
    type=click.Choice(options.MODEL_NAMES, case_sensitive=False),
    metavar="NAME",
    help=f"Model to convert to: {', '.join(options.MODEL_NAMES)}.",
)
@options.output_folder_option
@options.no_report_option
@options.force_option
@options.json_option
def convert(folder: Path, to: str, output: Path, no_report: bool, force: bool, json_: bool) -> int:
    """Convert the fit in FOLDER to an exactly equivalent model, without fitting again.

    If the models are not equivalent, the error explains how to use this fit as a warm start.
    """
    check_folder(output, force)
    source = read_folder(folder)
    with library_errors_as_messages():
        model: Any = isotopic.convert(source.model, to=MODELS[to])
    kept = ("source", "format", "reading")
    facts = {
        "data": {name: source.facts.get("data", {}).get(name) for name in kept},
        "seconds": source.facts.get("seconds", {}),
        "converted_from": {"folder": str(folder.absolute()), "class": type(source.model).__name__},
    }
    manifest = write_fit(output, Fit(model, source.data, facts), report=not no_report)
    line = f"Wrote {output}: {type(source.model).__name__} converted to {to}"
    print_result({"output": str(output), **manifest}, line, json_=json_)
    return 0

"""``isotopic convert``."""

from argparse import Namespace
from typing import Any

import isotopic
from isotopic.cli import options
from isotopic.cli.command import Option, command
from isotopic.cli.folder import FILES, StoredFit, output_folder, read_folder, write_fit
from isotopic.cli.output import library_errors_as_messages, print_result
from isotopic.estimators import MODELS

_TO = Option(
    "--to",
    f"Model to convert to: {', '.join(options.MODEL_NAMES)}.",
    "NAME",
    choices=options.MODEL_NAMES,
    group="Model",
    is_required=True,
)


@command(
    options.FOLDER,
    _TO,
    options.OUTPUT_FOLDER,
    options.NO_REPORT,
    options.FORCE,
    options.JSON,
    examples="""
    isotopic convert out --to PLSA -o out-plsa            proportions instead of amounts
    isotopic convert out-lda --to GammaPoisson -o out-gap
    """,
)
def convert(given: Namespace) -> int:
    """Convert the fit in FOLDER to an exactly equivalent model, without fitting again.

    If the models are not equivalent, the error explains how to use this fit as a warm start.
    """
    source = read_folder(given.folder)
    with library_errors_as_messages():
        model: Any = isotopic.convert(source.model, to=MODELS[given.to])
    kept = ("source", "format", "reading")
    facts = {
        "data": {name: source.facts["data"].get(name) for name in kept},
        "seconds": source.facts.get("seconds", {}),
        "converted_from": {
            "folder": str(given.folder.absolute()),
            "class": type(source.model).__name__,
        },
    }
    result = StoredFit(model, source.data, facts)
    with output_folder(given.output, FILES, given.force):
        manifest = write_fit(given.output, result, report=not given.no_report)
    line = f"Wrote {given.output}: {type(source.model).__name__} converted to {given.to}"
    print_result({"output": str(given.output), **manifest}, line, json_=given.json)
    return 0

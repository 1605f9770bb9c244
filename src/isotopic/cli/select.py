"""``isotopic select``."""

import re
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from isotopic.atomic import atomic_file, atomic_folder
from isotopic.cli import options, reading
from isotopic.cli.command import Option, command
from isotopic.cli.folder import output_folder
from isotopic.cli.output import (
    InputError,
    as_json,
    library_errors_as_messages,
    print_message,
    printable,
    warnings_as_messages,
)
from isotopic.cli.tables import write_tables
from isotopic.select import Selection, select_components

# The files that are written to a folder, the last one always.
_FILES = _PLOT, _TABLE = ("selection.png", "selection.csv")

_COMPONENTS = replace(
    options.COMPONENTS,
    help="Numbers of components to try.",
    metavar="FIRST:LAST[:STEP]|K,K...",
    parse=str,
    is_required=True,
)
_REPEATS = Option(
    "--repeats", "Fits for each number of components.", "N", options.integer(2), default=3
)
_TEST_SIZE = Option(
    "--test-size",
    "Fraction of the samples to hold out.",
    "X",
    options.number(above=0, below=1),
    default=0.1,
)
_OUTPUT = replace(
    options.OUTPUT_FOLDER, help=f"Folder to write {_TABLE} and {_PLOT} to.", is_required=False
)


@command(
    options.DATA,
    _COMPONENTS,
    _REPEATS,
    _TEST_SIZE,
    *options.MODEL_OPTIONS,
    _OUTPUT,
    options.FORCE,
    options.JSON,
    *options.READING_OPTIONS,
    examples="""
    isotopic select counts.npz -k 5:50:5             5, 10, 15, ... 50
    isotopic select texts/ -k 10,20,50 --repeats 5 -o selection
    """,
)
def select(given: Namespace) -> int:
    """Compare numbers of components on DATA by held-out likelihood and stability.

    Each model is fitted several times, each time without a part of the samples. The score is the
    mean log-likelihood of a held-out count: weights are inferred from one half of a held-out
    sample's counts and predict the other half. Stability is the mean cosine similarity of matched
    topics between repetitions.
    """
    numbers = component_numbers(given.components)
    output: Path | None = given.output
    model = options.make_model(given)
    counts = reading.read_data(given.data, options.reading_settings(given)).counts

    def print_score(number: int, repeat: int, score: float) -> None:
        print_message(f"{number} components, repetition {repeat + 1}: score {score:.5f}")

    with ExitStack() as stack:
        if output is not None:
            stack.enter_context(output_folder(output, _FILES, given.force))
        with library_errors_as_messages(), warnings_as_messages():
            selection = select_components(
                model,
                counts,
                numbers,
                n_repeats=given.repeats,
                test_size=given.test_size,
                random_state=given.seed,
                callback=print_score,
            )
        written = [] if output is None else _write_files(output, selection)
    _print_result(selection, written, json_=given.json)
    return 0


def component_numbers(text: str) -> list[int]:
    """Return the numbers of ``5:50:5`` or ``5,10,20``."""
    steps = re.fullmatch(r"(\d+):(\d+)(?::(\d+))?", text)
    if steps:
        first, last, step = (int(part or 1) for part in steps.groups())
        found = list(range(first, last + 1, max(step, 1)))
    elif re.fullmatch(r"\d+(,\d+)*", text):
        found = [int(part) for part in text.split(",")]
    else:
        found = []
    if not found or min(found) < 1:
        raise InputError(
            f"--components must be FIRST:LAST, FIRST:LAST:STEP or K,K,... with numbers of at least "
            f"1, but is {text!r}."
        )
    return found


def _write_files(output: Path, selection: Selection) -> list[Path]:
    files = [_TABLE]
    with library_errors_as_messages(), atomic_folder(output, _FILES) as new:
        write_tables([dict(selection.table)], new / _TABLE)
        try:
            figure = import_module("isotopic.plot").selection(selection).figure
        except ImportError as error:  # matplotlib is an extra
            print_message(f"warning: {_PLOT} is left out. {error}")
        else:
            files.append(_PLOT)
            with atomic_file(new / _PLOT) as file:
                figure.savefig(file, format="png", dpi=150, bbox_inches="tight")
    return [output / name for name in files]


def _print_result(selection: Selection, written: list[Path], *, json_: bool) -> None:
    if json_:
        table = {name: column.tolist() for name, column in selection.table.items()}
        facts = {"best": selection.best, "simplest": selection.simplest, "table": table}
        print(as_json({**facts, "files": [str(path) for path in written]}))
        return
    print(repr(selection))
    for path in written:
        print(printable(f"Wrote {path}"))

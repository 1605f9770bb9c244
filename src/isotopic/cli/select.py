"""``isotopic select``."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pyarrow

from isotopic.cli import options, reading
from isotopic.cli.folder import check_free, write_tables
from isotopic.cli.output import (
    InputError,
    as_json,
    library_errors_as_messages,
    print_message,
    printable,
    warnings_as_messages,
)
from isotopic.select import Selection, select_components

_TABLE, _PLOT = "selection.csv", "selection.png"


@click.command(
    cls=options.CommandWithExamples,
    short_help="Choose the number of components.",
    epilog="""
    isotopic select counts.npz -k 5:50:5             5, 10, 15, ... 50
    isotopic select texts/ -k 10,20,50 --repeats 5 -o selection
    """,
)
@options.data_argument
@click.option(
    "-k",
    "--components",
    required=True,
    metavar="FIRST:LAST[:STEP]|K,K...",
    help="Numbers of components to try.",
)
@click.option(
    "--repeats",
    type=click.IntRange(2),
    metavar="N",
    default=3,
    show_default=True,
    help="Fits for each number of components.",
)
@click.option(
    "--test-size",
    metavar="X",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Fraction of the samples to hold out.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help=f"Folder to write {_TABLE} and {_PLOT} to.",
)
@options.model_options
@options.seed_option(default=0)
@options.force_option
@options.json_option
@reading.reading_options
def select(data: str, output: Path | None, **given: Any) -> int:
    """Compare numbers of components on DATA by held-out likelihood and stability.

    Each model is fitted several times, each time without a part of the samples. The score is the
    mean log-likelihood of a held-out count: weights are inferred from one half of a held-out
    sample's counts and predict the other half. Stability is the mean cosine similarity of matched
    topics between repetitions.
    """
    numbers = component_numbers(given["components"])
    if output is not None:
        check_free([output / _TABLE, output / _PLOT], given["force"])
    model = options.make_model(given)
    counts = reading.read_data(data, reading.reading_settings(given)).counts

    def print_score(number: int, repeat: int, score: float) -> None:
        print_message(f"{number} components, repetition {repeat + 1}: score {score:.5f}")

    with library_errors_as_messages(), warnings_as_messages():
        selection = select_components(
            model,
            counts,
            numbers,
            n_repeats=given["repeats"],
            test_size=given["test_size"],
            random_state=given["seed"],
            callback=print_score,
        )
    written = [] if output is None else _write_files(output, selection)
    _print_result(selection, written, json_=given["json_"])
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
    with library_errors_as_messages():
        output.mkdir(parents=True, exist_ok=True)
        write_tables([pyarrow.table(dict(selection.table))], output / _TABLE)
        plot = import_module("isotopic.plot")  # matplotlib is an extra
        plot.selection(selection).figure.savefig(output / _PLOT, dpi=150, bbox_inches="tight")
    return [output / _TABLE, output / _PLOT]


def _print_result(selection: Selection, written: list[Path], *, json_: bool) -> None:
    if json_:
        table = {name: column.tolist() for name, column in selection.table.items()}
        facts = {"best": selection.best, "simplest": selection.simplest, "table": table}
        click.echo(as_json({**facts, "files": [str(path) for path in written]}))
        return
    click.echo(repr(selection))
    for path in written:
        click.echo(printable(f"Wrote {path}"))

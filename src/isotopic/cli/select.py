"""``isotopic select``."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pyarrow

from isotopic.cli.folder import check_free, write_table
from isotopic.cli.help import Examples
from isotopic.cli.options import (
    force_option,
    json_option,
    make_model,
    model_options,
    read_data,
    reading_options,
    reading_settings,
    seed_option,
)
from isotopic.cli.output import as_json, printable, say
from isotopic.cli.problems import Unusable, in_one_line, warnings_as_lines
from isotopic.select import Selection, select_components

_TABLE, _PLOT = "selection.csv", "selection.png"


@click.command(
    cls=Examples,
    short_help="Find out how many components there should be.",
    examples="""
    isotopic select counts.npz -k 5:50:5             5, 10, 15, ... 50
    isotopic select texts/ -k 10,20,50 --repeats 5 -o selection
    """,
)
@click.argument("data", type=click.Path(exists=True))
@click.option(
    "-k", "--components", required=True, metavar="FIRST:LAST[:STEP]|K,K...", help="Numbers to try."
)
@click.option("--repeats", type=click.IntRange(2), default=3, show_default=True)
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of the samples that are held out.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help=f"Folder for {_TABLE} and {_PLOT}."
)
@model_options
@seed_option
@force_option
@json_option
@reading_options
def select(data: str, output: Path | None, **given: Any) -> int:
    """Try numbers of components on DATA by held-out likelihood and stability.

    Each is fitted several times to a part of the samples. The held-out ones are completed: weights
    from half of a sample's counts, the score (mean log-likelihood of a count) from the other half.
    Stability is the mean cosine of the matched topics of two repetitions.
    """
    numbers = component_numbers(given["components"])
    if output is not None:
        check_free([output / _TABLE, output / _PLOT], given["force"])
    model = make_model(given)
    counts = read_data(data, reading_settings(given)).counts

    def told(number: int, repeat: int, score: float) -> None:
        say(f"{number} components, repetition {repeat + 1}: score {score:.5f}")

    with in_one_line(), warnings_as_lines():
        selection = select_components(
            model,
            counts,
            numbers,
            n_repeats=given["repeats"],
            test_size=given["test_size"],
            random_state=given["seed"],
            callback=told,
        )
    written = [] if output is None else _write(output, selection)
    _tell(selection, written, json_=given["json_"])
    return 0


def component_numbers(text: str) -> list[int]:
    """Read ``5:50:5`` or ``5,10,20``."""
    steps = re.fullmatch(r"(\d+):(\d+)(?::(\d+))?", text)
    if steps:
        first, last, step = (int(part or 1) for part in steps.groups())
        found = list(range(first, last + 1, max(step, 1)))
    elif re.fullmatch(r"\d+(,\d+)*", text):
        found = [int(part) for part in text.split(",")]
    else:
        found = []
    if not found or min(found) < 1:
        raise Unusable(f"--components is FIRST:LAST, FIRST:LAST:STEP or K,K,..., not {text!r}")
    return found


def _write(output: Path, selection: Selection) -> list[Path]:
    with in_one_line():
        output.mkdir(parents=True, exist_ok=True)
        write_table(pyarrow.table(dict(selection.table)), output / _TABLE)
        plot = import_module("isotopic.plot")  # matplotlib is an extra
        plot.selection(selection).figure.savefig(output / _PLOT, dpi=150, bbox_inches="tight")
    return [output / _TABLE, output / _PLOT]


def _tell(selection: Selection, written: list[Path], *, json_: bool) -> None:
    if json_:
        table = {name: column.tolist() for name, column in selection.table.items()}
        facts = {"best": selection.best, "simplest": selection.simplest, "table": table}
        click.echo(as_json({**facts, "files": [str(path) for path in written]}))
        return
    click.echo(repr(selection))
    for path in written:
        click.echo(printable(f"wrote {path}"))

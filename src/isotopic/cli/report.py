"""``isotopic report``."""

import webbrowser
from pathlib import Path

import click

from isotopic.cli.folder import REPORT, Fit, check_free, read_folder
from isotopic.cli.help import Examples
from isotopic.cli.options import force_option, json_option, open_option
from isotopic.cli.output import as_json, printable, say
from isotopic.cli.problems import in_one_line
from isotopic.cli.progress import waiting
from isotopic.report import write_report


@click.command(
    cls=Examples,
    short_help="Write a fit as one HTML file to look at.",
    examples="""
    isotopic report out --open            write out/report.html, if it is not there, and open it
    isotopic report out -o topics.html
    """,
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="[default: FOLDER/report.html]"
)
@click.option("--title", help="Of the page.")
@open_option
@force_option
@json_option
def report(
    folder: Path, output: Path | None, title: str | None, open_: bool, force: bool, json_: bool
) -> int:
    """Write the report of a fit's FOLDER: one HTML file that needs no network."""
    path = folder / REPORT if output is None else output
    if not (open_ and path.exists() and not force and output is None and title is None):
        check_free([path], force)
        make_report(read_folder(folder), path, title=title)
    if json_:
        click.echo(as_json({"report": str(path), "bytes": path.stat().st_size}))
    else:
        click.echo(printable(f"look at {path}"))
    if open_:
        open_in_browser(path)
    return 0


def make_report(fit: Fit, path: Path, *, title: str | None = None) -> None:
    """Write the report of a fit."""
    with in_one_line(), waiting("writing the report"):
        write_report(
            fit.model,
            fit.data.counts,
            path,
            feature_names=fit.data.feature_names,
            sample_names=fit.data.sample_names,
            documents=fit.data.documents,
            title=title,
            overwrite=True,  # the command has asked before
        )


def open_in_browser(path: Path) -> None:
    """Open a page, or say that this cannot be done here."""
    if not webbrowser.open(path.absolute().as_uri()):
        say(f"no browser was found to open {path}")

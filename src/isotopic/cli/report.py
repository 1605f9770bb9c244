"""``isotopic report``."""

import webbrowser
from pathlib import Path

import click

from isotopic.cli import options
from isotopic.cli.folder import REPORT, check_free, read_folder, write_fit_report
from isotopic.cli.output import print_message, print_result


@click.command(
    cls=options.CommandWithExamples,
    short_help="Write the HTML report of a fit.",
    epilog="""
    isotopic report out --open            open out/report.html; write it first if it is missing
    isotopic report out -o topics.html
    """,
)
@options.folder_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="HTML file to write.  [default: FOLDER/report.html]",
)
@click.option("--title", help="Title of the page.")
@options.open_option
@options.force_option
@options.json_option
def report(
    folder: Path, output: Path | None, title: str | None, open_: bool, force: bool, json_: bool
) -> int:
    """Write the report of the fit in FOLDER: one HTML file that needs no network."""
    path = folder / REPORT if output is None else output
    if not (open_ and path.exists() and not force and output is None and title is None):
        check_free([path], force)
        write_fit_report(read_folder(folder), path, title=title)
    facts = {"report": str(path), "bytes": path.stat().st_size}
    print_result(facts, f"Report: {path}", json_=json_)
    if open_:
        open_in_browser(path)
    return 0


def open_in_browser(path: Path) -> None:
    """Open a page, or print a message if no browser is found."""
    if not webbrowser.open(path.absolute().as_uri()):
        print_message(f"No browser was found. Open this file yourself: {path}")

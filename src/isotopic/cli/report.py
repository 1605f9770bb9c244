"""``isotopic report``."""

import webbrowser
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from isotopic.cli import options
from isotopic.cli.command import Option, command
from isotopic.cli.folder import REPORT, check_free, claimed_fit, read_folder, write_fit_report
from isotopic.cli.output import print_message, print_result

_OUTPUT = Option(
    "-o, --output",
    "HTML file to write.",
    "FILE",
    options.parse_output_file,
    default_text=f"FOLDER/{REPORT}",
    group="Output",
)
_TITLE = Option("--title", "Title of the page.", "TEXT")


@command(
    options.FOLDER,
    _OUTPUT,
    _TITLE,
    options.LABELS,
    options.OPEN,
    options.FORCE,
    options.JSON,
    examples="""
    isotopic report out --open            open out/report.html; write it first if it is missing
    isotopic report out -o topics.html
    """,
)
def report(given: Namespace) -> int:
    """Write the report of the fit in FOLDER: one self-contained HTML file."""
    is_default = given.output is None and given.title is None and given.labels is None
    path = given.folder / REPORT if given.output is None else given.output
    if not (given.open and path.exists() and not given.force and is_default):
        check_free([path], given.force)
        with claimed_fit(given.folder) if path.parent == given.folder else nullcontext():
            fit = read_folder(given.folder, given.labels)
            write_fit_report(fit, path, title=given.title, overwrite=given.force)
    facts = {"report": str(path), "bytes": path.stat().st_size}
    print_result(facts, f"Report: {path}", json_=given.json)
    if given.open:
        open_in_browser(path)
    return 0


def open_in_browser(path: Path) -> None:
    """Open a page, or print a message if no browser is found."""
    if not webbrowser.open(path.absolute().as_uri()):
        print_message(f"No browser was found. Open this file yourself: {path}")

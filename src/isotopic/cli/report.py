"""``isotopic report``."""

import webbrowser
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from isotopic.cli import options
from isotopic.cli.command import Option, UsageError, command
from isotopic.cli.folder import (
    REPORT,
    check_free,
    claimed_fit,
    counts_of_fit,
    named_counts,
    read_folder,
    write_fit_report,
)
from isotopic.cli.output import library_errors_as_messages, print_message, print_result, waiting
from isotopic.report import ComparedFit, write_comparison

_OUTPUT = Option(
    "-o, --output",
    "HTML file to write.",
    "FILE",
    options.parse_output_file,
    default_text=f"FOLDER/{REPORT}, or FOLDER-OTHER.html",
    group="Output",
)
_OTHER = Option(
    "other", "Folder of another fit, to compare with the first.", parse=options.parse_folder
)
_TITLE = Option("--title", "Title of the page.", "TEXT")


@command(
    options.FOLDER,
    _OTHER,
    _OUTPUT,
    _TITLE,
    options.LABELS,
    options.FIELD,
    options.OPEN,
    options.FORCE,
    options.JSON,
    examples="""
    isotopic report out --open            open out/report.html; write it first if it is missing
    isotopic report out -o topics.html
    isotopic report nmf lda --open        compare two fits of the same samples
    """,
)
def report(given: Namespace) -> int:
    """Write the report of the fit in FOLDER: one self-contained HTML file.

    With OTHER, the folder of another fit of the same samples, the page compares both: matched
    topics, what moved, and samples that changed.
    """
    if given.other is not None:
        return _compare(given)
    is_default = all(
        value is None for value in (given.output, given.title, given.labels, given.field)
    )
    path = given.folder / REPORT if given.output is None else given.output
    if not (given.open and path.exists() and not given.force and is_default):
        check_free([path], given.force)
        with claimed_fit(given.folder) if path.parent == given.folder else nullcontext():
            fit = read_folder(given.folder, given.labels)
            write_fit_report(fit, path, title=given.title, field=given.field, overwrite=given.force)
    facts = {"report": str(path), "bytes": path.stat().st_size}
    print_result(facts, f"Report: {path}", json_=given.json)
    if given.open:
        open_in_browser(path)
    return 0


def _compare(given: Namespace) -> int:
    """Write the comparison of two fits."""
    if given.labels is not None:
        raise UsageError(
            "--labels names the topics of one fit, and a comparison has two. Put a labels.json "
            "into their folders."
        )
    folders = given.folder, given.other
    path = given.output or Path(f"{_name_of(folders[0])}-{_name_of(folders[1])}.html")
    check_free([path], given.force)
    fits = []
    for folder in folders:
        fit = read_folder(folder)
        data = counts_of_fit(fit)
        names = data.feature_names, data.sample_names, data.documents
        name = _name_of(folder) if len(set(map(_name_of, folders))) == 2 else str(folder)
        fits.append(ComparedFit(fit.model, named_counts(fit.model, data), name, *names))
    with library_errors_as_messages(), waiting("comparing the fits"):
        write_comparison(fits[0], fits[1], path, title=given.title, overwrite=given.force)
    facts = {"comparison": str(path), "bytes": path.stat().st_size}
    print_result(facts, f"Comparison: {path}", json_=given.json)
    if given.open:
        open_in_browser(path)
    return 0


def _name_of(folder: Path) -> str:
    return folder.absolute().name or "fit"


def open_in_browser(path: Path) -> None:
    """Open a page, or print a message if no browser is found."""
    if not webbrowser.open(path.absolute().as_uri()):
        print_message(f"No browser was found. Open this file yourself: {path}")

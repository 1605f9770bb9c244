"""``isotopic consensus``."""

import re
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from isotopic.cli import options, reading
from isotopic.cli.command import Option, command
from isotopic.cli.folder import FILES, StoredFit, output_folder, write_fit
from isotopic.cli.output import (
    InputError,
    as_json,
    library_errors_as_messages,
    printable,
    warnings_as_messages,
)
from isotopic.consensus import Consensus
from isotopic.consensus import consensus as run_consensus
from isotopic.consensus.plan import RESAMPLING

_COMPONENTS = replace(
    options.COMPONENTS,
    help="Numbers of components to try.",
    metavar="FIRST:LAST[:STEP]|K,K...",
    parse=str,
    is_required=True,
)
_MOST_NUMBERS = 10_000  # of components that one command tries
_RUNS = Option("--runs", "Fits for each number of components.", "N", options.integer(2), default=20)
_RESAMPLING = Option(
    "--resampling",
    "Data of each fit: Poisson draws around the counts, 80 % of the samples, or DATA unchanged.",
    choices=RESAMPLING,
    default="bootstrap",
)
_CHOOSE = Option(
    "--choose",
    "Use this number of components, not the one that the rule chooses.",
    "K",
    options.integer(1),
    default=None,
)
_TEST_SIZE = Option(
    "--test-size",
    "Fraction of the samples to hold out.",
    "X",
    options.number(above=0, below=1),
    default=0.1,
)
_CHECKPOINT = Option(
    "--checkpoint",
    "File that keeps finished fits; run the same command again to continue.",
    "FILE",
)
_OUTPUT = replace(
    options.OUTPUT_FOLDER,
    help="Folder for the files that isotopic fit writes, and tables and plots of the consensus.",
    is_required=False,
)


@command(
    options.DATA,
    _COMPONENTS,
    _RUNS,
    _RESAMPLING,
    _CHOOSE,
    _TEST_SIZE,
    options.MAX_TOTAL,
    _CHECKPOINT,
    *options.MODEL_OPTIONS,
    _OUTPUT,
    options.FORCE,
    options.JSON,
    *options.READING_OPTIONS,
    examples="""
    isotopic consensus counts.npz -k 5:20              5, 6, 7, ... 20
    isotopic consensus texts/ -k 10,20,50 --runs 100 --checkpoint runs.isotopic -o consensus
    """,
)
def consensus(given: Namespace) -> int:
    """Fit a model many times to DATA, choose the number of components and find consensus topics.

    Each fit starts at random and sees resampled data. The components of all fits are clustered; a
    component is stable if every fit finds it. The chosen number is the smallest stable one whose
    held-out score is behind the best by no more than one standard error of their difference.
    """
    numbers = component_numbers(given.components)
    output: Path | None = given.output
    model = options.make_model(given)
    settings = options.reading_settings(given)
    data = reading.load_data(given.data, settings)
    with ExitStack() as stack:
        if output is not None:
            stack.enter_context(output_folder(output, FILES, given.force))
        with library_errors_as_messages(), warnings_as_messages():
            found = run_consensus(
                model,
                data,
                numbers,
                n_runs=given.runs,
                resampling=given.resampling,
                choose=given.choose,
                test_size=given.test_size,
                max_total=given.max_total,
                random_state=given.seed,
                n_jobs=given.threads,
                checkpoint=given.checkpoint,
                verbose=1,
            )
        written = []
        if output is not None:
            facts = {
                "data": {"source": reading.absolute(given.data), "reading": settings},
                "consensus": {
                    "runs": given.runs,
                    "resampling": given.resampling,
                    "max_total": given.max_total,
                    "seed": given.seed,
                    "reason": found.reason,
                },
            }
            fit = StoredFit(found.model, data, facts)
            written = [output / name for name in write_fit(output, fit, consensus=found)["files"]]
    _print_result(found, written, json_=given.json)
    return 0


def component_numbers(text: str) -> list[int]:
    """Return the numbers of ``5:50:5`` or ``5,10,20``."""
    steps = re.fullmatch(r"(\d+):(\d+)(?::(\d+))?", text)
    if steps:
        first, last, step = (int(part or 1) for part in steps.groups())
        found = list(range(first, last + 1, max(step, 1))[:_MOST_NUMBERS])
    elif re.fullmatch(r"\d+(,\d+)*", text):
        found = [int(part) for part in text.split(",")]
    else:
        found = []
    if len(found) == _MOST_NUMBERS:
        raise InputError(f"--components {text} asks for {_MOST_NUMBERS:,} numbers or more.")
    if not found or min(found) < 1:
        raise InputError(
            f"--components must be FIRST:LAST, FIRST:LAST:STEP or K,K,... with numbers of at least "
            f"1, not {text!r}."
        )
    return found


def _print_result(found: Consensus, written: list[Path], *, json_: bool) -> None:
    if json_:
        tables = {
            title: {name: column.tolist() for name, column in table.items()}
            for title, table in (("table", found.table), ("components", found.components))
        }
        facts = {"n_components": found.n_components, "reason": found.reason, **tables}
        print(as_json({**facts, "files": [str(path) for path in written]}))
        return
    print(f"{found.table!r}\n\n{found.components!r}\n\n{found.reason}")
    for path in written:
        print(printable(f"Wrote {path}"))

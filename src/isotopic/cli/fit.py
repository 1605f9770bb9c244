"""``isotopic fit``."""

import shlex
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic import Checkpoint
from isotopic.blocks import Blocks
from isotopic.cli import constraints, options, reading
from isotopic.cli.command import CommandExit, Option, UsageError, command
from isotopic.cli.covariates import covariate_arguments
from isotopic.cli.folder import CHECKPOINT, FILES, REPORT, StoredFit, output_folder, write_fit
from isotopic.cli.output import (
    InputError,
    as_json,
    library_errors_as_messages,
    print_message,
    printable,
    warnings_as_messages,
)
from isotopic.cli.report import open_in_browser
from isotopic.cli.topic_summary import topic_facts, topic_lines
from isotopic.io import TEXT_FORMATS
from isotopic.progress import show_progress

_TIME_LIMIT = Option(
    "--time-limit",
    "Stop fitting after this time and write the result so far.",
    "SECONDS",
    options.number(above=0),
)
_COVARIATES = Option(
    "--covariates",
    "How the weights depend on metadata: a formula such as '~ party + year', or names of columns.",
    "FORMULA",
)
_CHECKPOINT = Option(
    "--checkpoint",
    "File that lets an interrupted fit continue.",
    "FILE",
    options.parse_output_file,
    default_text=f"OUTPUT/{CHECKPOINT}",
)


@command(
    options.DATA,
    replace(options.COMPONENTS, default=10),
    *options.MODEL_OPTIONS,
    constraints.SEED_WORDS,
    constraints.FIXED_TOPICS,
    _COVARIATES,
    _TIME_LIMIT,
    _CHECKPOINT,
    options.MEMORY_LIMIT,
    options.OUTPUT_FOLDER,
    options.FIELD,
    options.NO_REPORT,
    options.OPEN,
    options.FORCE,
    options.JSON,
    *options.READING_OPTIONS,
    examples="""
    isotopic fit texts/ -k 20 -o out                       a folder of .txt files
    isotopic fit news.csv --text-column body --min-df 5 -k 20 -o out
    isotopic fit filtered_feature_bc_matrix/ -k 10 -o out  10x Genomics
    isotopic fit cells.h5ad --layer counts --model LDA --alpha 0.1 -k 10 -o out
    isotopic fit tumours.SBS96.all -k 8 --n-init 10 -o out --open
    isotopic fit news.txt -k 20 --model LDA --seed-words seeds.txt -o out
    isotopic fit news.csv --model LDA --covariates "~ party + spline(year, 4)" -k 20 -o out
    isotopic fit - --format text-lines -k 20 -o out < news.txt
    isotopic fit big.npz -k 100 --time-limit 600 -o out    stop after ten minutes
    isotopic fit big.h5ad -k 20 --memory-limit 2GB -o out  data larger than memory
    """,
)
def fit(given: Namespace) -> int:
    """Fit a model to DATA, a file or folder, and write the results to a folder.

    The folder holds the model, the topics and weights as CSV (and as Parquet, where pyarrow is
    installed), a JSON manifest and an HTML report.

    To continue an interrupted fit (Ctrl-C, SIGTERM), run the same command again.
    """
    if given.open and given.no_report:
        raise UsageError("--open cannot be used with --no-report. Leave out one of them.")
    data, output, limit = given.data, given.output, given.memory_limit
    if given.open and limit is not None:
        raise UsageError(
            "--open cannot be used with --memory-limit, which writes no report. Leave out one of "
            "them."
        )
    if given.covariates is not None and limit is not None:
        raise UsageError(
            "--covariates cannot be used with --memory-limit. In Python, pass row blocks and "
            "covariates to fit."
        )
    settings = options.reading_settings(given)
    model = options.make_model(given, n_components=given.components, random_state=given.seed)
    known_topics = constraints.read_constraints(given)
    checkpoint: Path = given.checkpoint or output / CHECKPOINT
    start = time.perf_counter()
    of_documents = {"keep_text": True} if limit is None else {}  # only for the report
    with (
        output_folder(output, FILES, given.force),
        reading.open_data(data, settings, of_documents, limit, output) as (X, counts),
    ):
        seconds = {"reading": time.perf_counter() - start}
        found = reading.describe_data(counts)
        if found["nonzeros"] == 0:
            raise InputError(f"{data} has no counts: all entries are zero.")
        _print_data(reading.name_of(data), found, settings, limit)
        if found["format"] in TEXT_FORMATS and given.model == "NMF" and not given.json:
            print_message("The model is NMF. For LDA, the usual one of texts: --model LDA")
        model.set_params(**known_topics.parameters(counts.feature_names))
        known = covariate_arguments(counts, given.covariates)
        seconds["fitting"], stopped = _fit_model(model, X, checkpoint, given, known)
        source = {"source": reading.absolute(data), "reading": settings}
        facts = {"data": source, "seconds": seconds, "stopped": stopped, "field": given.field}
        result = StoredFit(model, counts, facts)
        manifest = write_fit(output, result, report=not given.no_report)
        if given.checkpoint is None and stopped is None:
            checkpoint.unlink(missing_ok=True)
        _print_result(output, result, manifest, json_=given.json)
    if stopped is not None:
        print_message(f"Stopped by the time limit. To continue: {_this_command(given, force=True)}")
    if given.open:
        open_in_browser(output / REPORT)
    return 0


def _print_data(path: str, facts: dict[str, Any], settings: dict[str, Any], limit: Any) -> None:
    """Print what was read, and which terms were left out."""
    text = (
        f"{path}: {facts['samples']:,} samples x {facts['features']:,} features, "
        f"{facts['nonzeros']:,} nonzeros, read as {facts['format']}"
    )
    if limit is not None:
        text += (
            f" in row blocks, using at most {limit} of memory; the counts are not copied and no "
            "report is written"
        )
    elif facts["format"] in TEXT_FORMATS:
        words, least, most = settings["stop_words"], settings["min_df"], settings["max_df"]
        stop_words = f"{words.capitalize()} stop words, " if isinstance(words, str) else ""
        ignored = "your stop words, " if isinstance(words, list) else stop_words
        unit = "of all documents" if least < 1 else "documents"
        upper = "" if most == 1.0 else f" or in more than {most}"
        text += f" without {ignored}terms in fewer than {least} {unit}{upper}"
    print_message(text)


def _fit_model(
    model: Any, X: Any, checkpoint: Path, given: Namespace, known: dict[str, Any]
) -> tuple[float, str | None]:
    """Fit a model; return the seconds, and which limit stopped it. ``known``: the covariates.

    An interruption leaves a checkpoint and ends the command.
    """
    if checkpoint.exists():
        print_message(f"Continuing from {checkpoint}")
    start, limit, stopped = time.perf_counter(), given.time_limit, None

    def is_too_late(_: Any) -> bool:
        nonlocal stopped
        if limit is not None and time.perf_counter() - start >= limit:
            stopped = f"time limit of {limit:g} s"
        return stopped is not None

    total = None if isinstance(X, Blocks) else float(X.counts.sum())
    signals: list[int] = []
    try:
        with (
            _sigterm_as_interrupt(signals),
            library_errors_as_messages(),
            warnings_as_messages(),
            show_progress(
                total, model.max_iter, model.tol, lines_to=sys.stderr, keep=False
            ) as progress,
        ):
            model.set_params(callbacks=[progress, is_too_late])
            model.fit(X, checkpoint=Checkpoint(checkpoint), **known)
    except KeyboardInterrupt:
        if checkpoint.exists():
            done = getattr(model, "n_iter_", "some")
            print_message(f"Interrupted after {done} iterations, saved in {checkpoint}.")
            print_message(f"To continue: {_this_command(given)}")
        else:
            print_message("Interrupted before the first iteration. Nothing was written.")
        raise CommandExit(128 + max(signals, default=signal.SIGINT)) from None
    finally:
        model.set_params(callbacks=None)
    return time.perf_counter() - start, stopped


@contextmanager
def _sigterm_as_interrupt(signals: list[int]) -> Iterator[None]:
    """Let SIGTERM raise ``KeyboardInterrupt`` as Ctrl-C does, and note it in the list."""

    def terminate(number: int, _: Any) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only it receives signals
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_result(output: Path, fit: StoredFit, manifest: dict[str, Any], *, json_: bool) -> None:
    model, data = fit.model, fit.data
    if json_:
        topics = topic_facts(model, data.feature_names)
        print(as_json({"output": str(output), **manifest, "topics": topics}))
        return
    result = "converged" if model.converged_ else "not converged"
    print(
        f"{type(model).__name__} with {len(model.components_)} topics: {model.n_iter_} iterations "
        f"in {manifest['seconds']['fitting']:.1f} s, {result}\n"
    )
    print("\n".join(topic_lines(model, data.feature_names, data.sample_names)))
    print("\n" + printable(f"Wrote {output}"))
    if REPORT in manifest["files"]:
        print(printable(f"Report: {output / REPORT}"))


def _this_command(given: Namespace, *, force: bool = False) -> str:
    extra = ["--force"] if force and not given.force else []
    return shlex.join(["isotopic", *given.arguments, *extra])

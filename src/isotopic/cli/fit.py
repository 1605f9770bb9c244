"""``isotopic fit``."""

import shlex
import sys
import time
from pathlib import Path
from typing import Any

import click

from isotopic import Checkpoint
from isotopic.blocks import Blocks
from isotopic.cli.errors import library_errors_as_messages, warnings_as_messages
from isotopic.cli.folder import CHECKPOINT, REPORT, Fit, check_folder, write_fit
from isotopic.cli.help import CommandWithExamples
from isotopic.cli.interrupts import sigterm_as_interrupt
from isotopic.cli.large import LargeData, memory_limit_option, opened_data
from isotopic.cli.options import (
    force_option,
    json_option,
    make_model,
    model_options,
    open_option,
    read_data,
    reading_options,
    reading_settings,
    seed_option,
)
from isotopic.cli.output import as_json, print_message, printable
from isotopic.cli.report import open_in_browser
from isotopic.cli.topics import topic_facts, topic_lines
from isotopic.io import CountData
from isotopic.io.read import TEXT_FORMATS
from isotopic.progress import show_progress

# Characters of each document that the report shows.
_TEXT_KEPT = 1000


@click.command(
    cls=CommandWithExamples,
    short_help="Fit a model and write the results to a folder.",
    examples="""
    isotopic fit texts/ -k 20 -o out                       a folder of .txt files
    isotopic fit news.csv --text-column body --min-df 5 -k 20 -o out
    isotopic fit filtered_feature_bc_matrix/ -k 10 -o out  10x Genomics
    isotopic fit cells.h5ad --layer counts --model LDA --alpha 0.1 -k 10 -o out
    isotopic fit tumours.SBS96.all -k 8 --n-init 10 -o out --open
    isotopic fit big.npz -k 100 --time-limit 600 -o out    stop after ten minutes
    isotopic fit big.h5ad -k 20 --memory-limit 2GB -o out  data larger than memory
    """,
)
@click.argument("data", type=click.Path(exists=True))
@click.option(
    "-k",
    "--components",
    type=click.IntRange(1),
    metavar="N",
    default=10,
    show_default=True,
    help="Number of components (topics).",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write."
)
@model_options
@seed_option
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop fitting after this time and write what was found.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"File from which an interrupted fit continues.  [default: OUTPUT/{CHECKPOINT}]",
)
@memory_limit_option
@click.option("--no-report", is_flag=True, help="Do not write the HTML report.")
@open_option
@force_option
@json_option
@reading_options
def fit(data: str, output: Path, **given: Any) -> int:
    """Fit a model to DATA, a file or folder, and write the results to a folder.

    The folder holds the model, the topics and weights as Parquet and CSV, a JSON manifest and an
    HTML report. To continue an interrupted fit (Ctrl-C, SIGTERM), run the same command again.
    """
    if given["open_"] and given["no_report"]:
        raise click.UsageError("--open needs the report: leave out --no-report.")
    limit = given["memory_limit"]
    if given["open_"] and limit is not None:
        raise click.UsageError("--open needs the report, which --memory-limit leaves out.")
    settings = reading_settings(given)
    model = make_model(given, n_components=given["components"], random_state=given["seed"])
    check_folder(output, given["force"])
    with library_errors_as_messages():
        output.mkdir(parents=True, exist_ok=True)
    checkpoint: Path = given["checkpoint"] or output / CHECKPOINT
    runner = _Runner(checkpoint, given["time_limit"])
    facts = {"data": {"source": str(Path(data).absolute()), "reading": settings}}
    began = time.perf_counter()
    if limit is None:
        counts = read_data(data, settings | {"keep_text": _TEXT_KEPT})
        runner.reading = time.perf_counter() - began
        print_message(_describe_data(data, counts, settings))
        facts["data"]["format"] = counts.format
        code = runner.run(model, counts.counts)
        manifest = None if code else _write(output, Fit(model, counts, facts), runner, given)
    else:
        with opened_data(data, settings, limit, output) as (blocks, large):
            runner.reading = time.perf_counter() - began
            print_message(_describe_large(data, large, limit))
            code = runner.run(model, blocks)
            manifest = None if code else _write(output, Fit(model, large, facts), runner, given)
    if manifest is None:
        return code
    if runner.stopped:
        print_message(f"Stopped by the time limit. To continue: {_this_command(force=True)}")
    if given["open_"]:
        open_in_browser(output / REPORT)
    return 0


def _write(output: Path, fit: Fit, runner: "_Runner", given: dict[str, Any]) -> dict[str, Any]:
    """Write the folder of a fit, print the result and return the manifest."""
    fit.facts["seconds"] = {"reading": runner.reading, "fitting": runner.seconds}
    fit.facts["stopped"] = runner.stopped
    manifest = write_fit(output, fit, report=not given["no_report"])
    if given["checkpoint"] is None and not runner.stopped:
        runner.checkpoint.unlink(missing_ok=True)
    _print_result(output, fit, manifest, json_=given["json_"])
    return manifest


class _Runner:
    """Fit within a time limit; an interrupted fit leaves a checkpoint."""

    def __init__(self, checkpoint: Path, limit: float | None) -> None:
        self.checkpoint, self.limit = checkpoint, limit
        self.reading = self.seconds = 0.0
        self.stopped: str | None = None

    def run(self, model: Any, X: Any) -> int:
        """Fit the model and return an exit code."""
        if self.checkpoint.exists():
            print_message(f"Continuing from {self.checkpoint}")
        began = time.perf_counter()

        def is_too_late(_: Any) -> bool:
            if self.limit is not None and time.perf_counter() - began >= self.limit:
                self.stopped = f"time limit of {self.limit:g} s"
            return bool(self.stopped)

        with sigterm_as_interrupt() as interruption:
            try:
                with (
                    library_errors_as_messages(),
                    warnings_as_messages(),
                    show_progress(
                        None if isinstance(X, Blocks) else float(X.sum()),
                        model.max_iter,
                        model.tol,
                        lines_to=sys.stderr,
                        keep=False,
                    ) as progress,
                ):
                    model.set_params(callbacks=[progress, is_too_late])
                    model.fit(X, checkpoint=Checkpoint(self.checkpoint))
            except KeyboardInterrupt:
                self._print_interruption(model)
                return interruption.exit_code
            finally:
                model.set_params(callbacks=None)
        self.seconds = time.perf_counter() - began
        return 0

    def _print_interruption(self, model: Any) -> None:
        if self.checkpoint.exists():
            done = getattr(model, "n_iter_", "some")
            print_message(f"Interrupted after {done} iterations, saved in {self.checkpoint}.")
            print_message(f"To continue: {_this_command()}")
        else:
            print_message("Interrupted before the first iteration. Nothing was written.")


def _describe_data(path: str, data: CountData, settings: dict[str, Any]) -> str:
    samples, features = data.counts.shape
    return (
        f"{path}: {samples:,} samples x {features:,} features, {data.counts.nnz:,} nonzeros, "
        f"read as {data.format}{_describe_filters(settings) if data.format in TEXT_FORMATS else ''}"
    )


def _describe_large(path: str, data: LargeData, limit: str) -> str:
    facts = data.facts
    return (
        f"{path}: {facts['samples']:,} samples x {facts['features']:,} features, "
        f"{facts['nonzeros']:,} nonzeros, read as {facts['format']} in row blocks, using at most "
        f"{limit} of memory; the counts are not copied and no report is written"
    )


def _describe_filters(settings: dict[str, Any]) -> str:
    """Return the part of the message that says which words were not counted."""
    words, least, most = (settings[name] for name in ("stop_words", "min_df", "max_df"))
    stop_words = "English stop words, " if words == "english" else "your stop words, "
    unit = "of all documents" if least < 1 else "documents"
    upper = "" if most == 1.0 else f" or in more than {most}"
    ignored = "" if words is None else stop_words
    return f" without {ignored}terms in fewer than {least} {unit}{upper}"


def _print_result(output: Path, fit: Fit, manifest: dict[str, Any], *, json_: bool) -> None:
    model, data = fit.model, fit.data
    if json_:
        topics = topic_facts(model, data.feature_names)
        click.echo(as_json({"output": str(output), **manifest, "topics": topics}))
        return
    result = "converged" if model.converged_ else "not converged"
    click.echo(
        f"{type(model).__name__} with {len(model.components_)} topics: {model.n_iter_} iterations "
        f"in {manifest['seconds']['fitting']:.1f} s, {result}\n"
    )
    click.echo("\n".join(topic_lines(model, data.feature_names, data.sample_names)))
    report = f"\nReport: {output / REPORT}" if REPORT in manifest["files"] else ""
    click.echo(printable(f"\nWrote {output}{report}"))


def _this_command(*, force: bool = False) -> str:
    arguments: list[str] = click.get_current_context().obj
    extra = ["--force"] if force and "--force" not in arguments else []
    return shlex.join(["isotopic", *arguments, *extra])

"""``isotopic fit``."""

import shlex
import sys
import time
from pathlib import Path
from typing import Any

import click

from isotopic import Checkpoint
from isotopic.cli.folder import CHECKPOINT, REPORT, Fit, check_folder
from isotopic.cli.help import Examples
from isotopic.cli.interrupts import terminated_as_interrupted
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
from isotopic.cli.output import as_json, printable, say
from isotopic.cli.problems import in_one_line, warnings_as_lines
from isotopic.cli.report import open_in_browser
from isotopic.cli.topics import topic_facts, topic_lines
from isotopic.cli.writing import write_fit
from isotopic.io import CountData
from isotopic.io.read import TEXT_FORMATS
from isotopic.progress import show_progress

# Characters of each document that are kept for the report.
_TEXT_KEPT = 1000


@click.command(
    cls=Examples,
    short_help="Fit a model and write a folder with all that was found.",
    examples="""
    isotopic fit texts/ -k 20 -o out                       a folder of .txt files
    isotopic fit news.csv --text-column body --min-df 5 -k 20 -o out
    isotopic fit filtered_feature_bc_matrix/ -k 10 -o out  cells of 10x Genomics
    isotopic fit cells.h5ad --layer counts --model LDA --alpha 0.1 -k 10 -o out
    isotopic fit tumours.SBS96.all -k 8 --n-init 10 -o out --open
    isotopic fit big.npz -k 100 --time-limit 600 -o out    stop after ten minutes
    """,
)
@click.argument("data", type=click.Path(exists=True))
@click.option("-k", "--components", type=click.IntRange(1), default=10, show_default=True)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write."
)
@model_options
@seed_option
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where an interrupted fit goes on from.  [default: OUTPUT/{CHECKPOINT}]",
)
@click.option("--no-report", is_flag=True, help="Do not write the HTML report.")
@open_option
@force_option
@json_option
@reading_options
def fit(data: str, output: Path, **given: Any) -> int:
    """Fit a model to DATA, a file or folder, and write a folder with all that was found.

    The folder holds the model, topics and weights as Parquet and CSV, a manifest in JSON and a
    report. An interrupted fit (Ctrl-C, SIGTERM) leaves a checkpoint: the same command goes on.
    """
    if given["open_"] and given["no_report"]:
        raise click.UsageError("--open needs the report that --no-report leaves out")
    settings = reading_settings(given)
    model = make_model(given, n_components=given["components"], random_state=given["seed"])
    check_folder(output, given["force"])
    began = time.perf_counter()
    counts = read_data(data, settings | {"keep_text": _TEXT_KEPT})
    seconds = {"reading": time.perf_counter() - began}
    say(_described(data, counts, settings))
    with in_one_line():
        output.mkdir(parents=True, exist_ok=True)
    checkpoint: Path = given["checkpoint"] or output / CHECKPOINT
    runner = _Runner(checkpoint, given["time_limit"])
    code = runner.run(model, counts)
    if code:
        return code
    seconds["fitting"] = runner.seconds
    source = str(Path(data).absolute())
    facts = {
        "data": {"source": source, "format": counts.format, "reading": settings},
        "seconds": seconds,
        "stopped": runner.stopped,
    }
    manifest = write_fit(output, Fit(model, counts, facts), report=not given["no_report"])
    if given["checkpoint"] is None and not runner.stopped:
        checkpoint.unlink(missing_ok=True)
    _tell(output, model, counts, manifest, json_=given["json_"])
    if runner.stopped:
        say(f"stopped by the time limit; to go on: {_this_command(force=True)}")
    if given["open_"]:
        open_in_browser(output / REPORT)
    return 0


class _Runner:
    """Fits within a time limit; an interruption leaves a checkpoint."""

    def __init__(self, checkpoint: Path, limit: float | None) -> None:
        self.checkpoint, self.limit = checkpoint, limit
        self.seconds = 0.0
        self.stopped: str | None = None

    def run(self, model: Any, data: CountData) -> int:
        """Fit; give an exit code."""
        if self.checkpoint.exists():
            say(f"going on from {self.checkpoint}")
        began = time.perf_counter()

        def late(_: Any) -> bool:
            if self.limit is not None and time.perf_counter() - began >= self.limit:
                self.stopped = f"time limit of {self.limit:g} s"
            return bool(self.stopped)

        with terminated_as_interrupted() as interruption:
            try:
                with (
                    in_one_line(),
                    warnings_as_lines(),
                    show_progress(
                        float(data.counts.sum()),
                        model.max_iter,
                        model.tol,
                        lines_to=sys.stderr,
                        keep=False,
                    ) as progress,
                ):
                    model.set_params(callbacks=[progress, late])
                    model.fit(data.counts, checkpoint=Checkpoint(self.checkpoint))
            except KeyboardInterrupt:
                self._tell_interrupted(model)
                return interruption.exit_code
            finally:
                model.set_params(callbacks=None)
        self.seconds = time.perf_counter() - began
        return 0

    def _tell_interrupted(self, model: Any) -> None:
        if self.checkpoint.exists():
            made = getattr(model, "n_iter_", "some")
            say(f"interrupted after {made} iterations, which {self.checkpoint} keeps")
            say(f"to go on: {_this_command()}")
        else:
            say("interrupted before the first iteration; nothing was written")


def _described(path: str, data: CountData, settings: dict[str, Any]) -> str:
    samples, features = data.counts.shape
    return (
        f"{path}: {samples:,} samples x {features:,} features, {data.counts.nnz:,} nonzeros, "
        f"read as {data.format}{_left_out(settings) if data.format in TEXT_FORMATS else ''}"
    )


def _left_out(settings: dict[str, Any]) -> str:
    """Say which words of documents were not counted."""
    words, least, most = (settings[name] for name in ("stop_words", "min_df", "max_df"))
    said = [] if words is None else ["English" if words == "english" else "your", "stop words,"]
    said += [f"terms in fewer than {least}" + (" of all documents" if least < 1 else " documents")]
    if most != 1.0:
        said += [f"or in more than {most}"]
    return f" without {' '.join(said)}"


def _tell(
    output: Path, model: Any, data: CountData, manifest: dict[str, Any], *, json_: bool
) -> None:
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
    report = f"; look at {output / REPORT}" if REPORT in manifest["files"] else ""
    click.echo("\n" + printable(f"wrote {output}{report}"))


def _this_command(*, force: bool = False) -> str:
    arguments: list[str] = click.get_current_context().obj
    extra = ["--force"] if force and "--force" not in arguments else []
    return shlex.join(["isotopic", *arguments, *extra])

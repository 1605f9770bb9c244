"""``isotopic demo``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from isotopic._core import native
from isotopic.cli.folder import REPORT, Fit, check_folder
from isotopic.cli.help import Examples
from isotopic.cli.options import force_option, json_option, open_option, threads_option
from isotopic.cli.output import as_json, printable
from isotopic.cli.report import open_in_browser
from isotopic.cli.topics import topic_facts, topic_lines
from isotopic.cli.writing import write_fit
from isotopic.datasets import load_kjv
from isotopic.estimators import LDA
from isotopic.io.data import CountData, as_count_data
from isotopic.io.source import loaded
from isotopic.threads import available_cores

# How the demonstration fits: as the paper does (Algorithm 5), until an update moves this share of
# the counts; and how much it shows.
_ALPHA, _MAX_ITER, _SETTLED, _TRACE = 0.1, 600, 1e-4, 12


@click.command(
    cls=Examples,
    short_help="Fit the bundled corpus, print its topics, write a report.",
    examples="""
    isotopic demo --open
    isotopic demo --components 10 --seed 7 -o ten-topics
    """,
)
@click.option("-k", "--components", type=click.IntRange(1), default=20, show_default=True)
@click.option(
    "--seed", type=click.IntRange(0), default=5, show_default=True, help="Of the random start."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("isotopic-demo"),
    show_default=True,
)
@threads_option
@open_option
@force_option
@json_option
def demo(
    components: int,
    seed: int,
    output: Path,
    threads: int | None,
    open_: bool,
    force: bool,
    json_: bool,
) -> int:
    """Fit LDA to the chapters of the King James Bible, print its topics and write a report."""
    check_folder(output, force)
    corpus = load_kjv()
    data = as_count_data(loaded(corpus.data, corpus.sample_names, corpus.feature_names), "bundled")
    model = LDA(
        components,
        alpha=_ALPHA,
        eta=None,
        estimate="variational",
        init="random",
        max_iter=_MAX_ITER,
        tol=_SETTLED,
        random_state=seed,
        n_jobs=threads,
    ).fit(data.counts)
    fit = Fit(model, data, {"data": {"source": "isotopic.datasets.load_kjv"}})
    manifest = write_fit(output, fit, title="The King James Bible by chapter")
    if json_:
        topics = topic_facts(model, data.feature_names)
        click.echo(as_json({"output": str(output), **manifest, "topics": topics}))
    else:
        lines = [*_heading(data, model), "", *_trace(model), ""]
        lines += topic_lines(model, data.feature_names, data.sample_names)
        click.echo("\n".join([*lines, "", printable(f"look at {output / REPORT}")]))
    if open_:
        open_in_browser(output / REPORT)
    return 0


def _heading(data: CountData, model: Any) -> Iterator[str]:
    samples, features = data.counts.shape
    words = data.counts.sum()
    yield f"The King James Bible: {samples:,} chapters, {features:,} terms, {words:,} words"
    yield (
        f"LDA with {model.n_components} topics: {model.n_iter_} iterations in "
        f"{model.history_['seconds'][-1]:.1f} s on {_machine()}"
    )


def _machine() -> str:
    cores = available_cores()
    return f"{cores} core{'s' if cores > 1 else ''}, instruction set {native.level()}"


def _trace(model: Any) -> Iterator[str]:
    """Give a dozen lines of the history: many of its beginning, few of its end."""
    history = model.history_
    lines = np.geomspace(1, len(history), _TRACE).round().astype(int)
    yield "iteration  seconds      objective  residual"
    for row in history[np.unique(lines) - 1]:
        yield (
            f"{row['iteration']:9d}  {row['seconds']:7.2f}  {row['objective']:13,.1f}  "
            f"{row['residual']:8.1e}"
        )

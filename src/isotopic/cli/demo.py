"""``isotopic demo``."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isotopic._core import native
from isotopic.cli import options
from isotopic.cli.command import command
from isotopic.cli.folder import FILES, REPORT, StoredFit, output_folder, write_fit
from isotopic.cli.output import as_json, library_errors_as_messages, printable, warnings_as_messages
from isotopic.cli.report import open_in_browser
from isotopic.cli.topic_summary import topic_facts, topic_lines
from isotopic.datasets import load_kjv
from isotopic.estimators import LDA
from isotopic.io.data import CountData, as_count_data
from isotopic.io.source import loaded
from isotopic.threads import available_cores

# The paper's LDA (Algorithm 5) until an update moves less than this fraction of the counts.
_ALPHA, _MAX_ITER, _TOL = 0.1, 600, 1e-4

# Lines of the history that are printed.
_HISTORY_LINES = 12


@command(
    replace(options.COMPONENTS, default=20),
    replace(options.SEED, default=5),
    replace(options.OUTPUT_FOLDER, default=Path("isotopic-demo"), is_required=False),
    options.OPEN,
    options.FORCE,
    options.JSON,
    options.THREADS,
    examples="""
    isotopic demo --open
    isotopic demo --components 10 --seed 7 -o ten-topics
    """,
)
def demo(given: Namespace) -> int:
    """Fit LDA to the chapters of the King James Bible, print its topics and write a report."""
    output: Path = given.output
    corpus = load_kjv()
    data = as_count_data(loaded(corpus.data, corpus.sample_names, corpus.feature_names), "bundled")
    model = LDA(
        given.components,
        alpha=_ALPHA,
        eta=None,
        estimate="variational",
        init="random",
        max_iter=_MAX_ITER,
        tol=_TOL,
        random_state=given.seed,
        n_jobs=given.threads,
    )
    with output_folder(output, FILES, given.force):
        with library_errors_as_messages(), warnings_as_messages():
            model.fit(data.counts)
        fit = StoredFit(model, data, {"data": {"source": "isotopic.datasets.load_kjv"}})
        manifest = write_fit(output, fit, title="The King James Bible by chapter")
    if given.json:
        topics = topic_facts(model, data.feature_names)
        print(as_json({"output": str(output), **manifest, "topics": topics}))
    else:
        lines = [*_heading_lines(data, model), "", *_history_lines(model), ""]
        lines += topic_lines(model, data.feature_names, data.sample_names)
        print("\n".join([*lines, "", printable(f"Report: {output / REPORT}")]))
    if given.open:
        open_in_browser(output / REPORT)
    return 0


def _heading_lines(data: CountData, model: Any) -> list[str]:
    samples, features = data.counts.shape
    cores = available_cores()
    return [
        f"The King James Bible: {samples:,} chapters, {features:,} terms, "
        f"{data.counts.sum():,} words",
        f"LDA with {model.n_components} topics: {model.n_iter_} iterations in "
        f"{model.history_['seconds'][-1]:.1f} s on {cores} core{'s' if cores > 1 else ''}, "
        f"instruction set {native.level()}",
    ]


def _history_lines(model: Any) -> list[str]:
    """Return a dozen iterations of the history at geometric steps: more of its beginning."""
    history = model.history_
    chosen = np.unique(np.geomspace(1, len(history), _HISTORY_LINES).round().astype(int)) - 1
    return ["iteration  seconds      objective  residual"] + [
        f"{row['iteration']:9d}  {row['seconds']:7.2f}  {row['objective']:13,.1f}  "
        f"{row['residual']:8.1e}"
        for row in history[chosen]
    ]

"""The command line: ``isotopic verify``, ``isotopic demo``, ``isotopic info``."""

import argparse
import json
import math
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy
import sklearn
from scipy import sparse
from scipy.special import rel_entr

import isotopic
from isotopic._core import native
from isotopic.datasets import load_kjv
from isotopic.estimators import LDA
from isotopic.threads import available_cores
from isotopic.verify import VerificationTable, verify
from isotopic.verify.evidence import read_counts

_DESCRIPTION = "The parts in count data: NMF, PLSA, LDA and Gamma-Poisson as one model."
_EXAMPLES = """\
examples:
  isotopic demo                          topics of the bundled corpus, and a report of them
  isotopic demo --components 10 --seed 7
  isotopic verify                        the paper's claims, checked on the bundled corpus
  isotopic verify counts.npz --json      on your counts (scipy.sparse.save_npz), for a machine
  isotopic info                          versions, instruction set, threads
"""

# How the demonstration fits (until an update moves this share of the counts), and what it shows.
_ALPHA, _MAX_ITER, _SETTLED = 0.1, 600, 1e-4
_TERMS, _CHAPTERS, _TRACE = 7, 3, 12
_DEMO_REPORT = "isotopic-demo.html"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        The arguments; ``None`` takes those of the process.

    Returns
    -------
    code : int
        0 if all is well, 1 if a claim does not hold, 2 if the data cannot be used.
    """
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except _UnusableDataError as error:
        print(f"isotopic: error: {error}", file=sys.stderr)
        return 2
    return code


class _UnusableDataError(Exception):
    """The user's data cannot be read or is not counts; the message says why in one line."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="isotopic",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"isotopic {isotopic.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = commands.add_parser(
        "verify",
        help="check the paper's claims on data",
        description="Check every algorithm, lemma, corollary and theorem of the paper on data. "
        "The exit code is 0 if all of them hold and 1 otherwise.",
    )
    command.add_argument(
        "file",
        nargs="?",
        metavar="FILE.npz",
        help="samples x features, as scipy.sparse.save_npz writes them (default: bundled corpus)",
    )
    _add_count(command, "--components", 5, "how many components (default: %(default)s)")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.set_defaults(run=_verify)

    command = commands.add_parser(
        "demo",
        help="fit the bundled corpus, print its topics and write a report",
        description="Fit LDA to the chapters of the King James Bible, print what it found, and "
        "write a report to open in a browser.",
    )
    _add_count(command, "--components", 20, "how many topics (default: %(default)s)")
    command.add_argument(
        "--seed", type=int, default=5, help="of the random start (default: %(default)s)"
    )
    command.add_argument(
        "--report",
        metavar="FILE.html",
        default=_DEMO_REPORT,
        help="where the report is written (default: %(default)s)",
    )
    command.add_argument("--force", action="store_true", help="replace an existing report")
    command.set_defaults(run=_demo)

    command = commands.add_parser("info", help="print versions, instruction set and threads")
    command.set_defaults(run=_info)
    return parser


def _add_count(command: argparse.ArgumentParser, name: str, default: int, text: str) -> None:
    command.add_argument(name, type=_positive, default=default, metavar="K", help=text)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return number


# verify


def _verify(arguments: argparse.Namespace) -> int:
    X = None if arguments.file is None else _read(arguments.file)
    table = verify(X, arguments.components)
    print(_as_json(table) if arguments.json else table)
    return 0 if table.passed else 1


def _read(file: str) -> Any:
    try:
        X = sparse.load_npz(file)
    except OSError as error:
        raise _UnusableDataError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise _UnusableDataError(
            f"{file} is not a sparse matrix as scipy.sparse.save_npz writes it"
        ) from error
    try:
        return read_counts(X)
    except (TypeError, ValueError) as error:
        raise _UnusableDataError(f"{file}: {error}") from error


def _as_json(table: VerificationTable) -> str:
    claims = [
        {
            "where": claim.where,
            "claim": claim.claim,
            "deviation": claim.deviation if math.isfinite(claim.deviation) else None,
            "tolerance": claim.tolerance,
            "passed": claim.passed,
        }
        for claim in table
    ]
    return json.dumps({"passed": table.passed, "claims": claims}, indent=2)


# demo


def _demo(arguments: argparse.Namespace) -> int:
    place = Path(arguments.report)
    if place.exists() and not arguments.force:  # before the fit, not after it
        raise _UnusableDataError(
            f"{place} exists; choose another place with --report, or replace it with --force"
        )
    corpus = load_kjv()
    model = LDA(
        arguments.components,
        alpha=_ALPHA,
        max_iter=_MAX_ITER,
        tol=0,
        random_state=arguments.seed,
        callbacks=lambda at: at.residual <= _SETTLED,
    ).fit(corpus.data)
    print(*_heading(corpus, model), "", *_trace(model), "", *_topics(corpus, model), sep="\n")
    try:
        model.report(
            place,
            corpus.data,
            feature_names=corpus.feature_names,
            sample_names=corpus.sample_names,
            title="The King James Bible by chapter",
            overwrite=arguments.force,
        )
    except OSError as error:
        raise _UnusableDataError(f"cannot write {place}: {error.strerror or error}") from error
    print("", f"The report, for any browser: {place.resolve()}", sep="\n")
    return 0


def _heading(corpus: Any, model: LDA) -> Iterator[str]:
    samples, features = corpus.data.shape
    words = corpus.data.sum()
    yield f"The King James Bible: {samples:,} chapters, {features:,} terms, {words:,} words"
    yield (
        f"LDA with {model.n_components} topics: {model.n_iter_} iterations in "
        f"{model.history_['seconds'][-1]:.1f} s on {_machine()}"
    )


def _machine() -> str:
    cores = available_cores()
    return f"{cores} core{'s' if cores > 1 else ''}, instruction set {native.level()}"


def _trace(model: LDA) -> Iterator[str]:
    """Give a dozen lines of the history: many of its beginning, few of its end."""
    history = model.history_
    lines = np.geomspace(1, len(history), _TRACE).round().astype(int)
    yield "iteration  seconds      objective  residual"
    for row in history[np.unique(lines) - 1]:
        yield (
            f"{row['iteration']:9d}  {row['seconds']:7.2f}  {row['objective']:13,.1f}  "
            f"{row['residual']:8.1e}"
        )


def _topics(corpus: Any, model: LDA) -> Iterator[str]:
    """Give a line for each topic: its share of all words, its terms, its chapters."""
    prevalence = model.sample_totals_ @ model.weights_ / model.sample_totals_.sum()
    # What a term adds to the divergence of the topic from the whole: frequent, and its own.
    distinctive = rel_entr(model.components_, prevalence @ model.components_)
    rows = [("share", "terms that set the topic apart", "chapters with most of it")]
    for topic in np.argsort(-prevalence):
        terms = corpus.feature_names[np.argsort(-distinctive[topic])[:_TERMS]]
        chapters = corpus.sample_names[np.argsort(-model.weights_[:, topic])[:_CHAPTERS]]
        rows.append((f"{prevalence[topic]:.1%}", " ".join(terms), ", ".join(chapters)))
    width = max(len(terms) for _, terms, _ in rows)
    for share, terms, chapters in rows:
        yield f"{share:>5}  {terms:<{width}}  {chapters}"


# info


def _info(_: argparse.Namespace) -> int:
    rows = {
        "isotopic": isotopic.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
        "core": f"{native.level()} (available: {', '.join(native.levels())})",
        "threads": str(available_cores()),
    }
    for name, value in rows.items():
        print(f"{name:<12}  {value}")
    return 0

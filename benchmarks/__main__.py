"""Measure and print: ``python -m benchmarks [--only import,memory] [--quick]``.

``--only solution`` runs isotopic against its peers, which takes hours unless the other options or
``--quick`` say otherwise. ``--only missing,busy --quick --minutes 15`` fills the benchmark page: it
measures what has no result yet, and what was measured while the machine was busy.
"""

import argparse
import json
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks import (
    against_sklearn,
    bayes,
    beta,
    cluster,
    completion,
    concentrations,
    consensus,
    convergence,
    covariate_peers,
    covariates,
    coverage,
    dense,
    differential,
    dispersion,
    estimates,
    extraction,
    fasttopics,
    foldin,
    imports,
    late,
    limits,
    machine,
    many_topics,
    memory,
    offsets,
    online,
    outofcore,
    pages,
    programs,
    rare,
    real,
    recovery,
    refit,
    scaling,
    solvers,
    sparsity,
    threads,
    tumours,
)
from benchmarks.solution import section as solution
from benchmarks.solution.contestants import PEERS, Contestant
from benchmarks.table import AGAIN, Report, Settings

MODULES = (
    against_sklearn,
    limits,
    late,
    foldin,
    convergence,
    solvers,
    scaling,
    threads,
    dense,
    bayes,
    estimates,
    concentrations,
    recovery,
    beta,
    memory,
    offsets,
    imports,
    real,
    sparsity,
    coverage,
    refit,
    differential,
)
ENGINE = {module.SECTION.name: module.SECTION for module in MODULES}
# Those that take minutes and gigabytes, and are measured only when asked for.
SCALE = {
    module.SECTION.name: module.SECTION
    for module in (
        outofcore,
        cluster,
        online,
        many_topics,
        fasttopics,
        consensus,
        tumours,
        extraction,
        programs,
        rare,
        dispersion,
        covariates,
        covariate_peers,
    )
}
SCALE |= {section.name: section for section in (covariates.SIZE, *completion.SECTIONS)}
SOLUTION = "solution"
NAMES = (*ENGINE, *SCALE, SOLUTION)
# Words that stand for sections, by the results that are kept; the races are asked for by name.
MISSING, BUSY = "missing", "busy"
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    arguments = _arguments()
    facts = machine.facts()
    for name, fact in facts.items():
        print(f"{name + ':':<12}{fact}")
    report, sections = Report(), ENGINE | SCALE
    end = time.monotonic() + 60 * arguments.minutes
    for done, name in enumerate(arguments.only):
        races = name == SOLUTION
        section = solution.section(_plan(arguments), RESULTS) if races else sections[name]
        seconds = (end - time.monotonic()) / (len(arguments.only) - done)
        measured = report.run(section, Settings(arguments.quick), seconds)
        if measured.rows:  # else an earlier result is worth more
            measured.keep(RESULTS, _command(name), facts)
    print(f"\n{report.summary()}; kept in {RESULTS.parent.name}/{RESULTS.name}")
    pages.fill_all()


def _command(name: str) -> str:
    """Return the command that measures one section as it was measured now."""
    others = iter(sys.argv[1:])
    kept = []
    for word in others:
        if word in ("--only", "--minutes"):  # the remark says where a share of the time ended it
            next(others)
        elif not word.startswith(("--only=", "--minutes=")):
            kept.append(word)
    return shlex.join(["python", "-m", "benchmarks", "--only", name, *kept])


def _plan(arguments: argparse.Namespace) -> solution.Plan:
    """Take the plan, or the quick one, with what was asked for instead."""
    wanted = ("data", "components", "threads", "seconds", "repetitions", "peers")
    given = {name: getattr(arguments, name) for name in wanted}
    plan = solution.QUICK if arguments.quick else solution.Plan()
    return replace(plan, **{name: value for name, value in given.items() if value is not None})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        type=_sections,
        default=list(ENGINE),
        metavar="NAMES",
        help="sections to measure, with commas between them: "
        + ", ".join(NAMES)
        + f"; by default all but {', '.join((*SCALE, SOLUTION))}. {MISSING}: those without a "
        f"result; {BUSY}: those measured on a busy machine; both without {SOLUTION}",
    )
    parser.add_argument("--quick", action="store_true", help="a third of the repetitions")
    parser.add_argument(
        "--minutes",
        type=_positive,
        default=float("inf"),
        help="for all sections; each gets an equal share of what is left, and keeps the rows that "
        "it has when its share ends",
    )
    races = parser.add_argument_group(SOLUTION)
    races.add_argument("--data", type=_texts, metavar="NAMES", help=", ".join(solution.DATA))
    races.add_argument("--components", type=_whole_numbers, metavar="NUMBERS", help="20,100")
    races.add_argument("--threads", type=_whole_numbers, metavar="NUMBERS", help="1 and all")
    races.add_argument("--seconds", type=_positive, help="for each contestant; 60")
    races.add_argument("--repetitions", type=_count, help="from different starts; 3")
    races.add_argument(
        "--peers",
        type=_peers,
        metavar="NAMES",
        help="or how they begin: " + ", ".join(peer.name for peer in PEERS),
    )
    return parser.parse_args()


def _sections(text: str) -> list[str]:
    words = text.split(",")
    unknown = [word for word in words if word not in (*NAMES, MISSING, BUSY)]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no section is called {', '.join(unknown)}; there are {', '.join(NAMES)}"
        )
    names = [name for word in words for name in _meant(word)]
    return list(dict.fromkeys(names))


def _meant(word: str) -> list[str]:
    """Return the sections that a word of ``--only`` stands for."""
    if word not in (MISSING, BUSY):
        return [word]
    files = {name: RESULTS / f"{name}.json" for name in (*ENGINE, *SCALE)}
    if word == MISSING:
        return [name for name, file in files.items() if not file.exists()]
    kept = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    return [name for name, result in kept.items() if AGAIN in result["remark"]]


def _peers(text: str) -> tuple[Contestant, ...]:
    beginnings = tuple(text.split(","))
    unknown = [b for b in beginnings if not any(peer.name.startswith(b) for peer in PEERS)]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no peer's name begins with {', '.join(unknown)}; there are "
            + ", ".join(peer.name for peer in PEERS)
        )
    return tuple(peer for peer in PEERS if peer.name.startswith(beginnings))


def _texts(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _whole_numbers(text: str) -> tuple[int, ...]:
    return tuple(_count(part) for part in text.split(","))


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


if __name__ == "__main__":
    main()

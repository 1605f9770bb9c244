"""Measure and print: ``python -m benchmarks [--only import,memory] [--quick]``."""

import argparse
from pathlib import Path

from benchmarks import (
    against_sklearn,
    bayes,
    convergence,
    dense,
    imports,
    late,
    limits,
    machine,
    memory,
    real,
    scaling,
)
from benchmarks.table import Report, Settings

MODULES = (against_sklearn, limits, late, convergence, scaling, dense, bayes, memory, imports, real)
SECTIONS = {module.SECTION.name: module.SECTION for module in MODULES}
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    arguments = _arguments()
    report = Report(machine.facts())
    for name, fact in report.facts.items():
        print(f"{name + ':':<12}{fact}")
    for name in arguments.only:
        report.run(SECTIONS[name], Settings(arguments.quick))
    report.write(RESULTS)
    print(f"\n{report.summary()}; kept in {RESULTS.parent.name}/{RESULTS.name}/engine.md and .csv")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        type=_names,
        default=list(SECTIONS),
        metavar="NAMES",
        help="sections to measure, with commas between them: " + ", ".join(SECTIONS),
    )
    parser.add_argument("--quick", action="store_true", help="a third of the repetitions")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no section is called {', '.join(unknown)}; there are {', '.join(SECTIONS)}"
        )
    return names


if __name__ == "__main__":
    main()

"""The time of ``import isotopic`` in a new interpreter."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.processes import LINE_LIMIT
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, Samples


def measure(settings: Settings) -> Iterator[Row]:
    modules = ("isotopic", "sklearn.decomposition")
    for module in modules:
        _seconds(module)  # the files are in memory from here on
    each = [[_seconds(module) for module in modules] for _ in range(settings.repetitions(9))]
    own, theirs = (Samples(float(column.min()), column) for column in np.array(each).T)
    ratio = Ratio.of(own, theirs)
    yield Row(
        "import isotopic",
        ratio.value,
        "x",
        (ratio.low, ratio.high),
        Target(1.2, at_least=False),
        f"{own.ms} against import sklearn.decomposition {theirs.ms}",
    )


def _seconds(module: str) -> float:
    """Time an import in a new interpreter, whose own start does not count."""
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=LINE_LIMIT,
    )
    return float(done.stdout)


SECTION = Section(
    "import",
    "import isotopic against import sklearn.decomposition",
    measure,
    ("Of the import statement alone, in fresh interpreters.",),
)

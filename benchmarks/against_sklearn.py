"""One joint iteration on sparse counts against one of scikit-learn's multiplicative updates."""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import data
from benchmarks.fits import iterations_of, own_nmf, sklearn_nmf
from benchmarks.processes import in_new_process
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, Samples, one_thread

TARGET = Target(40.0)
CASES = tuple(product((20, 100), ("float64", "float32")))
FITS = {"own": own_nmf, "theirs": sklearn_nmf}


def measure(settings: Settings) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for components, dtype in CASES:
            file = Path(folder) / f"{dtype}.npz"
            sparse.save_npz(file, data.lda_like(dtype), compressed=False)
            runs = [
                {name: _alone(name, components, file) for name in FITS}
                for _ in range(settings.repetitions(3))
            ]
            times = {name: _samples([run[name] for run in runs]) for name in FITS}
            yield _row(f"NMF iteration, K={components}, {dtype}", times, TARGET)
    with one_thread():
        for components in (20, 100):
            X = data.lda_like("float64")
            start = data.start_for(X, components)
            times = iterations_of(
                settings.repetitions(3),
                own=(own_nmf(X, *start), 800 // components),
                theirs=(sklearn_nmf(X, *start), 2),
            )
            yield _row(f"the same in one old process, K={components}, float64", times, None)


def _row(what: str, times: dict[str, Samples], target: Target | None) -> Row:
    ratio = Ratio.of(times["theirs"], times["own"])
    detail = f"{times['own'].ms} against {times['theirs'].ms}"
    return Row(what, ratio.value, "x", (ratio.low, ratio.high), target, detail)


def _samples(seconds: list[float]) -> Samples:
    return Samples(min(seconds), np.array(seconds))


def iteration_seconds(name: str, components: int, file: str) -> float:
    """Time an iteration of one contestant, alone in this process."""
    X = sparse.csr_array(sparse.load_npz(file))
    start = data.start_for(X, components)
    iterations = 800 // components if name == "own" else 2
    with one_thread():
        times = iterations_of(2, fit=(FITS[name](X, *start), iterations))
    return times["fit"].best


def _alone(name: str, components: int, file: Path) -> float:
    call = f"iteration_seconds({name!r}, {components}, {str(file)!r})"
    return in_new_process("against_sklearn", call)


SECTION = Section(
    "sklearn",
    "one sparse NMF iteration against scikit-learn's (solver mu, KL), one thread",
    measure,
    (
        "Generated LDA counts, 5,000 x 10,000 with about 700,000 nonzeros. Same matrix, precision",
        "and start; differences of two max_iter, so that neither side's set-up counts. Each runs",
        "in a new process, in turns, as users meet it. scikit-learn makes large temporary arrays,",
        "which cost less in a process whose allocator has grown: the last two rows.",
    ),
)

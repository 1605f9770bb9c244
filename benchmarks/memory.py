"""Peak memory of a fit beyond its data, in a process of its own."""

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.processes import in_new_process
from benchmarks.table import Row, Section, Settings, Target
from isotopic import NMF

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measure(settings: Settings) -> Iterator[Row]:
    what = "NMF(10), 50,000 x 50,000, a million nonzeros"
    if not STATUS.exists():
        yield Row(what, detail="needs /proc (Linux)")
        return
    values = [in_new_process("memory", "growth_in_mb()") for _ in range(settings.repetitions(3))]
    yield Row(
        what,
        max(values),
        " MB",
        tuple(np.quantile(values, (0.25, 0.75))),
        Target(40.0, at_least=False),
        f"X itself {_data().data.nbytes * 1.5 / 1e6:.0f} MB",
    )


def growth_in_mb() -> float:
    """Fit and tell how far the resident memory rose above where it stood with X in place."""
    model = NMF(10, max_iter=3, tol=0, n_jobs=1, random_state=0)
    model.fit(sparse.csr_array(np.ones((20, 20))))
    X = _data()
    _give_back()
    before = _status("VmRSS")
    with suppress(OSError):  # then the peak may be an older one, which overstates the growth
        CLEAR_REFS.write_text("5")
    model.fit(X)
    return (_status("VmHWM") - before) / 1e6


def _data() -> sparse.csr_array:
    """Ones and twos in random places, 20 a row on average."""
    rng = np.random.default_rng(0)
    n, entries = 50_000, 1_000_000
    cells = np.unique(rng.integers(n * n, size=entries))
    starts = np.searchsorted(cells, n * np.arange(n + 1, dtype=np.int64)).astype(np.int32)
    values = rng.integers(1, 3, len(cells)).astype(np.float64)
    return sparse.csr_array((values, (cells % n).astype(np.int32), starts), shape=(n, n))


def _give_back() -> None:
    """Return freed memory to the system, so that the fit cannot reuse it unseen."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _status(field: str) -> int:
    lines = (line.split() for line in STATUS.read_text().splitlines())
    return next(1024 * int(line[1]) for line in lines if line[0] == f"{field}:")


SECTION = Section(
    "memory",
    "peak resident memory beyond X, one thread",
    measure,
    (
        "Growth of the high-water mark in a fit of three iterations; X is float64 with int32",
        "indices, and stands before the count begins. A small fit was made before. Worst of three.",
    ),
)

"""How much of what the machine can do the bare pass does."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings
from benchmarks.timing import Samples, interleaved, one_thread
from isotopic import CountMatrix
from isotopic.kernels import one_pass

SIZES = {"256 kB": 2**18, "8 MB": 2**23, "256 MB": 2**28}


@dataclass(frozen=True)
class Work:
    """What a pass must do at the least."""

    flops: float
    streamed: float
    gathered: float

    @classmethod
    def of(cls, X: CountMatrix, weights: np.ndarray, topics: np.ndarray) -> "Work":
        """Count it from the arrays themselves."""
        entries, components = len(X.values), weights.shape[1]
        arrays = (X.row_starts, X.features, X.values, *X.by_feature.arrays())
        return cls(
            flops=6 * components * entries,
            streamed=sum(a.nbytes for a in arrays) + 2 * (weights.nbytes + topics.nbytes),
            gathered=2 * components * entries * X.dtype.itemsize,
        )


def measure(settings: Settings) -> Iterator[Row]:
    with one_thread():
        streams = {size: _bandwidth(settings, total, 3) for size, total in SIZES.items()}
        reads = {size: _bandwidth(settings, total, 2) for size, total in SIZES.items()}
        for size in SIZES:
            yield Row(f"bandwidth, {size}, read and write", streams[size] / 1e9, " GB/s")
        for size in SIZES:
            yield Row(f"bandwidth, {size}, read only", reads[size] / 1e9, " GB/s")
        for dtype in ("float64", "float32"):
            for components in (20, 100):
                yield from _fractions(settings, components, dtype, streams["256 MB"], reads)


def _fractions(
    settings: Settings, components: int, dtype: str, memory: float, cache: dict[str, float]
) -> Iterator[Row]:
    """Compare the pass with each limit; the product of matrices is timed in turn with it."""
    counts = data.lda_like(dtype)
    X, (weights, topics) = CountMatrix(counts), data.start_for(counts, components)
    topics, work = np.asfortranarray(topics), Work.of(X, weights, topics)
    a, b, c = (np.ones((1000, 1000), dtype) for _ in range(3))
    times = interleaved(
        settings.repetitions(30),
        warm=True,
        own=lambda: one_pass(X, weights, topics),
        product=lambda: np.matmul(a, b, out=c),
    )
    own, rate = times["own"], 2e9 / times["product"].best
    limits = {
        "arithmetic": work.flops / rate,
        "memory": work.streamed / memory,
        "cache": work.gathered / cache["256 kB"],
    }
    details = {
        "arithmetic": f"{work.flops / 1e6:.0f} Mflop at {rate / 1e9:.0f} Gflop/s",
        "memory": f"{work.streamed / 1e6:.1f} MB at {memory / 1e9:.0f} GB/s",
        "cache": f"{work.gathered / 1e6:.0f} MB at {cache['256 kB'] / 1e9:.0f} GB/s "
        f"(from 8 MB: {1e3 * work.gathered / cache['8 MB']:.3g} ms)",
    }
    model = f"K={components}, {dtype}"
    for name, seconds in limits.items():
        detail = f"{details[name]} = {1e3 * seconds:.3g} ms"
        yield _row(f"{name}, {model}", seconds, own, detail)
    name = max(limits, key=limits.__getitem__)
    yield _row(
        f"limit, {model}",
        limits[name],
        own,
        f"{name}; the pass {own.ms}; all three in turn {1e3 * sum(limits.values()):.3g} ms",
    )


def _row(what: str, seconds: float, own: Samples, detail: str) -> Row:
    low, high = np.quantile(100 * seconds / own.each, (0.25, 0.75))
    return Row(what, 100 * seconds / own.best, "%", (low, high), detail=detail)


def _bandwidth(settings: Settings, total: int, arrays: int) -> float:
    """Bytes a second of a sum into a third array, or of the inner product of two."""
    n = total // arrays // 4096 * 512 + 136  # not a multiple of a page: stores would hit loads
    buffer = np.ones(arrays * n + 8)
    first = -buffer.ctypes.data % 64 // 8
    a, b, *c = (buffer[first + i * n : first + (i + 1) * n] for i in range(arrays))
    repetitions = settings.repetitions(12 if total > 2**25 else 900)
    task = (lambda: np.add(a, b, out=c[0])) if c else (lambda: a @ b)
    return arrays * n * 8 / interleaved(repetitions, task=task)["task"].best


SECTION = Section(
    "limits",
    "the bare pass as a share of the machine's limits, one thread",
    measure,
    (
        "bandwidth  of np.add(a, b, out=c) (counting three arrays) and of a @ b, float64, by the",
        "           size of all arrays together: second-level cache, third-level cache, memory.",
        "arithmetic 6 K operations a nonzero (the product, both sums) at the rate of a 1000 x 1000",
        "           matrix product of the same precision; padding to whole vectors is not counted.",
        "memory     X with its index by feature once, weights and topics read once and written",
        "           once, at the read-and-write bandwidth of 256 MB.",
        "cache      the topics' and the weights' row of each nonzero, 2 K numbers, at the",
        "           read-only bandwidth of 256 kB.",
        "limit      the largest of the three, which a pass with perfect overlap would take.",
    ),
)

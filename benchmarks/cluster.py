"""One worker process against two, and against no cluster at all."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import data
from benchmarks.shards import paper_lda, value_of, write_shards
from benchmarks.table import Row, Section, Settings, Target
from isotopic import open_blocks

COMPONENTS = 50


def measure(settings: Settings) -> Iterator[Row]:
    try:
        import distributed  # noqa: F401, PLC0415 - an extra
    except ImportError:
        yield Row("dask", detail="not installed: pip install isotopic[dask]")
        return
    counts = data.dataset("elife_articles")
    if counts is None:
        yield Row("elife_articles", detail="not found; ISOTOPIC_DATA names its folder")
        return
    iterations = 4 if settings.quick else 10
    with TemporaryDirectory() as folder:
        write_shards(counts, Path(folder), 8)
        how = f"{folder!r}, {COMPONENTS}, {iterations}"
        alone = value_of("shards", f"fit_blocks({how}, None, 1)")["iteration"]
        times = {n: value_of("cluster", f"on_workers({how}, {n})") for n in (1, 2)}
    one, two = (times[n]["iteration"] for n in (1, 2))
    topics = COMPONENTS * counts.shape[1] * 8 / 1e6
    yield Row(
        "two workers against one, speed",
        one / two,
        target=Target(1.8),
        detail=f"{one:.3g} and {two:.3g} s an iteration, {counts.nnz:,} nonzeros",
    )
    yield Row(
        "overhead of an iteration on one worker",
        100 * (one / alone - 1),
        " %",
        target=Target(10.0, at_least=False),
        detail=f"without a cluster {alone:.3g} s; topics {topics:.3g} MB, there and back",
    )
    yield Row(
        "a nonzero and component", 1e9 * alone / counts.nnz / COMPONENTS, " ns", detail="one thread"
    )
    yield Row(
        "the rest of an iteration, for each byte of topics",
        1e9 * max(0.0, one - alone) / (topics * 1e6),
        " ns",
        detail="broadcast, sum and scheduling with one worker",
    )


def on_workers(folder: str, components: int, iterations: int, n_workers: int) -> dict[str, float]:
    """Fit on a cluster of processes with one thread each."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - an extra

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        model = paper_lda(components, iterations)
        model.fit(open_blocks(folder, client=client))
    seconds = np.diff(model.history_["seconds"])
    return {"iteration": float(np.median(seconds))}


SECTION = Section(
    "dask",
    f"LDA({COMPONENTS}) on worker processes of this machine, one thread each",
    measure,
    ("The median iteration. The same bits in all cases.",),
)

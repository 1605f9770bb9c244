"""Data larger than the memory it may use: time and peak against the same fit in memory."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import data
from benchmarks.memory import STATUS
from benchmarks.shards import value_of, write_generated, write_shards
from benchmarks.table import Row, Section, Settings, Target

LIMIT_MB = 2_000
COMPONENTS = 20


def measure(settings: Settings) -> Iterator[Row]:
    if not STATUS.exists():
        yield Row("peak memory", detail="needs /proc (Linux)")
        return
    elife = data.dataset("elife_articles")
    if elife is None:
        yield Row("elife_articles", detail="not found; ISOTOPIC_DATA names its folder")
    else:
        with TemporaryDirectory() as folder:
            write_shards(elife, Path(folder), 8)
            nonzeros = elife.nnz
            del elife
            yield from _compared("elife_articles", folder, nonzeros, 8, settings)
    entries = 20_000_000 if settings.quick else 200_000_000
    if shutil.disk_usage("/tmp").free < 20 * entries:
        yield Row("generated", detail="not enough space in /tmp")
        return
    with TemporaryDirectory() as folder:
        nonzeros = write_generated(Path(folder), entries, 64)
        yield from _compared("generated", folder, nonzeros, 8, settings)


def _compared(
    name: str, folder: str, nonzeros: int, fitting_shards: int, settings: Settings
) -> Iterator[Row]:
    """Compare seconds for each nonzero with those of the part that fits into memory."""
    iterations = 3 if settings.quick else 6
    n_shards = len(list(Path(folder).glob("*.npz")))
    arguments = f"{folder!r}, {fitting_shards}, {COMPONENTS}, {iterations}"
    inside = value_of("shards", f"fit_in_memory({arguments})")
    limit = f"{LIMIT_MB} MB"
    blocks = value_of("shards", f"fit_blocks({folder!r}, {COMPONENTS}, {iterations}, {limit!r})")
    part = fitting_shards / n_shards
    yield Row(
        f"{name}: seconds a nonzero, against in memory",
        blocks["iteration"] * part / inside["iteration"],
        target=Target(1.5, at_least=False),
        detail=f"{nonzeros:,} nonzeros, {blocks['iteration']:.3g} s an iteration; "
        f"{part:.3g} of it in memory {inside['iteration']:.3g} s",
    )
    yield Row(
        f"{name}: peak resident memory",
        blocks["peak"],
        " MB",
        target=Target(LIMIT_MB, at_least=False),
        detail=f"in memory {inside['peak']:.0f} MB for {part:.3g} of it",
    )


SECTION = Section(
    "outofcore",
    f"LDA({COMPONENTS}), joint updates, from .npz shards within {LIMIT_MB} MB",
    measure,
    ("All cores. The first look at the blocks is not part of an iteration.",),
)

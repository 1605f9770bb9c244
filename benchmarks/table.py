"""The rows of a section: what they say, and how they are printed and kept."""

import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

HEADER = ("what", "measured", "quartiles", "target", "", "detail")
WIDTHS = (46, 10, 17, 10, 6)

# What the remark of a section ends with if other processes disturbed it.
AGAIN = "measure again on a quiet machine"


@dataclass(frozen=True)
class Target:
    """A number to reach: at least, or at most; or one to reach and another not to exceed."""

    value: float
    at_least: bool = True
    most: float | None = None

    def met_by(self, value: float) -> bool:
        """Tell whether a measured number reaches it."""
        if self.most is not None and value > self.most:
            return False
        return value >= self.value if self.at_least else value <= self.value


@dataclass(frozen=True)
class Row:
    """One measured number. Without a ``value`` it says in ``detail`` why there is none."""

    what: str
    value: float | None = None
    unit: str = ""
    spread: tuple[float, float] | None = None
    target: Target | None = None
    detail: str = ""

    @property
    def verdict(self) -> str:
        """Say ``ok`` or ``short``, or nothing where there is no target."""
        if self.value is None:
            return "skip"
        if self.target is None:
            return ""
        return "ok" if self.target.met_by(self.value) else "short"

    def cells(self) -> tuple[str, ...]:
        """Write the columns of the table."""
        measured = "" if self.value is None else number(self.value) + self.unit
        spread = "" if self.spread is None else " .. ".join(map(number, self.spread))
        target = ""
        if self.target is not None:
            sign = ">=" if self.target.at_least else "<="
            target = f"{sign} {number(self.target.value)}{self.unit}"
            if self.target.most is not None:
                target = f"{number(self.target.value)} .. {number(self.target.most)}{self.unit}"
        return self.what, measured, spread, target, self.verdict, self.detail


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    quick: bool = False

    def repetitions(self, full: int) -> int:
        """Give the number of repetitions, ``full`` unless in a hurry."""
        return max(2, full // 3) if self.quick else full


@dataclass(frozen=True)
class Section:
    """Numbers that answer one question, with a line of explanation for each kind of them."""

    name: str
    title: str
    measure: Callable[[Settings], Iterable[Row]]
    notes: tuple[str, ...] = ()


@dataclass
class Measured:
    """A section's rows, how many cores other processes took meanwhile (where known), and its limit.

    ``ended`` is the number of seconds after which it was ended before its last row.
    """

    section: Section
    rows: list[Row] = field(default_factory=list)
    others: float | None = None
    ended: float | None = None

    def keep(self, folder: Path, command: str, facts: dict[str, str]) -> None:
        """Write ``<section>.json``: the rows, and how, when and on what they were measured."""
        folder.mkdir(exist_ok=True)
        named = {"section": self.section.name, "title": self.section.title}
        how = {"command": command, "date": date.today().isoformat(), "remark": self.remark}
        what = {"notes": self.section.notes, "rows": [asdict(row) for row in self.rows]}
        text = json.dumps(named | how | facts | what, indent=1, default=float)
        (folder / f"{self.section.name}.json").write_text(text + "\n")

    @property
    def remark(self) -> str:
        """Say how quiet the machine was, and whether rows are missing."""
        ended = "" if self.ended is None else f"ended after {self.ended:.0f} s, with rows missing; "
        if self.others is None:
            return f"{ended}how busy the machine was otherwise is not known here"
        warning = f": {AGAIN}" if self.others > 0.1 else ""
        return f"{ended}other processes took {self.others:.2f} of a core meanwhile{warning}"


@dataclass
class Report:
    """What was measured so far."""

    sections: list[Measured] = field(default_factory=list)

    def run(self, section: Section, settings: Settings, seconds: float = math.inf) -> Measured:
        """Measure a section and print its lines as they come, until its time is up."""
        measured = Measured(section)
        self.sections.append(measured)
        print(f"\n{section.name}: {section.title}", *(f"  {n}" for n in section.notes), sep="\n")
        print(plain(HEADER))
        began, before = time.perf_counter(), _seconds_of_others()
        try:
            with _time_limit(seconds):
                for row in section.measure(settings):
                    measured.rows.append(row)
                    print(plain(row.cells()), flush=True)
        except _TimeIsUp:
            measured.ended = seconds
        elapsed = time.perf_counter() - began
        if before is not None and elapsed > 1:  # the clock of the others ticks slowly
            measured.others = max(0.0, (_seconds_of_others() - before) / elapsed)
        print(f"  ({measured.remark})", flush=True)
        return measured

    def summary(self) -> str:
        """Count the verdicts."""
        verdicts = [row.verdict for part in self.sections for row in part.rows]
        words = ((verdicts.count(v), v) for v in ("ok", "short", "skip"))
        return ", ".join(f"{n} {verdict}" for n, verdict in words)


class _TimeIsUp(BaseException):
    """Raised where a section is when its time is up; no handler of errors may take it for one."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """End the block with ``_TimeIsUp`` after so many seconds."""
    if seconds == math.inf:
        yield
        return

    def end(*_: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _seconds_of_others() -> float | None:
    """Processor seconds spent by everyone but this process and its children (Linux)."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, stat.read_text().split(maxsplit=9)[1:9]
    )
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def number(value: float) -> str:
    """Three digits, without an exponent."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def plain(cells: tuple[str, ...]) -> str:
    *left, last = cells
    return ("  " + " ".join(f"{c:<{w}}" for c, w in zip(left, WIDTHS, strict=True)) + last).rstrip()

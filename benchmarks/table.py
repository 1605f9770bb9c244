"""The lines of the report, and its three forms: plain text, Markdown and CSV."""

import csv
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER = ("what", "measured", "quartiles", "target", "", "detail")
WIDTHS = (46, 10, 17, 10, 6)


@dataclass(frozen=True)
class Target:
    """A number to reach: at least, or at most."""

    value: float
    at_least: bool = True

    def met_by(self, value: float) -> bool:
        """Tell whether a measured number reaches it."""
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
    """A section's rows, and how many cores other processes took meanwhile (where known)."""

    section: Section
    rows: list[Row] = field(default_factory=list)
    others: float | None = None

    @property
    def remark(self) -> str:
        """Say how quiet the machine was."""
        if self.others is None:
            return "how busy the machine was otherwise is not known here"
        warning = ": measure again on a quiet machine" if self.others > 0.1 else ""
        return f"other processes took {self.others:.2f} of a core meanwhile{warning}"


@dataclass
class Report:
    """What was measured so far."""

    facts: dict[str, str]
    sections: list[Measured] = field(default_factory=list)

    def run(self, section: Section, settings: Settings) -> None:
        """Measure a section and print its lines as they come."""
        measured = Measured(section)
        self.sections.append(measured)
        print(f"\n{section.name}: {section.title}", *(f"  {n}" for n in section.notes), sep="\n")
        print(plain(HEADER))
        began, before = time.perf_counter(), _seconds_of_others()
        for row in section.measure(settings):
            measured.rows.append(row)
            print(plain(row.cells()), flush=True)
        elapsed = time.perf_counter() - began
        if before is not None and elapsed > 1:  # the clock of the others ticks slowly
            measured.others = max(0.0, (_seconds_of_others() - before) / elapsed)
        print(f"  ({measured.remark})", flush=True)

    def write(self, folder: Path, name: str) -> None:
        """Keep the report as ``<name>.md`` and ``<name>.csv``."""
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.md").write_text("\n".join(self._markdown()) + "\n")
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                ["section", "what", "value", "unit", "low", "high", "target", "verdict", "detail"]
            )
            writer.writerows(self._records())

    def summary(self) -> str:
        """Count the verdicts."""
        verdicts = [row.verdict for part in self.sections for row in part.rows]
        words = ((verdicts.count(v), v) for v in ("ok", "short", "skip"))
        return ", ".join(f"{n} {verdict}" for n, verdict in words)

    def _markdown(self) -> Iterator[str]:
        yield "# isotopic in numbers\n"
        yield from (f"- {name}: {value}" for name, value in self.facts.items())
        for part in self.sections:
            yield f"\n## {part.section.title}\n"
            yield "```text\n" + "\n".join((*part.section.notes, f"({part.remark})")) + "\n```\n"
            yield "| " + " | ".join(HEADER) + " |"
            yield "| " + " | ".join("---" for _ in HEADER) + " |"
            yield from ("| " + " | ".join(row.cells()) + " |" for row in part.rows)

    def _records(self) -> Iterator[list[object]]:
        for part in self.sections:
            for r in part.rows:
                low, high = r.spread or ("", "")
                target = r.target.value if r.target else ""
                value = "" if r.value is None else r.value
                yield [
                    part.section.name,
                    r.what,
                    value,
                    r.unit.strip(),
                    low,
                    high,
                    target,
                    r.verdict,
                    r.detail,
                ]


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

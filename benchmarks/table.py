"""The lines of the report, and its three forms: plain text, Markdown and CSV."""

import csv
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
class Report:
    """What was measured so far."""

    facts: dict[str, str]
    sections: list[tuple[Section, list[Row]]] = field(default_factory=list)

    def run(self, section: Section, settings: Settings) -> None:
        """Measure a section and print its lines as they come."""
        rows: list[Row] = []
        self.sections.append((section, rows))
        print(f"\n{section.name}: {section.title}", *(f"  {n}" for n in section.notes), sep="\n")
        print(plain(HEADER))
        for row in section.measure(settings):
            rows.append(row)
            print(plain(row.cells()), flush=True)

    def write(self, folder: Path) -> None:
        """Keep the report as ``engine.md`` and ``engine.csv``."""
        folder.mkdir(exist_ok=True)
        (folder / "engine.md").write_text("\n".join(self._markdown()) + "\n")
        with (folder / "engine.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                ["section", "what", "value", "unit", "low", "high", "target", "verdict", "detail"]
            )
            writer.writerows(self._records())

    def summary(self) -> str:
        """Count the verdicts."""
        verdicts = [row.verdict for _, rows in self.sections for row in rows]
        words = ((verdicts.count(v), v) for v in ("ok", "short", "skip"))
        return ", ".join(f"{n} {verdict}" for n, verdict in words)

    def _markdown(self) -> Iterator[str]:
        yield "# The engine in numbers\n"
        yield from (f"- {name}: {value}" for name, value in self.facts.items())
        for section, rows in self.sections:
            yield f"\n## {section.title}\n"
            yield from (f"{note}\n" for note in section.notes)
            yield "| " + " | ".join(HEADER) + " |"
            yield "| " + " | ".join("---" for _ in HEADER) + " |"
            yield from ("| " + " | ".join(row.cells()) + " |" for row in rows)

    def _records(self) -> Iterator[list[object]]:
        for section, rows in self.sections:
            for r in rows:
                low, high = r.spread or ("", "")
                target = r.target.value if r.target else ""
                value = "" if r.value is None else r.value
                yield [
                    section.name,
                    r.what,
                    value,
                    r.unit.strip(),
                    low,
                    high,
                    target,
                    r.verdict,
                    r.detail,
                ]


def number(value: float) -> str:
    """Three digits, without an exponent."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def plain(cells: tuple[str, ...]) -> str:
    *left, last = cells
    return ("  " + " ".join(f"{c:<{w}}" for c, w in zip(left, WIDTHS, strict=True)) + last).rstrip()

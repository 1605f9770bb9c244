"""Write the tables of the pages from the result files: ``python -m benchmarks.pages``.

A page says where a table goes, and may ask for the rows whose names contain some text::

    <!-- result: sklearn; rows: NMF iteration -->
    <!-- end of result -->

What stands between the two lines is written here, and by each run of the benchmarks: what was
measured and the targets, how, and folded away all rows with their details. ``brief`` leaves the
last out, as in ``<!-- result: sklearn; brief -->``. Results that no page asks for are shown after
``<!-- results that no page shows -->``.
"""

import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.table import HEADER, Row, Target

REPOSITORY = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
SUMMARY = ("what", "measured", "target")
BLOCK = re.compile(
    r"(<!-- result: (?P<name>[\w-]+)(?:; rows: (?P<rows>[^;>]+?))?(?P<brief>; brief)? -->\n)"
    r".*?(<!-- end of result -->)",
    re.DOTALL,
)
OTHERS = re.compile(
    r"(<!-- results that no page shows -->\n).*?(<!-- end of results -->)", re.DOTALL
)


def fill_all() -> None:
    """Write the tables of all pages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        filled = fill(text)
        if filled != text:
            page.write_text(filled, encoding="utf-8")


def fill(text: str) -> str:
    """Return a page with the tables of the results that are kept now."""
    text = BLOCK.sub(_filled, text)
    return OTHERS.sub(lambda b: b[1] + render_others() + b[2], text)


def _filled(block: re.Match[str]) -> str:
    text = render(block["name"], block["rows"] or "", is_brief=bool(block["brief"]))
    return block[1] + text + block[5]


def render_others() -> str:
    """Return the tables of the sections that no page asks for, each below its title."""
    asked = {b["name"] for page in PAGES for b in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    names = sorted({file.stem for file in RESULTS.glob("*.json")} - asked)
    return "".join(f"\n### {_title(name)}\n{render(name)}" for name in names)


def _title(name: str) -> str:
    title: str = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["title"]
    return title[0].upper() + title[1:]


def render(name: str, asked: str = "", *, is_brief: bool = False) -> str:
    """Return the table of a section, and how it was measured, in Markdown."""
    file = RESULTS / f"{name}.json"
    if not file.exists():
        return f"Not measured yet: `python -m benchmarks --only {name}` does it.\n"
    result = json.loads(file.read_text(encoding="utf-8"))
    rows = [_row(values) for values in result["rows"]]
    day = date.fromisoformat(result["date"])
    how = f"`{result['command']}` on {day.day} {day:%B %Y}, {result['machine']}"
    how = f"{how}; {result['remark']}."
    shown = [row for row in rows if asked in row.what]
    if is_brief:
        return f"\n{_table(shown, SUMMARY[:2])}\n\n{how}\n\n"
    summary = f"\n{_table(shown, SUMMARY)}\n\n{_verdicts(shown)}{how}\n\n"
    return summary + _details(rows, result["notes"], result["versions"])


def _row(values: dict) -> Row:
    target = values.pop("target")
    return Row(target=None if target is None else Target(**target), **values)


def _verdicts(rows: list[Row]) -> str:
    """Say how many of the targets are met, if there are any."""
    verdicts = [row.verdict for row in rows if row.target is not None]
    if not verdicts:
        return ""
    return f"Targets met: {verdicts.count('ok')} of {len(verdicts)}. "


def _details(rows: list[Row], notes: list[str], versions: str) -> str:
    """Return a part to open: all rows with all columns, what they mean, and the versions."""
    lines = "\n".join(notes)
    return (
        f"<details><summary>All {len(rows)} rows, with details</summary>\n\n"
        f"{_table(rows, HEADER)}\n\n"
        + (f"```text\n{lines}\n```\n\n" if notes else "")
        + f"{versions}.\n\n</details>\n\n"
    )


def _table(rows: list[Row], columns: Sequence[str]) -> str:
    """Return a table of these columns, without those that no row fills.

    Whether a target is met is said with the target.
    """
    lines = [dict(zip(HEADER, row.cells(), strict=True)) for row in rows]
    for line in lines:
        line["target"] = ", ".join(text for text in (line["target"], line.pop("")) if text)
    used = [name for name in columns if any(line.get(name) for line in lines)]
    cells = [used, ["---"] * len(used)]
    cells += [[line[name].replace("|", "\\|") for name in used] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


if __name__ == "__main__":
    fill_all()

"""Write the tables of the pages from the result files: ``python -m benchmarks.pages``.

A page says where a table goes, and may ask for the rows whose names begin with some text, and for
some columns::

    <!-- result: sklearn; rows: NMF iteration; columns: what, measured -->
    <!-- end of result -->

What stands between the two lines is written here, and by each run of the benchmarks. Results that
no page asks for are shown after ``<!-- results that no page shows -->``.
"""

import json
import re
from datetime import date
from pathlib import Path

from benchmarks.table import HEADER, Row, Target

REPOSITORY = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
BLOCK = re.compile(
    r"(<!-- result: (?P<name>[\w-]+)(?:; rows: (?P<rows>[^;>]+?))?"
    r"(?:; columns: (?P<columns>[^>]+?))? -->\n).*?(<!-- end of result -->)",
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
    columns = tuple((block["columns"] or ",".join(HEADER)).replace(", ", ",").split(","))
    return block[1] + render(block["name"], block["rows"] or "", columns) + block[5]


def render_others() -> str:
    """Return the tables of the sections that no page asks for, each below its title."""
    asked = {b["name"] for page in PAGES for b in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    names = sorted({file.stem for file in RESULTS.glob("*.json")} - asked)
    return "".join(f"\n### {_title(name)}\n{render(name)}" for name in names)


def _title(name: str) -> str:
    title: str = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["title"]
    return title[0].upper() + title[1:]


def render(name: str, beginning: str = "", columns: tuple[str, ...] = HEADER) -> str:
    """Return the table of a section, and how it was measured, in Markdown."""
    file = RESULTS / f"{name}.json"
    if not file.exists():
        return f"Not measured yet: `python -m benchmarks --only {name}` does it.\n"
    result = json.loads(file.read_text(encoding="utf-8"))
    rows = [_row(values) for values in result["rows"] if values["what"].startswith(beginning)]
    day = date.fromisoformat(result["date"])
    facts = "; ".join(result[name] for name in ("machine", "versions", "remark"))
    how = f"`{result['command']}` on {day.day} {day:%B %Y}: {facts}."
    return f"\n{_table(rows, columns)}\n\n{how}\n\n"


def _row(values: dict) -> Row:
    target = values.pop("target")
    return Row(target=None if target is None else Target(**target), **values)


def _table(rows: list[Row], columns: tuple[str, ...]) -> str:
    """Return a table of these columns, without those that no row fills."""
    lines = [tuple(HEADER), *(row.cells() for row in rows)]
    asked = [i for i, column in enumerate(HEADER) if column in columns]
    used = [i for i in asked if any(line[i] for line in lines[1:])]
    cells = [[line[i].replace("|", "\\|") for i in used] for line in lines]
    cells.insert(1, ["---"] * len(used))
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


if __name__ == "__main__":
    fill_all()

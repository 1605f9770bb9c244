"""The panels of the page: the one list to which a new panel is added."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Panel:
    """A part of the page with a script of its own.

    A panel ``NAME`` is the script ``page/panels/NAME.js``, which adds one function to ``panels``,
    and the style ``page/panels/NAME.css``, if there is one. ``CONTRIBUTING.md`` shows the smallest
    one.

    Attributes
    ----------
    name : str
    """

    name: str


# In the order in which they are drawn.
PANELS = (
    Panel("about"),
    Panel("terms"),
    Panel("names"),
    Panel("spectrum"),
    Panel("relations"),
    Panel("effects"),
    Panel("topics"),
    Panel("map"),
    Panel("readings"),
    Panel("groups"),
    Panel("structure"),
    Panel("search"),
    Panel("reader"),
    Panel("sample"),
    Panel("convergence"),
    Panel("consensus"),
    Panel("saving"),
)

_BASE_STYLES = ("uplot/uPlot.min.css", "page/style.css")

# A script uses only those before it.
_BASE_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    "page/elements.js",
    "page/colours.js",
    "page/watching.js",
    "page/binary.js",
    "page/data.js",
    "page/rows.js",
    "page/texts.js",
    "page/finding.js",
    "page/state.js",
    "page/saving.js",
    "page/groups.js",
)
_LAST_SCRIPTS = ("page/links.js", "page/permalink.js", "page/main.js")


def read_part(name: str) -> str:
    """Return a file of the page."""
    return files("isotopic.report").joinpath(name).read_text(encoding="utf-8")


def read_style() -> str:
    """Return the style of the page and of all its panels."""
    folder: Any = files("isotopic.report")
    own = [f"page/panels/{panel.name}.css" for panel in PANELS]
    own = [name for name in own if folder.joinpath(name).is_file()]
    return "\n".join(map(read_part, (*_BASE_STYLES, *own)))


def read_script(further: str = "") -> str:
    """Return the script of the page and of all its panels, and of ``further`` ones."""
    own = [f"page/panels/{panel.name}.js" for panel in PANELS]
    before, last = map(read_part, (*_BASE_SCRIPTS, *own)), map(read_part, _LAST_SCRIPTS)
    return "\n".join([*before, further, *last])

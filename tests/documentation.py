"""The pages of the documentation, and the blocks of code on them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    """Return the fenced blocks of a page, without its doctests."""
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in found if ">>> " not in block]


def commands(page):
    """Return the commands in the console blocks of a page."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def is_program(block):
    """Return whether a block can be run: an excerpt of a method ends with ``return``."""
    try:
        compile(block, "block", "exec")
    except SyntaxError:
        return False
    return True

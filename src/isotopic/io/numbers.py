"""Numbers and other cells in text: what they are, and what is wrong with them."""

import re
from collections.abc import Sequence

# Sentences have at least so many words, on average.
PROSE_WORDS = 4

_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}")
_SEPARATED = re.compile(r"\d{1,3}([,. ']\d{3})+([.,]\d+)?|\d+,\d+")
_LEADING_ZERO = re.compile(r"0\d")  # 007 is a name


def are_plain(cells: Sequence[str]) -> bool:
    """Whether no cell is a number to Python alone: 1_000, or in digits of other scripts."""
    together = "".join(cells)  # looked at as a whole, because cells are many
    return "_" not in together and together.isascii()


def is_number(text: str) -> bool:
    """Whether text is a plain number."""
    try:
        float(text)
    except ValueError:
        return False
    return are_plain([text])


def column_kind(cells: Sequence[str]) -> str:
    """Return what cells are: number, mixed (some are), date, prose (sentences), name or empty."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled:
        return "empty"
    numbers = sum(is_number(cell) and not _LEADING_ZERO.match(cell) for cell in filled)
    if numbers == len(filled):
        return "number"
    if numbers or any(map(_SEPARATED.fullmatch, filled)):
        return "mixed"
    if all(map(_DATE.match, filled)):
        return "date"
    words = sum(len(cell.split()) for cell in filled) / len(filled)
    return "prose" if words >= PROSE_WORDS else "name"


def not_a_number(cell: str) -> str:
    """Return what is wrong with a cell that should be a number."""
    if not cell.strip():
        return "an empty cell is not a number"
    hint = ""
    if "_" in cell or _SEPARATED.fullmatch(cell.strip()):
        hint = "; write numbers without separators, and fractions with a point"
    return f"{cell[:50]!r} is not a number{hint}"

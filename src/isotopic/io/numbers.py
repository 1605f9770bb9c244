"""Numbers and other cells in text: what they are, and what is wrong with them."""

import re
from collections.abc import Sequence

import numpy as np

# Sentences have at least so many words, on average.
PROSE_WORDS = 4

_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}")
_SEPARATED = re.compile(r"\d{1,3}([,. ']\d{3})+([.,]\d+)?|\d+,\d+")
_LEADING_ZERO = re.compile(r"0\d")  # 007 is a name
_PADDED = re.compile(r"(^| )0\d")  # the same among cells


def are_plain(cells: Sequence[str]) -> bool:
    """Return whether no cell is a number to Python alone: 1_000, or in digits of other scripts."""
    together = "".join(cells)  # looked at as a whole, because cells are many
    return "_" not in together and together.isascii()


def is_number(text: str) -> bool:
    """Return whether text is a plain number."""
    try:
        float(text)
    except ValueError:
        return False
    return are_plain([text])


def column_kinds(rows: Sequence[Sequence[str]], first: int, last: int) -> list[str]:
    """Return the kinds of the columns ``first:last`` of rows.

    Tables may have very many columns, most of which are numbers: these are found together.
    """
    cells = [cell for row in rows for cell in row[first:last]]
    is_whole = len(cells) == len(rows) * (last - first) and len(rows) > 0
    if is_whole and are_plain(cells) and not _PADDED.search(" ".join(cells)):
        try:
            np.array(cells, dtype=np.float64)
        except ValueError:
            pass
        else:
            return ["number"] * (last - first)
    if last - first == 1:
        return [column_kind([row[first] for row in rows if len(row) > first])]
    middle = (first + last) // 2
    return column_kinds(rows, first, middle) + column_kinds(rows, middle, last)


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

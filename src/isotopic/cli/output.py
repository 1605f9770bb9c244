"""Printing. Control characters in names are escaped, so that data cannot steer a terminal."""

import json
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import click
import numpy as np
from rich.cells import cell_len

_LONGEST = 40

# Control characters, invisible formatting marks (some reverse the direction of text), lone
# surrogates and line separators. Emoji and some scripts need the two joiners.
_ESCAPED_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """Return the text with every character escaped that a terminal would act on."""
    shown = ""
    for letter in text:
        if unicodedata.category(letter) not in _ESCAPED_CATEGORIES or letter in _JOINERS:
            shown += letter
        elif ord(letter) < 0x100:
            shown += f"\\x{ord(letter):02x}"
        elif ord(letter) < 0x10000:
            shown += f"\\u{ord(letter):04x}"
        else:
            shown += f"\\U{ord(letter):08x}"
    return shown


def short(text: str, longest: int = _LONGEST) -> str:
    """Return a printable name, cut with an ellipsis if it is longer than ``longest``."""
    shown = printable(text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def align_columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Return one line for each row, its cells aligned; wide characters count as two columns.

    Parameters
    ----------
    rows : sequence of sequences of str
        All of the same length.
    right : iterable of int
        Columns that are aligned to the right.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            padding = " " * (width - cell_len(cell))
            cells.append(padding + cell if i in right else cell + padding)
        lines.append("  ".join(cells).rstrip())
    return lines


def print_message(line: str) -> None:
    """Print a line for the user on stderr; stdout is left to results."""
    click.echo(printable(line), err=True)


def as_json(value: Any) -> str:
    """Return ASCII JSON; numbers that are not finite become null, other objects their repr."""
    return json.dumps(_to_json_types(value), indent=2)


def _to_json_types(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json_types(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)

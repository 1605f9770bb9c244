"""What is printed: nothing that comes from data can steer the terminal."""

import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
import numpy as np
from rich.cells import cell_len

_LONGEST = 40

# Joiners that emoji and some scripts are made with; other invisible letters may reorder a line.
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """Write out control characters, marks that turn the direction of text, and half characters."""
    return "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    steers = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    if not steers or letter in _JOINERS:
        return letter
    code = ord(letter)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def short(text: str, longest: int = _LONGEST) -> str:
    """Make a name printable, and cut it where it gets long."""
    shown = printable(text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def padded(text: str, width: int) -> str:
    """Fill up with spaces; wide letters count twice."""
    return text + " " * max(0, width - cell_len(text))


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> Iterator[str]:
    """Line up cells, those of some columns at the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    at_right = set(right)
    for row in rows:
        cells = (
            " " * (width - cell_len(cell)) + cell if i in at_right else padded(cell, width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def say(*lines: str) -> None:
    """Print for the user, not for the next program."""
    for line in lines:
        click.echo(printable(line), err=True)


def as_json(value: Any) -> str:
    """Write JSON in ASCII, with null for numbers that JSON does not have."""
    return json.dumps(_plain(value), indent=2)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)

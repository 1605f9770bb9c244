"""What commands print: results on stdout; messages, warnings and errors on stderr.

Control characters in names are escaped, so that data cannot steer a terminal.
"""

import json
import math
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from isotopic.terminal import LiveLine, can_show_live_lines

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


def short(text: str, longest: int = 20) -> str:
    """Return a printable name; the middle of one longer than ``longest`` is left out.

    Names of one kind often differ at their ends only: ``2024/speech-1``, ``2024/speech-2``.
    """
    if len(text) > 2 * longest:  # only its ends are looked at
        text = text[:longest] + text[-longest:]
    shown = printable(text)
    begin, end = longest // 2, (longest - 1) // 2
    return shown if len(shown) <= longest else f"{shown[:begin]}…{shown[len(shown) - end :]}"


def count_cells(text: str) -> int:
    """Return how many terminal columns a text takes: East Asian characters take two."""
    widths = (
        0
        if unicodedata.category(letter) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(letter) in "WF"
        else 1
        for letter in text
    )
    return sum(widths)


def align_columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Return one line for each row, its cells aligned; wide characters count as two columns.

    Parameters
    ----------
    rows : sequence of sequences of str
        All of the same length.
    right : iterable of int
        Columns that are aligned to the right.
    """
    columns = []
    for i, column in enumerate(zip(*rows, strict=True)):
        width, cells = max(map(count_cells, column)), []
        for cell in column:
            padding = " " * (width - count_cells(cell))
            cells.append(padding + cell if i in right else cell + padding)
        columns.append(cells)
    return list(map(str.rstrip, map("  ".join, zip(*columns, strict=True))))


def print_result(facts: dict[str, Any], line: str, *, json_: bool) -> None:
    """Print the result of a command as JSON, or as one line."""
    print(as_json(facts) if json_ else printable(line))


def print_message(line: str) -> None:
    """Print a line for the user on stderr; stdout is left to results.

    If the reader of a pipe has gone, a command goes on: its files are what matters.
    """
    with suppress(BrokenPipeError):
        print(printable(line), file=sys.stderr, flush=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show on a terminal what the command is doing; a fit has its own display."""
    if not can_show_live_lines(sys.stderr):
        yield
        return
    with LiveLine(sys.stderr) as line:
        line.show(short(text, 70))
        yield


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Print each different warning of the block as one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            printed = set()
            for warning in caught:
                message = f"warning: {warning.message}"
                if message not in printed:
                    print_message(message)
                printed.add(message)


class InputError(Exception):
    """The data, a file or an option cannot be used; the message says why and what to do."""


@contextmanager
def library_errors_as_messages() -> Iterator[None]:
    """Raise the library's complaints about its input as :class:`InputError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"Cannot use {error.filename}: " if error.filename else ""
        raise InputError(f"{where}{error.strerror or error}") from error
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(str(error)) from error
    except MemoryError as error:
        raise InputError(f"Not enough memory: {error}") from error
    except RecursionError as error:
        raise InputError("The input is nested too deeply.") from error


def as_json(value: Any) -> str:
    """Return ASCII JSON; numbers that are not finite become null, other objects their repr."""
    return json.dumps(_to_json_types(value), indent=2)


def _to_json_types(value: Any) -> Any:
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        value = value.tolist()
    if isinstance(value, dict):
        values = map(_to_json_types, value.values())
        return dict(zip(map(str, value), values, strict=True))
    if isinstance(value, (list, tuple)):
        return list(map(_to_json_types, value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)

"""What commands print: results on stdout; messages, warnings and errors on stderr.

Control characters in names are escaped, so that data cannot steer a terminal.
"""

import json
import math
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from scipy.special import rel_entr

from isotopic.arrays import Array
from isotopic.evaluate import prevalence
from isotopic.kernels import normalized

# Distinctive terms and main samples that are printed of each topic.
_TERMS, _SAMPLES = 7, 3

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
    columns = []
    for i, column in enumerate(zip(*rows, strict=True)):
        width, cells = max(map(cell_len, column)), []
        for cell in column:
            padding = " " * (width - cell_len(cell))
            cells.append(padding + cell if i in right else cell + padding)
        columns.append(cells)
    return list(map(str.rstrip, map("  ".join, zip(*columns, strict=True))))


def distinctive_terms(model: Any, feature_names: Array) -> tuple[Array, Array]:
    """Return the share of each topic, and its terms that are frequent in it and rare elsewhere.

    These have the largest terms in the KL divergence of the topic from the mean topic.
    """
    shares, topics = prevalence(model), normalized(model.components_)
    divergences = rel_entr(topics, shares @ topics)
    order = np.argsort(-divergences, axis=1, kind="stable")[:, :_TERMS]
    return shares, feature_names[order]


def topic_lines(model: Any, feature_names: Array, sample_names: Any) -> list[str]:
    """Return a table of the topics, largest first: share, distinctive terms, main samples."""
    shares, terms = distinctive_terms(model, feature_names)
    rows = [("topic", "share", "distinctive terms", "samples with the largest weights")]
    for topic in np.argsort(-shares, kind="stable"):
        samples = sample_names[np.argsort(-model.weights_[:, topic], kind="stable")[:_SAMPLES]]
        terms_text, samples_text = (
            " ".join(map(short, terms[topic])),
            ", ".join(map(short, samples)),
        )
        rows.append((str(topic), f"{shares[topic]:.1%}", terms_text, samples_text))
    return align_columns(rows, right=(0, 1))


def topic_facts(model: Any, feature_names: Array) -> list[dict[str, Any]]:
    """Return the share and the distinctive terms of each topic, for JSON."""
    shares, terms = distinctive_terms(model, feature_names)
    return [
        {"topic": k, "share": shares[k], "terms": terms[k].tolist()} for k in range(len(shares))
    ]


def print_result(facts: dict[str, Any], line: str, *, json_: bool) -> None:
    """Print the result of a command as JSON, or as one line."""
    click.echo(as_json(facts) if json_ else printable(line))


def print_message(line: str) -> None:
    """Print a line for the user on stderr; stdout is left to results."""
    click.echo(printable(line), err=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show on a terminal what the command is doing; a fit has its own display."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(escape(short(text, 70))):
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


class InputError(click.ClickException):
    """The data, a file or an option cannot be used; the message says why and what to do."""

    exit_code = 2


@contextmanager
def library_errors_as_messages() -> Iterator[None]:
    """Raise the library's complaints about its input as :class:`InputError`."""
    try:
        yield
    except OSError as error:
        where = f"Cannot use {error.filename}: " if error.filename else ""
        raise InputError(f"{where}{error.strerror or error}") from error
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(str(error)) from error
    except MemoryError as error:
        raise InputError(f"Not enough memory: {error}") from error


def as_json(value: Any) -> str:
    """Return ASCII JSON; numbers that are not finite become null, other objects their repr."""
    return json.dumps(_to_json_types(value), indent=2)


def _to_json_types(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        values = map(_to_json_types, value.values())
        return dict(zip(map(str, value), values, strict=True))
    if isinstance(value, (list, tuple)):
        return list(map(_to_json_types, value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)

"""Errors that are the user's to mend, in one line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from isotopic.cli.output import say


class Unusable(click.ClickException):
    """The data, a file or an option cannot be used; the message says why."""

    exit_code = 2


@contextmanager
def in_one_line() -> Iterator[None]:
    """Let the library's complaints about what it was given end the command."""
    try:
        yield
    except OSError as error:
        where = f"cannot use {error.filename}: " if error.filename else ""
        raise Unusable(f"{where}{error.strerror or error}") from error
    except (ValueError, TypeError, ImportError) as error:
        raise Unusable(str(error)) from error
    except MemoryError as error:
        raise Unusable(f"there is not enough memory: {error}") from error


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print the warnings of the block as lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for message in dict.fromkeys(str(item.message) for item in caught):
                say(f"warning: {message}")

"""Errors that the user can correct, and warnings, as single lines on stderr."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from isotopic.cli.output import print_message


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


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Print each different warning of the block as one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for message in dict.fromkeys([str(item.message) for item in caught]):
                print_message(f"warning: {message}")

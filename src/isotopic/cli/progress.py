"""A message on a terminal while something other than a fit takes a while."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from isotopic.cli.output import short


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show on a terminal what the command is doing."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(escape(short(text, 70))):
        yield

"""How a fit is getting on: a live display on a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from isotopic.cli.output import short

# Lines are printed after 1, 2, 5, 10, 20, 50, ... iterations, and at least this often (seconds).
_STEPS = (1, 2, 5)
_QUIET = 30.0


@contextmanager
def shown_progress(max_iter: int, tol: float) -> Iterator[Any]:
    """Give a callback that shows each iteration."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    layout = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*layout, console=Console(stderr=True), transient=True) as progress:
        yield _Live(progress, max_iter, tol)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show on a terminal what takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(escape(short(text, 70))):
        yield


class _Lines:
    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, at: Any) -> None:
        """Print a line if it is time."""
        scale = 10 ** math.floor(math.log10(at.iteration))
        now = time.monotonic()
        if at.iteration in [step * scale for step in _STEPS] or now - self.last >= _QUIET:
            self.last = now
            click.echo(_described(at), err=True)


class _Live:
    def __init__(self, progress: Any, max_iter: int, tol: float) -> None:
        self.progress, self.max_iter, self.tol = progress, max_iter, tol
        self.task = progress.add_task("starting", total=1.0)
        self.first = 0.0

    def __call__(self, at: Any) -> None:
        """Draw where the fit is."""
        if at.iteration == 1:
            self.first = at.residual
        self.progress.update(self.task, completed=self._done(at), description=_described(at))

    def _done(self, at: Any) -> float:
        """Share of the way: of the residual's fall in logarithms, or of the iterations."""
        share: float = at.iteration / self.max_iter
        if 0 < self.tol < self.first and at.residual > 0:
            fallen = math.log(self.first / at.residual) / math.log(self.first / self.tol)
            share = max(share, min(fallen, 1.0))
        return share


def _described(at: Any) -> str:
    return (
        f"iteration {at.iteration:5d}  {at.seconds:7.1f} s  objective {at.objective:.8g}  "
        f"residual {at.residual:.1e}"
    )

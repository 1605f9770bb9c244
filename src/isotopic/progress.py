"""The progress display of a fit: live on a terminal, lines elsewhere.

``verbose=`` of the estimators and the command line both use it.
"""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from isotopic.solvers import Iteration
from isotopic.terminal import LiveLine, can_show_live_lines

# Unless told otherwise, lines are printed after 1, 2, 5, 10, 20, 50, ... iterations, at the latest
# after so many seconds, and not before so many: a short fit needs none.
_ROUND = ("1", "2", "5")
_LONGEST_SILENCE, _SHORTEST_SILENCE = 30.0, 1.0

# Characters of the bar in the live line.
_BAR = 10


class Display(Protocol):
    """A callback that shows each iteration, and the blocks of a pass where there are any."""

    def __call__(self, at: Iteration[Any]) -> None:
        """Show an iteration."""

    def show_block(self, done: int, n_blocks: int) -> None:
        """Show how many blocks of the current pass are done."""


@contextmanager
def show_progress(
    total: float | None,
    max_iter: int,
    tol: float,
    *,
    every: int | None = None,
    lines_to: TextIO | None = None,
    keep: bool = True,
) -> Iterator[Display]:
    """Yield a callback that shows each iteration of a fit.

    Where standard error is a terminal, the display is a live line there. Otherwise it is a
    sequence of lines.

    Parameters
    ----------
    total : float or None
        The sum of all counts, if it is known.
    max_iter, tol : int, float
        When the fit ends.
    every : int or None, default=None
        Print a line every ``every`` iterations; by default after 1, 2, 5, 10, 20, ..., if the last
        line was a second ago.
    lines_to : file or None, default=None
        Where lines are printed; by default to standard output.
    keep : bool, default=True
        Whether the live line stays when the fit has ended.
    """
    pace = Pace(total, max_iter, tol)
    if can_show_live_lines(sys.stderr):
        with LiveLine(sys.stderr, keep=keep) as line:
            yield _Live(line, pace)
    else:
        yield _Lines(every, pace, lines_to)


class Pace:
    """Estimate how fast a fit is and how long it will take.

    Parameters
    ----------
    total : float or None
        The sum of all counts: the number of tokens in a pass.
    max_iter : int
    tol : float
    """

    def __init__(self, total: float | None, max_iter: int, tol: float) -> None:
        self.total, self.max_iter, self.tol = total, max_iter, tol
        self._residuals: list[float] = []

    def update(self, at: Iteration[Any]) -> tuple[float, str]:
        """Take note of an iteration; return the number of iterations left, and the pace as text.

        The residual is assumed to fall at the same rate as in the later half of the iterations so
        far, until it reaches the tolerance.
        """
        if at.iteration == 1:  # the first one, or another start
            self._residuals = []
        if math.isfinite(at.residual):
            self._residuals.append(at.residual)
        left = float(self.max_iter - at.iteration)
        half = len(self._residuals) // 2
        first, last = self._residuals[half] if self._residuals else 0.0, at.residual
        if self.tol > 0 and 0 < last < first:
            rate = math.log(first / last) / (len(self._residuals) - 1 - half)
            left = min(left, max(0.0, math.log(last / self.tol) / rate))
        seconds = round(left * at.seconds / at.iteration)
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        text = f"about {clock if seconds >= 100 else f'{seconds} s'} left"
        if self.total is not None:
            text += f", {self.total * at.passes / max(at.seconds, 1e-9):.2g} tokens/s"
        return left, text


def _format_residual(at: Iteration[Any]) -> str:
    """Return the residual; it is not known before hyperparameters begin to be learned."""
    return f"{at.residual:.1e}" if math.isfinite(at.residual) else "not yet known"


class _Lines:
    """Print lines."""

    def __init__(self, every: int | None, pace: Pace, file: TextIO | None) -> None:
        self.every, self.pace, self.file = every, pace, file
        self.printed, self.is_heard = time.monotonic(), True

    def __call__(self, at: Iteration[Any]) -> None:
        _, pace = self.pace.update(at)
        if self.every is None:
            is_round = str(at.iteration).rstrip("0") in _ROUND
            silence = time.monotonic() - self.printed
            is_due = silence >= (_SHORTEST_SILENCE if is_round else _LONGEST_SILENCE)
        else:
            is_due = at.iteration % self.every == 0
        if is_due:
            self.printed = time.monotonic()
            self._print(
                f"iteration {at.iteration:5d}  passes {at.passes:5d}  {at.seconds:8.2f} s  "
                f"objective {at.objective:.8g}  residual {_format_residual(at)}  {pace}"
            )

    def _print(self, text: str) -> None:
        """Print a line. If the reader of a pipe has gone, the fit goes on without lines."""
        if self.is_heard:
            try:
                print(text, file=self.file, flush=True)
            except BrokenPipeError:
                self.is_heard = False

    def show_block(self, done: int, n_blocks: int) -> None:
        """Print nothing: lines are for iterations only."""


class _Live:
    """Keep a live line on a terminal."""

    def __init__(self, line: LiveLine, pace: Pace) -> None:
        self.line, self.pace = line, pace
        self.bar = " " * _BAR
        self.iteration = "starting"
        self.found = ""  # what the latest iteration found
        self._show("")

    def __call__(self, at: Iteration[Any]) -> None:
        left, pace = self.pace.update(at)
        self.bar = ("#" * round(_BAR * at.iteration / (at.iteration + left))).ljust(_BAR)
        self.iteration = f"iteration {at.iteration}"
        self.found = f"residual {_format_residual(at)}, objective {at.objective:.6g}"
        self._show(pace)

    def show_block(self, done: int, n_blocks: int) -> None:
        self._show(f"block {done} of {n_blocks}")

    def _show(self, details: str) -> None:
        found = ", ".join(filter(None, (details, self.found)))
        self.line.show(f"[{self.bar}] {self.iteration}  {found}")

"""Who watches a fit: callables, a progress line, and scikit-learn's own callbacks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from isotopic.blocks import BlockedCounts
from isotopic.problem import State
from isotopic.solvers import Iteration

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Scikit-learn's callbacks came with version 1.9."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupport", "watchers", "with_callbacks"]

Watcher: TypeAlias = Callable[[Iteration[State]], Any]


@contextmanager
def watchers(
    estimator: Any,
    X: Any,
    counts: Any,
    metadata: dict[str, Any],
    fitted: Callable[[State], dict[str, Any]],
) -> Iterator[list[Watcher]]:
    """Collect who watches the fits of an estimator, and send them home afterwards.

    Parameters
    ----------
    estimator : estimator
        With ``callbacks``, ``verbose``, ``max_iter`` and ``n_init``.
    X, metadata : object, dict
        The data of the fit, as scikit-learn's callbacks are given it.
    counts : CountMatrix or BlockedCounts
        The data as it is worked on.
    fitted : callable
        Gives the fitted attributes that a state stands for.
    """
    given = estimator.callbacks
    watching: list[Watcher] = (
        list(given) if isinstance(given, (list, tuple)) else [given] if given else []
    )
    for watcher in watching:
        if not callable(watcher):
            raise TypeError(f"callbacks must be callable, not {watcher!r}")
    own: list[Any] = []
    if estimator.verbose:
        pace = Pace(counts.total, estimator.max_iter, estimator.tol)
        own.append(_progress(int(estimator.verbose), pace))
        if isinstance(counts, BlockedCounts):
            counts.engine.watch = own[-1].block
    if getattr(estimator, "_skl_callbacks", None):
        own.append(_ScikitLearn(estimator, X, metadata, fitted))
    failed = True
    try:
        yield watching + own
        failed = False
    finally:
        for watcher in own:
            watcher.close(failed)
        if isinstance(counts, BlockedCounts):
            counts.engine.watch = None


class Pace:
    """How fast a fit is, and how long it will take.

    Parameters
    ----------
    tokens : float
        The sum of all counts: what a pass goes through.
    max_iter : int
    tol : float
    """

    def __init__(self, tokens: float, max_iter: int, tol: float) -> None:
        self.tokens, self.max_iter, self.tol = tokens, max_iter, tol
        self._residuals: list[float] = []

    def look(self, at: Iteration[State]) -> str:
        """Say tokens a second, and the time that is left."""
        if at.iteration == 1:
            self._residuals = []
        self._residuals.append(at.residual)
        each = at.seconds / at.iteration
        left = self.iterations_left(at.iteration) * each
        rate = self.tokens * at.passes / max(at.seconds, 1e-9)
        return f"{rate:.2g} tokens/s, at most {_clock(left)} left"

    def iterations_left(self, iteration: int) -> float:
        """Estimate how many iterations are to come.

        Until ``max_iter``, or until the residual is at the tolerance if it goes on falling by the
        factor by which it fell in the later half of the iterations so far.
        """
        most = float(self.max_iter - iteration)
        half = len(self._residuals) // 2
        first, last = self._residuals[half], self._residuals[-1]
        if self.tol <= 0 or not 0 < last < first:
            return most
        each = np.log(first / last) / (len(self._residuals) - 1 - half)
        return min(most, max(0.0, float(np.log(last / self.tol) / each)))


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _progress(every: int, pace: Pace) -> Any:
    """Draw a live line on a terminal, if tqdm is there; print lines otherwise."""
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm  # noqa: PLC0415 - an extra
        except ImportError:
            pass
        else:
            bar = tqdm(total=pace.max_iter, unit="it", file=sys.stderr, dynamic_ncols=True)
            return _Bar(bar, pace)
    return _Lines(every, pace)


class _Lines:
    """Print a line every so many iterations."""

    def __init__(self, every: int, pace: Pace) -> None:
        self.every, self.pace = every, pace

    def __call__(self, at: Iteration[State]) -> None:
        said = self.pace.look(at)
        if at.iteration % self.every == 0:
            print(
                f"iteration {at.iteration:5d}  passes {at.passes:5d}  {at.seconds:8.2f} s  "
                f"objective {at.objective:.8g}  residual {at.residual:.2e}  {said}",
                flush=True,
            )

    def block(self, done: int, n_blocks: int) -> None:
        """Lines are for iterations only."""

    def close(self, failed: bool) -> None:
        """Nothing is left to print."""


class _Bar:
    """Keep a live progress line."""

    def __init__(self, bar: Any, pace: Pace) -> None:
        self.bar, self.pace = bar, pace
        self.said = ""

    def __call__(self, at: Iteration[State]) -> None:
        if at.iteration <= self.bar.n:  # another start
            self.bar.reset()
        self.said = f"objective {at.objective:.6g}, residual {at.residual:.1e}"
        self.bar.set_postfix_str(f"{self.said}, {self.pace.look(at)}", refresh=False)
        self.bar.update(at.iteration - self.bar.n)

    def block(self, done: int, n_blocks: int) -> None:
        """Show how far the pass is."""
        self.bar.set_postfix_str(f"{self.said}, block {done} of {n_blocks}")

    def close(self, failed: bool) -> None:
        """Leave the line as it is."""
        self.bar.close()


class _ScikitLearn:
    """Tell scikit-learn's callbacks of every iteration: each is a task of the fit."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        metadata: dict[str, Any],
        fitted: Callable[[State], dict[str, Any]],
    ) -> None:
        self.estimator, self.fitted = estimator, fitted
        self.data = {"X": X, "metadata": metadata}
        self.fit_task = estimator._init_callback_context(
            max_subtasks=estimator.max_iter * estimator.n_init
        )
        self.fit_task.call_on_fit_task_begin(estimator=estimator, **self.data)
        self.attributes: Any = None

    def __call__(self, at: Iteration[State]) -> bool:
        self.attributes = lambda: self.fitted(at.state)
        task = self.fit_task.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=self.attributes, **self.data
            )
        )

    def close(self, failed: bool) -> None:
        """Tell of the end of the fit, if it came to one."""
        if not failed:
            self.fit_task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=self.attributes, **self.data
            )

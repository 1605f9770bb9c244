"""Who watches a fit: callables, a progress line, and scikit-learn's own callbacks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

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
    estimator: Any, X: Any, metadata: dict[str, Any], fitted: Callable[[State], dict[str, Any]]
) -> Iterator[list[Watcher]]:
    """Collect who watches the fits of an estimator, and send them home afterwards.

    Parameters
    ----------
    estimator : estimator
        With ``callbacks``, ``verbose``, ``max_iter`` and ``n_init``.
    X, metadata : object, dict
        The data of the fit, as scikit-learn's callbacks are given it.
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
        own.append(_progress(int(estimator.verbose), estimator.max_iter))
    if getattr(estimator, "_skl_callbacks", None):
        own.append(_ScikitLearn(estimator, X, metadata, fitted))
    failed = True
    try:
        yield watching + own
        failed = False
    finally:
        for watcher in own:
            watcher.close(failed)


def _progress(every: int, max_iter: int) -> Any:
    """Draw a live line on a terminal, if tqdm is there; print lines otherwise."""
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm  # noqa: PLC0415 - an extra
        except ImportError:
            pass
        else:
            return _Bar(tqdm(total=max_iter, unit="it", file=sys.stderr, dynamic_ncols=True))
    return _Lines(every)


class _Lines:
    """Print a line every so many iterations."""

    def __init__(self, every: int) -> None:
        self.every = every

    def __call__(self, at: Iteration[State]) -> None:
        if at.iteration % self.every == 0:
            print(
                f"iteration {at.iteration:5d}  passes {at.passes:5d}  {at.seconds:8.2f} s  "
                f"objective {at.objective:.8g}  residual {at.residual:.2e}",
                flush=True,
            )

    def close(self, failed: bool) -> None:
        """Nothing is left to print."""


class _Bar:
    """Keep a live progress line."""

    def __init__(self, bar: Any) -> None:
        self.bar = bar

    def __call__(self, at: Iteration[State]) -> None:
        if at.iteration <= self.bar.n:  # another start
            self.bar.reset()
        self.bar.set_postfix_str(
            f"objective {at.objective:.6g}, residual {at.residual:.1e}", refresh=False
        )
        self.bar.update(at.iteration - self.bar.n)

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

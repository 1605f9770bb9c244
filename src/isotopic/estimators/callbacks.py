"""The callbacks of a fit: the user's, the progress display, and scikit-learn's."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from isotopic.blocks import BlockedCounts
from isotopic.problem import State
from isotopic.progress import show_progress
from isotopic.solvers import Iteration

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Stand in for scikit-learn's class: callbacks came with version 1.9."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
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
    """Yield the callbacks of a fit; close the progress display and scikit-learn's task afterwards.

    ``X`` and ``metadata`` are what scikit-learn's callbacks receive, and ``counts`` the data as
    the solvers use them; ``fitted`` returns the fitted attributes that belong to a state.
    """
    given = estimator.callbacks
    callbacks: list[Watcher] = (
        list(given) if isinstance(given, (list, tuple)) else [given] if given else []
    )
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(
                f"callbacks must be callable, but got {callback!r} of type "
                f"{type(callback).__name__}. Pass a function of one argument, or a list of them."
            )
    with ExitStack() as stack:
        if estimator.verbose:
            every, tol = int(estimator.verbose), float(estimator.tol)
            progress = show_progress(counts.total, int(estimator.max_iter), tol, every=every)
            display = stack.enter_context(progress)
            callbacks.append(display)
            if isinstance(counts, BlockedCounts):
                counts.engine.watch = display.show_block
                stack.callback(setattr, counts.engine, "watch", None)
        if getattr(estimator, "_skl_callbacks", None):
            tasks = _ScikitLearn(estimator, X, metadata, fitted)
            yield [*callbacks, tasks]
            tasks.end()  # not reached if the fit failed
        else:
            yield callbacks


class _ScikitLearn:
    """Report every iteration to scikit-learn's callbacks as a task of the fit."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        metadata: dict[str, Any],
        fitted: Callable[[State], dict[str, Any]],
    ) -> None:
        self.estimator, self.fitted = estimator, fitted
        given = {name: value for name, value in metadata.items() if value is not None}
        self.data = {"X": X, "metadata": given}
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

    def end(self) -> None:
        """Report the end of the fit."""
        self.fit_task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self.attributes, **self.data
        )

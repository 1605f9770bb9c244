"""Methods of estimators that show a fitted model in a browser."""

import os
from pathlib import Path
from typing import Any

from isotopic.estimators.documentation import documented


@documented
class Pages:
    """Base class of the estimators: pages of a fitted model."""

    def report(self, path: str | os.PathLike[str], X: Any, **options: Any) -> Path:
        """Write an interactive HTML report: one self-contained file.

        %(arguments)s

        Returns
        -------
        path : pathlib.Path
            The file.
        """
        from isotopic.report import write_report  # noqa: PLC0415 - a leaf, loaded when needed

        model: Any = self
        return write_report(model, X, path, **options)

    def compare(
        self,
        other: Any,
        path: str | os.PathLike[str],
        X: Any,
        *,
        other_X: Any = None,
        names: tuple[str, str] = ("first", "second"),
        title: str | None = None,
        overwrite: bool = False,
        **describe: Any,
    ) -> Path:
        """Write a comparison with another model of the same samples: one HTML file.

        %(arguments)s

        Returns
        -------
        path : pathlib.Path
            The file.
        """
        from isotopic.report import (  # noqa: PLC0415 - a leaf, loaded when needed
            ComparedFit,
            write_comparison,
        )

        if isinstance(names, str) or len(names) != 2:
            raise ValueError(f"names must be a name for each of the two models, not {names!r}.")
        theirs = describe | {"feature_names": None} if other_X is not None else describe
        first = ComparedFit(self, X, names[0], **describe)
        second = ComparedFit(other, X if other_X is None else other_X, names[1], **theirs)
        return write_comparison(first, second, path, title=title, overwrite=overwrite)

    def explore(self, X: Any, *, port: int = 0, **describe: Any) -> Any:
        """Serve the report on this machine, with what a file cannot do.

        On the page you infer the topics of a pasted text, merge, split, drop and name topics, add
        stop words, refit from where it is, see what changed, and undo it. A notebook shows the
        page in a frame. This model is not changed.

        %(arguments)s

        Returns
        -------
        explorer : Explorer
            ``explorer.url`` is the address of the page, ``explorer.model`` the model as it is now,
            and ``explorer.close()`` ends it.
        """
        from isotopic.serve import Explorer, Session  # noqa: PLC0415 - a leaf, loaded when needed

        return Explorer(Session(self, X, **describe), port)

"""A model that can be looked at."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any


class Reporting:
    """A model that writes a report of itself."""

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any,
        *,
        feature_names: Any = None,
        sample_names: Any = None,
        documents: Any = None,
        title: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write one HTML file to look at, in any browser and without a network.

        Parameters
        ----------
        path : str or path-like
            The file to write. An existing one is left alone unless ``overwrite`` is true.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The counts to report on: those that were fitted, or others.
        feature_names, sample_names, documents, title, overwrite
            As for :func:`isotopic.report.write_report`.

        Returns
        -------
        path : pathlib.Path
            Where the report is.
        """
        # The report knows the models: they look for it only when it is asked for.
        written: Path = import_module("isotopic.report").write_report(
            self,
            X,
            path,
            feature_names=feature_names,
            sample_names=sample_names,
            documents=documents,
            title=title,
            overwrite=overwrite,
        )
        return written

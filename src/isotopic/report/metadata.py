"""What is known of samples besides their counts: dates, numbers, groups and texts."""

from typing import Any

import numpy as np

from isotopic.arrays import Array, is_missing
from isotopic.containers import align_table, is_anndata, sample_names_of
from isotopic.covariates import as_days, numbers_in_texts
from isotopic.io import CountData
from isotopic.report.samples import shorten

# Columns that the page shows, and the most values of a column of groups.
_COLUMNS, _GROUPS = 12, 200


def read_metadata(given: Any, X: Any, n: int) -> list[tuple[str, Array]]:
    """Return the columns of a table with a row for each sample, by default those of the data.

    Data with metadata are AnnData (``obs``) and what ``read_counts`` has read.

    Rows with labels are aligned with the samples of ``X`` by name.
    """
    if given is None and is_anndata(X):
        given = X.obs
    if given is None and isinstance(X, CountData):
        given = X.metadata
    if given is None:
        return []
    if not hasattr(given, "keys"):
        raise TypeError(
            "metadata must be a data frame or a dict of columns, with a value for each sample, not "
            f"a {type(given).__name__}."
        )
    columns, samples = [], sample_names_of(X)
    for name in given.keys():  # noqa: SIM118 - of data frames, too
        values = np.asarray(align_table("metadata", given[name], samples=samples))
        if values.shape != (n,):
            raise ValueError(
                f"metadata: column {name!r} has {values.size} values, but X has {n} samples."
            )
        columns.append((str(name), values))
    return columns


def describe_metadata(columns: list[tuple[str, Array]], which: Array) -> list[dict[str, Any]]:
    """Return what the page knows of the columns, for these samples."""
    return [_describe(name, values, which) for name, values in columns[:_COLUMNS]]


def _describe(name: str, values: Array, which: Array) -> dict[str, Any]:
    """Return a column as days, numbers, groups or texts, whichever its values are."""
    column: dict[str, Any] = {"name": shorten([name], 60)[0]}
    days = as_days(values, name)
    if days is not None:
        first = int(np.nanmin(days))
        # Whole numbers are packed exactly; zero stands for a missing date.
        known = np.where(np.isnan(days), 0, days - first + 1)
        return column | {"kind": "date", "first": first, "values": known[which]}
    numbers = _as_numbers(values)
    if numbers is not None and len(np.unique(numbers)) > 2:
        return column | {"kind": "number", "values": numbers[which].astype(np.float32)}
    texts = np.array(["" if is_missing(value) else str(value) for value in values], dtype=object)
    groups, codes = np.unique(texts, return_inverse=True)
    if len(groups) <= min(_GROUPS, max(2, len(texts) // 2)):
        return column | {"kind": "group", "groups": shorten(groups, 60), "values": codes[which]}
    return column | {"kind": "text", "values": shorten(texts[which], 80)}


def _as_numbers(values: Array) -> Array | None:
    """Return a column of numbers, or of texts that are numbers; missing ones are NaN."""
    if values.dtype.kind in "iuf":
        return np.where(np.isfinite(values), values, np.nan).astype(float)
    return None if values.dtype.kind == "b" else numbers_in_texts(values)

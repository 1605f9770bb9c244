"""What is known of samples besides their counts: dates, numbers, groups and texts."""

import re
from typing import Any

import numpy as np

from isotopic.arrays import Array, is_missing
from isotopic.containers import align_table, is_anndata, sample_names_of
from isotopic.report.samples import shorten

# Columns that the page shows, and the most values of a column of groups.
_COLUMNS, _GROUPS = 12, 200

_DATE = re.compile(r"\d{4}(-\d{1,2}(-\d{1,2}([T ]\d{2}:\d{2}.*)?)?)?")
_YEAR_NAME = re.compile(r"\byears?\b|_year|^year", re.IGNORECASE)


def read_metadata(given: Any, X: Any, n: int) -> list[tuple[str, Array]]:
    """Return the columns of a table with a row for each sample, or the ``obs`` of AnnData.

    Rows with labels are aligned with the samples of ``X`` by name.
    """
    if given is None and is_anndata(X):
        given = X.obs
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
    days = _as_days(name, values)
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
    if values.dtype.kind == "b":
        return None
    try:
        numbers = np.array(
            [np.nan if is_missing(v) or str(v).strip() == "" else float(v) for v in values]
        )
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if np.isfinite(numbers).any() and not np.isinf(numbers).any() else None


def _as_days(name: str, values: Array) -> Array | None:
    """Return dates as days since 1970, or None if the column has no dates; missing ones are NaN."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64)) if len(days) else None
    texts = ["" if is_missing(value) else str(value).strip() for value in values]
    texts = [text.removesuffix(".0") for text in texts]
    known = [text for text in texts if text]
    if not known or not all(_DATE.fullmatch(text) for text in known):
        return None
    if all(len(text) == 4 for text in known) and not _YEAR_NAME.search(name) and name != "date":
        return None  # four digits may be any number
    days = np.full(len(texts), np.nan)
    for i, text in enumerate(texts):
        if text:
            parts = [int(part) for part in re.findall(r"\d+", text[:10])] + [1, 1]
            try:
                date = np.datetime64(f"{parts[0]:04d}-{parts[1]:02d}-{parts[2]:02d}")
            except ValueError:
                return None
            days[i] = date.astype("datetime64[D]").astype(int)
    return days

"""Columns of metadata: which hold dates, which numbers, and which texts."""

import re
from datetime import date
from typing import Any

import numpy as np

from isotopic.arrays import Array, is_missing

# A date, and the time of the day if there is one; a year alone may be any number of four digits.
_DATE = re.compile(r"\d{4}-\d{1,2}(-\d{1,2}([T ]\d{2}:\d{2}.*)?)?")
_YEAR = re.compile(r"\d{4}(\.0)?")
_YEAR_NAME = re.compile(r"\byears?\b|_year|^year|^date$", re.IGNORECASE)

_DAYS_OF_YEAR = 365.2425


def as_column(column: Any) -> Array:
    """Return a column as floats or texts.

    Dates, and texts that are all dates such as ``"2001-05-31"``, become years such as 2001.41. A
    value that is missing is NaN, or an empty text.
    """
    array = np.asarray(column)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    days = as_days(array)
    if days is not None:
        return np.asarray(1970 + days / _DAYS_OF_YEAR)
    values = [None if is_missing(value) else value for value in array.tolist()]
    known = [value for value in values if value is not None]
    if all(isinstance(value, (bool, int, float, np.number)) for value in known):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return np.array(["" if value is None else str(value) for value in values], dtype=object)


def as_days(column: Any, name: str = "") -> Array | None:
    """Return dates as days since 1970, missing ones as NaN; ``None`` if some value is no date.

    Years alone are dates only if the ``name`` of the column says so.
    """
    array = np.asarray(column)
    if array.dtype.kind == "M":
        days = array.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.float64)) if len(days) else None
    is_year = bool(_YEAR_NAME.search(name))
    if array.dtype.kind not in "OUS" and not is_year:
        return None
    found: list[float] = []
    for value in array.tolist():
        day = np.nan if is_missing(value) else _day(value, is_year)
        if day is None:
            return None
        found.append(day)
    numbers = np.array(found, np.float64)
    return None if np.isnan(numbers).all() else numbers


def numbers_in_texts(column: Any) -> Array | None:
    """Return a column of texts as floats, empty ones as NaN; ``None`` if some are no numbers."""
    try:
        numbers = np.array(
            [np.nan if is_missing(v) or not str(v).strip() else float(v) for v in column]
        )
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if np.isfinite(numbers).any() and not np.isinf(numbers).any() else None


def _day(value: Any, is_year: bool) -> float | None:
    """Return a date as days since 1970, NaN for an empty text, ``None`` if it is no date."""
    if isinstance(value, date):
        text = value.isoformat()
    elif isinstance(value, str) or is_year:
        text = str(value).strip()
    else:
        return None
    if not text:
        return np.nan
    if not (_DATE.fullmatch(text) or (is_year and _YEAR.fullmatch(text))):
        return None
    parts = [int(part) for part in re.findall(r"\d+", text.removesuffix(".0")[:10])] + [1, 1]
    try:
        day = np.datetime64(f"{parts[0]:04d}-{parts[1]:02d}-{parts[2]:02d}", "D")
    except ValueError:
        return None
    return float(day.astype(np.int64))

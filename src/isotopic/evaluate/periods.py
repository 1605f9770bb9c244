"""Mean weights of topics over time."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import stats

from isotopic.arrays import Array, check_level
from isotopic.containers import align_table
from isotopic.covariates import as_days, numbers_in_texts, read_table
from isotopic.evaluate.shares import read_shares
from isotopic.table import Table

# With more different times than this, they are put into as many periods.
_MOST_PERIODS = 20

_UNITS = {"year": "Y", "month": "M", "day": "D"}


def over_time(weights: Any, time: Any, *, period: Any = None, level: float = 0.9) -> Table:
    """Return the mean share of each topic in each period of time, with intervals.

    No model of time is needed: shares of samples are averaged, and the interval of a mean comes
    from their variance (Student's t). For a smooth curve fit with a covariate instead, as in
    ``fit(X, covariates=..., formula="~ spline(year, 5)")``.

    Parameters
    ----------
    weights : fitted model, Refit, or array-like of shape (n_samples, n_components)
        A model stands for the samples that it was fitted to.
    time : array-like of shape (n_samples,)
        Numbers, also as texts such as the years ``"2001"`` of a table, or dates (``datetime64``, or
        texts such as ``"2001-05-31"``).
    period : {"year", "month", "day"}, number or None, default=None
        The length of a period: a unit for dates, a number for numbers. The first period begins
        with the first sample. ``None`` takes each value as a period, or if there are more than 20,
        cuts time into at most 20 equal periods, which are whole if the values are.
    level : float, default=0.9
        The level of the intervals.

    Returns
    -------
    table : Table
        A row for each period that has samples and each topic: ``time`` (where the period begins;
        its middle if ``None`` cuts times that are not whole), ``topic``, ``name`` if topics have
        one, ``n`` (samples), ``mean``, ``se``, ``lower`` and ``upper``. A single sample has no
        variance: its interval is all from 0 to 1.

    Examples
    --------
    >>> from isotopic.evaluate import over_time
    >>> weights = [[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]]
    >>> over_time(weights, [2001, 2001, 2002, 2002])["mean"].round(2)
    array([0.7, 0.3, 0.2, 0.8])
    """
    check_level(level)
    shares = read_shares(weights)
    is_date = isinstance(period, str)  # texts such as "2001" are both numbers and dates
    times = _read_time(time, len(shares.matrix), shares.sample_names, is_date)
    starts, codes = _periods(times, period)
    parts = []
    for code in range(len(starts)):
        own = shares.matrix[codes == code]
        n, n_topics = own.shape
        means, se, reach = own.mean(axis=0), np.full(n_topics, np.inf), np.full(n_topics, np.inf)
        if n > 1:
            se = own.std(axis=0, ddof=1) / np.sqrt(n)
            reach = stats.t.ppf((1 + level) / 2, n - 1) * se
        parts.append(
            {
                "time": np.full(n_topics, starts[code]),
                "topic": np.arange(n_topics),
                **shares.name_column(),
                "n": np.full(n_topics, n),
                "mean": means,
                "se": se,
                "lower": np.maximum(means - reach, 0),
                "upper": np.minimum(means + reach, 1),
            }
        )
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _read_time(time: Any, n: int, names: Array | None, is_date: bool) -> Array:
    """Return the time of each sample, as numbers or dates; raise if one is missing."""
    array = np.asarray(align_table("time", time, samples=names))
    if array.dtype.kind in "OUS":
        years = array.ndim == 1 and all(isinstance(t, str) for t in array.tolist())
        numbers = numbers_in_texts(array) if years and not is_date else None
        array = array if numbers is None else numbers
    if array.dtype.kind in "OUS":
        days = as_days(array, name="year" if years else "")
        if days is None and years:
            raise ValueError(
                f"time must hold numbers or dates such as '2001-05-31', not {array.flat[0]!r}."
            )
        if days is not None:
            known, array = np.isfinite(days), np.full(len(days), "NaT", dtype="datetime64[D]")
            array[known] = days[known].astype(np.int64).astype("datetime64[D]")
    if array.dtype.kind == "M":
        if array.shape != (n,):
            raise ValueError(f"time has the shape {array.shape}, but there are {n} samples.")
        if np.isnat(array).any():
            row = int(np.argmax(np.isnat(array)))
            raise ValueError(f"time is missing for sample {row}. Leave such samples out.")
        return array.astype("datetime64[D]")
    values = read_table({"time": array}, None, n_samples=n, sample_names=lambda: None)["time"]
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        bad = int(np.argmax(~np.isfinite(values))) if values.dtype.kind == "f" else 0
        raise ValueError(
            f"time must hold numbers or dates; sample {bad} has {values.tolist()[bad]!r}."
        )
    return values


def _periods(time: Array, period: Any) -> tuple[Array, Array]:
    """Return the time of each period, and the period of each sample."""
    is_date = time.dtype.kind == "M"
    if isinstance(period, str):
        if period not in _UNITS or not is_date:
            raise ValueError(
                f"period={period!r} needs dates and must be one of {sorted(_UNITS)}; for numbers "
                "pass the length of a period."
            )
        found, codes = np.unique(time.astype(f"datetime64[{_UNITS[period]}]"), return_inverse=True)
        return found.astype("datetime64[D]"), codes
    if period is not None:
        is_number = isinstance(period, Real) and not isinstance(period, bool)
        if is_date:
            raise ValueError(
                f"period must be one of {sorted(_UNITS)} for dates, not {period!r}. For several "
                "years pass numbers such as 2001 as time."
            )
        if not is_number or not 0 < period < np.inf:
            raise ValueError(f"period must be a positive number, not {period!r}.")
        return _of_length(time, float(period))
    found, codes = np.unique(time, return_inverse=True)
    if len(found) <= _MOST_PERIODS:
        return found, codes
    numbers = time.astype(np.float64)
    if not is_date and np.all(numbers == np.rint(numbers)):
        return _of_length(numbers, np.ceil((np.ptp(numbers) + 1) / _MOST_PERIODS))
    edges = np.linspace(numbers.min(), numbers.max(), _MOST_PERIODS + 1)
    bins = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, _MOST_PERIODS - 1)
    used, codes = np.unique(bins, return_inverse=True)
    middles = ((edges[:-1] + edges[1:]) / 2)[used]
    return (middles.astype(np.int64).astype("datetime64[D]") if is_date else middles), codes


def _of_length(time: Array, period: float) -> tuple[Array, Array]:
    """Return where periods of this length begin, and the period of each sample.

    The first begins at the first time, rounded down to a whole number, or to a multiple of a period
    that is not whole.
    """
    unit = 1.0 if period == round(period) else period
    first = np.floor(time.min() / unit) * unit
    numbers, codes = np.unique(np.floor((time - first) / period), return_inverse=True)
    return first + numbers * period, codes

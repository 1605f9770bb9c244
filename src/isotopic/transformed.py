"""Recognise data that are transformed counts: proportions, logarithms, tf-idf.

Every rule has almost no false alarms: it looks for a pattern that continuous data does not have by
chance. Whole numbers are always counts.
"""

import warnings
from collections.abc import Callable

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import CountsWarning
from isotopic.counts import CountMatrix
from isotopic.names import stacklevel_of_caller

# The most samples and entries that are examined, and the fewest that show a pattern.
_MOST_SAMPLES = 500
_FEWEST_SAMPLES, _FEWEST_ENTRIES, _FEWEST_UNITS = 8, 20, 5

# Sums of rounded numbers agree to this, and counts that are computed back are whole numbers to
# this, as multiples of the value.
_SAME_SUM = 1e-4
_WHOLE = 1e-3

_LOGARITHMS: dict[str, Callable[[Array], Array]] = {
    "log(1 + count)": np.expm1,
    "log2(1 + count)": lambda values: np.exp2(values) - 1,
    "log10(1 + count)": lambda values: 10.0**values - 1,
}
# The largest number that may be a count: far larger ones have no digits after the point to tell.
_LARGEST_COUNT = 1e12

_INVERSES: dict[str, Callable[[Array], Array]] = {
    **_LOGARITHMS,
    "square roots of counts": np.square,
}


def warn_if_transformed(X: CountMatrix, consequence: str) -> None:
    """Warn, and say what it leads to, if the data can be recognised as transformed counts."""
    found = transformation_of(X)
    if found:
        warnings.warn(
            f"X does not look like counts, but like {found}. {consequence}",
            CountsWarning,
            stacklevel=stacklevel_of_caller(),
        )


def transformation_of(X: CountMatrix) -> str:
    """Return how the counts were evidently transformed; empty if that cannot be told."""
    values = X.stored[X.stored > 0] if not X.is_sparse else X.values
    if len(values) < _FEWEST_ENTRIES or np.array_equal(np.rint(values), values):
        return ""
    sparse = X.as_sparse()
    # A single entry has the sum that it was scaled to, for any original value.
    present = np.flatnonzero(np.diff(sparse.row_starts) > 1)
    if len(present) < _FEWEST_SAMPLES:
        return ""
    step = -(-len(present) // _MOST_SAMPLES)
    rows = sparse.rows(present[::step])
    with np.errstate(over="ignore", invalid="ignore"):  # of exponentials, and their sums
        return _describe_sums(rows) or _describe_values(rows)


def _describe_sums(rows: CountMatrix) -> str:
    """Recognise samples that were scaled to the same sum, or to the same length."""
    values = rows.values.astype(np.float64)
    candidates = {
        "samples that were divided by their sums (each sums to {:.4g})": values,
        "samples of unit length, such as tf-idf (each has the length {:.4g})": values**2,
        **{
            f"{name} of samples with the same sum ({{:.4g}})": inverse(values)
            for name, inverse in _LOGARITHMS.items()
        },
    }
    for description, parts in candidates.items():
        sums = np.add.reduceat(parts, rows.row_starts[:-1])
        is_real = np.isfinite(sums).all() and (sums > 0).all()  # squares can underflow to zero
        if is_real and np.ptp(sums) <= _SAME_SUM * sums.mean():
            mean = float(sums.mean())
            return description.format(mean**0.5 if "length" in description else mean)
    return ""


def _describe_values(rows: CountMatrix) -> str:
    """Recognise logarithms and roots of whole numbers, and multiples of them."""
    values, starts = rows.values.astype(np.float64), rows.row_starts
    for name, inverse in _INVERSES.items():
        if _are_counts(inverse(values)):
            return name
    by_row = np.minimum.reduceat(values, starts[:-1])
    if _are_multiples(values, np.repeat(by_row, np.diff(starts)), by_row):
        return "counts that were divided by a number for each sample"
    by_feature = np.full(rows.shape[1], np.inf)
    np.minimum.at(by_feature, rows.features, values)
    units = by_feature[rows.features]
    if _are_multiples(values, units, by_feature[np.isfinite(by_feature)]):
        return "counts that were multiplied by a number for each feature, such as tf-idf"
    return ""


def _are_counts(values: Array) -> bool:
    """Return whether all values are whole numbers of at least one, but for rounding."""
    if not (values < _LARGEST_COUNT).all():
        return False
    whole = np.rint(values)
    is_whole = np.abs(values - whole) <= _WHOLE * np.minimum(whole, 100)
    return bool((whole >= 1).all() and is_whole.all())


def _are_multiples(values: Array, units: Array, distinct: Array) -> bool:
    """Return whether values are whole multiples of units, which differ from each other."""
    multiples = values / units
    n_larger = np.count_nonzero(multiples > 1.5)
    differ = len(np.unique(np.round(distinct / distinct.max(), 6))) >= _FEWEST_UNITS
    return bool(differ and n_larger >= _FEWEST_ENTRIES and _are_counts(multiples))

"""Design: how a table of covariates becomes columns of numbers, the same for all samples."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg

from isotopic.arrays import Array, check_numbers
from isotopic.covariates.formula import FormulaColumns, formula_columns
from isotopic.names import stacklevel_of_caller
from isotopic.registry import register

INTERCEPT = "Intercept"

# A column is taken as a combination of others if less than this share of it is left without them.
_DEPENDENT = 1e-7

# Groups with fewer samples are small.
_FEW = 5


@register
@dataclass(frozen=True, eq=False)
class Design:
    """How the covariates of a sample become a row of numbers.

    The first column is one. Numbers stay as they are, and a column of texts becomes one column of
    zeros and ones for each of its values but the first, which is the reference. A formula says
    something else. From all columns but the first the mean is subtracted, and numbers are divided
    by their standard deviation, so that one prior suits all coefficients. Zeros and ones are not: a
    rare group is as likely as others to differ by a factor. From a product, such as that of a group
    and a year, what its parts explain is subtracted first: the product of a group and 2010 is
    almost the group itself, and the prior would hold both back.

    Attributes
    ----------
    names : ndarray of str
        Of the columns of numbers.
    transform : ndarray of shape (columns, columns)
        The columns times this are the standardised columns.
    table : dict of ndarrays
        The covariates of the fitted samples by name: floats, or texts.
    formula : str or None
    """

    names: Array
    transform: Array
    table: dict[str, Array]
    formula: str | None = None

    @classmethod
    def of(cls, table: dict[str, Array], formula: str | None, copies: Array | None = None) -> Self:
        """Return the design of fitted samples; raise if a coefficient could not be told.

        ``copies`` are the sample weights.
        """
        if formula is None:
            _check_several_groups(table)
        _warn_of_small_groups(table)
        made = _columns(table, table, formula)
        names, columns = made.names, made.values
        _check_names(names)
        used = columns if copies is None else columns[copies > 0]
        shares = None if copies is None else copies[copies > 0]
        with np.errstate(over="ignore", invalid="ignore"):
            means = np.average(used, axis=0, weights=shares)
            scales = np.sqrt(np.average((used - means) ** 2, axis=0, weights=shares))
        _check_varying(names, means, scales)
        _check_independent(names, (used - means) / scales)
        is_number = ((columns != 0) & (columns != 1)).any(axis=0)
        transform = _standardising(means, np.where(is_number, scales, 1.0))
        for column, parts in enumerate(made.parts):
            if parts and is_number[column]:
                _subtract_parts(transform, used, shares, column, parts)
        names = [INTERCEPT, *names]
        return cls(np.array(names, dtype=object), transform, table, formula)

    def matrix(self, table: dict[str, Array]) -> Array:
        """Return the standardised numbers of samples, of shape (samples, columns)."""
        columns = _columns(table, self.table, self.formula).values
        return np.asarray(_with_ones(columns) @ self.transform)

    def in_units(self, coefficients: Array) -> Array:
        """Return coefficients of the columns themselves, from those of standardised columns."""
        return np.asarray(self.transform @ coefficients)

    @property
    def scales(self) -> Array:
        """What one unit of each standardised column is in units of the column itself."""
        return np.asarray(1 / np.diag(self.transform))

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        made = cls(**content)
        check_numbers("transform", made.transform, -np.inf)
        if np.shape(made.transform) != (len(made.names), len(made.names)):
            raise ValueError("transform must have a row and a column for each column.")
        return made


@register
@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of samples.

    Attributes
    ----------
    design : Design
    table : dict of ndarrays
        By name: floats, or texts.
    matrix : ndarray of shape (samples, columns)
        What the design makes of the table.
    """

    design: Design
    table: dict[str, Array]
    matrix: Array

    def __len__(self) -> int:
        return len(self.matrix)

    def rows(self, rows: Any) -> "Covariates":
        """Select samples."""
        table = {name: column[rows] for name, column in self.table.items()}
        return Covariates(self.design, table, self.matrix[rows])

    def with_column(self, name: str, value: Any) -> Array:
        """Return the matrix of the same samples, if all had one value of a covariate."""
        column = np.full(len(self.table[name]), value, dtype=self.table[name].dtype)
        return self.design.matrix({**self.table, name: column})


def is_categorical(column: Array) -> bool:
    """Return whether a covariate has texts, not numbers."""
    return column.dtype.kind == "O"


def levels_of(column: Array) -> list[str]:
    """Return the values of a covariate of texts, the reference first."""
    return sorted(set(column.tolist()))


def _standardising(means: Array, scales: Array) -> Array:
    """Return the transform that subtracts means and divides by scales, with a column of ones."""
    transform = np.diag(np.append(1.0, 1 / scales))
    transform[0, 1:] = -means / scales
    return transform


def _subtract_parts(
    transform: Array, columns: Array, copies: Array | None, column: int, parts: list[int]
) -> None:
    """Subtract from a product, in the transform, what its parts explain; rescale the rest."""
    at, parts = column + 1, [part + 1 for part in parts]
    standard = _with_ones(columns) @ transform
    weights = np.ones(len(columns)) if copies is None else np.sqrt(copies)
    weighted = standard * weights[:, np.newaxis]
    share = np.linalg.lstsq(weighted[:, parts], weighted[:, at])[0]
    rest = weighted[:, at] - weighted[:, parts] @ share
    scale = np.sqrt((rest**2).sum() / (weights**2).sum())
    transform[:, at] = (transform[:, at] - transform[:, parts] @ share) / scale


def _with_ones(columns: Array) -> Array:
    return np.hstack([np.ones((len(columns), 1)), columns])


def _columns(
    table: dict[str, Array], fitted: dict[str, Array], formula: str | None
) -> FormulaColumns:
    """Return the columns of numbers, without the intercept."""
    _check_known(table, fitted)
    if formula is not None:
        return formula_columns(formula, table, fitted)
    names, columns = [], []
    for name, of_fitted in fitted.items():
        column = table[name]
        if not is_categorical(of_fitted):
            names.append(name)
            columns.append(np.asarray(column, np.float64))
            continue
        for level in levels_of(of_fitted)[1:]:
            names.append(f"{name}[{level}]")
            columns.append((column == level).astype(np.float64))
    values = np.column_stack(columns) if columns else np.empty((_length(table), 0))
    return FormulaColumns(names, values, [[] for _ in names])


def _length(table: dict[str, Array]) -> int:
    return len(next(iter(table.values())))


def _check_known(table: dict[str, Array], fitted: dict[str, Array]) -> None:
    """Raise ValueError unless a table has the columns, and the texts, that were fitted."""
    absent = [name for name in fitted if name not in table]
    if absent:
        raise ValueError(
            f"covariates has no column {absent[0]!r}, which the model was fitted with. Its columns "
            f"are {list(table)}."
        )
    for name, of_fitted in fitted.items():
        if is_categorical(of_fitted) != is_categorical(table[name]):
            kinds = ("numbers", "text")
            was, now = kinds[is_categorical(of_fitted)], kinds[is_categorical(table[name])]
            raise ValueError(
                f"covariates: column {name!r} holds {now}, but the model was fitted with {was}."
            )
        if is_categorical(of_fitted):
            known = set(of_fitted.tolist())
            unknown = sorted(set(table[name].tolist()) - known)
            if unknown:
                raise ValueError(
                    f"covariates: column {name!r} has the value {unknown[0]!r}, which no fitted "
                    f"sample had, so nothing is known of it. Known values: {sorted(known)}. Leave "
                    "such samples out, or fit the model with some of them."
                )


def _check_several_groups(table: dict[str, Array]) -> None:
    """Raise ValueError if a covariate of texts has only one value: it has no column of numbers."""
    for name, column in table.items():
        if is_categorical(column) and len(levels_of(column)) == 1:
            raise ValueError(
                f"covariates: column {name!r} has the same value, {column[0]!r}, for every sample, "
                "so it has no effect that could be told. Leave it out."
            )


def _warn_of_small_groups(table: dict[str, Array]) -> None:
    """Warn of a covariate of texts with hardly any samples in each of its groups."""
    for name, column in table.items():
        if not is_categorical(column):
            continue
        groups, sizes = np.unique(column.astype(str), return_counts=True)
        if len(column) < _FEW * len(groups):
            few = groups[sizes < _FEW]
            warnings.warn(
                f"covariates: column {name!r} has {len(groups)} groups for {len(column)} samples; "
                f"{len(few)} of them have fewer than {_FEW}, such as {str(few[0])!r}. Hardly "
                "anything can be learned of such groups, and the fit is slower. Pool rare groups "
                "into one, or leave the column out.",
                stacklevel=stacklevel_of_caller(),
            )


def _check_names(names: list[str]) -> None:
    if not names:
        raise ValueError("covariates has no column that varies. Leave covariates out.")
    if INTERCEPT in names:
        raise ValueError(
            f"covariates: {INTERCEPT!r} is the name of the model's own column of ones. Rename the "
            "column, or leave it out."
        )


def _check_varying(names: list[str], means: Array, scales: Array) -> None:
    if not np.isfinite(scales).all():
        name = names[int(np.argmin(np.isfinite(scales)))]
        raise ValueError(f"covariates: the numbers of column {name!r} are too large. Rescale them.")
    constant = scales <= 1e-12 * np.maximum(1.0, np.abs(means))
    if constant.any():
        at = int(np.argmax(constant))
        raise ValueError(
            f"covariates: column {names[at]!r} has the same value, {means[at]:g}, for every "
            "sample, so its effect cannot be told from the intercept. Leave it out."
        )


def _check_independent(names: list[str], columns: Array) -> None:
    """Raise ValueError if a column is a combination of others."""
    n_samples, n_columns = columns.shape
    if n_columns >= n_samples:
        raise ValueError(
            f"covariates has {n_columns} columns of numbers, but there are only {n_samples} "
            "samples. Use fewer covariates."
        )
    triangle, order = linalg.qr(columns, mode="r", pivoting=True)
    left = np.abs(np.diag(triangle)) / np.sqrt(n_samples)
    if left[-1] < _DEPENDENT:
        name = names[order[int(np.argmax(left < _DEPENDENT))]]
        raise ValueError(
            f"covariates: column {name!r} is a combination of the others, so their effects "
            "cannot be told apart. Leave one of them out."
        )

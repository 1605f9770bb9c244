"""Columns of numbers by a formula, with the library formulaic."""

import re
from typing import Any, NamedTuple

import numpy as np

from isotopic.arrays import Array

# A name in a formula that is no function.
_COLUMN = re.compile(r"\b[^\W\d]\w*\b(?!\s*\()")


class FormulaColumns(NamedTuple):
    """Columns of numbers, without the intercept.

    Attributes
    ----------
    names : list of str
    values : ndarray of shape (samples, columns)
    parts : list of lists of int
        Of a product, the columns of its factors and of their smaller products; else empty.
    """

    names: list[str]
    values: Array
    parts: list[list[int]]


def formula_columns(
    formula: str, table: dict[str, Array], fitted: dict[str, Array]
) -> FormulaColumns:
    """Return the columns that a formula makes.

    What a formula learns from data, such as the knots of a spline or the mean that is subtracted,
    is learned from the ``fitted`` samples.
    """
    formulaic, frame = _libraries(formula)
    known = {"context": {"spline": _spline()}}
    made = _apply(formulaic.model_matrix, formula, frame(fitted), na_action="ignore", **known)
    if "Intercept" not in made.columns:
        raise ValueError(
            f"formula={formula!r} leaves the intercept out, but the model needs one: it is the "
            "concentration of a typical sample. Remove '0 +' or '- 1'."
        )
    spec = made.model_spec
    if table is not fitted:
        made = _apply(spec.get_model_matrix, frame(table), **known)
    made = made.drop(columns="Intercept")
    values = made.to_numpy(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(place[0]) for place in np.nonzero(bad))
        raise ValueError(
            f"formula={formula!r} makes {values[row, column]} of sample {row} in the column "
            f"{made.columns[column]!r}."
        )
    return FormulaColumns([str(name) for name in made.columns], values, _parts(spec))


def _parts(spec: Any) -> list[list[int]]:
    """Return the columns that the product in each column is made of, by number."""
    terms = [
        (frozenset(map(str, term.factors)), range(columns.start - 1, columns.stop - 1))
        for term, columns in spec.term_slices.items()
        if term.degree > 0
    ]
    parts: list[list[int]] = []
    for factors, columns in terms:
        smaller = [column for others, own in terms if others < factors for column in own]
        parts += [smaller for _ in columns]
    return parts


def formula_variables(formula: Any) -> list[str]:
    """Return the names of the covariates that a formula needs, in alphabetical order."""
    if not isinstance(formula, str):
        raise TypeError(f"formula must be a str such as '~ party + year', not {formula!r}.")
    formulaic, _ = _libraries(formula)
    parsed = _apply(formulaic.Formula, formula)
    if hasattr(parsed, "lhs"):
        raise ValueError(f"formula={formula!r} has a left side. Begin it with '~'.")
    return sorted({str(name) for name in parsed.required_variables} - {"spline"})


def _apply(function: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except Exception as error:  # formulaic has errors of its own
        raise ValueError(f"The formula cannot be used: {error}") from error


def _libraries(formula: str) -> tuple[Any, Any]:
    try:
        import formulaic  # noqa: PLC0415 - an extra
        import pandas  # noqa: PLC0415 - formulaic needs it too
    except ImportError:
        names = list(dict.fromkeys(_COLUMN.findall(formula))) or ["year"]
        raise ImportError(
            "A formula needs the library formulaic. Install it with: pip install "
            f"'isotopic[covariates]'. Without it, name columns: covariates={names} (--covariates "
            f"{','.join(names)})."
        ) from None
    return formulaic, pandas.DataFrame


def _spline() -> Any:
    """Return ``spline(x, df)``: cubic splines, which go on as straight lines beyond the data."""
    from formulaic.transforms import basis_spline, stateful_transform  # noqa: PLC0415

    def spline(x: Any, df: int = 4, _state: Any = None) -> Any:
        return basis_spline(x, df=df, extrapolation="extend", _state=_state)

    return stateful_transform(spline)

"""Read covariates from data frames, dicts, arrays, AnnData and files."""

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from isotopic.arrays import Array, as_numbers, is_missing
from isotopic.containers import is_anndata, is_frame
from isotopic.covariates.columns import as_column, numbers_in_texts
from isotopic.covariates.design import Covariates, Design, is_categorical
from isotopic.covariates.formula import formula_variables
from isotopic.names import as_sample_names, names_of_vector, order_by_name, stacklevel_of_caller


def read_covariates(
    given: Any,
    formula: str | None,
    X: Any,
    *,
    n_samples: int,
    sample_names: Callable[[], Array | None],
    copies: Array | None = None,
    known: Design | None = None,
) -> Covariates | None:
    """Return the covariates of the samples of ``X``; ``None`` if there are none.

    Parameters
    ----------
    given : data frame, dict of columns, array, names of columns, Covariates or None
        Names are those of columns of the metadata of ``X``.
    formula : str or None
    X : the data, whose metadata are used if only names or a formula were given
    n_samples : int
    sample_names : callable
        Returns the names of the samples of ``X`` or ``None``.
    copies : ndarray of shape (samples,) or None
        The sample weights.
    known : Design or None
        Of a fitted model; ``None``: a new design is made.
    """
    if isinstance(given, Covariates):
        _check_length("covariates", len(given), n_samples)
        return given
    if given is None and formula is None and not _brings_columns(X, known):
        return None
    if known is not None and formula is not None:
        raise ValueError("The formula is that of the fit. Pass only the covariates.")
    table = _read_columns(given, X, n_samples, sample_names)
    if known is not None:
        wanted = list(known.table)
    else:
        wanted = list(table) if formula is None else formula_variables(formula)
    absent = [name for name in wanted if name not in table]
    if absent and known is None:
        is_spline = absent[0] == "s" and re.search(r"\bs\(", str(formula))  # as R's stm calls it
        raise ValueError(
            f"formula={formula!r} needs {absent[0]!r}, which is not among the covariates "
            f"{list(table)}." + (" A spline is spline(year, df)." if is_spline else "")
        )
    groups = [] if known is None else [n for n, c in known.table.items() if is_categorical(c)]
    chosen = {name: table[name] for name in wanted if name in table}
    if known is None:
        _warn_of_hardly_numbers(chosen, sample_names())
    table = {name: _checked(name, _as_values(c, name in groups)) for name, c in chosen.items()}
    design = Design.of(table, formula, copies) if known is None else known
    return Covariates(design, table, design.matrix(table))


def _brings_columns(X: Any, known: Design | None) -> bool:
    """Return whether the metadata of ``X`` have all columns that a model was fitted with."""
    has_metadata = is_anndata(X) or isinstance(getattr(X, "metadata", None), Mapping)
    return known is not None and has_metadata and set(known.table) <= set(metadata_of(X))


def read_table(
    given: Any, X: Any, *, n_samples: int, sample_names: Callable[[], Array | None]
) -> dict[str, Array]:
    """Return columns by name, each with a value for each sample of ``X``, in its order.

    A column holds floats or texts, as :func:`as_column` makes them. Texts that are all numbers are
    numbers, wherever they come from; a categorical column of a data frame is texts.
    """
    columns = _read_columns(given, X, n_samples, sample_names)
    return {name: _as_values(column) for name, column in columns.items()}


def _read_columns(
    given: Any, X: Any, n_samples: int, sample_names: Callable[[], Array | None]
) -> dict[str, Any]:
    """Return columns by name, as they were given, in the order of the samples."""
    names = [given] if isinstance(given, str) else given
    if names is None or _are_texts(names):
        table = metadata_of(X)
        if names is not None:
            absent = [name for name in names if name not in table]
            if absent:
                raise ValueError(
                    f"covariates: X has no metadata called {absent[0]!r}; it has {list(table)}."
                )
            table = {name: table[name] for name in names}
    elif isinstance(given, Mapping):
        table = {
            str(name): _in_order_of_samples(given[name], sample_names) for name in _keys(given)
        }
    elif is_frame(given):
        index = as_sample_names(getattr(given, "index", None))
        samples = None if index is None else sample_names()
        order = order_by_name(index, samples, what="covariates", than="X", kind="sample")
        table = {str(name): _in_order(given[name], order) for name in _keys(given)}
    elif hasattr(given, "iloc") and np.ndim(given) == 1:  # a Series
        return _read_columns(given.to_frame(), X, n_samples, sample_names)
    else:
        array = as_numbers("covariates", given)
        if array.ndim not in (1, 2):
            raise ValueError(f"covariates must be a table, not an array of shape {array.shape}.")
        columns = array[:, np.newaxis] if array.ndim == 1 else array
        table = {f"x{i}": column for i, column in enumerate(columns.T)}
    if not table:
        raise ValueError("covariates has no columns. Leave it out.")
    for name, column in table.items():
        if np.ndim(column) != 1:
            raise ValueError(f"covariates: column {name!r} is not a list of values.")
        _check_length(f"covariates: column {name!r}", len(column), n_samples)
        dtype = np.asarray(column).dtype
        if dtype.kind in "cmSV":
            raise TypeError(
                f"covariates: column {name!r} holds {dtype}. Pass numbers, dates or texts."
            )
    return table


def _as_values(column: Any, are_groups: bool = False) -> Array:
    """Return a column as floats or texts; ``are_groups``: texts stay texts, even of numbers."""
    if _is_categorical_dtype(column):
        texts = ["" if is_missing(value) else str(value) for value in column]
        return np.array(texts, dtype=object)
    values = as_column(column)
    numbers = numbers_in_texts(values) if values.dtype.kind == "O" and not are_groups else None
    return values if numbers is None else numbers


def _is_categorical_dtype(column: Any) -> bool:
    """Return whether a column of pandas or polars says that its values are groups."""
    return str(getattr(column, "dtype", "")).lower().startswith(("categor", "enum"))


def _warn_of_hardly_numbers(columns: dict[str, Any], samples: Array | None) -> None:
    """Warn of a column of texts that would be numbers without a few of its values."""
    for name, column in columns.items():
        values = _as_values(column)
        if _is_categorical_dtype(column) or values.dtype.kind != "O":
            continue
        is_other = np.array([v != "" and numbers_in_texts([v]) is None for v in values.tolist()])
        n_known = np.count_nonzero(values != "")
        n_numbers = n_known - np.count_nonzero(is_other)
        if 2 * n_numbers > n_known:
            row = int(np.argmax(is_other))
            sample = row if samples is None else repr(str(samples[row]))
            warnings.warn(
                f"covariates: column {name!r} becomes groups, although {n_numbers} of its "
                f"{n_known} values are numbers; the first that is not is {values[row]!r} of sample "
                f"{sample}. Correct it, or if the column names groups, make it categorical: "
                f"frame[{name!r}].astype('category').",
                stacklevel=stacklevel_of_caller(),
            )


def _in_order_of_samples(column: Any, sample_names: Callable[[], Array | None]) -> Any:
    """Return a column; a pandas Series is aligned with the samples by its labels."""
    names = names_of_vector(column)
    samples = None if names is None else sample_names()
    order = order_by_name(names, samples, what="covariates", than="X", kind="sample")
    return _in_order(column, order)


def _in_order(column: Any, order: Array | None) -> Any:
    if order is None:
        return column
    return column.iloc[order] if hasattr(column, "iloc") else np.asarray(column)[order]


def _are_texts(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)


def _keys(given: Any) -> list[Any]:
    names = list(given.columns if is_frame(given) else given)
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise ValueError(f"covariates has several columns called {twice!r}. Rename them.")
    return names


def metadata_of(X: Any) -> dict[str, Any]:
    """Return what AnnData, or counts that were read from a file, know of their samples."""
    if is_anndata(X):
        return {str(name): X.obs[name] for name in X.obs.columns}
    metadata = getattr(X, "metadata", None)
    if isinstance(metadata, Mapping):
        return dict(metadata)
    if hasattr(X, "metadata"):
        raise ValueError(
            "covariates are columns of the metadata of X, but it has none. Join a table with a row "
            "for each sample: read_counts(path, sample_table=...)."
        )
    raise ValueError(
        "covariates must be a data frame, a dict of columns or an array with a row for each "
        f"sample. Names of columns and a formula alone need X with metadata, not {type(X).__name__}"
        " (AnnData, or what read_counts returns for a table of documents)."
    )


def _checked(name: str, column: Array) -> Array:
    """Return a column; raise ValueError if a value is missing."""
    is_number = column.dtype.kind == "f"
    missing = ~np.isfinite(column) if is_number else column == ""
    if missing.any():
        value = "finite value" if is_number else "value"
        raise ValueError(
            f"covariates: column {name!r} has no {value} for {np.count_nonzero(missing)} of "
            f"{len(column)} samples; the first is sample {int(np.argmax(missing))}. Fill in what "
            "is missing, or leave these samples out."
        )
    return column


def _check_length(what: str, found: int, n_samples: int) -> None:
    if found != n_samples:
        raise ValueError(f"{what} has {found} values, but X has {n_samples} samples.")

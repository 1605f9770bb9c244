"""Read the containers of matrices that people use: the only place that tells them apart.

They are arrays, nested lists and SciPy's sparse matrices, data frames of pandas and polars,
AnnData, and everything with a method ``named_matrix``: :class:`~isotopic.CountMatrix`, and what
:func:`~isotopic.read_counts` returns.
"""

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.names import (
    SYMBOL_COLUMNS,
    are_gene_identifiers,
    as_feature_names,
    as_sample_names,
    gene_names,
    names_of_vector,
    order_by_name,
    stacklevel_of_caller,
)

# The rows of a layer that are looked at to see whether it holds counts.
_ROWS_TO_CHECK = 1000


class CountsWarning(UserWarning):
    """Warns that data is not counts, where a model or annotated data shows that counts were meant.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from isotopic import LDA
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = LDA(2, tol=1e-2, random_state=0).fit(X / X.sum(axis=1, keepdims=True))
    >>> caught[0].category.__name__
    'CountsWarning'
    """


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix, and the names of its rows and columns if it has some.

    Attributes
    ----------
    matrix : array-like or sparse matrix of shape (samples, features)
    feature_names, sample_names : ndarray of objects or None
    missing : sparse matrix of bool or None
        True where an entry is missing.
    """

    matrix: Any
    feature_names: Array | None = None
    sample_names: Array | None = None
    missing: Any = None

    @property
    def shape(self) -> Any:
        """The shape of the matrix."""
        return np.shape(self.matrix)

    def __len__(self) -> int:
        """Return the number of rows, as for any matrix."""
        return int(self.shape[0])

    def with_features(
        self, expected: Array | None, *, what: str = "X", than: str | None = None
    ) -> Self:
        """Return the matrix with its columns in the order of the expected features."""
        check_not_transposed(self, expected, what=what)
        order = order_by_name(self.feature_names, expected, what=what, than=than)
        if order is None:
            return self
        missing = None if self.missing is None else columns_of(self.missing, order)
        return replace(
            self, matrix=columns_of(self.matrix, order), feature_names=expected, missing=missing
        )


def check_not_transposed(named: NamedMatrix, expected: Array | None, *, what: str) -> None:
    """Raise ValueError if the rows have the names that are expected of the columns."""
    rows, columns = named.sample_names, named.feature_names
    if expected is None or rows is None or columns is None:
        return
    features = set(expected.tolist())
    if features <= set(rows.tolist()) and not features & set(columns.tolist()):
        raise ValueError(
            f"{what} is transposed: its rows have the names of the features, such as "
            f"{expected[0]!r}. Pass {what}.T, with a row for each sample."
        )


def read_container(X: Any, what: str = "X") -> NamedMatrix:
    """Return the matrix that a container holds, with its names; ``what`` is for errors.

    Arrays, sparse matrices and nested lists are returned as they are.
    """
    if isinstance(X, NamedMatrix):
        return X
    if hasattr(type(X), "named_matrix"):
        named: NamedMatrix = X.named_matrix()
        return named
    if is_anndata(X):
        if what == "X":
            warn_of_forgotten_layer(X)
        return _read_anndata(X, what)
    if _is_arrow(X):
        X = X.to_pandas()
    if is_frame(X):
        return _read_frame(X, what)
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            f"{what} is a masked array, and its mask would be lost. If masked entries are missing, "
            f"pass {what}.filled(0) and missing_mask=np.ma.getmaskarray({what})."
        )
    if isinstance(X, (str, bytes, os.PathLike)):
        raise TypeError(
            f"{what} is a {type(X).__name__}, not a matrix. Read a file with isotopic.read_counts."
        )
    return NamedMatrix(X)


def sample_names_of(X: Any) -> Array | None:
    """Return the names of the rows of a container; ``None`` if it has none."""
    return read_container(X).sample_names if is_named(X) else None


def align_table(
    what: str, given: Any, *, features: Array | None = None, samples: Array | None = None
) -> Any:
    """Return a table as it belongs to ``X``: columns as ``features``, rows as ``samples``.

    A pandas Series has its entries in the order of either. What has no names is returned as it is.
    """
    if hasattr(given, "iloc") and np.ndim(given) == 1:
        return _align_series(what, given, features, samples)
    if not is_named(given):
        return given
    named = read_container(given, what)
    if features is not None:
        named = named.with_features(features, what=what, than="X")
    rows = order_by_name(named.sample_names, samples, what=what, than="X", kind="sample")
    return named.matrix if rows is None else sparse_or_array(named.matrix)[rows]


def _align_series(what: str, given: Any, features: Array | None, samples: Array | None) -> Any:
    names = names_of_vector(given)
    if samples is not None:
        order = order_by_name(names, samples, what=what, than="X", kind="sample")
    elif names is not None and all(isinstance(name, str) for name in names):
        order = order_by_name(names, features, what=what, than="X")
    else:
        order = None
    return given if order is None else given.iloc[order]


def is_named(X: Any) -> bool:
    """Return whether ``X`` is a container that may have names, rather than an array."""
    has_matrix = isinstance(X, NamedMatrix) or hasattr(type(X), "named_matrix")
    return has_matrix or is_frame(X) or is_anndata(X) or _is_arrow(X)


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _is_arrow(X: Any) -> bool:
    """Return whether ``X`` is a table of Arrow."""
    return hasattr(X, "column_names") and hasattr(X, "to_pandas")


def is_anndata(X: Any) -> bool:
    """Return whether ``X`` is an AnnData object."""
    is_theirs = type(X).__module__.partition(".")[0] == "anndata"
    return is_theirs and hasattr(X, "var_names") and hasattr(X, "obs_names")


def gene_symbols_of(X: Any) -> Array | None:
    """Return the symbols of genes if AnnData has them beside Ensembl's identifiers, else None."""
    if not is_anndata(X) or not are_gene_identifiers(X.var_names):
        return None
    found = [name for name in SYMBOL_COLUMNS if name in X.var]
    return gene_names(X.var_names, X.var[found[0]]) if found else None


def columns_of(matrix: Any, order: Array) -> Any:
    """Return the columns of an array or sparse matrix in another order."""
    found = sparse_or_array(matrix)
    return np.take(found, order, axis=1) if isinstance(found, np.ndarray) else found[:, order]


def as_dense(named: NamedMatrix) -> NamedMatrix:
    """Return a matrix that is not sparse, with its names."""
    is_sparse: bool = sparse.issparse(named.matrix)
    return replace(named, matrix=named.matrix.toarray()) if is_sparse else named


def sparse_or_array(matrix: Any) -> Any:
    """Return a sparse matrix by rows, or an array."""
    is_sparse: bool = sparse.issparse(matrix)
    return sparse.csr_array(matrix) if is_sparse else np.asarray(matrix)


def _read_anndata(X: Any, what: str) -> NamedMatrix:
    matrix = X.X
    if matrix is None:
        raise ValueError(
            f"{what} is AnnData without X. Choose one of its layers, {sorted(X.layers)}, as in "
            "anndata.AnnData(adata.layers[...], obs=adata.obs, var=adata.var)."
        )
    if not (sparse.issparse(matrix) or isinstance(matrix, np.ndarray)):
        raise TypeError(
            f"{what} is AnnData whose X is a {type(matrix).__name__}, not in memory. Read it with "
            "adata.to_memory()."
        )
    return NamedMatrix(matrix, as_feature_names(X.var_names), as_sample_names(X.obs_names))


def _read_frame(X: Any, what: str) -> NamedMatrix:
    from sklearn.utils import check_array  # noqa: PLC0415 - slow to load

    if hasattr(X, "collect"):
        raise TypeError(f"{what} is a lazy data frame. Pass {what}.collect().")
    names = as_feature_names(X.columns)
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name in names if np.count_nonzero(names == name) > 1)
        raise ValueError(
            f"Expected unique column names, but {what} has several columns called {twice!r:.100}. "
            "Rename them, or pass an array; its columns are then matched by position."
        )
    _check_columns(X, what)
    index = as_sample_names(getattr(X, "index", None))
    try:
        matrix = check_array(
            X,
            accept_sparse=True,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name=what,
        )
    except OverflowError:
        raise ValueError(f"{what} has a number that is too large for float64.") from None
    except (ValueError, TypeError):
        raise
    except Exception as error:  # data frame libraries have errors of their own
        raise ValueError(f"Cannot read {what}: {error}") from error
    return NamedMatrix(matrix, names, index)


def _check_columns(X: Any, what: str) -> None:
    """Raise if a column of a data frame does not hold numbers, and name it."""
    for place, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        if getattr(dtype, "kind", "O") in "biuf" or str(dtype).startswith(("Int", "UInt", "Float")):
            continue
        column = X.iloc[:, place] if hasattr(X, "iloc") else X.get_column(name)
        texts = (value for value in column if isinstance(value, (str, bytes)))
        example = next(texts, None)
        if example is not None:
            raise TypeError(
                f"Column {name!r:.100} of {what} holds text, such as the string {example!r:.50}; "
                "all columns must contain numbers. Leave it out, or count its words first, with "
                "isotopic.read_counts or scikit-learn's CountVectorizer."
            )
        if str(dtype).lower().startswith(("date", "time", "duration")):
            raise TypeError(
                f"Column {name!r:.100} of {what} holds {dtype}; all columns must contain numbers. "
                "Leave it out."
            )


def select_layer(X: Any, layer: str | None) -> Any:
    """Return annotated data with a layer in the place of ``X``; other data as it is."""
    if not is_anndata(X):
        if layer is not None:
            raise ValueError(f"layer={layer!r} applies only to AnnData, not {type(X).__name__}.")
        return X
    return X if layer is None else type(X)(counts_of_layer(X, layer), obs=X.obs, var=X.var)


def counts_of_layer(adata: Any, layer: str | None) -> Any:
    """Return a layer, or ``X``, with a warning if it is not counts but a layer is."""
    if layer is None:
        if adata.X is None:
            raise ValueError(f"adata has no X. Choose one of its layers: {sorted(adata.layers)}.")
        warn_of_forgotten_layer(adata)
        return adata.X
    if layer not in adata.layers:
        raise ValueError(f"adata has no layer {layer!r}; it has {sorted(adata.layers)}.")
    return adata.layers[layer]


def forgotten_layers(adata: Any) -> list[str]:
    """Return the layers of annotated data that hold counts, if its ``X`` does not."""
    if _holds_counts(adata.X) is not False:
        return []
    return sorted(name for name, layer in adata.layers.items() if _holds_counts(layer))


def warn_of_forgotten_layer(adata: Any) -> None:
    """Warn if ``X`` of annotated data is not counts but a layer is."""
    layers = forgotten_layers(adata)
    if layers:
        choices = " or ".join(f"layer={name!r}" for name in layers)
        warnings.warn(
            f"adata.X is not counts: it has entries that are not whole numbers. Pass {choices}, "
            "which holds counts. If you mean adata.X, ignore this warning.",
            CountsWarning,
            stacklevel=stacklevel_of_caller(),
        )


def _holds_counts(matrix: Any) -> bool | None:
    """Return whether the first rows are whole numbers; None if they are not in memory or empty."""
    rows = matrix[:_ROWS_TO_CHECK]
    is_sparse: bool = sparse.issparse(rows)
    values = rows.tocsr().data if is_sparse else rows
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iufb" or not values.any():
        return None
    return bool(np.array_equal(np.rint(values), values))

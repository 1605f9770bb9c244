"""Parameters as plain values: what a fit computes with, and what files can hold.

An estimator keeps what the user passed, as scikit-learn demands. A fit works on a copy of it, in
which numbers, arrays and lists are those of Python and NumPy.
"""

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.divergences import Divergence
from isotopic.estimators.unknown_parameters import parameter_names
from isotopic.priors import Prior
from isotopic.solvers import Solver


def with_plain_parameters(model: Any) -> Any:
    """Return a copy of an estimator, with what it has fitted, whose parameters are plain values.

    Tables and vectors with labels stay: they are aligned with the data where they are read.
    """
    plain = copy(model)
    kind: type = type(model)
    names = parameter_names(kind)
    for name in model.get_params(deep=False) if names is None else names:
        setattr(plain, name, plain_parameter(name, getattr(model, name), keep_labels=True))
    return plain


def plain_parameter(
    name: str, value: Any, feature_names: Any = None, *, keep_labels: bool = False
) -> Any:
    """Return the value of a parameter as numbers, text, NumPy arrays, lists and dicts of those.

    Labels that are the names of the features are put into their order, or with ``keep_labels``
    tables and vectors that have labels are left alone.

    Raises
    ------
    TypeError, ValueError
        For an iterator, which can be read only once, and for a number beyond float64.
    """
    if isinstance(value, Iterator):
        raise TypeError(f"{name} is an iterator, which can be read only once. Pass a list.")
    if isinstance(value, (Prior, Solver, Divergence)) and is_dataclass(value):
        return _plain_object(value, feature_names, keep_labels)
    if hasattr(value, "columns") or (hasattr(value, "index") and hasattr(value, "to_numpy")):
        if keep_labels:
            return value
        value = _in_order_of(feature_names, value)
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        return _plain_array(value)
    if isinstance(value, (Number, Decimal)):
        return _plain_number(name, value)
    if isinstance(value, Collection) and not isinstance(value, (str, bytes)):
        return _plain_collection(name, value, feature_names, keep_labels)
    return value


def _plain_collection(name: str, value: Any, feature_names: Any, keep_labels: bool) -> Any:
    def plain(key: Any, item: Any) -> Any:
        place = f"{name}[{key!r}]"
        return plain_parameter(place, item, feature_names, keep_labels=keep_labels)

    if isinstance(value, Mapping):
        return {_plain_key(key): plain(key, item) for key, item in value.items()}
    items = sorted(value, key=repr) if isinstance(value, AbstractSet) else value
    made = [plain(i, item) for i, item in enumerate(items)]
    return tuple(made) if isinstance(value, tuple) else made


def _plain_key(key: Any) -> Any:
    return int(key) if isinstance(key, Integral) else key


def _plain_object(value: Any, feature_names: Any, keep_labels: bool) -> Any:
    """Return a prior, a solver or a divergence whose settings are plain values."""
    changed = {}
    for item in fields(value):
        given = getattr(value, item.name)
        if item.init:
            plain = plain_parameter(item.name, given, feature_names, keep_labels=keep_labels)
            if plain is not given:
                changed[item.name] = plain
    return replace(value, **changed) if changed else value


def _plain_number(name: str, value: Any) -> Any:
    if isinstance(value, (bool, float)) or not isinstance(value, (Real, Decimal)):
        return value
    try:
        number = float(value)
        return int(value) if isinstance(value, Integral) else number
    except OverflowError:
        raise ValueError(f"{name} is too large for float64: {str(value)[:20]}...") from None


def _plain_array(value: Any) -> Any:
    """Return an array, or a single number, of a type that files can hold, if there is one."""
    if isinstance(value, np.ma.MaskedArray) or sparse.issparse(value):
        return value  # whoever reads it says what is wrong with it
    array: Array = value if type(value) is np.memmap else np.asarray(value)
    if array.dtype == np.longdouble:
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    elif array.dtype.kind == "O" and all(isinstance(v, (Number, Decimal)) for v in array.flat):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return value
    if isinstance(value, np.generic):
        return array.item() if array.dtype.kind in "biufU" else value
    return array


def _in_order_of(feature_names: Any, table: Any) -> Any:
    """Return a frame or a series whose labels are the names of the features, in their order."""
    columns = getattr(table, "columns", None)
    labels = [str(label) for label in (table.index if columns is None else columns)]
    names = [] if feature_names is None else [str(name) for name in feature_names]
    if labels == names or sorted(labels) != sorted(names) or len(set(labels)) < len(labels):
        return np.ascontiguousarray(table)
    place = {label: i for i, label in enumerate(labels)}
    return np.ascontiguousarray(np.asarray(table)[..., [place[name] for name in names]])

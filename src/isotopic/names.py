"""Names of features and samples: what they are, and how two lists of them are aligned.

Wherever two things with names meet, :func:`order_by_name` decides. Equal names in equal order need
nothing. The same names in another order are aligned, with a warning. Other names are an error. If
one side has no names, features and samples are matched by position.
"""

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from isotopic.arrays import Array, is_missing

# An error lists at most this many names.
_MOST_NAMES_SHOWN = 5

# Frames of these packages are skipped, so that a warning points to the line that called them.
_PACKAGES = ("isotopic", "sklearn")


# What to do if new texts have other words than those that were fitted.
OF_NEW_TEXTS = "For texts, pass vocabulary=model.feature_names_in_ to read_counts."

# Columns of AnnData's ``var`` that hold the symbols of genes.
SYMBOL_COLUMNS = (
    "gene_symbols",
    "gene_symbol",
    "gene_names",
    "gene_name",
    "feature_name",
    "symbol",
)

_GENE_IDENTIFIER = re.compile(r"ENS[A-Z]*G\d{6,}(?:\.\d+)?")
_IDENTIFIER_AND_SYMBOL = re.compile(rf"({_GENE_IDENTIFIER.pattern})[|_:](.+)")


class FeatureOrderWarning(UserWarning):
    """Features were in another order than expected, and were aligned by name.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import pandas as pd
    >>> from isotopic import NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> frame = pd.DataFrame(X, columns=["sea", "sun", "sky", "sand"])
    >>> model = NMF(2, tol=1e-2, random_state=0).fit(frame)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = model.transform(frame[frame.columns[::-1]])
    >>> caught[0].category.__name__
    'FeatureOrderWarning'
    """


class SampleOrderWarning(UserWarning):
    """Samples were in another order than expected, and were aligned by name.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import pandas as pd
    >>> from isotopic import NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> frame = pd.DataFrame(X, index=[f"day {i}" for i in range(20)])
    >>> twice = pd.Series(2.0, index=frame.index[::-1])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = NMF(2, tol=1e-2, random_state=0).fit(frame, sample_weight=twice)
    >>> caught[0].category.__name__
    'SampleOrderWarning'
    """


class EmptySampleWarning(UserWarning):
    """Some samples have no count of any feature of the model.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import pandas as pd
    >>> from isotopic import NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> frame = pd.DataFrame(X, columns=["sea", "sun", "sky", "sand"])
    >>> model = NMF(2, tol=1e-2, random_state=0).fit(frame)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = model.transform(frame * 0)
    >>> caught[0].category.__name__
    'EmptySampleWarning'
    """


# What each kind of name warns with.
_WARNINGS = {"feature": FeatureOrderWarning, "sample": SampleOrderWarning}


def order_by_name(
    found: Array | None,
    expected: Array | None,
    *,
    what: str = "X",
    than: str | None = None,
    kind: str = "feature",
) -> Array | None:
    """Return the indices that put the names of ``what`` into the expected order.

    Parameters
    ----------
    found, expected : ndarray of objects or None
        The names of the features: those of ``what``, and those in the order that is needed.
    what, than : str
        What the names belong to, for the warning and the error; by default ``X`` and a fitted
        model.
    kind : {"feature", "sample"}
        What the names are names of; samples are in rows.

    Returns
    -------
    order : ndarray of int or None
        ``what[:, order]`` has the expected features. ``None``: there is nothing to do, because the
        names are equal, or because one side has none.

    Raises
    ------
    ValueError
        If names are missing or unknown, or if a name occurs twice.
    """
    if found is None or expected is None or np.array_equal(found, expected):
        return None
    known, given = set(expected.tolist()), set(found.tolist())
    if known != given:
        raise ValueError(_mismatch(given - known, known - given, what, than, kind))
    order = _places(found, expected, f"{kind} name", what)
    warnings.warn(
        f"The {kind}s of {what} are in another order than those of {than or 'the fitted data'}. "
        "They were aligned by name.",
        _WARNINGS[kind],
        stacklevel=stacklevel_of_caller(),
    )
    return order


def find_by_name(
    found: Array | None, expected: Array | None, *, what: str, than: str
) -> Array | None:
    """Return where each expected feature is in ``what``, -1 for one that it does not have.

    For data that may lack some features, and may have others, which are left out. As in
    :func:`order_by_name`, ``None`` means that there is nothing to do.
    """
    if found is None or expected is None or np.array_equal(found, expected):
        return None
    places = _places_of(found, "feature name", what)
    _places_of(expected, "feature name", than)
    order = np.array([places.get(name, -1) for name in expected.tolist()], dtype=np.intp)
    if not np.any(order >= 0):
        raise ValueError(
            f"None of the {len(found):,} features of {what} is among the {len(expected):,} of "
            f"{than}, such as {expected[0]!r:.50}. Are the rows samples, and do the columns have "
            "names?"
        )
    return order


def is_same_order(found: Array | None, expected: Array | None) -> bool:
    """Return whether there is nothing to align: equal names, or one side has none."""
    return found is None or expected is None or np.array_equal(found, expected)


def as_feature_names(columns: Iterable[Any]) -> Array | None:
    """Return the names of columns; ``None`` if they are not strings (as scikit-learn does)."""
    names = _objects(columns)
    is_text = [isinstance(name, str) for name in names]
    if not is_text or not any(is_text):
        return None
    if all(is_text):
        return names
    kinds = sorted({type(name).__qualname__ for name in names})
    raise TypeError(
        "Feature names are only supported if all input features have string names, but your input "
        f"has {kinds} as feature name / column name types. Convert them, as in X.columns = "
        "X.columns.astype(str)."
    )


def as_sample_names(index: Any) -> Array | None:
    """Return the labels of rows; ``None`` if they are just 0, 1, 2, ... or there are none."""
    if index is None or callable(index):  # list.index is a method
        return None
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:  # a RangeIndex
        return None
    names = _objects(index)
    return None if all(map(_is_number, names, range(len(names)))) else names


def names_of_vector(given: Any) -> Array | None:
    """Return the labels of the entries of a pandas Series; ``None`` of anything else."""
    is_series = hasattr(given, "iloc") and np.ndim(given) == 1
    return as_sample_names(given.index) if is_series else None


def stacklevel_of_caller() -> int:
    """Return the ``stacklevel`` of a warning that shows the line outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    return level


def _objects(values: Iterable[Any]) -> Array:
    """Return values as an array of objects; tuples, of which there may be some, stay whole."""
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _is_number(name: Any, number: int) -> bool:
    return name in (number, str(number)) if isinstance(name, (int, str, np.integer)) else False


def _places(found: Array, expected: Array, kind: str, what: str) -> Array:
    """Return where each expected name is found."""
    _places_of(expected, kind, what)
    places = _places_of(found, kind, what)
    return np.array([places[name] for name in expected.tolist()], dtype=np.intp)


def _places_of(names: Array, kind: str, what: str) -> dict[Any, int]:
    """Return the place of each name; raise if one occurs twice."""
    places: dict[Any, int] = {}
    for place, name in enumerate(names.tolist()):
        if name in places:
            raise ValueError(
                f"Cannot align {what} by name: the {kind} {name!r:.100} occurs more than once. "
                "Make the names unique, or pass data without names, which is matched by position."
            )
        places[name] = place
    return places


def _mismatch(unknown: set[Any], missing: set[Any], what: str, than: str | None, kind: str) -> str:
    """Return the error for other names; that of a fitted model begins as scikit-learn's does."""
    if than is None:
        return (
            "The feature names should match those that were passed during fit.\n"
            + _listed("Feature names unseen at fit time:", unknown)
            + _listed("Feature names seen at fit time, yet now missing:", missing)
            + f"{what} must have the features of the model, in any order. Leave out others, and "
            "add columns of zeros for those that are missing. With pandas this is "
            f"X.reindex(columns=model.feature_names_in_, fill_value=0). {OF_NEW_TEXTS}"
        )
    return (
        f"The {kind} names of {what} should match those of {than}.\n"
        + _listed(f"Not in {than}:", unknown)
        + _listed(f"Not in {what}:", missing)
        + f"Both need the same {kind}s, in any order. Data without names is matched by position."
    )


def _listed(title: str, names: set[Any]) -> str:
    if not names:
        return ""
    shown = sorted(names, key=str)[:_MOST_NAMES_SHOWN]
    lines = [title, *(f"- {name!s:.100}" for name in shown)]
    left = len(names) - len(shown)
    return "\n".join([*lines, f"- ... and {left:,} more"] if left else lines) + "\n"


def are_gene_identifiers(names: Iterable[Any]) -> bool:
    """Return whether most names are Ensembl's identifiers of genes, such as ENSG00000141510."""
    found = [bool(_GENE_IDENTIFIER.fullmatch(str(name))) for name in names]
    return sum(found) > len(found) / 2


def symbols_in_names(names: Iterable[Any]) -> Array | None:
    """Return the symbols of genes called ENSG00000141510|TP53 and the like; None: they are not."""
    texts = list(map(str, names))
    found = [_IDENTIFIER_AND_SYMBOL.fullmatch(text) for text in texts]
    if sum(map(bool, found)) <= len(found) / 2:
        return None
    pairs = [
        part.groups() if part else (text, text) for part, text in zip(found, texts, strict=True)
    ]
    return gene_names(*zip(*pairs, strict=True))


def gene_names(identifiers: Iterable[Any], symbols: Iterable[Any]) -> Array:
    """Return the symbols of genes; a symbol of several genes gets the identifier of each.

    A gene without a symbol keeps its identifier.
    """
    pairs = [
        (str(key), str(key if is_missing(name) or not str(name).strip() else name))
        for key, name in zip(identifiers, symbols, strict=True)
    ]
    times = Counter(name for _, name in pairs)
    names = [name if times[name] == 1 else f"{name} ({key})" for key, name in pairs]
    return np.array(names, dtype=object)

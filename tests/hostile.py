"""A table of hostile cases: what must be refused, and what is unusual but good.

Every entry has a name, by which its test is called. Entries are functions, so that each test has
data of its own.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from problems import paper_lda
from scipy import sparse
from scipy.special import digamma, gammaln, rel_entr, xlogy
from sklearn.base import clone
from sklearn.decomposition import PCA

from isotopic import (
    LDA,
    NMF,
    PLSA,
    Alternating,
    Checkpoint,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    JointEM,
    Lasso,
    LogPenalty,
    PowerPenalty,
    Simplex,
    SparseNMF,
    TopicModel,
    UnitNorm,
)

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
NAMES = ["ark", "bread", "cup", "dove", "ear"]

# Few and exact iterations: the cases are about what goes in and what comes out.
SETTINGS = {"max_iter": 4, "tol": 0, "random_state": 0, "n_jobs": 1}

MODELS = {
    "nmf": NMF(2, **SETTINGS),
    "nmf-with-scale": NMF(2, normalize=False, **SETTINGS),
    "plsa": PLSA(2, **SETTINGS),
    "lda": paper_lda(2, alpha=0.5, **SETTINGS),
    "smoothed-lda": paper_lda(2, alpha=0.2, eta=0.3, **SETTINGS),
    "gamma-poisson": GammaPoisson(2, shape=0.7, rate=0.3, **SETTINGS),
    "lasso-simplex": TopicModel(2, weights=Lasso(0.5), **SETTINGS),
    "l2-lasso": SparseNMF(2, 0.5, **SETTINGS),
    "simplex-log": SparseNMF(2, 0.5, norm="l1", penalty="log", **SETTINGS),
    "l3-power": SparseNMF(2, 0.5, norm=3.0, penalty="power", solver="joint", **SETTINGS),
    "lasso-lasso": TopicModel(2, weights=Lasso(0.5), topics=Lasso(0.2), **SETTINGS),
    "gamma-gamma": TopicModel(2, weights=Gamma(0.7, 0.3), topics=Gamma(0.4, 0.6), **SETTINGS),
    "gamma-dirichlet": TopicModel(2, weights=Gamma(0.7, 0.3), topics=Dirichlet(0.3), **SETTINGS),
    "simplex-dirichlet": TopicModel(2, weights=Simplex(), topics=Dirichlet(0.3), **SETTINGS),
    "free-dirichlet": TopicModel(2, weights=Free(), topics=Dirichlet(0.3), **SETTINGS),
}


def model_of(name: str, **parameters: Any) -> Any:
    return clone(MODELS[name]).set_params(**parameters)


def counts() -> Any:
    """Whole counts of 6 samples and 5 features; no row and no column is empty."""
    return np.array(
        [
            [3, 0, 1, 0, 2],
            [0, 4, 0, 1, 0],
            [5, 1, 2, 0, 0],
            [0, 2, 0, 6, 1],
            [1, 0, 0, 2, 3],
            [2, 0, 7, 1, 0],
        ],
        dtype=np.float64,
    )


# --------------------------------------------------------------------------------------------------
# Data that must be refused
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bad:
    """What must be refused, and what the message must say (a regular expression)."""

    make: Callable[[], Any]
    message: str


def with_value(value: float, *, position: tuple[int, int] = (2, 3), dtype: Any = float) -> Any:
    X = counts().astype(dtype)
    X[position] = value
    return X


def _object_with(value: Any) -> Any:
    X = counts().astype(object)
    X[2, 3] = value
    return X


def frame(X: Any = None) -> pd.DataFrame:
    return pd.DataFrame(counts() if X is None else X, columns=NAMES)


def _with_nullable_na() -> pd.DataFrame:
    X = frame().astype("Int64")
    X.loc[2, "dove"] = pd.NA
    return X


def _with_polars_null() -> pl.DataFrame:
    values = counts().astype(int).tolist()
    values[2][3] = None
    return pl.DataFrame(values, schema=NAMES, orient="row")


def _with_text_column() -> pd.DataFrame:
    return frame().assign(dove=list("uvwxyz"))


def _numpy_matrix() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(counts())


def _with_date_column() -> pd.DataFrame:
    return frame().assign(dove=pd.date_range("2024-01-01", periods=6))


WRONG_VALUES = {
    "nan": (np.nan, "NaN"),
    "inf": (np.inf, "inf"),
    "minus-inf": (-np.inf, "-inf"),
    "negative": (-1.0, "Negative"),
}
_PLACE = "row 2, column 3"

BAD_VALUES = {
    **{
        f"{name}-in-dense": Bad(lambda v=value: with_value(v), f"{word}.*{_PLACE}")
        for name, (value, word) in WRONG_VALUES.items()
    },
    **{
        f"{name}-in-{fmt}": Bad(
            lambda v=value, f=fmt: sparse.csr_array(with_value(v)).asformat(f), f"{word}.*{_PLACE}"
        )
        for name, (value, word) in WRONG_VALUES.items()
        for fmt in FORMATS
    },
    "negative-in-csr-matrix": Bad(lambda: sparse.csr_matrix(with_value(-1)), _PLACE),
    "negative-in-fortran-order": Bad(lambda: np.asfortranarray(with_value(-1)), _PLACE),
    "negative-in-int8": Bad(lambda: with_value(-1, dtype=np.int8), _PLACE),
    "negative-in-int64-sparse": Bad(
        lambda: sparse.csr_array(with_value(-1, dtype=np.int64)), _PLACE
    ),
    "negative-in-float32": Bad(lambda: with_value(-1, dtype=np.float32), _PLACE),
    "nan-in-float16": Bad(lambda: with_value(np.nan, dtype=np.float16), _PLACE),
    "negative-subnormal": Bad(lambda: with_value(-5e-324), _PLACE),
    "negative-in-a-list": Bad(lambda: with_value(-1).tolist(), _PLACE),
    "negative-in-a-frame": Bad(lambda: frame(with_value(-1)), _PLACE),
    "nan-in-a-frame": Bad(lambda: frame(with_value(np.nan)), _PLACE),
    "na-in-a-nullable-frame": Bad(_with_nullable_na, _PLACE),
    "null-in-a-polars-frame": Bad(_with_polars_null, _PLACE),
    "negative-in-an-object-array": Bad(lambda: _object_with(-1), _PLACE),
    "none-in-an-object-array": Bad(lambda: _object_with(None), _PLACE),
    "first-of-several": Bad(
        lambda: np.where(np.arange(30).reshape(6, 5) >= 13, -1.0, counts()), _PLACE
    ),
    "first-of-several-sparse": Bad(
        lambda: sparse.csr_array(np.where(np.arange(30).reshape(6, 5) >= 13, -1.0, counts())),
        _PLACE,
    ),
    "negative-in-the-last-place": Bad(lambda: with_value(-1, position=(5, 4)), "row 5, column 4"),
    "sum-beyond-float64": Bad(lambda: np.full((6, 5), 1e305), "too large for float64"),
    "sum-beyond-float32": Bad(lambda: np.full((6, 5), 3e38, np.float32), "too large for float32"),
    "sum-beyond-float32-sparse": Bad(
        lambda: sparse.csr_array(np.full((6, 5), 3e38, np.float32)), "too large for float32"
    ),
    "longdouble-beyond-float64": Bad(
        lambda: counts().astype(np.longdouble) * np.longdouble("1e400"), "too large"
    ),
    "python-int-beyond-float64": Bad(lambda: _object_with(10**400), "too large"),
}

_EMPTY = r"0 (sample|feature)|minimum of 1"

BAD_SHAPES = {
    "no-rows": Bad(lambda: np.empty((0, 5)), _EMPTY),
    "no-columns": Bad(lambda: np.empty((5, 0)), _EMPTY),
    "nothing-at-all": Bad(lambda: np.empty((0, 0)), _EMPTY),
    "no-rows-sparse": Bad(lambda: sparse.csr_array((0, 5)), _EMPTY),
    "no-columns-sparse": Bad(lambda: sparse.csc_array((5, 0)), _EMPTY),
    "empty-list": Bad(lambda: [], "1D|2D"),
    "empty-rows": Bad(lambda: [[], []], _EMPTY),
    "no-rows-frame": Bad(lambda: frame()[:0], _EMPTY),
    "empty-frame": Bad(pd.DataFrame, _EMPTY),
    "one-dimension": Bad(lambda: counts()[0], "2D"),
    "one-dimension-list": Bad(lambda: [1, 2, 3], "2D"),
    "one-dimension-series": Bad(lambda: frame()["ark"], "2-dimensional"),
    "one-dimension-sparse": Bad(lambda: sparse.coo_array(counts()[0]), "2D|two dimensions"),
    "three-dimensions": Bad(lambda: counts()[np.newaxis], "dim 3|two dimensions"),
    "three-dimensions-sparse": Bad(
        lambda: sparse.coo_array(np.ones((6, 5, 2))), "dim 3|two dimensions"
    ),
    "scalar": Bad(lambda: 3.0, "2D"),
    "numpy-scalar": Bad(lambda: np.float64(3), "2D"),
    "zero-dimensions": Bad(lambda: np.array(3.0), "2D"),
    "ragged-list": Bad(lambda: [[1, 2], [3]], "sequence|inhomogeneous"),
    "too-many-features": Bad(lambda: sparse.csr_array((2, 2**31)), "features"),
}

BAD_TYPES = {
    "none": Bad(lambda: None, "NoneType|None|2D"),
    "text": Bad(lambda: "counts", "2D|str"),
    "bytes": Bad(lambda: b"counts", "2D|bytes"),
    "list-of-texts": Bad(lambda: ["the sea", "the ship"], "2D|string|row blocks"),
    "table-of-texts": Bad(lambda: [["sea", "ship"], ["sun", "sky"]], "string"),
    "table-of-digits-as-text": Bad(lambda: counts().astype(str), "string"),
    "object-array-with-text": Bad(lambda: _object_with("many"), "text"),
    "object-array-with-digits-as-text": Bad(lambda: _object_with("3"), "string|str|number"),
    "object-array-with-dict": Bad(lambda: _object_with({"a": 1}), "dict|number"),
    "object-array-with-list": Bad(lambda: _object_with([1, 2]), "sequence|list|number"),
    "object-array-with-complex": Bad(lambda: _object_with(1j), "(?i)complex"),
    "complex": Bad(lambda: counts() + 1j, "(?i)complex"),
    "complex-without-imaginary-part": Bad(lambda: counts().astype(complex), "(?i)complex"),
    "complex-sparse": Bad(lambda: sparse.csr_array(counts() + 0j), "(?i)complex"),
    "complex-list": Bad((counts() + 0j).tolist, "(?i)complex"),
    "dates": Bad(lambda: counts().astype("datetime64[D]"), "datetime|numbers"),
    "durations": Bad(lambda: counts().astype("timedelta64[s]"), "timedelta|numbers"),
    "structured": Bad(lambda: np.zeros((3, 2), "i4,f8"), "(?i)void|numbers|dtype|structured"),
    "masked": Bad(lambda: np.ma.masked_equal(counts(), 0), "masked array"),
    "masked-without-mask": Bad(lambda: np.ma.masked_array(counts()), "masked array"),
    "numpy-matrix": Bad(_numpy_matrix, "matrix"),
    "dict": Bad(lambda: {"a": [1, 2]}, "dict|2D|scalar"),
    "set": Bad(lambda: {1, 2}, "set|2D|scalar"),
    "function": Bad(lambda: counts, "function|2D|scalar"),
    "iterator": Bad(lambda: iter(counts()), "iterator|2D|scalar|block"),
    "class": Bad(lambda: np.ndarray, "type|class|2D|scalar"),
    "estimator": Bad(NMF, "NMF|2D|scalar"),
    "frame-with-text": Bad(_with_text_column, "string|str|float"),
    "frame-with-dates": Bad(_with_date_column, "(?i)date|dtype"),
    "frame-with-categories": Bad(lambda: _with_text_column().astype("category"), "numbers"),
    "frame-of-texts-in-polars": Bad(
        lambda: pl.DataFrame(counts().astype(str), schema=NAMES), "numbers|string"
    ),
    "frame-with-double-names": Bad(
        lambda: frame().set_axis(["a", "a", "b", "b", "c"], axis=1), "unique column names"
    ),
    "frame-with-mixed-column-names": Bad(lambda: frame().rename(columns={"dove": 3}), "names"),
}

BAD_DATA = BAD_VALUES | BAD_SHAPES | BAD_TYPES


def _damaged(fmt: str, part: str, place: int, value: int, dtype: Any = np.int32) -> Any:
    """Return a sparse array whose index arrays were written to after it was made."""
    X = sparse.csr_array(counts()).asformat(fmt)
    if fmt == "coo":
        X.coords = tuple(c.astype(dtype) for c in X.coords)
        X.coords[("row", "col").index(part)][place] = value
    else:
        X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
        getattr(X, part)[place] = value
    return X


# Reading these without a look at their indices touches memory that is not theirs.
_INDEX = r"(?i)ind(ex|ices|ptr)|sparse|row|column|feature"
DAMAGED_DATA = {
    "csr-column-too-large": Bad(lambda: _damaged("csr", "indices", 3, 1000), _INDEX),
    "csr-column-far-too-large": Bad(lambda: _damaged("csr", "indices", 3, 10**8), _INDEX),
    "csr-column-negative": Bad(lambda: _damaged("csr", "indices", 3, -1), _INDEX),
    "csr-column-wraps-to-a-good-one": Bad(
        lambda: _damaged("csr", "indices", 3, 2**32 + 1, np.int64), _INDEX
    ),
    "csr-pointer-too-large": Bad(lambda: _damaged("csr", "indptr", 2, 10**6), _INDEX),
    "csr-pointer-falls": Bad(lambda: _damaged("csr", "indptr", 2, 15), _INDEX),
    "csr-pointer-negative": Bad(lambda: _damaged("csr", "indptr", 2, -5), _INDEX),
    "csr-last-pointer-too-small": Bad(lambda: _damaged("csr", "indptr", -1, 12), _INDEX),
    "csr-last-pointer-too-large": Bad(lambda: _damaged("csr", "indptr", -1, 10**6), _INDEX),
    "csr-first-pointer-not-zero": Bad(lambda: _damaged("csr", "indptr", 0, 1), _INDEX),
    "csc-row-too-large": Bad(lambda: _damaged("csc", "indices", 3, 1000), _INDEX),
    "csc-row-negative": Bad(lambda: _damaged("csc", "indices", 3, -1), _INDEX),
    "csc-pointer-too-large": Bad(lambda: _damaged("csc", "indptr", 2, 10**6), _INDEX),
    "coo-column-too-large": Bad(lambda: _damaged("coo", "col", 3, 1000), _INDEX),
    "coo-column-negative": Bad(lambda: _damaged("coo", "col", 3, -1), _INDEX),
    "coo-row-too-large": Bad(lambda: _damaged("coo", "row", 3, 10**6), _INDEX),
    "coo-row-negative": Bad(lambda: _damaged("coo", "row", 3, -1), _INDEX),
}

# Good data of its own, but not for a model that was fitted to `frame()`.
OTHER_FEATURES = {
    "fewer-features": Bad(lambda: counts()[:, :4], "4 features.*5 features"),
    "more-features": Bad(lambda: np.ones((2, 6)), "6 features.*5 features"),
    "samples-as-features": Bad(lambda: sparse.csr_array(counts().T), "6 features.*5 features"),
    "one-feature": Bad(lambda: counts()[:, :1], "1 features.*5 features"),
    "other-names": Bad(lambda: frame().rename(columns={"cup": "cap"}), "unseen.*\n.*cap"),
    "name-missing": Bad(lambda: frame().drop(columns="cup"), "missing.*\n.*cup"),
}


# --------------------------------------------------------------------------------------------------
# Parameters that must be refused, by every model
# --------------------------------------------------------------------------------------------------


def _pair(weights: Any = None, topics: Any = None) -> tuple[Any, Any]:
    return (
        np.ones((6, 2)) if weights is None else weights,
        np.ones((2, 5)) if topics is None else topics,
    )


def _with_one(shape: tuple[int, int], value: Any) -> Any:
    array = np.ones(shape, np.result_type(np.float64, type(value)))
    array[1, 1] = value
    return array


def _several(parameter: str, values: dict[str, Any], message: str | None = None) -> dict[str, Any]:
    """Entries for one parameter."""
    return {
        f"{parameter}-{name}": ({parameter: value}, message or parameter)
        for name, value in values.items()
    }


_NOT_WHOLE = {"text": "2", "none": None, "nan": np.nan, "list": [2], "complex": 2j}

BAD_PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    **_several(
        "n_components",
        {"zero": 0, "negative": -1, "fractional": 2.5, "float": 2.0, "bool": True, **_NOT_WHOLE},
    ),
    "n_components-beyond-both-dimensions": ({"n_components": 7}, "n_components=7.*6 samples"),
    "n_components-huge": ({"n_components": 10**15}, "n_components"),
    **_several("max_iter", {"negative": -1, "fractional": 1.5, "inf": np.inf, **_NOT_WHOLE}),
    **_several("tol", {"negative": -1e-9, "minus-inf": -np.inf, **_NOT_WHOLE}),
    **_several("n_init", {"zero": 0, "negative": -1, "fractional": 1.5, **_NOT_WHOLE}),
    **_several("n_jobs", {"zero": 0, "fractional": 1.5, "text": "all", "nan": np.nan}),
    **_several(
        "random_state",
        {"negative": -1, "fractional": 1.5, "text": "seed", "list": [1, 2], "nan": np.nan},
    ),
    **_several("verbose", {"negative": -1, "text": "yes", "none": None, "fractional": 0.5}),
    **_several("warm_start", {"text": "yes", "none": None, "number": 2}),
    **_several("missing", {"zero": "zero", "capitals": "NaN", "bool": True, "nan": np.nan}),
    **_several(
        "solver",
        {
            "unknown": "newton",
            "class": JointEM,
            "none": None,
            "number": 3,
            "dict": {},
            "array": np.ones(3),
            "array-of-names": np.array(["auto"]),
            "other-object": Checkpoint("somewhere"),
        },
    ),
    **_several("callbacks", {"number": 3, "text": "print", "list": [print, 3], "dict": {}}),
    **_several("callbacks", {"list-of-none": [None], "array": np.ones(2)}),
    **_several(
        "init",
        {
            "unknown": "clever",
            "none": None,
            "number": 3,
            "array": np.ones((6, 2)),
            "dict": {},
            "class": LDA,
            "empty": (),
            "one-array": (np.ones((6, 2)),),
            "three-arrays": (*_pair(), np.ones(2)),
            "pair-of-none": (None, None),
            "turned-weights": _pair(np.ones((2, 6))),
            "turned-topics": _pair(None, np.ones((5, 2))),
            "swapped": _pair()[::-1],
            "one-dimension": _pair(np.ones(6)),
            "negative-weights": _pair(_with_one((6, 2), -1.0)),
            "negative-topics": _pair(None, _with_one((2, 5), -1.0)),
            "nan-weights": _pair(_with_one((6, 2), np.nan)),
            "infinite-topics": _pair(None, _with_one((2, 5), np.inf)),
            "complex-weights": _pair(_with_one((6, 2), 1j)),
            "complex-topics": _pair(None, _with_one((2, 5), 1j)),
            "texts": _pair(np.full((6, 2), "x")),
            "digits-as-texts": _pair(np.full((6, 2), "1")),
            "ragged": _pair([[1, 2], [3]]),
            "unfitted-model": NMF(2),
            "unfitted-foreign-model": PCA(2),
            "foreign-model": PCA(2).fit(np.eye(6, 5)),
            "other-n_components": NMF(3, **SETTINGS).fit(counts()),
            "other-features": NMF(2, **SETTINGS).fit(counts()[:, :4]),
        },
    ),
    "n_init-with-given-arrays": ({"n_init": 2, "init": _pair()}, "n_init=2"),
    "n_init-with-given-model": (
        {"n_init": 2, "init": NMF(2, **SETTINGS).fit(counts())},
        "n_init=2",
    ),
    **_several(
        "fixed_topics",
        {
            "too-few-columns": np.ones((1, 4)),
            "too-many-columns": np.ones((1, 6)),
            "too-many-rows": np.ones((3, 5)),
            "no-rows": np.ones((0, 5)),
            "negative": _with_one((2, 5), -1.0),
            "nan": _with_one((2, 5), np.nan),
            "infinite": _with_one((2, 5), np.inf),
            "zero-row": [[0, 0, 0, 0, 0]],
            "one-dimension": np.ones(5),
            "three-dimensions": np.ones((1, 2, 5)),
            "text": "first",
            "texts": [list("abcde")],
            "digits-as-texts": [list("12345")],
            "complex": _with_one((2, 5), 1j),
            "ragged": [[1, 2], [3]],
            "number": 3,
            "dict": {0: [1, 1, 1, 1, 1]},
            "sum-beyond-float64": np.full((1, 5), 1e308),
        },
    ),
    **_several(
        "seeds",
        {
            "topic-too-large": {2: [0]},
            "topic-negative": {-1: [0]},
            "topic-fractional": {0.5: [0]},
            "topic-as-text": {"0": [0]},
            "topic-none": {None: [0]},
            "feature-too-large": {0: [5]},
            "feature-negative": {0: [-1]},
            "feature-fractional": {0: [1.5]},
            "feature-none": {0: [None]},
            "feature-unknown": {0: ["whale"]},
            "features-as-one-text": {0: "ark"},
            "features-as-bytes": {0: b"ark"},
            "features-as-number": {0: 3},
            "features-none": {0: None},
            "value-negative": {0: {"ark": -1.0}},
            "value-nan": {0: {"ark": np.nan}},
            "value-infinite": {0: {"ark": np.inf}},
            "value-text": {0: {"ark": "5"}},
            "list": [1, 2],
            "text": "ark",
            "number": 3,
            "wrong-shape": np.ones((5, 2)),
            "negative": _with_one((2, 5), -1.0),
            "nan": _with_one((2, 5), np.nan),
            "complex": _with_one((2, 5), 1j),
            "texts": np.full((2, 5), "x"),
            "digits-as-texts": np.full((2, 5), "1"),
            "ragged": [[1, 2], [3]],
            "sum-beyond-float64": np.full((2, 5), 1e308),
        },
    ),
    **_several(
        "forbidden",
        {
            "topic-too-large": {2: [0]},
            "feature-too-large": {0: [5]},
            "feature-unknown": {0: ["whale"]},
            "features-as-one-text": {0: "ark"},
            "wrong-shape": np.ones((5, 2), bool),
            "texts": np.full((2, 5), "x"),
            "complex": _with_one((2, 5), 1j),
            "everywhere": {0: ["ark"], 1: ["ark"]},
            "whole-topic": {1: NAMES},
        },
    ),
    "seeds-contradict-forbidden": ({"seeds": {0: ["ark"]}, "forbidden": {0: ["ark"]}}, "seeds"),
    "fixed-topics-contradict-forbidden": (
        {"fixed_topics": np.ones((1, 5)), "forbidden": {0: ["ark"]}},
        "forbidden",
    ),
    "seeds-of-a-fixed-topic": ({"fixed_topics": np.ones((1, 5)), "seeds": {0: ["ark"]}}, "seed"),
    "forbidden-in-all-topics-that-are-not-fixed-at-zero": (
        {"fixed_topics": [[0, 1, 1, 1, 1]], "forbidden": {1: ["ark"]}},
        "forbidden",
    ),
}

# Priors, by model.

_BAD_POSITIVE = {
    "zero": 0.0,
    "negative": -1.0,
    "nan": np.nan,
    "inf": np.inf,
    "text": "0.1",
    "texts": ["0.1", "0.2"],
    "complex": 1j,
    "complex-array": np.array([1j, 1.0]),
    "zero-in-array": [0.1, 0.0],
    "nan-in-array": [0.1, np.nan],
    "none-in-array": [0.1, None],
    "too-long": [0.1] * 7,
    "too-short": [0.1] * 4,
    "empty": [],
    "wrong-shape": np.ones((3, 2)),
    "three-dimensions": np.ones((1, 1, 2)),
    "ragged": [[0.1], [0.1, 0.2]],
    "dict": {0: 0.1},
    "class": float,
}


def _bad_priors(model: str, parameter: str, message: str, **more: Any) -> dict[str, Any]:
    return {
        f"{model}-{parameter}-{name}": (model, {parameter: value}, message)
        for name, value in (_BAD_POSITIVE | more).items()
    }


BAD_PRIORS: dict[str, tuple[str, dict[str, Any], str]] = {
    **_bad_priors("lda", "alpha", "alpha|concentration"),
    **_bad_priors("smoothed-lda", "eta", "eta|concentration"),
    **_bad_priors("gamma-poisson", "shape", "shape", none=None),
    **_bad_priors("gamma-poisson", "rate", "rate", none=None),
    "lda-estimate-unknown": ("lda", {"estimate": "gibbs"}, "estimate"),
    "nmf-normalize-text": ("nmf", {"normalize": "yes"}, "normalize"),
    "nmf-normalize-none": ("nmf", {"normalize": None}, "normalize"),
    "nmf-seeds-with-scale": ("nmf-with-scale", {"seeds": {0: ["ark"]}}, "seeds"),
    "nmf-joint-with-scale": ("nmf-with-scale", {"solver": "joint"}, "joint.*alternating"),
    "weights-class": ("lasso-simplex", {"weights": Lasso}, "prior"),
    "weights-text": ("lasso-simplex", {"weights": "Lasso"}, "prior"),
    "weights-number": ("lasso-simplex", {"weights": 0.5}, "prior"),
    "topics-class": ("lasso-simplex", {"topics": Dirichlet}, "prior"),
    "topics-model": ("lasso-simplex", {"topics": NMF()}, "prior"),
    "topics-solver": ("lasso-simplex", {"topics": Alternating()}, "prior"),
    "weights-wrong-length": ("lasso-simplex", {"weights": Dirichlet([1.0] * 3)}, "concentration"),
    "topics-wrong-length": ("lasso-simplex", {"topics": Gamma([1.0] * 4)}, "shape"),
    "proportions-with-scaled-topics": (
        "lasso-simplex",
        {"weights": Simplex(), "topics": Free()},
        "Simplex",
    ),
    "unit-norm-of-weights": ("lasso-simplex", {"weights": UnitNorm()}, "for topics"),
    "unit-norm-beside-gamma": (
        "lasso-simplex",
        {"weights": Gamma(1.0), "topics": UnitNorm()},
        "need weights that are point estimates",
    ),
    "unit-norm-beside-simplex": (
        "lasso-simplex",
        {"weights": Simplex(), "topics": UnitNorm()},
        "topics must be normalised too",
    ),
    "log-against-free": (
        "lasso-simplex",
        {"weights": LogPenalty(), "topics": Free()},
        "penalty",
    ),
    **{
        f"{setting}-{value}": ("l2-lasso", {setting: value}, setting)
        for setting, values in {
            "strength": (-1.0, np.nan, np.inf, "1", None),
            "norm": (0.5, np.nan, np.inf, "l3", None),
            "penalty": ("l2", 0.5, None),
            "power": (0.0, 1.0, np.nan, "0.5", None),
            "offset": (0.0, np.nan, np.inf, "1", None),
        }.items()
        for value in values
    },
    "lasso-against-free": ("lasso-simplex", {"topics": Free()}, "penalty"),
    "free-against-lasso": (
        "lasso-simplex",
        {"weights": Free(), "topics": Lasso(0.1)},
        "penalty",
    ),
}


def _with_rate(rate: Any) -> Gamma:
    return Gamma(1.0, rate)


BAD_PRIOR_OBJECTS: dict[str, tuple[Callable[[], Any], str]] = {
    **{
        f"{prior.__name__}-{name}": (lambda p=prior, v=value: p(v), message)
        for prior, message in (
            (Dirichlet, "concentration"),
            (Gamma, "shape"),
            (_with_rate, "rate"),
        )
        for name, value in _BAD_POSITIVE.items()
        if name not in ("too-long", "too-short", "wrong-shape", "three-dimensions")
    },
    **{
        f"{prior.__name__}-{setting}-{name}": (
            lambda p=prior, s=setting, v=value: p(**{s: v}),
            setting,
        )
        for prior, setting, least in (
            (Lasso, "strength", -1.0),
            (LogPenalty, "strength", -1.0),
            (LogPenalty, "offset", 0.0),
            (PowerPenalty, "strength", -1.0),
            (PowerPenalty, "power", 0.0),
            (UnitNorm, "p", 1.0),
        )
        for name, value in {
            "too-small": least,
            "nan": np.nan,
            "inf": np.inf,
            "text": "1",
            "none": None,
            "list": [1.0, 2.0],
            "complex": 1j,
        }.items()
    },
    "PowerPenalty-one": (lambda: PowerPenalty(power=1.0), "power"),
    "Checkpoint-seconds-negative": (lambda: Checkpoint("a", seconds=-1), "seconds"),
    "Checkpoint-seconds-nan": (lambda: Checkpoint("a", seconds=np.nan), "seconds"),
    "Checkpoint-seconds-text": (lambda: Checkpoint("a", seconds="1"), "seconds"),
}


# --------------------------------------------------------------------------------------------------
# Arguments of methods that must be refused
# --------------------------------------------------------------------------------------------------

BAD_SAMPLE_WEIGHTS = {
    "too-short": Bad(lambda: np.ones(5), "sample_weight"),
    "too-long": Bad(lambda: np.ones(7), "sample_weight"),
    "empty": Bad(lambda: [], "sample_weight"),
    "negative": Bad(lambda: [1, 1, -1, 1, 1, 1], "sample_weight.*sample 2"),
    "nan": Bad(lambda: [1, 1, np.nan, 1, 1, 1], "sample_weight.*sample 2"),
    "inf": Bad(lambda: [1, 1, np.inf, 1, 1, 1], "sample_weight.*sample 2"),
    "all-zero": Bad(lambda: np.zeros(6), "sample_weight"),
    "column": Bad(lambda: np.ones((6, 1)), "sample_weight"),
    "two-dimensions": Bad(lambda: np.ones((6, 5)), "sample_weight"),
    "texts": Bad(lambda: list("abcdef"), "sample_weight"),
    "digits-as-texts": Bad(lambda: list("123456"), "sample_weight"),
    "text": Bad(lambda: "balanced", "sample_weight"),
    "none-inside": Bad(lambda: [1, 1, None, 1, 1, 1], "sample_weight"),
    "complex": Bad(lambda: np.ones(6) + 0j, "sample_weight"),
    "dict": Bad(lambda: {0: 1}, "sample_weight"),
    "ragged": Bad(lambda: [[1, 2], [3]], "sample_weight"),
    "sparse": Bad(lambda: sparse.csr_array(np.ones((6, 1))), "sample_weight"),
    "dates": Bad(lambda: np.ones(6, "datetime64[D]"), "sample_weight"),
    "masked": Bad(lambda: np.ma.masked_array(np.ones(6), mask=np.eye(6)[0]), "sample_weight"),
    "sum-beyond-float64": Bad(lambda: np.full(6, 1e308), "sample_weight|too large"),
}

_MASK = "mask"
BAD_MASKS = {
    "turned": Bad(lambda: np.zeros((5, 6), bool), _MASK),
    "one-dimension": Bad(lambda: np.zeros(5, bool), _MASK),
    "one-number": Bad(lambda: True, _MASK),
    "integers": Bad(lambda: np.zeros((6, 5), int), f"{_MASK}.*bool"),
    "floats": Bad(lambda: np.eye(6, 5), f"{_MASK}.*bool"),
    "texts": Bad(lambda: np.full((6, 5), "x"), f"{_MASK}.*bool"),
    "objects": Bad(lambda: np.full((6, 5), None), f"{_MASK}.*bool"),
    "sparse-floats": Bad(lambda: sparse.csr_array(np.eye(6, 5)), f"{_MASK}.*bool"),
    "sparse-turned": Bad(lambda: sparse.csr_array(np.eye(5, 6) > 0), _MASK),
    "text": Bad(lambda: "nan", _MASK),
    "dict": Bad(dict, _MASK),
    "ragged": Bad(lambda: [[True, False], [True]], _MASK),
}

# On a fitted model. Only Bayesian weights have intervals, and `BAYESIAN` names these models.
BAYESIAN = ("lda", "smoothed-lda", "gamma-poisson", "gamma-gamma", "gamma-dirichlet")
POINTS = tuple(name for name in MODELS if name not in BAYESIAN)

BAD_CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "inverse_transform-too-few-columns": (
        lambda m: m.inverse_transform(np.ones((3, 1))),
        "1 columns.*2 components",
    ),
    "inverse_transform-too-many-columns": (
        lambda m: m.inverse_transform(np.ones((3, 5))),
        "5 columns.*2 components",
    ),
    "inverse_transform-one-dimension": (lambda m: m.inverse_transform(np.ones(2)), "2D"),
    "inverse_transform-nan": (lambda m: m.inverse_transform([[np.nan, 1]]), "NaN"),
    "inverse_transform-inf": (lambda m: m.inverse_transform([[np.inf, 1]]), "infinity"),
    "inverse_transform-complex": (lambda m: m.inverse_transform([[1j, 1]]), "(?i)complex"),
    "inverse_transform-texts": (lambda m: m.inverse_transform([["a", "b"]]), "string"),
    "inverse_transform-none": (lambda m: m.inverse_transform(None), "None|2D"),
    "inverse_transform-empty": (lambda m: m.inverse_transform(np.ones((0, 2))), "0 sample"),
    "score-without-counts": (lambda m: m.score(np.zeros((2, 5))), "no counts"),
    "score-weights-leave-no-counts": (
        lambda m: m.score(np.eye(2, 5) * [[1], [0]], sample_weight=[0, 1]),
        "no counts",
    ),
    "perplexity-without-counts": (lambda m: m.perplexity(np.zeros((2, 5))), "no counts"),
    "top_terms-zero": (lambda m: m.top_terms(0), "n must"),
    "top_terms-negative": (lambda m: m.top_terms(-1), "n must"),
    "top_terms-fractional": (lambda m: m.top_terms(1.5), "n must"),
    "top_terms-text": (lambda m: m.top_terms("3"), "n must"),
    "top_terms-none": (lambda m: m.top_terms(None), "n must"),
    "top_terms-nan": (lambda m: m.top_terms(np.nan), "n must"),
    "top_terms-names-too-few": (lambda m: m.top_terms(feature_names=["a"]), "feature_names"),
    "top_terms-names-too-many": (lambda m: m.top_terms(feature_names=["a"] * 6), "feature_names"),
    "top_terms-names-as-text": (lambda m: m.top_terms(feature_names="abcde"), "feature_names"),
    "top_terms-names-as-number": (lambda m: m.top_terms(feature_names=5), "feature_names"),
    "top_terms-names-two-dimensions": (
        lambda m: m.top_terms(feature_names=np.full((5, 1), "a")),
        "feature_names",
    ),
    "sample-zero": (lambda m: m.sample(0), "n_samples"),
    "sample-negative": (lambda m: m.sample(-1), "n_samples"),
    "sample-fractional": (lambda m: m.sample(1.5), "n_samples"),
    "sample-text": (lambda m: m.sample("3"), "n_samples"),
    "sample-none": (lambda m: m.sample(None), "n_samples"),
    "sample-nan": (lambda m: m.sample(np.nan), "n_samples"),
    "sample-random_state-text": (lambda m: m.sample(random_state="x"), "random_state"),
    "sample-random_state-negative": (lambda m: m.sample(random_state=-1), "random_state"),
    "sample-random_state-fractional": (lambda m: m.sample(random_state=1.5), "random_state"),
    "interval-of-another-side": (lambda m: m.credible_interval("topics"), "side"),
    "interval-side-none": (lambda m: m.credible_interval(None), "side"),
    "interval-side-array": (lambda m: m.credible_interval(np.array(["weights", "x"])), "side"),
    **{
        f"interval-level-{name}": (lambda m, v=value: m.credible_interval(level=v), "level")
        for name, value in {
            "zero": 0,
            "one": 1,
            "nan": np.nan,
            "negative": -0.5,
            "above-one": 90,
            "text": "0.9",
            "none": None,
            "list": [0.5, 0.9],
            "complex": 0.5j,
        }.items()
    },
    "transform-with-sample-weight": (lambda m: m.transform(counts(), [1] * 6), "argument"),
    "fit-with-unknown-argument": (lambda m: m.fit(counts(), weights=3), "argument"),
    "set_params-unknown": (lambda m: m.set_params(n_topics=3), "n_topics"),
}

UNFITTED_CALLS: dict[str, Callable[[Any], Any]] = {
    "transform": lambda m: m.transform(counts()),
    "inverse_transform": lambda m: m.inverse_transform(np.ones((3, 2))),
    "score": lambda m: m.score(counts()),
    "perplexity": lambda m: m.perplexity(counts()),
    "posterior": lambda m: m.posterior(counts()),
    "sample": lambda m: m.sample(),
    "top_terms": lambda m: m.top_terms(),
    "credible_interval": lambda m: m.credible_interval(),
    "get_feature_names_out": lambda m: m.get_feature_names_out(),
    "save": lambda m: m.save("never-written"),
}


# --------------------------------------------------------------------------------------------------
# Unusual but good
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Good:
    """Data in an unusual container, and the same as a plain float64 array."""

    X: Any
    plain: Any = field(default_factory=counts)
    parameters: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)


def _same(X: Any) -> Good:
    """Data that is unusual in itself, not in its container."""
    plain = np.asarray(X, np.float64)
    return Good(plain, plain)


def _each_as(kind: Any) -> Any:
    return np.array([[kind(int(x)) for x in row] for row in counts()], dtype=object)


def _sparse64() -> Any:
    X = sparse.csr_array(counts())
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _unsorted() -> Any:
    X = sparse.csr_array(counts())
    for row in range(6):
        part = slice(X.indptr[row], X.indptr[row + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    X.has_sorted_indices = False
    return X


def duplicated(X: Any = None) -> Any:
    """Return every count in two parts."""
    coo = sparse.coo_array(counts() if X is None else X)
    parts = np.concatenate([coo.data * 0.25, coo.data * 0.75])
    return sparse.coo_array((parts, tuple(np.tile(c, 2) for c in coo.coords)), shape=coo.shape)


def _duplicated_csr() -> Any:
    """Duplicates that the conversion from COO would have summed."""
    X = sparse.csr_array(counts())
    return sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )


def explicit_zeros(X: Any = None) -> Any:
    """Store every entry, zeros too."""
    dense = counts() if X is None else X
    rows, columns = np.indices(dense.shape).reshape(2, -1)
    return sparse.coo_array((dense.ravel(), (rows, columns)), shape=dense.shape)


def _read_only() -> Any:
    X = counts()
    X.flags.writeable = False
    return X


def _read_only_sparse() -> Any:
    X = sparse.csr_array(counts())
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


class Arraylike:
    """Something that only knows how to become an array."""

    def __array__(self, dtype=None, copy=None):
        return counts() if dtype is None else counts().astype(dtype)


def _with_zeros(rows: Any = (), columns: Any = ()) -> Any:
    X = counts()
    X[list(rows)] = 0
    X[:, list(columns)] = 0
    return X


def _single_entry() -> Any:
    X = np.zeros((6, 5))
    X[3, 2] = 7
    return X


def _long_row_beside_empty_ones() -> Any:
    X = np.zeros((5, 400))
    X[2] = np.arange(400) % 7
    return X


def _mixed_scales() -> Any:
    return counts() * np.array([1e15, 1e-300, 1, 1e-150, 1e7, 1e-15])[:, np.newaxis]


def _mixed_columns() -> Any:
    return counts() * np.array([1e15, 1e-100, 1, 1e-50, 1e7])


CONTAINERS: dict[str, Callable[[], Good]] = {
    **{
        f"{fmt}-array": lambda f=fmt: Good(sparse.csr_array(counts()).asformat(f))
        for fmt in FORMATS
    },
    **{
        f"{fmt}-matrix": lambda f=fmt: Good(sparse.csr_matrix(counts()).asformat(f))
        for fmt in FORMATS
    },
    **{
        f"{dtype}-dense": lambda d=dtype: Good(counts().astype(d))
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16")
    },
    **{
        f"{dtype}-sparse": lambda d=dtype: Good(sparse.csr_array(counts().astype(d)))
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint64")
    },
    "bool-dense": lambda: Good(counts() > 0, (counts() > 0).astype(float)),
    "bool-sparse": lambda: Good(sparse.csr_array(counts() > 0), (counts() > 0).astype(float)),
    "bool-duplicates": lambda: Good(
        sparse.coo_array((np.ones(6, bool), ([0, 0, 0, 1, 2, 2], [0, 0, 0, 1, 0, 1]))),
        np.array([[3.0, 0], [0, 1], [1, 1]]),
    ),
    "int8-duplicates-beyond-int8": lambda: Good(
        sparse.coo_array((np.full(4, 100, np.int8), ([0, 0, 1, 2], [0, 0, 1, 0]))),
        np.array([[200.0, 0], [0, 100], [100, 0]]),
    ),
    "longdouble": lambda: Good(counts().astype(np.longdouble)),
    "big-endian": lambda: Good(counts().astype(">f8")),
    "big-endian-int": lambda: Good(counts().astype(">i4")),
    "int64-indices": lambda: Good(_sparse64()),
    "unsorted-indices": lambda: Good(_unsorted()),
    "duplicates-in-coo": lambda: Good(duplicated()),
    "duplicates-in-csr": lambda: Good(_duplicated_csr()),
    "explicit-zeros-in-coo": lambda: Good(explicit_zeros()),
    "explicit-zeros-in-csr": lambda: Good(explicit_zeros().tocsr()),
    "explicit-zeros-in-csc": lambda: Good(explicit_zeros().tocsc()),
    "bsr-blocks": lambda: Good(sparse.bsr_array(counts(), blocksize=(3, 5))),
    "read-only": lambda: Good(_read_only()),
    "read-only-sparse": lambda: Good(_read_only_sparse()),
    "fortran-order": lambda: Good(np.asfortranarray(counts())),
    "turned-view": lambda: Good(np.ascontiguousarray(counts().T).T),
    "negative-strides": lambda: Good(counts()[::-1, ::-1].copy()[::-1, ::-1]),
    "every-second-entry": lambda: Good(np.repeat(np.repeat(counts(), 2, 0), 3, 1)[::2, ::3]),
    "broadcast": lambda: Good(np.broadcast_to(counts()[0], (6, 5)), np.tile(counts()[0], (6, 1))),
    "unaligned": lambda: Good(
        np.frombuffer(b"\0" + counts().tobytes(), np.uint8)[1:].view(np.float64).reshape(6, 5)
    ),
    "minus-zero": lambda: Good(np.where(counts() == 0, -0.0, counts())),
    "minus-zero-sparse": lambda: Good(explicit_zeros(np.where(counts() == 0, -0.0, counts()))),
    "list-of-lists": lambda: Good(counts().astype(int).tolist()),
    "nested-tuples": lambda: Good(tuple(map(tuple, counts().tolist()))),
    "list-of-arrays": lambda: Good(list(counts())),
    "object-array": lambda: Good(counts().astype(int).astype(object)),
    "list-of-decimals": lambda: Good(_each_as(Decimal).tolist()),
    "object-array-of-decimals": lambda: Good(_each_as(Decimal)),
    "object-array-of-fractions": lambda: Good(_each_as(Fraction)),
    "array-interface": lambda: Good(Arraylike()),
    "int-frame": lambda: Good(frame(counts().astype(int))),
    "float-frame": lambda: Good(frame()),
    "nullable-frame": lambda: Good(frame().astype("Int64")),
    "nullable-float-frame": lambda: Good(frame().astype("Float64")),
    "arrow-frame": lambda: Good(frame().astype("int64[pyarrow]")),
    "bool-frame": lambda: Good(frame(counts() > 0), (counts() > 0).astype(float)),
    "mixed-frame": lambda: Good(frame().astype({"ark": int, "cup": "uint8", "ear": "Int16"})),
    "frame-of-sparse-columns": lambda: Good(
        pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(counts()), columns=NAMES)
    ),
    "frame-with-number-names": lambda: Good(pd.DataFrame(counts())),
    "frame-with-other-index": lambda: Good(frame().set_axis(list("zyxwvu"))),
    "polars-frame": lambda: Good(pl.DataFrame(counts(), schema=NAMES)),
    "polars-int-frame": lambda: Good(pl.DataFrame(counts().astype(int), schema=NAMES)),
}

UNUSUAL_DATA: dict[str, Callable[[], Good]] = {
    "empty-row": lambda: _same(_with_zeros(rows=[2])),
    "empty-first-and-last-rows": lambda: _same(_with_zeros(rows=[0, 5])),
    "empty-column": lambda: _same(_with_zeros(columns=[3])),
    "empty-rows-and-columns": lambda: _same(_with_zeros(rows=[1, 2], columns=[0, 4])),
    "all-zero": lambda: _same(np.zeros((4, 3))),
    "one-row": lambda: _same([[3, 0, 2, 1]]),
    "one-column": lambda: _same([[3], [0], [2]]),
    "one-entry-of-two": lambda: _same([[5, 0]]),
    "more-components-than-rows": lambda: _same(counts()[:1]),
    "constant": lambda: _same(np.full((4, 3), 2)),
    "identity": lambda: _same(np.eye(4)),
    "one-nonzero": lambda: _same(_single_entry()),
    "duplicate-rows": lambda: _same(np.tile(counts()[0], (5, 1))),
    "duplicate-columns": lambda: _same(np.tile(counts()[:, :1], (1, 4))),
    "feature-that-occurs-once": lambda: _same(np.column_stack([counts(), np.eye(6)[0]])),
    "sample-with-one-count": lambda: _same(np.vstack([counts(), np.eye(5)[1]])),
    "long-row-beside-empty-ones": lambda: _same(_long_row_beside_empty_ones()),
    "fractions-of-counts": lambda: _same(counts() / 7),
    "huge": lambda: _same(counts() * 1e15),
    "astronomical": lambda: _same(counts() * 1e100),
    "tiny": lambda: _same(counts() * 1e-300),
    "rows-of-all-scales": lambda: _same(_mixed_scales()),
    "columns-of-all-scales": lambda: _same(_mixed_columns()),
    "one-huge-entry": lambda: _same(with_value(1e15)),
    "one-tiny-entry": lambda: _same(with_value(1e-300)),
    "one-component": lambda: Good(counts(), parameters={"n_components": 1}),
    "as-many-components-as-samples": lambda: Good(counts(), parameters={"n_components": 6}),
    "components-are-a-numpy-int": lambda: Good(counts(), parameters={"n_components": np.int64(2)}),
    "no-iterations": lambda: Good(counts(), parameters={"max_iter": 0}),
    "many-threads": lambda: Good(counts(), parameters={"n_jobs": 10**6}),
    "negative-threads": lambda: Good(counts(), parameters={"n_jobs": -100}),
    "start-from-own-kind": lambda: Good(
        counts(), parameters={"init": NMF(2, **SETTINGS).fit(counts())}
    ),
    "start-from-nested-lists": lambda: Good(
        counts(), parameters={"init": [[[1, 2]] * 6, [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]]}
    ),
    **{
        f"start-{strategy}-{name}": lambda s=strategy, m=make: Good(*2 * [m()], {"init": s})
        for strategy in ("nndsvd", "spectral", "kmeans")
        for name, make in {
            "all-zero": lambda: np.zeros((4, 3)),
            "one-row": lambda: counts()[:1],
            "one-column": lambda: counts()[:, :1],
            "empty-rows-and-columns": lambda: _with_zeros(rows=[1, 2], columns=[0, 4]),
            "constant": lambda: np.full((4, 3), 2.0),
            "identity": lambda: np.eye(4),
            "tiny": lambda: counts() * 1e-280,
            "astronomical": lambda: counts() * 1e100,
        }.items()
    },
    "all-topics-fixed": lambda: Good(
        counts(), parameters={"fixed_topics": [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]}
    ),
    "weights-zero-for-some": lambda: Good(counts(), fit={"sample_weight": [1, 0, 2, 0, 1, 1]}),
    "weights-as-ints": lambda: Good(counts(), fit={"sample_weight": np.arange(6)}),
    "weights-as-bools": lambda: Good(counts(), fit={"sample_weight": np.arange(6) > 2}),
    "weights-as-series": lambda: Good(
        counts(), fit={"sample_weight": pd.Series([1.0, 2, 3, 1, 1, 1], index=list("fedcba"))}
    ),
    "weights-as-polars-series": lambda: Good(counts(), fit={"sample_weight": pl.Series([1.0] * 6)}),
    "weights-for-one-sample-only": lambda: Good(
        counts(), fit={"sample_weight": [0, 0, 0, 1, 0, 0]}
    ),
    "weights-tiny": lambda: Good(counts(), fit={"sample_weight": [1e-200, 1, 1, 1, 1, 1]}),
}


# --------------------------------------------------------------------------------------------------
# The oracle: objectives from the fitted attributes, with nothing of the library
# --------------------------------------------------------------------------------------------------


def _side(prior: Any, mean: Any, parameters: Any, rates: Any, copies: Any) -> tuple[Any, float]:
    """Return a side's effective factor and its term of the objective (to be minimised)."""
    if isinstance(prior, Lasso):
        return mean, prior.strength * float((copies * mean).sum())
    if isinstance(prior, LogPenalty):
        logs = np.log(mean + prior.offset) - np.log(prior.offset)
        return mean, prior.strength * float((copies * logs).sum())
    if isinstance(prior, PowerPenalty):
        return mean, prior.strength * float((copies * np.power(mean, prior.power)).sum())
    if not isinstance(prior, (Dirichlet, Gamma)):
        return mean, 0.0
    if isinstance(prior, Dirichlet):
        own = np.broadcast_to(np.asarray(prior.concentration, float), parameters.shape)
        sums = parameters.sum(axis=1, keepdims=True)
        log_mean = digamma(parameters) - digamma(sums)
        normalizers = gammaln(own.sum(axis=1, keepdims=True)) - gammaln(sums)
        terms = gammaln(parameters) - gammaln(own) + (own - parameters) * log_mean
        rows = normalizers + terms.sum(axis=1, keepdims=True)
        return np.exp(log_mean), -float((copies * rows).sum())
    shape, rate = np.asarray(prior.shape, float), np.asarray(prior.rate, float)
    log_mean = digamma(parameters) - np.log(rates)
    terms = (
        shape * np.log(rate)
        - parameters * np.log(rates)
        + gammaln(parameters)
        - gammaln(shape)
        + (shape - parameters) * log_mean
        + (rates - rate) * (parameters / rates)
    )
    return np.exp(log_mean), -float((copies * terms).sum())


def objective_of(model: Any, X: Any, copies: Any = None, missing: Any = None) -> float:
    """What the fitted model should say it minimised."""
    copies = np.ones(len(X)) if copies is None else np.asarray(copies, float)
    some = copies > 0
    copies = copies[some, np.newaxis]
    seen = np.ones(X.shape, bool)[some] if missing is None else ~missing[some]
    X = np.where(seen, X[some], 0.0)
    weights_prior, topics_prior = model._priors()
    own = [None if part is None else part[some] for part in _attributes(model, "weights")]
    weights, weights_term = _side(weights_prior, *own, copies)
    if model.fixed_topics is not None:  # all of them
        topics_prior = Free()
    topics, topics_term = _side(topics_prior, *_attributes(model, "components"), 1.0)
    terms, product = weights_term + topics_term, weights @ topics
    if weights_prior.is_normalized:
        observable = 1 - np.where(seen, 0.0, product).sum(axis=1)
        likelihoods = xlogy(X, product).sum(axis=1) - xlogy(X.sum(axis=1), observable)
        return terms - float(copies[:, 0] @ likelihoods)
    if not (weights_prior.is_bayesian or topics_prior.is_bayesian):
        return terms + float((copies * np.where(seen, rel_entr(X, product) - X + product, 0)).sum())
    # What was not seen is left out. Normalised topics must be given the counts expected there
    # instead, and these have the effective topics.
    unseen_topics = topics if topics_prior.is_normalized else model.components_
    mass = own[0] @ model.components_ - np.where(seen, 0.0, own[0] @ unseen_topics)
    mass[~seen.any(axis=1)] = 0  # a sample of which nothing was seen adds nothing
    return terms + float((copies * (mass - xlogy(X, product))).sum())


def _attributes(model: Any, side: str) -> tuple[Any, Any, Any]:
    names = (f"{side}_", f"{side}_posterior_", f"{side}_posterior_rate_")
    mean, parameters, rates = (getattr(model, name) for name in names)
    return mean, parameters, rates

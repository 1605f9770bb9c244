"""Data that is not counts: recognised where a prior would be misled, and never elsewhere."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    BetaNMF,
    CountsWarning,
    GammaPoisson,
    PoissonFactorization,
    SparseNMF,
    datasets,
    open_blocks,
)
from isotopic.counts import CountMatrix
from isotopic.transformed import transformation_of

SETTINGS = {"max_iter": 2, "tol": 0, "random_state": 0}
COUNTS = np.random.default_rng(0).poisson(np.random.default_rng(1).gamma(0.5, 4.0, (60, 30))) * 1.0
TOTALS = COUNTS.sum(axis=1, keepdims=True)
TRANSFORMED = {
    "proportions": (COUNTS / TOTALS, "divided by their sums"),
    "counts per ten thousand": (1e4 * COUNTS / TOTALS, "divided by their sums"),
    "log-normalised": (np.log1p(1e4 * COUNTS / TOTALS), r"log\(1 \+ count\) of samples"),
    "log": (np.log1p(COUNTS), r"log\(1 \+ count\)"),
    "log2": (np.log2(1 + COUNTS), r"log2\(1 \+ count\)"),
    "log10": (np.log10(1 + COUNTS), r"log10\(1 \+ count\)"),
    "roots": (np.sqrt(COUNTS), "square roots"),
    "tf-idf": (TfidfTransformer().fit_transform(COUNTS), "unit length"),
    "tf-idf without a norm": (TfidfTransformer(norm=None).fit_transform(COUNTS), "each feature"),
    "divided by size factors": (COUNTS / np.linspace(0.3, 3, 60)[:, None], "each sample"),
}
BAYESIAN = [LDA, GammaPoisson, PoissonFactorization, ARDNMF]
POINTS = [NMF, PLSA, SparseNMF, BetaNMF]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed_counts_are_recognised(name, form, dtype):
    X, expected = TRANSFORMED[name]
    X = X.toarray() if sparse.issparse(X) else X
    with pytest.warns(CountsWarning, match=expected) as caught:
        LDA(3, **SETTINGS).fit(form(X.astype(dtype)))
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_row_blocks_are_recognised_like_a_matrix(name, form):
    X, expected = TRANSFORMED[name]
    X = X.toarray() if sparse.issparse(X) else X
    parts = [form(X[:5]), form(X[5:40]), form(X[40:])]
    with pytest.warns(CountsWarning, match=expected) as caught:
        LDA(3, **SETTINGS).fit(open_blocks(parts, block_entries=1))
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_row_blocks_of_counts_or_of_very_long_rows_are_silent(rng):
    LDA(3, **SETTINGS).fit([COUNTS[:7], COUNTS[7:]])
    long = rng.random((20, 6000))
    LDA(2, **SETTINGS).fit([long, long])


@pytest.mark.parametrize("kind", BAYESIAN)
def test_every_model_with_a_prior_says_it(kind):
    with pytest.warns(CountsWarning, match=kind.__name__):
        kind(3, **SETTINGS).fit(COUNTS / TOTALS)


def test_partial_fit_says_it_once():
    model = LDA(3, random_state=0)
    with pytest.warns(CountsWarning):
        model.partial_fit(COUNTS / TOTALS)
    model.partial_fit(COUNTS / TOTALS)  # a second warning would be an error


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("kind", POINTS)
def test_point_estimates_take_any_data(kind, name):
    kind(3, **SETTINGS).fit(TRANSFORMED[name][0])


def test_whole_numbers_are_counts_whatever_their_sums():
    rng = np.random.default_rng(0)
    rarefied = rng.multinomial(100, np.full(30, 1 / 30), size=50)
    one_hot = np.eye(30)[rng.integers(30, size=50)]
    for X in (COUNTS, COUNTS.astype(np.float32), rarefied.astype(float), one_hot, 2 * COUNTS):
        LDA(3, **SETTINGS).fit(X)
        LDA(3, **SETTINGS).fit(sparse.csr_array(X))
    LDA(3, **SETTINGS).fit(datasets.load_kjv().data[:60])


@given(
    seed=st.integers(0, 2**20),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    kind=st.sampled_from(["uniform", "gamma", "normal", "lognormal", "decimals", "halves"]),
    density=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_continuous_and_rounded_data_is_never_accused(seed, shape, kind, density):
    rng = np.random.default_rng(seed)
    X = {
        "uniform": rng.random,
        "gamma": lambda size: rng.gamma(2.0, 3.0, size),
        "normal": lambda size: np.abs(rng.normal(5, 1, size)),
        "lognormal": lambda size: rng.lognormal(size=size),
        "decimals": lambda size: np.round(rng.gamma(2.0, 3.0, size), 1),
        "halves": lambda size: rng.poisson(3.0, size) / 2,
    }[kind](shape)
    X = X * (rng.random(shape) < density)
    assert transformation_of(CountMatrix(X)) == ""


def test_the_hint_can_be_silenced_by_its_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountsWarning)
        LDA(3, **SETTINGS).fit(COUNTS / TOTALS)


@pytest.mark.parametrize("least", [0.0, 290.0, 700.0, 1000.0, 1e5, 1e200])
def test_large_values_whose_exponentials_overflow_are_no_logarithms(rng, least):
    X = rng.random((8, 6)) * max(20.0, least / 1e3) + least
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert transformation_of(CountMatrix(X)) == ""

"""CountMatrix: every way of writing the same counts becomes the same private form."""

import numpy as np
import pytest
from problems import random_counts, sparse_counts
from scipy import sparse
from scipy.special import xlogy

from isotopic import CountMatrix
from isotopic._core import native

FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def as_dense(counts):
    if not counts.is_sparse:
        return counts.dense
    return sparse.csr_array(
        (counts.values, counts.features, counts.row_starts), shape=counts.shape
    ).toarray()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_every_sparse_format(rng, fmt, kind):
    X = random_counts(rng)
    np.testing.assert_array_equal(as_dense(CountMatrix(kind(X).asformat(fmt))), X)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "f2", "f4", "f8"])
def test_every_numeric_dtype(rng, dtype):
    X = (random_counts(rng) > 1).astype(dtype)
    forms = [X] if dtype == "f2" else [X, sparse.coo_array(X)]  # SciPy has no sparse float16
    for form in forms:
        counts = CountMatrix(form)
        assert counts.dtype == (np.float32 if dtype == "f4" else np.float64)
        np.testing.assert_array_equal(as_dense(counts), X)


def messy():
    """Duplicates, explicit zeros, unsorted and 64-bit indices."""
    rows, columns = np.array([0, 0, 1, 1, 1, 2]), np.array([3, 1, 2, 2, 0, 1])
    values = np.array([1.0, 2.0, 3.0, 4.0, 0.0, 5.0])
    order = np.argsort(rows, kind="stable")
    indptr = np.array([0, 2, 5, 6, 6], dtype=np.int64)
    X = sparse.csr_array(
        (values[order], columns[order].astype(np.int64), indptr), shape=(4, 4), copy=False
    )
    dense = np.zeros((4, 4))
    np.add.at(dense, (rows, columns), values)
    return X, dense


def test_duplicates_are_summed_zeros_dropped_and_indices_sorted():
    X, dense = messy()
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    counts = CountMatrix(X)
    np.testing.assert_array_equal(as_dense(counts), dense)
    assert len(counts.values) == np.count_nonzero(dense)
    assert np.all(counts.values > 0)
    for row in range(4):
        features = counts.features[counts.row_starts[row] : counts.row_starts[row + 1]]
        assert np.all(np.diff(features) > 0)
    for array, kept in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1"])
def test_sums_of_duplicates_do_not_overflow(dtype):
    values = np.array([1, 1, 1] if dtype == "?" else [100, 100, 100], dtype)
    X = sparse.coo_array((values, ([0, 0, 0], [1, 1, 1])), shape=(1, 2))
    assert CountMatrix(X).total == 3 * int(values[0])


def test_good_data_is_shared_not_copied(rng):
    X = sparse_counts(rng, 30, 20, 0.2)
    assert np.shares_memory(CountMatrix(X).values, X.data)
    dense = X.toarray()
    assert np.shares_memory(CountMatrix(dense).dense, dense)


def test_totals(rng):
    X = sparse_counts(rng, 50, 30, 0.2)
    for form in (X, X.toarray()):
        counts = CountMatrix(form)
        np.testing.assert_allclose(counts.sample_totals, X.sum(axis=1))
        np.testing.assert_allclose(counts.feature_totals, X.sum(axis=0))
        assert counts.total == X.sum()
        x = X.data
        assert counts.saturated_divergence == pytest.approx((x * np.log(x) - x).sum())


def test_rows(rng):
    X = sparse_counts(rng, 50, 30, 0.2)
    which = np.array([3, 3, 40, 0])
    for form in (X, X.toarray()):
        np.testing.assert_array_equal(as_dense(CountMatrix(form).rows(which)), X.toarray()[which])


def test_of_changes_only_the_precision(rng):
    X = sparse_counts(rng, 50, 30, 0.2)
    for form in (X, X.toarray()):
        counts = CountMatrix(form)
        assert CountMatrix.of(counts) is counts
        single = CountMatrix.of(counts, np.float32)
        assert single.dtype == np.float32
        np.testing.assert_array_equal(as_dense(single), as_dense(counts))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array], ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, "Negative"),
        (np.nan, "NaN"),
        (np.inf, "infinity"),
        (-np.inf, "Negative"),
    ],
)
def test_a_bad_value_is_named_with_its_place(rng, form, value, message):
    X = random_counts(rng)
    X[5, 7] = value
    with pytest.raises(ValueError, match=rf"{message}.*row 5, column 7"):
        CountMatrix(form(X))


def test_what_is_not_a_matrix_of_numbers_is_refused():
    with pytest.raises(ValueError, match="two dimensions"):
        CountMatrix([1.0, 2.0])
    with pytest.raises(TypeError, match="must contain numbers"):
        CountMatrix([["a", "b"]])
    with pytest.raises(TypeError, match="must contain numbers"):
        CountMatrix([[1j]])
    with pytest.raises(TypeError, match="float32 or float64"):
        CountMatrix([[1.0]], dtype=np.int32)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="at most"):
        CountMatrix(sparse.csr_array(([1.0], ([0], [3 * 10**9])), shape=(2, 4 * 10**9)))
    with pytest.raises(ValueError, match="too large for float32"):
        CountMatrix(np.full((2, 2), 1e35, np.float32))
    with pytest.raises(ValueError, match="too large for float32"):
        CountMatrix(np.full((2, 2), 1e300), np.float32)


def test_the_index_by_feature_is_the_same_for_any_number_of_threads(rng):
    counts = CountMatrix(
        sparse.random_array((9000, 300), density=0.05, random_state=rng, format="csr")
    )
    assert len(counts.block_rows) > 3
    parts = counts.block_rows, counts.row_starts, counts.features
    alone, team = (native.column_index(300, *parts, threads) for threads in (1, 4))
    for one, other in zip(alone.arrays(), team.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_saturated_divergence_is_that_of_the_definition(rng):
    X = rng.gamma(0.5, 3.0, (50, 30)) * (rng.random((50, 30)) < 0.4)
    expected = (xlogy(X, X) - X).sum()
    for form in (X, sparse.csr_array(X)):
        assert CountMatrix(form).saturated_divergence == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_change_of_precision_checks_the_range(form):
    """Sparse counts once became infinite where dense ones were refused."""
    for value, reason in ((1e200, "too large for float32"), (1e-60, "too small for float32")):
        counts = CountMatrix(form([[1.0, value], [2.0, 0.0]]))
        with pytest.raises(ValueError, match=reason):
            CountMatrix.of(counts, np.float32)

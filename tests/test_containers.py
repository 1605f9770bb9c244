"""The same counts in any container, and the models inside of scikit-learn's machinery."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hostile import FORMATS, MODELS, counts, model_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from problems import paper_lda
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    Dirichlet,
    GammaPoisson,
    KullbackLeibler,
    Lasso,
    PoissonFactorization,
    TopicModel,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

each_model = pytest.mark.parametrize("name", MODELS)

TEXTS = [
    "the sea and the ship",
    "a ship on the sea",
    "the sun and the moon",
    "moon over the sea",
    "a cat and a dog",
    "the dog and the sun",
    "ship ship ship",
    "cat moon dog sun",
]


# --------------------------------------------------------------------------------------------------
# A random container
# --------------------------------------------------------------------------------------------------

FLOATS = ["f8", "f2", ">f8", "g"]
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"]


@st.composite
def containers(draw, X):
    """Put counts up to 50 into a container that holds them exactly."""
    kind = draw(st.sampled_from(["dense", "strided", "nested", "sparse", "pandas", "polars"]))
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))
    if kind == "dense":
        return np.array(X, dtype=dtype, order=draw(st.sampled_from("CF")))
    if kind == "strided":
        return _strided(X.astype(dtype), *draw(st.tuples(*[st.sampled_from([1, 2, -1, -3])] * 2)))
    if kind == "nested":
        return draw(st.sampled_from([list, tuple]))(map(tuple, X.astype(int).tolist()))
    if kind == "pandas":
        return _pandas(draw, X)
    if kind == "polars":
        return pl.DataFrame(X.astype(draw(st.sampled_from(["i4", "u1", "f8"]))), schema=_names(X))
    return _sparse(draw, X)


def _strided(X, row_step, column_step):
    """Make a view with steps between its entries."""
    shape = [n * abs(step) for n, step in zip(X.shape, (row_step, column_step), strict=True)]
    room = np.full(shape, 77, X.dtype)
    view = room[::row_step, ::column_step]
    view[...] = X
    view.flags.writeable = False
    return view


def _names(X):
    return [f"f{i}" for i in range(X.shape[1])]


def _pandas(draw, X):
    frame = pd.DataFrame(X, columns=_names(X))
    dtype = draw(st.sampled_from(["int8", "float64", "Int64", "UInt8", "Float64", "sparse", "mix"]))
    if dtype == "mix":
        return frame.astype({"f0": "uint8"})
    return frame.astype(pd.SparseDtype("float64", 0.0) if dtype == "sparse" else dtype)


def _sparse(draw, X):
    """Cut some counts in two, store some zeros, shuffle the entries, and choose the indices."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    halved = draw(hnp.arrays(bool, len(values)))
    again = np.flatnonzero(halved)
    values = np.append(np.where(halved, values / 2, values), values[again] / 2)
    rows, columns = np.append(rows, rows[again]), np.append(columns, columns[again])
    zeros = draw(st.integers(0, 3))
    extra = [draw(hnp.arrays(int, zeros, elements=st.integers(0, n - 1))) for n in X.shape]
    rows, columns = np.append(rows, extra[0]), np.append(columns, extra[1])
    values = np.append(values, np.zeros(zeros))
    order = np.array(draw(st.permutations(range(len(values)))), dtype=int)
    index = draw(st.sampled_from([np.int32, np.int64]))
    coordinates = rows[order].astype(index), columns[order].astype(index)
    flavour = draw(st.sampled_from([sparse.coo_array, sparse.coo_matrix]))
    coo = flavour((values[order], coordinates), shape=X.shape)
    return coo.asformat(draw(st.sampled_from(FORMATS)))


matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6),
    elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 8.0, 50.0]),
)


@each_model
@settings(max_examples=10)
@given(data=st.data(), X=matrices)
def test_the_same_counts_in_any_container_give_the_same_fit(name, data, X):
    container = data.draw(containers(X))
    model, plain = model_of(name, max_iter=3), model_of(name, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weights = model.fit_transform(container)
        expected = plain.fit_transform(sparse.csr_array(X))
    np.testing.assert_allclose(weights, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-10, atol=1e-10)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-10, abs=1e-10)
    assert model.n_features_in_ == X.shape[1]


@settings(max_examples=15)
@given(data=st.data(), X=matrices)
def test_the_same_new_samples_in_any_container_have_the_same_weights(data, X):
    model = paper_lda(2, alpha=0.5, eta=0.3, max_iter=3, tol=0, random_state=0).fit(X)
    container = data.draw(containers(X))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")
        warnings.simplefilter("ignore", ConvergenceWarning)
        np.testing.assert_array_equal(model.transform(container), model.transform(X))


@settings(max_examples=40)
@given(data=st.data(), X=matrices)
def test_missing_entries_in_any_container_are_the_same(data, X):
    mask = data.draw(hnp.arrays(bool, X.shape))
    holes = np.where(mask, np.nan, X)
    form = data.draw(
        st.sampled_from([np.asfortranarray, sparse.csr_array, sparse.csc_array, sparse.coo_array])
    )
    plain = NMF(2, max_iter=3, tol=0, random_state=0).fit(X, missing_mask=mask)
    model = clone(plain).set_params(missing="nan").fit(form(holes))
    np.testing.assert_allclose(model.weights_, plain.weights_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-10, atol=1e-10)


# --------------------------------------------------------------------------------------------------
# Inside of scikit-learn
# --------------------------------------------------------------------------------------------------


@each_model
def test_a_pipeline_from_texts(name):
    pipeline = Pipeline([("count", CountVectorizer()), ("model", model_of(name, max_iter=20))])
    weights = pipeline.fit_transform(TEXTS)
    X = CountVectorizer().fit_transform(TEXTS)
    plain = model_of(name, max_iter=20)
    np.testing.assert_array_equal(weights, plain.fit_transform(X))
    np.testing.assert_array_equal(pipeline.transform(TEXTS), plain.transform(X))
    assert pipeline.score(TEXTS) == plain.score(X)
    assert np.all(np.isfinite(pipeline.transform(["words that nobody knows", ""])))
    prefix = type(plain).__name__.lower()
    assert pipeline.get_feature_names_out().tolist() == [f"{prefix}0", f"{prefix}1"]


@each_model
def test_a_grid_search_over_components(name):
    search = GridSearchCV(
        model_of(name, max_iter=10), {"n_components": [1, 2, 3]}, cv=2, error_score="raise"
    )
    search.fit(counts() + 1)
    scores = search.cv_results_["mean_test_score"]
    assert np.all(np.isfinite(scores))
    assert np.all(scores < 0)
    assert search.best_estimator_.n_components == search.best_params_["n_components"]
    assert search.transform(counts()).shape == (6, search.best_params_["n_components"])


@each_model
def test_cross_validated_scores_are_those_of_the_folds(name):
    X = counts() + 1
    scores = cross_val_score(model_of(name), X, cv=3, error_score="raise")
    folds = [(np.r_[2:6], np.r_[0:2]), (np.r_[0:2, 4:6], np.r_[2:4]), (np.r_[0:4], np.r_[4:6])]
    expected = [model_of(name).fit(X[train]).score(X[test]) for train, test in folds]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@each_model
def test_parts_of_larger_transformers(name):
    frame = pd.DataFrame(counts(), columns=list("abcde")).assign(text=TEXTS[:6])
    columns = ColumnTransformer(
        [
            ("counts", model_of(name), list("abcde")),
            ("texts", make_pipeline(CountVectorizer(), model_of(name)), "text"),
        ]
    )
    both = columns.fit_transform(frame)
    assert both.shape == (6, 4)
    np.testing.assert_array_equal(both[:, :2], model_of(name).fit_transform(frame[list("abcde")]))
    union = FeatureUnion([("one", model_of(name)), ("three", model_of(name, n_components=3))])
    joined = union.fit_transform(counts())
    assert joined.shape == (6, 5)
    assert len(set(union.get_feature_names_out())) == 5


@each_model
def test_frames_come_out_where_they_are_asked_for(name):
    frame = pd.DataFrame(counts(), columns=list("abcde"), index=list("uvwxyz"))
    plain = model_of(name)
    plain.fit(frame)
    expected = plain.transform(frame)
    pandas = model_of(name).set_output(transform="pandas").fit(frame).transform(frame)
    assert isinstance(pandas, pd.DataFrame)
    assert pandas.index.tolist() == list("uvwxyz")
    polars = model_of(name).set_output(transform="polars").fit(frame).transform(frame)
    assert isinstance(polars, pl.DataFrame)
    for out in (pandas, polars):
        assert list(out.columns) == plain.get_feature_names_out().tolist()
        np.testing.assert_array_equal(out.to_numpy(), expected)
    fitted = model_of(name).set_output(transform="pandas").fit_transform(frame)
    np.testing.assert_array_equal(fitted.to_numpy(), plain.weights_)


@each_model
def test_sample_weights_are_routed_through_a_pipeline(name):
    weights = np.array([1.0, 2, 0, 1, 3, 1, 1, 0])
    X = CountVectorizer().fit_transform(TEXTS)
    with sklearn.config_context(enable_metadata_routing=True):
        model = model_of(name).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(CountVectorizer(), model).fit(TEXTS, sample_weight=weights)
        score = pipeline.score(TEXTS, sample_weight=weights)
        unrouted = make_pipeline(
            CountVectorizer(), model_of(name).set_fit_request(sample_weight=False)
        )
        with pytest.raises(TypeError, match="sample_weight"):
            unrouted.fit(TEXTS, sample_weight=weights)
    plain = model_of(name).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].components_, plain.components_)
    assert score == plain.score(X, sample_weight=weights)


def test_masks_are_routed_too():
    mask = np.eye(6, 5) > 0
    with sklearn.config_context(enable_metadata_routing=True):
        model = model_of("nmf").set_fit_request(missing_mask=True)
        model.set_transform_request(missing_mask=True)
        pipeline = Pipeline([("model", model)]).fit(counts(), missing_mask=mask)
        weights = pipeline.transform(counts(), missing_mask=mask)
    plain = model_of("nmf").fit(counts(), missing_mask=mask)
    np.testing.assert_array_equal(weights, plain.transform(counts(), missing_mask=mask))


def test_a_pipeline_without_routing_passes_sample_weights_by_prefix():
    weights = np.arange(6)
    pipeline = Pipeline([("model", model_of("lda"))]).fit(counts(), model__sample_weight=weights)
    plain = model_of("lda").fit(counts(), sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].components_, plain.components_)


# Every parameter with a value that is not its default.
EVERY_PARAMETER = {
    "n_components": 3,
    "solver": "alternating",
    "init": "nndsvd",
    "max_iter": 7,
    "tol": 0.5,
    "min_gain": 1e-6,
    "n_init": 2,
    "warm_start": True,
    "fixed_topics": np.ones((1, 5)),
    "seeds": {1: [0]},
    "forbidden": {2: [1]},
    "missing": "nan",
    "n_jobs": 1,
    "random_state": 3,
    "callbacks": [print],
    "verbose": 4,
}
OWN_PARAMETERS = {
    NMF: {"normalize": False},
    PLSA: {},
    LDA: {"alpha": np.array([0.1, 0.2, 0.3]), "eta": 0.5, "estimate": "variational"},
    GammaPoisson: {"shape": [1.0, 2.0, 3.0], "rate": 0.5, "learn": "symmetric"},
    PoissonFactorization: {
        "shape": [1.0, 2.0, 3.0],
        "rate": 0.5,
        "topic_shape": 0.2,
        "topic_rate": 0.1,
    },
    TopicModel: {
        "weights": Lasso(0.5),
        "topics": Dirichlet([0.1] * 5),
        "divergence": KullbackLeibler(),
    },
    ARDNMF: {"shape": 3.0, "scale": 2.0},
}


@pytest.mark.parametrize("kind", OWN_PARAMETERS)
def test_a_clone_has_every_parameter(kind):
    parameters = EVERY_PARAMETER | OWN_PARAMETERS[kind]
    model = kind(**parameters)
    assert model.get_params(deep=False).keys() <= parameters.keys() | kind().get_params().keys()
    for copy in (clone(model), kind().set_params(**parameters)):
        for name, value in parameters.items():
            np.testing.assert_equal(getattr(copy, name), value)
        assert repr(copy) == repr(model)
    for name, default in kind().get_params(deep=False).items():
        assert name in parameters, f"{name}={default!r} is not in the table above"


@pytest.mark.parametrize("kind", OWN_PARAMETERS)
def test_a_clone_of_every_parameter_fits_alike(kind):
    parameters = EVERY_PARAMETER | OWN_PARAMETERS[kind]
    parameters |= {"callbacks": None, "verbose": 0, "warm_start": False}
    if kind is NMF:
        parameters |= {"normalize": True}
    model = kind(**parameters).fit(counts())
    other = clone(model).fit(counts())
    np.testing.assert_array_equal(other.components_, model.components_)
    np.testing.assert_array_equal(other.weights_, model.weights_)


@pytest.mark.parametrize("kind", ["series", "array"])
def test_a_column_of_texts_is_told_what_counts_words(kind):
    texts = ["a very long document " * 1000, "another"]
    X = pd.Series(texts) if kind == "series" else np.array(texts)
    with pytest.raises(TypeError, match=r"not text\. Count the words.*read_counts") as caught:
        LDA(2).fit(X)
    assert len(str(caught.value)) < 200

"""Names of features and samples: carried, and aligned wherever two things with names meet."""

import re
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import isotopic
from isotopic import (
    LDA,
    NMF,
    PLSA,
    CountMatrix,
    EmptySampleWarning,
    FeatureOrderWarning,
    GammaPoisson,
    PoissonFactorization,
    SampleOrderWarning,
    bootstrap,
    consensus,
    convert,
    evaluate,
    expected_counts,
    fit_anndata,
    load,
    match,
    open_blocks,
    read_counts,
    refit,
)
from isotopic.containers import NamedMatrix
from isotopic.names import order_by_name

anndata = pytest.importorskip("anndata")
pyarrow = pytest.importorskip("pyarrow")

FEATURES = ["sea", "ship", "sun", "moon", "star", "cat"]
SAMPLES = [f"s{i}" for i in range(12)]
TURNED = np.array([3, 0, 5, 1, 4, 2])
SETTINGS = {"max_iter": 8, "tol": 0, "random_state": 0}


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.poisson(3.0, (12, 6)) + 1, index=SAMPLES, columns=FEATURES)


@pytest.fixture
def model(frame):
    return NMF(2, **SETTINGS).fit(frame)


def annotated(frame):
    data = anndata.AnnData(sparse.csr_matrix(frame.to_numpy(np.float64)))
    data.obs_names, data.var_names = frame.index, frame.columns
    return data


def read_again(frame, tmp_path):
    path = tmp_path / "counts.csv"
    frame.to_csv(path)
    return read_counts(path)


def backed(frame, folder):
    annotated(frame).write_h5ad(folder / "x.h5ad")
    return anndata.read_h5ad(folder / "x.h5ad", backed="r")


def h5ad_path(frame, folder):
    annotated(frame).write_h5ad(folder / "path.h5ad")
    return folder / "path.h5ad"


def csv_path(frame, folder):
    frame.to_csv(folder / "path.csv")
    return str(folder / "path.csv")


# Containers with names, made of a data frame.
NAMED = {
    "pandas": lambda frame, _: frame,
    "pandas-sparse": lambda frame, _: frame.astype(pd.SparseDtype("float64", 0.0)),
    "polars": lambda frame, _: pl.DataFrame(frame.to_dict("list")),
    "arrow": lambda frame, _: pyarrow.Table.from_pandas(frame, preserve_index=False),
    "anndata": lambda frame, _: annotated(frame),
    "file": read_again,
    "counts": lambda frame, _: CountMatrix(frame),
    "blocks": lambda frame, _: open_blocks(annotated(frame)),
    "backed": backed,
    "h5ad": h5ad_path,
    "csv": csv_path,
}
IN_BLOCKS = ("blocks", "backed", "h5ad", "csv")
IN_MEMORY = [name for name in NAMED if name not in IN_BLOCKS]


def one_warning(action, kind=FeatureOrderWarning):
    """Return what an action returns; it must warn exactly once, of that kind, here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = action()
    caught = [each for each in caught if "isotopic" in str(each.category)]
    assert [each.category for each in caught] == [kind]
    assert caught[0].filename == __file__
    return found


# --------------------------------------------------------------------------------------------------
# The one function
# --------------------------------------------------------------------------------------------------


@given(st.lists(st.text(), unique=True, min_size=2), st.randoms())
def test_an_order_puts_names_where_they_are_expected(names, random):
    shuffled = random.sample(names, len(names))
    found, expected = np.array(shuffled, dtype=object), np.array(names, dtype=object)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        order = order_by_name(found, expected)
    if shuffled == names:
        assert order is None
        assert not caught
    else:
        assert found[order].tolist() == names
        assert [each.category for each in caught] == [FeatureOrderWarning]


@pytest.mark.parametrize("side", [0, 1])
def test_without_names_nothing_is_aligned(side):
    sides = [None, np.array(["b", "a"], dtype=object)]
    assert order_by_name(sides[side], sides[1 - side]) is None


@pytest.mark.parametrize(("found", "expected"), [("aab", "aba"), ("aab", "ab"), ("ab", "aab")])
def test_a_name_that_occurs_twice_cannot_be_aligned(found, expected):
    with pytest.raises(ValueError, match=r"'a' occurs more than once. Make the names unique"):
        order_by_name(np.array(list(found), object), np.array(list(expected), object))


def test_the_same_duplicates_in_the_same_order_are_no_problem(rng):
    X = NamedMatrix(rng.poisson(3.0, (12, 3)) + 1, np.array(["a", "a", "b"], dtype=object))
    model = NMF(2, **SETTINGS).fit(X)
    assert model.transform(X).shape == (12, 2)
    with pytest.raises(ValueError, match="occurs more than once"):
        model.transform(replace(X, feature_names=X.feature_names[::-1]))


# --------------------------------------------------------------------------------------------------
# New samples
# --------------------------------------------------------------------------------------------------

METHODS = {
    "transform": lambda model, X: model.transform(X),
    "score": lambda model, X: model.score(X),
    "perplexity": lambda model, X: model.perplexity(X),
    "posterior": lambda model, X: np.sort(model.posterior(X)[0].probabilities, axis=0),
    "validate_counts": lambda model, X: model.validate_counts(X).feature_totals,
    "document_info": lambda model, X: model.document_info(X)["share"],
    "topic_info": lambda model, X: model.topic_info(X)["coherence"],
    "distinctive_terms": lambda model, X: model.distinctive_terms(X)["rate"],
    "merge": lambda model, X: model.merge([[0, 1]], X).components_,
    "coherence": evaluate.coherence,
    "differential": lambda model, X: evaluate.differential(model, X).rates,
    "completion_perplexity": evaluate.completion_perplexity,
    "completion_scorer": evaluate.completion_scorer,
    "completion_score": lambda model, X: evaluate.completion_score(
        model, model.validate_counts(X), X
    ),
}
OF_BLOCKS = ("transform", "score", "perplexity")
CASES = [(k, m) for m in METHODS for k in NAMED if k in IN_MEMORY or m in OF_BLOCKS]


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_features_in_another_order_are_aligned(frame, model, tmp_path, kind, method):
    X = NAMED[kind](frame.iloc[:, TURNED], tmp_path)
    run = METHODS[method]
    expected = run(model, frame)
    if method == "completion_score":  # which reads X twice
        with pytest.warns(FeatureOrderWarning):
            found = run(model, X)
    else:
        found = one_warning(lambda: run(model, X))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", NAMED)
def test_equal_names_are_silent_and_carried(frame, tmp_path, kind):
    X = NAMED[kind](frame, tmp_path)
    model = NMF(2, **SETTINGS).fit(X)
    assert model.feature_names_in_.tolist() == FEATURES
    assert model.fitted_.feature_names.tolist() == FEATURES
    assert set(model.top_terms(6)["term"]) == set(FEATURES)
    np.testing.assert_allclose(model.transform(X), model.transform(frame), rtol=1e-12)


@pytest.mark.parametrize("kind", NAMED)
def test_other_features_are_an_error_that_names_them(frame, model, tmp_path, kind):
    X = NAMED[kind](frame.rename(columns={"sun": "dog"}), tmp_path)
    with pytest.raises(
        ValueError, match=r"unseen at fit time:\n- dog\n.*missing:\n- sun\n.*reindex"
    ):
        model.transform(X)


@pytest.mark.parametrize("kind", NAMED)
def test_a_feature_too_few_or_too_many_is_named(frame, model, tmp_path, kind):
    with pytest.raises(ValueError, match=r"yet now missing:\n- cat\n"):
        model.transform(NAMED[kind](frame[FEATURES[:5]], tmp_path))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- dog\n"):
        model.transform(NAMED[kind](frame.assign(dog=1), tmp_path))


def test_only_some_of_many_names_are_listed(rng):
    frame = pd.DataFrame(rng.poisson(3.0, (5, 30)), columns=[f"f{i:02}" for i in range(30)])
    model = NMF(2, **SETTINGS).fit(frame)
    with pytest.raises(ValueError, match=r"- f04\n- ... and 15 more"):
        model.transform(frame.iloc[:, 20:].rename(columns=str.upper).join(frame.iloc[:, 20:]))


@pytest.mark.parametrize("method", ["transform", "score", "partial_fit"])
def test_the_words_of_scikit_learn(frame, method):
    model = LDA(2, **SETTINGS).partial_fit(frame)
    run = getattr(model, method)
    message = "The feature names should match those that were passed during fit.\n"
    with pytest.raises(ValueError, match=re.escape(message + "Feature names unseen at fit time:")):
        run(frame.rename(columns=str.upper))
    missing = message + "Feature names seen at fit time, yet now missing:\n- cat\n"
    with pytest.raises(ValueError, match=re.escape(missing)):
        run(frame[FEATURES[:5]])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but LDA was"):
        run(frame.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but LDA was fitted without"):
        getattr(LDA(2, **SETTINGS).fit(frame.to_numpy()), method)(frame)


def test_columns_that_are_not_text_are_no_names(frame):
    model = NMF(2, **SETTINGS).fit(frame.set_axis(range(6), axis=1))
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        model.fit(frame.rename(columns={"sea": 3}))


def test_partial_fit_aligns_its_batches(frame):
    plain = LDA(2, **SETTINGS).partial_fit(frame).partial_fit(frame)
    turned = LDA(2, **SETTINGS).partial_fit(frame)
    one_warning(lambda: turned.partial_fit(frame.iloc[:, TURNED]))
    np.testing.assert_array_equal(turned.components_, plain.components_)
    assert turned.feature_names_in_.tolist() == FEATURES


@pytest.mark.parametrize("form", ["frame", "array"])
def test_a_mask_moves_with_its_data(rng, frame, model, form):
    mask = pd.DataFrame(rng.random((12, 6)) < 0.2, index=SAMPLES, columns=FEATURES)
    expected = model.transform(frame, missing_mask=mask.to_numpy())
    turned = mask.iloc[:, TURNED]
    turned = turned if form == "frame" else turned.to_numpy()
    found = one_warning(lambda: model.transform(frame.iloc[:, TURNED], missing_mask=turned))
    np.testing.assert_array_equal(found, expected)
    if form == "frame":
        found = one_warning(lambda: model.transform(frame, missing_mask=turned))
        np.testing.assert_array_equal(found, expected)


# --------------------------------------------------------------------------------------------------
# What a fit is given
# --------------------------------------------------------------------------------------------------


def as_table(rng, frame, n=2):
    return pd.DataFrame(rng.random((n, 6)) + 0.1, columns=frame.columns)


# A parameter of a model, made of a table of components x features.
TABLES = {
    "fixed_topics": lambda table: NMF(3, fixed_topics=table, **SETTINGS),
    "seeds": lambda table: NMF(2, seeds=table, **SETTINGS),
    "forbidden": lambda table: NMF(2, forbidden=table > 0.9, **SETTINGS),
    "eta": lambda table: LDA(2, alpha=0.1, eta=table, **SETTINGS),
    "eta-of-features": lambda table: LDA(2, alpha=0.1, eta=table.iloc[0], **SETTINGS),
    "topic_shape": lambda table: PoissonFactorization(2, topic_shape=table, **SETTINGS),
    "topic_rate": lambda table: PoissonFactorization(2, topic_rate=table.iloc[0], **SETTINGS),
    "init": lambda table: NMF(2, init=(np.ones((12, 2)), table), **SETTINGS),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_a_fit_are_aligned(rng, frame, name):
    table = as_table(rng, frame)
    expected = TABLES[name](table).fit(frame)
    turned = TABLES[name](table.iloc[:, TURNED])
    one_warning(lambda: turned.fit(frame))
    np.testing.assert_allclose(turned.components_, expected.components_, rtol=1e-9)
    with pytest.raises(ValueError, match=r"should match those of X.\nNot in X:\n- dog\nNot in "):
        TABLES[name](table.rename(columns={"sun": "dog"})).fit(frame)
    by_position = TABLES[name](table.iloc[:, TURNED]).fit(frame.to_numpy())
    assert not np.allclose(by_position.components_, expected.components_)


@pytest.mark.parametrize("name", ["fixed_topics", "seeds", "forbidden", "eta", "topic_shape"])
def test_tables_of_polars_and_anndata_are_aligned(rng, frame, name):
    table = as_table(rng, frame)
    expected = TABLES[name](table).fit(frame)
    turned = TABLES[name](pl.DataFrame(table.iloc[:, TURNED].to_dict("list")))
    one_warning(lambda: turned.fit(frame))
    np.testing.assert_allclose(turned.components_, expected.components_, rtol=1e-9)


@pytest.mark.parametrize("kind", [NMF, PLSA, LDA, GammaPoisson, PoissonFactorization])
@pytest.mark.parametrize("start", ["model", "fitted", "warm"])
def test_a_model_as_a_start_is_aligned(frame, kind, start):
    turned = frame.iloc[:, TURNED]
    settings = {"n_components": 2, "forbidden": {0: ["sun"]}, "seeds": {1: ["sea"]}}
    first = kind(**settings, init="random", **SETTINGS).fit(turned)
    expected = kind(**settings, init="random", **SETTINGS).fit(turned)
    expected = expected.set_params(warm_start=True).fit(turned)
    if start == "warm":
        again = first.set_params(warm_start=True)
    else:
        again = kind(**settings, init=first if start == "model" else first.fitted_, **SETTINGS)
    one_warning(lambda: again.fit(frame))
    assert again.feature_names_in_.tolist() == FEATURES
    assert again.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(
        again.components_[:, TURNED], expected.components_, rtol=1e-6, atol=1e-9
    )


def test_a_model_of_other_features_is_no_start(frame):
    other = NMF(2, **SETTINGS).fit(frame.rename(columns={"sun": "dog"}))
    with pytest.raises(ValueError, match="names of init should match those of X"):
        NMF(2, init=other, **SETTINGS).fit(frame)
    with pytest.raises(ValueError, match="names of the model should match those of X"):
        other.set_params(warm_start=True).fit(frame)


def test_seeds_of_one_topic_as_a_series(frame):
    expected = NMF(2, seeds={0: {"ship": 5.0, "cat": 2.0}}, **SETTINGS).fit(frame)
    series = pd.Series([5.0, 2.0], index=["ship", "cat"])
    found = NMF(2, seeds={0: series}, **SETTINGS).fit(frame)
    np.testing.assert_array_equal(found.components_, expected.components_)


def test_a_seed_whose_name_occurs_twice_is_refused(frame):
    X = NamedMatrix(frame.to_numpy(), np.array(list("aabcde"), dtype=object))
    with pytest.raises(ValueError, match="seeds: 2 features are called 'a'"):
        NMF(2, seeds={0: ["a"]}, **SETTINGS).fit(X)


def test_reordered_tables_keep_their_names(rng, frame):
    table = pl.DataFrame(as_table(rng, frame).iloc[:, TURNED].to_dict("list"))
    model = NMF(2, seeds=table, **SETTINGS)
    one_warning(lambda: model.fit(frame))
    again = model.reorder([1, 0])
    one_warning(lambda: again.fit(frame))
    assert list(again.seeds.columns) == list(table.columns)


# --------------------------------------------------------------------------------------------------
# Functions of models
# --------------------------------------------------------------------------------------------------


def test_match_aligns_the_columns_of_a_frame_and_names_its_rows(frame, model):
    topics = pd.DataFrame(model.components_[::-1], index=["B", "A"], columns=FEATURES)
    found = one_warning(lambda: match(model, topics.iloc[:, TURNED]))
    np.testing.assert_allclose(found.similarity, 1)
    assert found.order.tolist() == [1, 0]
    assert found.names.tolist() == ["A", "B"]
    assert found.feature_names.tolist() == FEATURES
    assert match(model, topics.iloc[:1]).names.tolist() == [None, "B"]
    assert match(model.components_, topics).feature_names.tolist() == FEATURES
    assert match(model, model).names is None
    other = NMF(2, **SETTINGS).fit(frame.iloc[:, TURNED])
    one_warning(lambda: match(model, other))
    with pytest.raises(ValueError, match=r"names of b should .* of a.\nNot in b:\n- cat\n"):
        match(model, topics[FEATURES[:5]])


def test_convert_aligns_what_the_target_is_given(rng, frame):
    table = as_table(rng, frame)
    model = NMF(2, fixed_topics=table, **SETTINGS).fit(frame)
    target = PLSA(2, fixed_topics=table.iloc[:, TURNED])
    found = one_warning(lambda: convert(model, target))
    np.testing.assert_allclose(found.components_, model.components_)
    assert found.feature_names_in_.tolist() == FEATURES


def test_refits_keep_the_names_that_parameters_use(frame):
    model = NMF(2, seeds={0: ["sea"]}, forbidden={1: ["sea"]}, **SETTINGS).fit(frame)
    names = []
    bootstrap(
        model,
        frame,
        n_resamples=3,
        n_jobs=1,
        statistic=lambda m: names.append(m.feature_names_in_.tolist()) or m.components_,
    )
    assert all(found == FEATURES for found in names)
    found, plain = (
        consensus(NMF(seeds=seeds, **SETTINGS), data, [1, 2], n_runs=2, random_state=0, choose=2)
        for seeds, data in (({0: ["sea"]}, frame), ({0: [0]}, frame.to_numpy()))
    )
    np.testing.assert_array_equal(found.table["score"], plain.table["score"])
    np.testing.assert_array_equal(found.model.components_, plain.model.components_)


def test_expected_counts_and_objectives_align_their_factors(rng, frame):
    weights = pd.DataFrame(rng.dirichlet([1, 1], 12), index=SAMPLES)
    topics = pd.DataFrame(rng.dirichlet(np.ones(6), 2), columns=FEATURES)
    calls = {
        "expected_counts": lambda *all_: expected_counts(*all_).topics,
        "generalized_kl": isotopic.generalized_kl,
        "plsa_log_likelihood": isotopic.plsa_log_likelihood,
        "beta_divergence": lambda *all_: isotopic.beta_divergence(*all_, 0.5),
        "lasso_kl": lambda *all_: isotopic.lasso_kl(*all_, 0.5),
        "lda_bound": lambda X, w, t: isotopic.lda_bound(X, t, 0.1, w),
        "gamma_poisson_bound": lambda X, w, t: isotopic.gamma_poisson_bound(X, t, 1.0, 1.0, w),
    }
    for call in calls.values():
        expected = call(frame.to_numpy(), weights.to_numpy(), topics.to_numpy())
        np.testing.assert_allclose(call(frame, weights, topics), expected)
        found = one_warning(lambda call=call: call(frame, weights, topics.iloc[:, TURNED]))
        np.testing.assert_allclose(found, expected)
        found = one_warning(
            lambda call=call: call(frame, weights[::-1], topics), SampleOrderWarning
        )
        np.testing.assert_allclose(found, expected)


def test_fit_anndata_carries_the_names_of_the_variables(frame):
    data = annotated(frame)
    data.layers["counts"] = data.X.copy()
    model = fit_anndata(data, NMF(2, **SETTINGS), layer="counts")
    assert model.feature_names_in_.tolist() == FEATURES
    assert set(model.top_terms(3)["term"]) <= set(FEATURES)
    expected = model.transform(data)
    np.testing.assert_array_equal(one_warning(lambda: model.transform(data[:, TURNED])), expected)
    with pytest.raises(ValueError, match="yet now missing:\n- cat"):
        model.transform(data[:, :5])


# --------------------------------------------------------------------------------------------------
# Samples
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sample_weight", "size_factors", "fixed_weights"])
@pytest.mark.parametrize("kind", ["pandas", "anndata", "file", "blocks", "backed"])
def test_what_belongs_to_samples_is_aligned(rng, frame, tmp_path, name, kind):
    X = NAMED[kind](frame, tmp_path)
    values = pd.Series(rng.uniform(0.5, 2, 12), index=SAMPLES)
    values = values.to_frame() if name == "fixed_weights" else values
    expected = NMF(2, **SETTINGS).fit(frame, **{name: values})
    model = NMF(2, **SETTINGS)
    one_warning(lambda: model.fit(X, **{name: values[::-1]}), SampleOrderWarning)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-6)
    with pytest.raises(
        ValueError, match=f"sample names of {name} should match those of X.\nNot in"
    ):
        model.fit(X, **{name: values.rename(index={"s3": "s99"})})
    by_position = values.reset_index(drop=True)
    np.testing.assert_allclose(
        NMF(2, **SETTINGS).fit(X, **{name: by_position}).components_,
        expected.components_,
        rtol=1e-6,
    )


# A model that is given a table of samples x components.
TABLES_OF_SAMPLES = {
    "init": lambda table: NMF(2, init=(table, np.ones((2, 6)) + np.eye(2, 6)), **SETTINGS),
    "alpha": lambda table: LDA(2, alpha=table, eta=0.1, estimate="variational", **SETTINGS),
    "shape": lambda table: GammaPoisson(2, shape=table, rate=1.0, **SETTINGS),
}


@pytest.mark.parametrize("name", TABLES_OF_SAMPLES)
@pytest.mark.parametrize("kind", ["pandas", "anndata", "file"])
def test_parameters_that_belong_to_samples_are_aligned(rng, frame, tmp_path, name, kind):
    X, make = NAMED[kind](frame, tmp_path), TABLES_OF_SAMPLES[name]
    table = pd.DataFrame(rng.uniform(0.1, 5, (12, 2)), index=SAMPLES)
    expected = make(table.to_numpy()).fit(frame)
    model = make(table[::-1])
    one_warning(lambda: model.fit(X), SampleOrderWarning)
    np.testing.assert_allclose(model.weights_, expected.weights_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"should match those of X.\nNot in X:\n- s99\nNot in"):
        make(table.rename(index={"s3": "s99"})).fit(X)
    by_position = make(table.reset_index(drop=True)).fit(X)
    np.testing.assert_allclose(by_position.weights_, expected.weights_, rtol=1e-6)


def test_a_vector_of_components_is_not_one_of_samples(frame):
    alpha = pd.Series([0.5, 2.0], index=["sea", "land"])
    model = LDA(2, alpha=alpha, eta=0.1, **SETTINGS).fit(frame)
    expected = LDA(2, alpha=alpha.to_numpy(), eta=0.1, **SETTINGS).fit(frame)
    np.testing.assert_array_equal(model.weights_, expected.weights_)


def test_numbers_of_rows_are_no_names(frame):
    plain = frame.reset_index(drop=True)
    weights = np.arange(1.0, 13.0)
    expected = NMF(2, **SETTINGS).fit(plain, sample_weight=weights)
    series = pd.Series(weights, index=list("lkjihgfedcba"))
    found = NMF(2, **SETTINGS).fit(plain, sample_weight=series)
    np.testing.assert_array_equal(found.components_, expected.components_)


def test_weights_and_groups_are_aligned_with_their_samples(frame, model):
    weights = pd.DataFrame(model.transform(frame), index=SAMPLES)
    expected = evaluate.differential(model, frame, weights=weights).rates
    found = one_warning(
        lambda: evaluate.differential(model, frame, weights=weights[::-1]), SampleOrderWarning
    )
    np.testing.assert_array_equal(found.rates, expected)


GROUPS = pd.Series(["land"] * 6 + ["sea"] * 6, index=SAMPLES)


@pytest.mark.parametrize("kind", ["model", "loaded", "refit", "frame"])
def test_groups_are_aligned_with_the_samples_that_were_fitted(frame, model, kind, tmp_path):
    model.save(tmp_path / "model.iso")
    given = {
        "model": model,
        "loaded": load(tmp_path / "model.iso"),
        "refit": refit(frame, model),
        "frame": pd.DataFrame(model.weights_, index=SAMPLES),
    }[kind]
    years = GROUPS.map({"land": 1990, "sea": 2000})
    for compare, groups in (
        (partial(evaluate.compare_groups, versus="sea"), GROUPS),
        (evaluate.over_time, years),
    ):
        expected = compare(given, groups)
        found = one_warning(partial(compare, given, groups[::-1]), SampleOrderWarning)
        np.testing.assert_array_equal(found["mean"], expected["mean"])
        with pytest.raises(ValueError, match="other"):
            compare(given, groups.rename({"s0": "other"}))


def test_labels_of_topics_go_wherever_the_topics_go(frame, model):
    labelled = model.label(["ships", "ships"])
    found = refit(frame, labelled)
    assert found.topic_names.tolist() == ["ships (0)", "ships (1)"]
    assert evaluate.compare_groups(found, GROUPS)["name"].tolist() == [*found.topic_names] * 2
    assert evaluate.compare_groups(labelled, GROUPS)["name"].tolist() == ["ships"] * 4
    assert "name" not in evaluate.compare_groups(model, GROUPS)


@pytest.mark.parametrize(
    ("labels", "kept"),
    [(range(5, 17), list(range(5, 17))), (pd.date_range("2020", periods=12), None)],
)
def test_models_of_samples_with_other_names_can_be_saved(frame, labels, kept, tmp_path):
    frame.index = labels
    NMF(2, **SETTINGS).fit(frame).save(tmp_path / "model.iso")
    names = load(tmp_path / "model.iso").fitted_.sample_names
    assert (None if names is None else names.tolist()) == kept


def test_tables_name_the_samples(frame, model):
    assert model.document_info()["sample"].tolist() == SAMPLES
    assert model.document_info(frame)["sample"].tolist() == SAMPLES
    assert model.document_info(annotated(frame))["sample"].tolist() == SAMPLES
    assert model.document_info(frame.reset_index(drop=True))["sample"].tolist() == list(range(12))


# --------------------------------------------------------------------------------------------------
# Samples without a known feature
# --------------------------------------------------------------------------------------------------

OUTCOMES = {
    NMF: "Their weights are zero.",
    PLSA: "Their weights are equal.",
    LDA: "Their weights are the mean of the prior.",
    GammaPoisson: "Their weights are those of the prior alone.",
}


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("container", NAMED)
def test_samples_without_a_known_feature_are_counted(frame, tmp_path, kind, container):
    model = kind(2, **SETTINGS).fit(frame)
    frame = frame.copy()
    frame.iloc[[2, 5, 7]] = 0
    X = NAMED[container](frame, tmp_path)
    with pytest.warns(EmptySampleWarning, match="^3 of 12 samples have no count") as caught:
        weights = model.transform(X)
    assert str(caught[0].message).endswith(OUTCOMES[kind])
    assert len(caught) == 1
    np.testing.assert_array_equal(weights[2], weights[5])
    if kind is NMF:
        np.testing.assert_array_equal(weights[2], 0)
    if kind is PLSA:
        np.testing.assert_allclose(weights[2], 0.5)
    if kind is LDA:
        np.testing.assert_allclose(weights[2], model.alpha_ / model.alpha_.sum())
    with pytest.warns(EmptySampleWarning, match="They do not count in the score"):
        score = model.score(X)
    assert score == pytest.approx(model.score(frame.drop(index=["s2", "s5", "s7"])))


def test_words_that_a_vocabulary_does_not_have(tmp_path):
    (tmp_path / "new.txt").write_text("mare e nave\nsea sea ship\nsole e luna\n")
    words = {"stop_words": None, "min_df": 1}
    data = read_counts(tmp_path / "new.txt", vocabulary=FEATURES, **words)
    train = pd.DataFrame(np.ones((4, 6), int) + np.eye(4, 6, dtype=int), columns=FEATURES)
    model = PLSA(2, **SETTINGS).fit(train)
    with pytest.warns(EmptySampleWarning, match="2 of 3 samples"):
        model.transform(data)


def test_rows_of_zeros_without_names_are_ordinary(frame, model):
    zeros = frame.to_numpy().copy()
    zeros[3] = 0
    NMF(2, **SETTINGS).fit(zeros).transform(zeros)
    frame.iloc[3] = 0
    NMF(2, **SETTINGS).fit_transform(frame)
    evaluate.completion_perplexity(model, frame)


# --------------------------------------------------------------------------------------------------
# Files of models
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore::isotopic.FeatureOrderWarning")
def test_a_saved_model_keeps_the_order_of_its_tables(rng, frame, tmp_path, name):
    model = TABLES[name](as_table(rng, frame).iloc[:, TURNED]).fit(frame)
    model.save(tmp_path / "model")
    again = isotopic.load(tmp_path / "model").fit(frame)
    np.testing.assert_allclose(again.components_, model.components_, rtol=1e-9)


def test_a_wrong_number_of_features_says_what_may_be_meant():
    X = np.random.default_rng(0).poisson(2.0, (20, 4))
    with pytest.raises(ValueError, match=r"is it transposed\?.*X\.T"):
        NMF(2, tol=1e-2).fit(X).transform(X.T)
    named = NMF(2, tol=1e-2).fit(pd.DataFrame(X, columns=list("abcd")))
    advice = "pass vocabulary=model.feature_names_in_ to read_counts"
    with pytest.raises(ValueError, match=advice), pytest.warns(UserWarning, match="valid feature"):
        named.transform(X[:, :3])
    with pytest.raises(ValueError, match=advice):
        named.transform(pd.DataFrame(X, columns=list("abce")))

"""What fitted models say of themselves, and models with their topics rearranged."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hostile import MODELS, model_of, objective_of
from problems import random_counts
from scipy import sparse
from sklearn.base import clone

from isotopic import LDA, NMF, PLSA, GammaPoisson, TopicModel, convert, evaluate, load, match
from isotopic.fitted.summaries import topics_as_html
from isotopic.priors import Dirichlet, Free, Gamma, Lasso, Simplex

SETTINGS = {"max_iter": 25, "tol": 0, "random_state": 0}
HOSTILE = ["<script>alert(1)</script>", "$x^2$", "a\nb", "x" * 10_000, "🚀", "שלום"]


@pytest.fixture(name="X")
def counts_of_six_features(rng):
    return random_counts(rng, 20, 6, 3.0)


@pytest.mark.parametrize("name", MODELS)
def test_topic_info_is_about_the_topics(name, X):
    model = model_of(name, n_components=3).fit(X)
    table = model.topic_info(X, n=2, feature_names=list("abcdef"))
    assert list(table) == ["topic", "prevalence", "coherence", "exclusivity", "terms"]
    assert np.all(np.diff(table["prevalence"]) <= 0)
    assert table["prevalence"].sum() == pytest.approx(1)
    order = table["topic"]
    np.testing.assert_allclose(table["prevalence"], evaluate.prevalence(model)[order])
    np.testing.assert_allclose(table["coherence"], evaluate.coherence(model, X, n=2)[order])
    np.testing.assert_allclose(table["exclusivity"], evaluate.exclusivity(model, n=2)[order])
    for topic, terms in zip(order, table["terms"], strict=True):
        strongest = np.argsort(-model.components_[topic], kind="stable")[:2]
        assert terms == ", ".join("abcdef"[v] for v in strongest)
    assert "coherence" not in model.topic_info()
    assert pd.DataFrame(table).shape == pl.DataFrame(table).shape == (3, 5)


@pytest.mark.parametrize("name", MODELS)
def test_document_info_is_about_the_samples(name, X):
    X[4] = 0
    model = model_of(name, n_components=3).fit(X)
    table = model.document_info(sample_names=[f"s{i}" for i in range(20)])
    mass = model.weights_ * model.components_.sum(axis=1)
    some = X.sum(axis=1) > 0
    shares = mass[some] / mass[some].sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(table["total"], X.sum(axis=1))
    np.testing.assert_array_equal(table["topic"][some], shares.argmax(axis=1))
    np.testing.assert_allclose(table["share"][some], shares.max(axis=1))
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    np.testing.assert_allclose(table["effective_topics"][some], np.exp(entropy))
    assert table["topic"][4] == -1
    assert table["sample"][3] == "s3"
    new = model.document_info(X[:5])
    np.testing.assert_array_equal(new["total"], X[:5].sum(axis=1))
    with pytest.raises(ValueError, match="one name for each of the 20 samples, not 2"):
        model.document_info(sample_names=["a", "b"])


def test_totals_of_counts_are_whole_numbers(X):
    assert NMF(2, **SETTINGS).fit(X).document_info()["total"].dtype.kind == "i"
    assert NMF(2, **SETTINGS).fit(X + 0.3).document_info()["total"].dtype.kind == "f"


def test_notebooks_show_the_topics_and_nothing_that_runs(X):
    model = PLSA(2, **SETTINGS)
    before = model._repr_html_()
    model.fit(pd.DataFrame(X, columns=HOSTILE))
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert len(page) > len(before)
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<script>alert(1)" not in page
        assert "sk-container" in page  # scikit-learn's own diagram is still there
        assert "20 samples, 6 features" in page
    assert "x" * 41 not in topics_as_html(model.fitted_)
    assert "PLSA" in model._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_weights_come_as_frames_if_asked(X, library):
    model = NMF(2, **SETTINGS).set_output(transform=library)
    frame = model.fit_transform(X)
    assert isinstance(frame, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library])
    assert list(frame.columns) == ["nmf0", "nmf1"]
    np.testing.assert_array_equal(frame.to_numpy(), model.weights_)


def assert_same_but_for_order(new, old, order):
    for side, which in (("weights", np.s_[:, order]), ("topics", order)):
        ours, theirs = getattr(new.fitted_, side), getattr(old.fitted_, side)
        for name, value in vars(theirs).items():
            if value is None:
                assert getattr(ours, name) is None
            else:
                np.testing.assert_array_equal(getattr(ours, name), value[which])
    assert new.objective_ == old.objective_
    assert new.n_iter_ == old.n_iter_


@pytest.mark.parametrize("name", MODELS)
def test_a_reordered_model_is_the_same_model(name, X, tmp_path):
    old = model_of(name, n_components=3).fit(X)
    order = [2, 0, 1]
    new = old.reorder(order)
    assert type(new) is type(old)
    assert_same_but_for_order(new, old, order)
    np.testing.assert_allclose(new.transform(X), old.transform(X)[:, order], rtol=1e-5, atol=1e-9)
    assert objective_of(new, X) == pytest.approx(new.objective_)
    new.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").components_, new.components_)
    again = new.set_params(warm_start=True, max_iter=3).fit(X)
    goes_on = old.set_params(warm_start=True, max_iter=3).fit(X)
    np.testing.assert_allclose(again.components_, goes_on.components_[order], rtol=1e-6)


ASYMMETRIC = {
    "lda": LDA(3, alpha=[0.1, 0.5, 2.0], **SETTINGS),
    "gamma": GammaPoisson(3, shape=[0.1, 0.5, 2.0], rate=[1.0, 2.0, 3.0], **SETTINGS),
    "topics": LDA(3, alpha=0.2, eta=np.arange(1, 19).reshape(3, 6) / 20, **SETTINGS),
    "pair": TopicModel(3, weights=Gamma([1, 2, 3], 0.5), topics=Dirichlet(0.1), **SETTINGS),
    "seeds": PLSA(3, seeds={0: [1, 2], 2: {3: 4.0}}, forbidden={1: [0]}, **SETTINGS),
    "arrays": NMF(3, seeds=np.eye(3, 6), forbidden=np.eye(3, 6, k=3) > 0, **SETTINGS),
    "fixed": NMF(3, fixed_topics=np.eye(2, 6) + 0.1, **SETTINGS),
}


@pytest.mark.parametrize("name", ASYMMETRIC)
def test_what_belongs_to_topics_moves_with_them(name, X):
    """The reordered model, fitted from the reordered start, ends where the model ends."""
    rng = np.random.default_rng(1)
    start = rng.gamma(2.0, size=(20, 3)) + 3.0, rng.gamma(2.0, size=(3, 6)) + 1.0
    old = clone(ASYMMETRIC[name]).set_params(init=start).fit(X)
    order = [1, 0, 2]
    new = old.reorder(order)
    assert_same_but_for_order(new, old, order)
    refitted = clone(new).fit(X)
    np.testing.assert_allclose(refitted.components_, old.components_[order], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(refitted.weights_, old.weights_[:, order], rtol=1e-7, atol=1e-12)
    for side in ("weights_prior", "topics_prior"):
        mine, theirs = getattr(new.fitted_, side), getattr(refitted.fitted_, side)
        assert type(mine) is type(theirs)
    np.testing.assert_allclose(new.transform(X), old.transform(X)[:, order], rtol=1e-5, atol=1e-9)


def test_topics_take_the_order_of_another_model(X):
    a = NMF(3, max_iter=200, tol=0, random_state=0).fit(X)
    b = a.reorder([2, 0, 1])
    assert match(a, b.reorder(match(a, b).order)).order.tolist() == [0, 1, 2]
    prevalent = a.reorder()
    assert np.all(np.diff(evaluate.prevalence(prevalent)) <= 0)


def test_orders_that_are_none_are_refused(X):
    model = NMF(3, **SETTINGS).fit(X)
    for bad in ([0, 1], [0, 1, 1], [0, 1, 3], [0.0, 1.0, 2.0], "size"):
        with pytest.raises(ValueError, match="each of the 3 topics once"):
            model.reorder(bad)
    fixed = clone(ASYMMETRIC["fixed"]).fit(X)
    with pytest.raises(ValueError, match="must stay in front"):
        fixed.reorder([2, 0, 1])
    np.testing.assert_array_equal(fixed.reorder([1, 0, 2]).fixed_topics, fixed.fixed_topics[[1, 0]])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", ["plain", "weighted", "holed"])
def test_merged_models_explain_what_their_parts_did(name, data, X, tmp_path):
    mask = np.zeros(X.shape, bool)
    mask[2, 3] = mask[7, 1] = data == "holed"
    weight = np.where(np.arange(20) % 3, 1.0, 2.0) if data == "weighted" else None
    old = model_of(name, n_components=4).fit(X, sample_weight=weight, missing_mask=mask)
    new = old.merge([[0, 2]], X, missing_mask=mask)
    assert new.components_.shape == (3, 6)
    assert new.n_components == 3
    assert new.history_.shape == (0,)
    home = np.array([0, 1, 0, 2])
    mass = old.weights_ * old.components_.sum(axis=1)
    merged = np.stack([mass[:, home == k].sum(axis=1) for k in range(3)], axis=1)
    additive = isinstance(old.fitted_.weights_prior, (Free, Simplex, Lasso, Dirichlet, Gamma))
    if data == "plain" and additive and old.fitted_.topics_prior.is_normalized:
        np.testing.assert_allclose(new.weights_, merged, rtol=1e-6)
    if data == "plain":
        assert objective_of(new, X) == pytest.approx(new.objective_)
    new.save(tmp_path / "model")
    assert load(tmp_path / "model").n_components == 3
    assert new.transform(X).shape == (20, 3)
    goes_on = (
        clone(new).set_params(init=new, max_iter=30).fit(X, sample_weight=weight, missing_mask=mask)
    )
    assert goes_on.objective_ <= new.objective_ + 1e-9 * abs(new.objective_)
    assert np.all(np.isfinite(new.components_))


def test_concentrations_of_merged_topics_add_up(X):
    lda = LDA(4, alpha=[0.1, 0.2, 0.3, 0.4], **SETTINGS).fit(X)
    merged = lda.merge([[1, 3]], X)
    np.testing.assert_allclose(merged.alpha, [0.1, 0.6, 0.3])
    sums = lda.weights_posterior_[:, 1] + lda.weights_posterior_[:, 3]
    np.testing.assert_allclose(merged.weights_posterior_[:, 1], sums)
    np.testing.assert_allclose(merged.weights_.sum(axis=1), 1)
    gamma = GammaPoisson(4, shape=0.5, rate=0.2, **SETTINGS).fit(X).merge([[0, 1], [2, 3]], X)
    np.testing.assert_allclose(gamma.shape, [1, 1])
    assert gamma.rate == 0.2
    everything = PLSA(4, init="random", **SETTINGS).fit(X).merge([[0, 1, 2, 3]], X)
    np.testing.assert_allclose(everything.components_[0], X.sum(axis=0) / X.sum(), rtol=1e-3)


def test_seeds_and_forbidden_features_of_merged_topics(X):
    seeded = PLSA(3, seeds={0: {1: 2.0}, 1: {1: 3.0}}, forbidden={0: [4], 1: [4, 5]}, **SETTINGS)
    merged = seeded.fit(X).merge([[0, 1]], X)
    assert merged.seeds[0, 1] == 5
    assert merged.forbidden[0].tolist() == [False, False, False, False, True, False]
    assert merged.components_[0, 4] == 0


def test_merges_without_a_meaning_are_refused(X):
    model = NMF(4, **SETTINGS).fit(X)
    for groups, message in (
        ([[0, 4]], "between 0 and 3"),
        ([[0, True]], "between 0 and 3"),
        ([[1]], "at least two"),
        ([[1, 1]], "at least two"),
        ([[0, 1], [1, 2]], "one group only"),
        ([0, 1], "lists of topics"),
        ([], "groups is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            model.merge(groups, X)
    with pytest.raises(ValueError, match="not the data"):
        model.merge([[0, 1]], X + 1)
    with pytest.raises(ValueError, match="Cannot merge fixed topics"):
        clone(ASYMMETRIC["fixed"]).fit(X).merge([[0, 2]], X)
    with pytest.raises(ValueError, match="Gamma weights of different rates"):
        clone(ASYMMETRIC["gamma"]).fit(X).merge([[0, 1]], X)
    with pytest.raises(ValueError, match="topics 0 and 1: their priors differ"):
        clone(ASYMMETRIC["topics"]).fit(X).merge([[0, 1]], X)


def test_nothing_of_the_old_model_is_changed(X):
    old = LDA(4, alpha=[0.1, 0.2, 0.3, 0.4], **SETTINGS).fit(X)
    names = ("components_", "weights_", "components_posterior_", "weights_posterior_", "history_")
    before = {name: np.copy(getattr(old, name)) for name in names}
    new = [old.reorder(), old.merge([[0, 1]], X)]
    for model in new:
        model.components_[:] = model.weights_[:] = 0
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(old, name), value)
    assert old.alpha == [0.1, 0.2, 0.3, 0.4]


def test_distinctive_terms_of_a_model(X):
    model = PLSA(2, **SETTINGS).fit(X)
    expected = evaluate.distinctive_terms(model, X, 3)
    found = model.distinctive_terms(sparse.csr_array(X), 3)
    assert list(found["term"]) == list(expected["term"])


def test_converted_models_can_be_rearranged(X):
    model = convert(NMF(3, **SETTINGS).fit(X), to=PLSA)
    assert_same_but_for_order(model.reorder([2, 1, 0]), model, [2, 1, 0])
    both = TopicModel(3, weights=Lasso(0.1), topics=Simplex(), **SETTINGS).fit(X)
    assert both.merge([[0, 1]], X).components_.shape == (2, 6)

"""Models whose topics are split or dropped, or that lose features."""

import numpy as np
import pandas as pd
import pytest
from hostile import MODELS, model_of, objective_of
from problems import random_counts
from sklearn.base import clone

from isotopic import LDA, NMF, PLSA, GammaPoisson, load
from isotopic.fitted.editing import counts_of_topics

SETTINGS = {"max_iter": 25, "tol": 0, "random_state": 0}


@pytest.fixture(name="X")
def counts_of_six_features(rng):
    return random_counts(rng, 20, 6, 3.0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", ["plain", "weighted", "holed"])
def test_every_model_can_be_edited_and_continued(name, data, X, tmp_path):
    mask = np.zeros(X.shape, bool)
    mask[2, 3] = mask[7, 1] = data == "holed"
    weight = np.where(np.arange(20) % 3, 1.0, 2.0) if data == "weighted" else None
    old = model_of(name, n_components=3).fit(X, sample_weight=weight, missing_mask=mask)
    edited = {
        4: old.split(1, X, missing_mask=mask),
        2: old.drop(1, X, missing_mask=mask),
        3: old.drop_features([2], X, missing_mask=mask),
    }
    for n, new in edited.items():
        counts = np.delete(X, 2, axis=1) if n == 3 else X
        holes = np.delete(mask, 2, axis=1) if n == 3 else mask
        assert new.n_components == n
        assert new.components_.shape == (n, counts.shape[1])
        assert new.n_iter_ == 0
        assert np.isfinite(new.objective_)
        if data == "plain":
            assert objective_of(new, counts) == pytest.approx(new.objective_)
        new.save(tmp_path / f"model-{n}")
        np.testing.assert_array_equal(load(tmp_path / f"model-{n}").components_, new.components_)
        further = clone(new).set_params(init=new.fitted_, max_iter=3, tol=0)
        further.fit(counts, sample_weight=weight, missing_mask=holes)
        if data != "holed":  # where updates are approximate
            assert further.objective_ <= new.objective_ + 1e-6 * abs(new.objective_)


@pytest.mark.parametrize(
    "model",
    [
        NMF(3, **SETTINGS),
        PLSA(3, **SETTINGS),
        LDA(3, alpha=[0.1, 0.2, 0.3], eta=0.1, estimate="variational", **SETTINGS),
        GammaPoisson(3, shape=[0.5, 1.0, 2.0], rate=0.2, **SETTINGS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_merging_undoes_a_split(model, X):
    old = clone(model).fit(X).label({1: "sea"})
    parts = old.split(1, X, n=3)
    assert parts.topic_names_.tolist() == ["", "sea", "", "sea", "sea"]
    np.testing.assert_allclose(parts.components_[[0, 2]], old.components_[[0, 2]], rtol=0.1)
    again = parts.merge([[1, 3, 4]], X)
    # NMF that has not converged explains other totals than the data has.
    np.testing.assert_allclose(again.components_, old.components_, rtol=0.05, atol=1e-6)
    np.testing.assert_allclose(again.weights_, old.weights_, rtol=1e-6, atol=1e-9)
    assert again.topic_names_.tolist() == ["", "sea", ""]
    for name in ("alpha", "shape"):
        if hasattr(old, name):
            np.testing.assert_allclose(getattr(again, name), getattr(old, name))


def test_a_split_separates_what_does_not_occur_together(rng):
    """Two vocabularies in one topic become a topic each, and the third stays."""
    groups = np.repeat([0, 1, 2], 20)
    profile = np.kron(np.eye(3), np.ones(4)) + 0.01
    X = rng.poisson(20 * profile[groups])
    merged = PLSA(3, tol=1e-6, random_state=0).fit(X)
    owner = merged.components_.reshape(3, 3, 4).sum(axis=2).argmax(axis=0)  # of each vocabulary
    two = merged.merge([[owner[0], owner[1]]], X)
    mixed = int(two.components_[:, 0].argmax())
    parts = two.split(mixed, X)
    mass = parts.components_.reshape(3, 3, 4).sum(axis=2)
    assert sorted(mass.argmax(axis=1)) == [0, 1, 2]
    assert mass.max(axis=1).min() > 0.95


def test_dropped_counts_go_to_the_other_topics_of_their_samples(X):
    old = PLSA(3, **SETTINGS).fit(X)
    new = old.drop([0], X)
    rest = old.weights_[:, 1:]
    np.testing.assert_allclose(new.weights_, rest / rest.sum(axis=1, keepdims=True), rtol=1e-6)
    explained = new.weights_ * X.sum(axis=1, keepdims=True)
    assert (new.components_ * explained.sum(axis=0)[:, None]).sum() == pytest.approx(X.sum())
    # A sample of which only the dropped topic explained something is not lost.
    alone = np.vstack([np.eye(6)[0] * 9, np.tile([0, 1, 2, 3, 4, 5], (5, 1))])
    model = PLSA(
        2, init=(np.eye(2)[[0, 1, 1, 1, 1, 1]], np.eye(2, 6) + np.array([[0], [0.1]])), max_iter=0
    )
    left = model.fit(alone).drop(0, alone)
    assert np.isfinite(left.objective_)
    assert left.components_[0, 0] > 0


def test_a_model_without_a_feature_explains_the_others(X):
    table = pd.DataFrame(X, columns=list("abcdef"))
    eta = np.linspace(0.1, 0.6, 6)
    model = LDA(2, alpha=0.3, eta=eta, seeds={0: ["a", "c"]}, forbidden={1: ["b"]}, **SETTINGS)
    new = model.fit(table).label({0: "x"}).drop_features(["a", "e"], table)
    assert new.feature_names_in_.tolist() == list("bcdf")
    np.testing.assert_allclose(new.eta, eta[[1, 2, 3, 5]])
    assert new.seeds.tolist() == [[0, X[:, 2].sum(), 0, 0], [0, 0, 0, 0]]
    assert new.forbidden.tolist() == [[False] * 4, [True, False, False, False]]
    assert new.topic_names_.tolist() == ["x", ""]
    np.testing.assert_allclose(new.sample_totals_, X[:, [1, 2, 3, 5]].sum(axis=1))
    assert new.set_params(warm_start=True).fit(table[list("bcdf")]).components_.shape == (2, 4)
    assert model.components_.shape == (2, 6)
    by_number = PLSA(2, **SETTINGS).fit(X)
    named = by_number.drop_features("e", X, feature_names=list("abcdef"))
    np.testing.assert_array_equal(named.components_, by_number.drop_features(4, X).components_)


def test_all_topics_together_explain_all_counts(X):
    fitted = PLSA(3, **SETTINGS).fit(X)
    counts = fitted.validate_counts(X)
    whole = counts_of_topics(fitted.fitted_, counts, np.arange(3))
    np.testing.assert_allclose(whole.toarray(), X)


def test_constraints_belong_to_the_parts_and_to_the_topics_that_stay(X):
    model = PLSA(3, seeds={0: {1: 2.0}, 2: {3: 4.0}}, forbidden={0: [4]}, **SETTINGS).fit(X)
    parts = model.split(0, X)
    np.testing.assert_allclose(parts.seeds[:, 1], [1, 0, 0, 1])
    assert parts.forbidden[:, 4].tolist() == [True, False, False, True]
    fewer = model.drop(0, X)
    assert fewer.seeds[:, 3].tolist() == [0, 4]
    assert not fewer.forbidden.any()
    assert model.seeds == {0: {1: 2.0}, 2: {3: 4.0}}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: m.split(3, X), "topic must be between 0 and 2, not 3"),
        (lambda m, X: m.split(True, X), "not True"),
        (lambda m, X: m.split(0, X, n=1), "at least 2, not 1"),
        (lambda m, X: m.split(0, X, n=50), "into 50 parts: it explains counts of 20 samples"),
        (lambda m, X: m.split(0, X + 1), "not the data"),
        (lambda m, X: m.drop([], X), "one or some of 0 to 2"),
        (lambda m, X: m.drop([0, 7], X), "one or some of 0 to 2"),
        (lambda m, X: m.drop([0, 1, 2], X), "at least one must stay"),
        (lambda m, X: m.drop_features([], X), "nothing to drop"),
        (lambda m, X: m.drop_features(6, X), "there is no feature 6; X has 6 features"),
        (lambda m, X: m.drop_features([True] + [False] * 5, X), "not a mask"),
        (lambda m, X: m.drop_features("sea", X), "'sea' is given by name"),
        (lambda m, X: m.drop_features(range(6), X), "all features that have counts"),
    ],
)
def test_edits_without_a_meaning_are_refused(call, message, X):
    with pytest.raises(ValueError, match=message):
        call(NMF(3, **SETTINGS).fit(X), X)


def test_fixed_topics_stay(X):
    fixed = NMF(3, fixed_topics=np.eye(2, 6) + 0.1, **SETTINGS).fit(X)
    for edit in (lambda: fixed.split(1, X), lambda: fixed.drop([0, 2], X)):
        with pytest.raises(ValueError, match="the first 2 topics: they are fixed"):
            edit()
    with pytest.raises(ValueError, match="model with fixed topics"):
        fixed.drop_features(0, X)
    assert fixed.split(2, X).components_.shape == (4, 6)
    np.testing.assert_allclose(fixed.split(2, X).components_[:2], fixed.components_[:2])

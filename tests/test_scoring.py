"""Scores for model selection: unseen features do not decide, and held-out counts can."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import isotopic
from isotopic import (
    LDA,
    NMF,
    PLSA,
    BetaNMF,
    GammaPoisson,
    PoissonFactorization,
    SparseNMF,
    UnseenFeaturesWarning,
    evaluate,
)

MODELS = [NMF, PLSA, LDA, GammaPoisson, PoissonFactorization, SparseNMF, BetaNMF]


def counts(n_samples=90, seed=0):
    """Return counts of three topics, with a feature that only one sample has."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(30, 0.1), 3)
    X = rng.poisson(rng.gamma(0.3, 60.0, (n_samples, 3)) @ topics + 0.05).astype(float)
    return np.hstack([X, (np.arange(n_samples) == 5)[:, np.newaxis]])


@pytest.mark.parametrize("kind", [NMF, PLSA, SparseNMF, GammaPoisson])
def test_a_feature_that_no_fitted_sample_has_is_left_out_of_the_score(kind):
    X = counts()
    train, test = X[30:], X[:30]
    model = kind(3, tol=1e-2, random_state=0).fit(train)
    assert model.components_[:, -1].sum() == 0
    with pytest.warns(UnseenFeaturesWarning, match="leaves out .* of the counts") as caught:
        score = model.score(test)
    assert caught[0].filename == __file__
    without = test * (np.arange(31) < 30)
    assert score == pytest.approx(model.score(without), rel=1e-12)
    assert np.isfinite(score)
    with pytest.warns(UnseenFeaturesWarning):
        assert model.perplexity(test) == pytest.approx(np.exp(-score))
    with pytest.warns(UnseenFeaturesWarning):
        blocked = model.score(isotopic.open_blocks([sparse.csr_array(test)] * 2))
    assert blocked == pytest.approx(score)


def test_a_prior_on_the_topics_leaves_nothing_out():
    X = counts()
    assert np.isfinite(LDA(3, tol=1e-2, random_state=0).fit(X[30:]).score(X[:30]))


def test_samples_of_unseen_features_alone_have_no_score():
    X = counts()
    model = NMF(3, tol=1e-2, random_state=0).fit(X[30:])
    with pytest.raises(ValueError, match="no counts of features that a topic has"):
        model.score(np.eye(31)[[30]])


@pytest.mark.filterwarnings("ignore::isotopic.UnseenFeaturesWarning")
def test_a_grid_search_is_not_won_by_the_smallest_because_of_unseen_features():
    search = GridSearchCV(NMF(tol=1e-2, random_state=0), {"n_components": [1, 3]}, cv=3)
    search.fit(counts())
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"n_components": 3}


@pytest.mark.parametrize("kind", MODELS)
def test_document_completion_chooses_in_a_grid_search(kind):
    search = GridSearchCV(
        kind(tol=1e-2, random_state=0),
        {"n_components": [1, 3]},
        scoring=evaluate.completion_scorer,
        cv=3,
        error_score="raise",
    ).fit(counts())
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"n_components": 3}


def test_document_completion_does_not_grow_with_the_number_of_components():
    X = counts(60)
    train, test = X[:40], X[40:]
    few, many = (NMF(k, tol=1e-3, random_state=0).fit(train) for k in (3, 25))
    assert many.score(test[:, :]) > few.score(test)
    assert evaluate.completion_scorer(many, test) < evaluate.completion_scorer(few, test)


def test_document_completion_works_in_a_pipeline_and_in_other_processes():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(30)])
    texts = [" ".join(rng.choice(words[10 * (i % 3) :][:10], 25)) for i in range(45)]
    pipeline = make_pipeline(CountVectorizer(), LDA(3, tol=1e-2, random_state=0))
    scores = cross_val_score(pipeline, texts, scoring=evaluate.completion_scorer, cv=3, n_jobs=2)
    assert np.isfinite(scores).all()
    assert (scores > -np.log(30)).all()


def test_document_completion_needs_whole_counts():
    model = NMF(2, tol=1e-2, random_state=0).fit(counts())
    with pytest.raises(ValueError, match="Only integer counts can be split"):
        evaluate.completion_scorer(model, counts() / 2.5)

"""Mini-batches and samples that come one after the other."""

import pickle

import numpy as np
import pytest
from problems import paper_lda, random_counts, sparse_counts
from scipy import sparse
from sklearn.base import clone

from isotopic import (
    LDA,
    NMF,
    PLSA,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    IncrementalEM,
    JointEM,
    Lasso,
    OnlineEM,
    Simplex,
    TopicModel,
    datasets,
    load,
    open_blocks,
)
from isotopic.evaluate import completion_perplexity
from isotopic.solvers.online import _extrapolate_far

PAIRS = [
    (weights, topics)
    for weights in (Free(), Lasso(0.7), Simplex(), Dirichlet(0.3), Gamma(0.4, 2.0))
    for topics in (Simplex(), Dirichlet(0.4))
]


def model_of(pair, solver, **settings):
    model = TopicModel(3, weights=pair[0], topics=pair[1], solver=solver, tol=0, random_state=0)
    return model.set_params(**{"max_iter": 15, "init": "random"} | settings)


def copied(model):
    return pickle.loads(pickle.dumps(model))


def same_bits(one, other):
    return np.array_equal(one.components_, other.components_) and np.array_equal(
        one.weights_, other.weights_
    )


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("solver", [OnlineEM, IncrementalEM])
@pytest.mark.parametrize("missing", [False, True])
def test_a_full_batch_is_the_joint_update(rng, pair, solver, missing):
    X = random_counts(rng, 40, 12)
    mask = rng.random(X.shape) < 0.1 if missing else None
    joint = model_of(pair, JointEM()).fit(X, missing_mask=mask)
    online = model_of(pair, solver(batch_size=40)).fit(X, missing_mask=mask)
    assert same_bits(joint, online)
    for name in ("objective", "residual", "passes"):
        assert np.array_equal(joint.history_[name], online.history_[name])


@pytest.mark.parametrize("estimate", ["cvb0", "smoothed", "variational"])
def test_a_full_batch_is_the_joint_update_where_priors_learn(rng, estimate):
    X = sparse_counts(rng, 40, 20, 0.5)
    model = LDA(3, estimate=estimate, max_iter=35, tol=0, random_state=0)
    joint = clone(model).set_params(solver="joint").fit(X)
    online = clone(model).set_params(solver=OnlineEM(batch_size=40)).fit(X)
    assert same_bits(joint, online)
    assert np.array_equal(joint.alpha_, online.alpha_)
    assert not np.allclose(online.alpha_, 2 / 3)  # there were lessons


def test_priors_learn_from_mini_batches(rng):
    X = sparse_counts(rng, 200, 20, 0.5)
    online = OnlineEM(batch_size=50)
    model = LDA(3, solver=online, max_iter=15, tol=0, random_state=0).fit(X)
    assert not np.allclose(model.alpha_, 2 / 3)
    assert np.isfinite(model.objective_)
    random = clone(model).set_params(init="random").fit(X)  # the default start of several batches
    assert same_bits(model, random)


def test_the_first_look_goes_far_but_keeps_totals(rng):
    counts = rng.gamma(0.3, size=(50, 6))
    counts[rng.random(counts.shape) < 0.2] = 0
    counts[7] = 0
    far = _extrapolate_far(counts.copy())
    np.testing.assert_allclose(far.sum(axis=1), counts.sum(axis=1))
    assert np.array_equal(far > 0, counts > 0)
    some = counts.sum(axis=1) > 0
    shares, further = (side[some] / side[some].sum(axis=1, keepdims=True) for side in (counts, far))
    assert np.all(further.max(axis=1) >= shares.max(axis=1) - 1e-12)
    assert np.array_equal(further.argmax(axis=1), shares.argmax(axis=1))


@pytest.mark.parametrize("estimate", ["cvb0", "smoothed", "variational"])
def test_a_few_looks_predict_better_than_ten_joint_iterations(estimate):
    X = datasets.load_kjv().data
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = X[order[100:]], X[order[:100]]
    priors = {"alpha": 0.1, "eta": 0.05, "estimate": estimate, "init": "random"}
    model = LDA(10, max_iter=10, tol=0, random_state=0, **priors)
    joint = completion_perplexity(clone(model).set_params(solver="joint").fit(train), test)
    assert completion_perplexity(clone(model).partial_fit(train), test) < joint
    online = clone(model).set_params(solver="online", max_iter=2).fit(train)
    assert completion_perplexity(online, test) < joint


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_incremental_updates_never_raise_the_objective(rng, pair, missing, weighted):
    X = random_counts(rng, 40, 12, mean=2.0)
    mask = rng.random(X.shape) < 0.1 if missing else None
    copies = rng.uniform(0.5, 2, 40) if weighted else None
    model = model_of(pair, IncrementalEM(batch_size=9), max_iter=40)
    model.fit(X, sample_weight=copies, missing_mask=mask)
    objective = model.history_["objective"]
    if not (missing and pair[1].is_bayesian):  # whose bound is another one then
        assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
    residual = model.history_["residual"]
    assert residual[-1] < 0.2 * residual[0]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_online_updates_come_near_the_optimum(rng, pair):
    X = random_counts(rng, 300, 12, mean=3.0)
    best = model_of(pair, "accelerated", max_iter=300).fit(X).objective_
    first = model_of(pair, "joint", max_iter=1).fit(X).objective_
    online = model_of(pair, OnlineEM(batch_size=60), max_iter=40).fit(X).objective_
    assert online - best < 0.5 * (first - best)


@pytest.mark.parametrize("solver", [OnlineEM(batch_size=11), IncrementalEM(batch_size=11)])
def test_mini_batches_are_deterministic_and_survive_a_checkpoint(rng, tmp_path, solver):
    X = sparse_counts(rng, 60, 30, 0.3)
    model = paper_lda(
        3, alpha=0.3, eta=0.1, solver=solver, max_iter=8, tol=0, random_state=0, n_jobs=1
    )
    straight = copied(model.fit(X))
    assert same_bits(clone(model).set_params(n_jobs=2).fit(X), straight)
    model.set_params(callbacks=lambda at: at.iteration == 4)
    model.fit(X, checkpoint=tmp_path / "fit")
    model.set_params(callbacks=None).fit(X, checkpoint=tmp_path / "fit")
    assert same_bits(model, straight)
    other = type(solver)(batch_size=11, seed=1)
    assert not same_bits(clone(model).set_params(solver=other).fit(X), straight)


def test_names_and_wrong_settings(rng):
    X = random_counts(rng, 30, 10)
    for name in ("online", "incremental"):
        assert np.isfinite(NMF(2, solver=name, max_iter=3, tol=0).fit(X).objective_)
        with pytest.raises(ValueError, match="needs normalised topics"):
            NMF(2, normalize=False, solver=name).fit(X)
        with pytest.raises(ValueError, match="partial_fit, which takes one block"):
            NMF(2, solver=name).fit(open_blocks([X[:10], X[10:]]))
    for settings in ({"batch_size": 0}, {"delay": 0.5}, {"forgetting": 0.5}, {"batch_size": 2.0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            OnlineEM(**settings)


# partial_fit

MODELS = [
    NMF(3),
    PLSA(3),
    paper_lda(3, alpha=0.3),
    paper_lda(3, alpha=0.3, eta=0.1),
    GammaPoisson(3),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_partial_fit_learns(rng, model):
    topics = rng.dirichlet(np.full(20, 0.1), 3)
    weights = rng.dirichlet(np.full(3, 0.2), 600)
    X = rng.poisson(60 * weights @ topics).astype(float)
    model = clone(model).set_params(random_state=0)
    for begin in range(0, 500, 50):
        model.partial_fit(sparse.csr_array(X[begin : begin + 50]))
    assert model.n_iter_ == 10
    assert model.n_samples_seen_ == 500
    assert len(model.history_) == 10
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    closest = np.abs(found[:, np.newaxis] - topics).sum(axis=2).min(axis=0)
    assert np.all(closest < 0.35)  # each true topic has one that is near; at most 2 apart
    assert model.transform(X[500:]).shape == (100, 3)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_partial_fit_is_deterministic_kept_in_files_and_goes_on(rng, tmp_path, model):
    X = sparse_counts(rng, 60, 30, 0.3)
    model = clone(model).set_params(random_state=0)
    straight = clone(model).partial_fit(X[:20]).partial_fit(X[20:40]).partial_fit(X[40:])
    model.partial_fit(X[:20]).partial_fit(X[20:40])
    model.save(tmp_path / "model")
    assert same_bits(load(tmp_path / "model").partial_fit(X[40:]), straight)
    assert straight.weights_.shape == (20, 3)
    blocks = open_blocks([X[:20], X[20:40], X[40:]], block_entries=1)
    assert same_bits(clone(model).partial_fit(blocks), straight)


def test_a_batch_of_every_size_and_its_weights(rng):
    X = sparse_counts(rng, 500, 10, 0.5)
    model = PLSA(2, random_state=0, solver=OnlineEM(batch_size=100))
    assert model.partial_fit(X).n_iter_ == 5
    assert model.weights_.shape == (100, 2)
    model = paper_lda(2, alpha=0.3, eta=0.1, random_state=0, solver=OnlineEM(batch_size=100))
    one = clone(model).partial_fit(X[:50], sample_weight=np.full(50, 2.0))
    assert one.n_samples_seen_ == 100
    twice = model.partial_fit(sparse.vstack([X[:50], X[:50]]))
    np.testing.assert_allclose(one.components_, twice.components_, rtol=1e-6)


def test_features_that_come_later_are_learned(rng):
    X = random_counts(rng, 40, 10)
    early = X[:20].copy()
    early[:, 5:] = 0
    model = PLSA(2, random_state=0).partial_fit(early).partial_fit(X[20:])
    assert np.all(model.components_.sum(axis=0) > 0)
    assert np.isfinite(model.score(X))


def test_partial_fit_after_fit_goes_on_from_there(rng):
    X = random_counts(rng, 80, 10)
    fitted = paper_lda(2, alpha=0.3, eta=0.1, random_state=0).fit(X[:60])
    before = fitted.components_.copy()
    fitted.partial_fit(X[60:])
    assert fitted.n_samples_seen_ == 80
    assert np.abs(fitted.components_ - before).max() < 0.05
    fitted.fit(X)
    assert not hasattr(fitted, "n_samples_seen_")


def test_a_model_that_went_on_after_a_fit_can_be_saved(rng, tmp_path):
    X = random_counts(rng, 60, 12)
    model = LDA(3, tol=0.1, random_state=0).fit(X).partial_fit(X[:20]).partial_fit(X[20:])
    model.save(tmp_path / "model.isotopic")
    assert same_bits(load(tmp_path / "model.isotopic"), model)
    assert model.history_["iteration"].tolist() == [1, 2]


def test_partial_fit_refuses_a_fit_without_weights(rng):
    X = random_counts(rng, 60, 12)
    model = LDA(3, tol=0.1, random_state=0).fit(open_blocks([X], keep_weights=False))
    with pytest.raises(ValueError, match="keep_weights=True"):
        model.partial_fit(X)


def test_bad_batches_change_nothing(rng):
    X = random_counts(rng, 30, 10)
    model = paper_lda(2, alpha=0.3, random_state=0).partial_fit(X)
    before = model.components_.copy()
    for bad in (-X, X[:, :5], X * np.nan, "counts", np.ones(3)):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(bad)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X, sample_weight=[1.0])
    assert np.array_equal(model.components_, before)
    assert model.n_iter_ == 1
    fresh = paper_lda(2, alpha=0.3)
    with pytest.raises(ValueError, match="-1"):
        fresh.partial_fit(-np.ones((3, 4)))
    assert vars(fresh) == vars(paper_lda(2, alpha=0.3))
    assert not hasattr(NMF(2, normalize=False), "partial_fit")


def test_a_reordered_model_goes_on_in_its_order(rng):
    X = sparse_counts(rng, 60, 20, 0.4)
    model = NMF(3, random_state=0).partial_fit(X[:30])
    turned = model.reorder([2, 0, 1]).partial_fit(X[30:])
    model.partial_fit(X[30:])
    np.testing.assert_allclose(turned.components_, model.components_[[2, 0, 1]], rtol=1e-9)


def test_online_em_infers_the_weights_of_batches_next_to_topics_that_are_all_fixed(rng):
    X, topics = rng.poisson(2.0, (60, 9)), rng.dirichlet(np.ones(9), 3)
    model = NMF(3, fixed_topics=topics, solver=OnlineEM(batch_size=20), random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, topics, rtol=1e-12)
    known = NMF(3, fixed_topics=topics, random_state=0, tol=1e-8, max_iter=5000).fit(X)
    np.testing.assert_allclose(model.objective_, known.objective_, rtol=1e-3)

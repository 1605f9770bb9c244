"""Every algorithm of the paper against its literal transcription, and its objective."""

import numpy as np
import paper
import pytest
from problems import paper_lda, random_counts, random_factors
from scipy import sparse

from isotopic import (
    NMF,
    PLSA,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    Lasso,
    LogPenalty,
    PowerPenalty,
    Simplex,
    SparseNMF,
    TopicModel,
    UnitNorm,
    gamma_poisson_bound,
    generalized_kl,
    lasso_kl,
    lda_bound,
    plsa_log_likelihood,
)

N_ITER = 12
ALPHA, RATE = np.array([0.3, 0.7, 1.2, 0.05]), np.array([0.1, 1.0, 3.0, 0.5])
SHAPE = (12, 4, 9)  # samples, components, features
FORMS = [np.asarray, sparse.csr_array, sparse.csc_array]


@pytest.fixture(params=FORMS, ids=["dense", "csr", "csc"])
def form(request):
    return request.param


def start(rng, *, proportions=False, scale=1.0):
    weights, topics = random_factors(rng, *SHAPE)
    if proportions:
        weights /= weights.sum(axis=1, keepdims=True)
    return weights, topics * scale


def iterates(model, X, solver="joint"):
    """Collect every iterate through a callback: (weights, topics) and the objective."""
    seen = []

    def look(at):
        sides = at.state.weights, at.state.topics
        kept = [s.mean.copy() if s.parameters is None else s.parameters.copy() for s in sides]
        seen.append((*kept, at.objective))

    model.set_params(solver=solver, max_iter=N_ITER, tol=0, callbacks=look).fit(X)
    return seen


def assert_same_iterates(seen, expected):
    assert len(seen) == len(expected) == N_ITER
    for (weights, topics, _), (their_weights, their_topics, *_) in zip(seen, expected, strict=True):
        np.testing.assert_allclose(weights, their_weights, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(topics, their_topics, rtol=1e-10, atol=1e-12)


def assert_objective(seen, expected):
    np.testing.assert_allclose([s[2] for s in seen], expected, rtol=1e-11)
    assert np.all(np.diff([s[2] for s in seen]) <= 1e-9 * abs(seen[0][2]))


@pytest.mark.parametrize("components", [1, 8, 11, 20])
def test_any_number_of_components(rng, components):
    """Whole vectors, parts of them, and both: every layout of the core."""
    X, (weights, topics) = random_counts(rng, 30, 25), random_factors(rng, 30, components, 25)
    shares = weights / weights.sum(axis=1, keepdims=True)
    smooth = 20 * topics + 0.1
    settings = {"n_components": components, "n_jobs": 2}
    joint = paper.joint_nmf(X, weights, topics, n_iter=N_ITER)
    both = paper.plsa_em(X, shares, topics, n_iter=N_ITER)
    smoothed = paper.smoothed_lda_vi(X, weights, smooth, 0.3, 0.2, n_iter=N_ITER)
    for model, expected in [
        (NMF(init=(weights, topics), **settings), joint),
        (PLSA(init=(shares, topics), **settings), both),
        (paper_lda(alpha=0.3, eta=0.2, init=(weights, smooth), **settings), smoothed),
    ]:
        assert_same_iterates(iterates(model, X), expected)
        assert_same_iterates(iterates(model, sparse.csr_array(X)), expected)


@pytest.mark.parametrize("n_iter", [1, 2, 5])
def test_n_iterations_hold_the_nth_iterate(rng, n_iter):
    X, init = random_counts(rng), start(rng)
    model = NMF(4, solver="joint", init=init, max_iter=n_iter, tol=0).fit(X)
    weights, topics = paper.joint_nmf(X, *init, n_iter=n_iter)[-1]
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-10)
    np.testing.assert_allclose(model.components_, topics, rtol=1e-10)
    assert model.n_iter_ == len(model.history_) == n_iter
    assert model.history_["iteration"].tolist() == list(range(1, n_iter + 1))


def test_algorithm_1_multiplicative_updates(rng, form):
    X, init = random_counts(rng), start(rng, scale=3.0)
    seen = iterates(NMF(4, normalize=False, init=init), form(X), "alternating")
    assert_same_iterates(seen, paper.multiplicative_updates(X, *init, n_iter=N_ITER))
    assert_objective(seen, [paper.generalized_kl(X, w, t) for w, t, _ in seen])


def test_algorithm_2_plsa(rng, form):
    X, init = random_counts(rng), start(rng, proportions=True)
    seen = iterates(PLSA(4, init=init), form(X))
    assert_same_iterates(seen, paper.plsa_em(X, *init, n_iter=N_ITER))
    assert_same_iterates(seen, paper.joint_nmf_both(X, *init, n_iter=N_ITER))  # algorithm 6
    assert_objective(seen, [-paper.plsa_log_likelihood(X, w, t) for w, t, _ in seen])


@pytest.mark.parametrize("alpha", [0.3, ALPHA])
def test_algorithms_3_and_5_lda(rng, form, alpha):
    X, init = random_counts(rng), start(rng)
    seen = iterates(paper_lda(4, alpha=alpha, init=init), form(X))
    assert_same_iterates(seen, paper.lda_vi(X, *init, alpha, n_iter=N_ITER))
    assert_same_iterates(seen, paper.dirichlet_poisson_vi(X, *init, alpha, n_iter=N_ITER))
    assert_objective(seen, [-paper.lda_bound(X, t, alpha, w) for w, t, _ in seen])


def test_algorithm_4_joint_nmf(rng, form):
    X, init = random_counts(rng), start(rng)
    seen = iterates(NMF(4, init=init), form(X))
    assert_same_iterates(seen, paper.joint_nmf(X, *init, n_iter=N_ITER))
    assert_objective(seen, [paper.generalized_kl(X, w, t) for w, t, _ in seen])


@pytest.mark.parametrize("rate", [0.5, RATE])
def test_algorithm_7_gamma_poisson(rng, form, rate):
    X, init = random_counts(rng), start(rng)
    seen = iterates(GammaPoisson(4, shape=ALPHA, rate=rate, init=init), form(X))
    assert_same_iterates(seen, paper.gamma_poisson_vi(X, *init, ALPHA, rate, n_iter=N_ITER))
    bounds = [paper.gamma_poisson_bound(X, t, ALPHA, rate, w, 1 + rate) for w, t, _ in seen]
    assert_objective(seen, np.negative(bounds))


@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
def test_lasso_joint_update(rng, form, strength):
    X, init = random_counts(rng), start(rng)
    seen = iterates(TopicModel(4, weights=Lasso(strength), init=init), form(X))
    assert_same_iterates(seen, paper.lasso_joint(X, *init, strength, n_iter=N_ITER))
    assert_objective(seen, [paper.lasso_kl(X, w, t, strength) for w, t, _ in seen])


def test_smoothed_lda(rng, form):
    X, (weights, topics) = random_counts(rng), start(rng)
    init = weights, topics * 20 + 0.1
    eta = rng.gamma(1.0, size=9) + 0.05
    seen = iterates(paper_lda(4, alpha=ALPHA, eta=eta, init=init), form(X))
    assert_same_iterates(seen, paper.smoothed_lda_vi(X, *init, ALPHA, eta, n_iter=N_ITER))
    bounds = [paper.smoothed_lda_bound(X, t, ALPHA, eta, w) for w, t, _ in seen]
    assert_objective(seen, np.negative(bounds))


def test_gamma_on_both_sides(rng, form):
    X, (weights, topics) = random_counts(rng), start(rng)
    topics = topics * 20 + 0.1
    prior, topics_prior = {"shape": 0.4, "rate": 0.7}, {"shape_t": 0.3, "rate_t": 1.5}
    # The start: weights see topics that sum to one, topics see those weights.
    weights_rate = np.full_like(weights, 0.7 + 1)
    sums = (weights / weights_rate).sum(axis=0)
    topics_rate = np.broadcast_to(1.5 + sums[:, np.newaxis], topics.shape)
    model = TopicModel(4, weights=Gamma(0.4, 0.7), topics=Gamma(0.3, 1.5), init=(weights, topics))
    seen = iterates(model, form(X), "alternating")
    expected = paper.bayesian_poisson_vi(
        X, weights, topics, weights_rate, topics_rate, **prior, **topics_prior, n_iter=N_ITER
    )
    assert_same_iterates(seen, expected)
    bounds = [paper.bayesian_poisson_bound(X, *e, **prior, **topics_prior) for e in expected]
    assert_objective(seen, np.negative(bounds))


PAIRS = [
    (Free(), Free()),
    (Free(), Simplex()),
    (Free(), Dirichlet(0.4)),
    (Free(), Gamma(0.4, 2.0)),
    (Lasso(0.7), Simplex()),
    (Lasso(0.7), Dirichlet(0.4)),
    (Lasso(0.7), Gamma(0.4, 2.0)),
    (Lasso(0.7), Lasso(0.7)),
    (Lasso(0.7), UnitNorm(2.0)),
    (Free(), UnitNorm(3.5)),
    (LogPenalty(0.7, 0.5), Simplex()),
    (LogPenalty(0.7, 0.5), UnitNorm(1.5)),
    (LogPenalty(0.7, 0.5), Lasso(0.7)),
    (PowerPenalty(0.7, 0.5), Simplex()),
    (PowerPenalty(0.7, 0.8), UnitNorm(2.0)),
    (Simplex(), Simplex()),
    (Simplex(), Dirichlet(0.4)),
    (Dirichlet(ALPHA), Simplex()),
    (Dirichlet(ALPHA), Dirichlet(0.4)),
    (Gamma(ALPHA, RATE), Simplex()),
    (Gamma(ALPHA, RATE), Dirichlet(0.4)),
    (Gamma(ALPHA, RATE), Free()),
    (Gamma(ALPHA, RATE), Gamma(0.4, 2.0)),
]


@pytest.mark.parametrize(("weights", "topics"), PAIRS, ids=str)
@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_objective_never_rises_and_residual_vanishes(rng, weights, topics, solver):
    X = random_counts(rng, mean=3.0)
    model = TopicModel(4, weights=weights, topics=topics, solver=solver, random_state=0)
    model.set_params(max_iter=20000, tol=1e-5)
    if solver == "joint" and topics.norm is None:
        with pytest.raises(ValueError, match=r"needs normalised topics.*solver='alternating'"):
            model.fit(X)
        return
    model.fit(X)
    objective = model.history_["objective"]
    assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
    assert model.converged_
    assert model.history_["residual"][-1] <= 1e-5
    assert np.all(np.diff(model.history_["passes"]) == (1 if solver == "joint" else 2))


@pytest.mark.parametrize("pair", [(Simplex(), Free()), (Dirichlet(0.1), Gamma(1.0, 1.0))])
def test_pairs_without_a_scale_are_refused(rng, pair):
    model = TopicModel(3, weights=pair[0], topics=pair[1])
    with pytest.raises(ValueError, match="topics must be normalised too"):
        model.fit(random_counts(rng))


@pytest.mark.parametrize("pair", [(Lasso(0.5), Free()), (Free(), Lasso(0.5))])
def test_a_penalty_against_a_free_side_has_no_minimum(rng, pair):
    model = TopicModel(3, weights=pair[0], topics=pair[1])
    with pytest.raises(
        ValueError, match="has no minimum: one factor has a penalty and the other is Free"
    ):
        model.fit(random_counts(rng))


def test_float32_follows_float64(rng):
    X = random_counts(rng, 60, 40)
    models = NMF(4), NMF(4, normalize=False), PLSA(4), paper_lda(4, eta=0.1), GammaPoisson(4)
    for model in (*models, SparseNMF(4), SparseNMF(4, norm="l1", penalty="log")):
        model.set_params(max_iter=20, tol=0, random_state=0)
        double = model.fit(X)
        expected = double.weights_, double.components_, double.objective_
        single = model.fit(X.astype(np.float32))
        assert single.weights_.dtype == single.components_.dtype == np.float32
        np.testing.assert_allclose(single.weights_, expected[0], rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(single.components_, expected[1], rtol=2e-3, atol=1e-4)
        assert single.objective_ == pytest.approx(expected[2], rel=1e-5)


def test_public_objectives_equal_the_transcriptions(rng, form):
    X, (weights, topics) = random_counts(rng), start(rng)
    shares = weights / weights.sum(axis=1, keepdims=True)
    data = form(X)
    for ours, theirs in [
        (generalized_kl(data, weights, 3 * topics), paper.generalized_kl(X, weights, 3 * topics)),
        (lasso_kl(data, weights, topics, 0.7), paper.lasso_kl(X, weights, topics, 0.7)),
        (plsa_log_likelihood(data, shares, topics), paper.plsa_log_likelihood(X, shares, topics)),
        (lda_bound(data, topics, ALPHA, weights), paper.lda_bound(X, topics, ALPHA, weights)),
        (
            lda_bound(data, 5 * topics, ALPHA, weights, eta=0.3),
            paper.smoothed_lda_bound(X, 5 * topics, ALPHA, 0.3, weights),
        ),
        (
            gamma_poisson_bound(data, topics, ALPHA, RATE, weights),
            paper.gamma_poisson_bound(X, topics, ALPHA, RATE, weights, 1 + RATE),
        ),
    ]:
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_public_objectives_refuse_what_is_not_normalised(rng):
    X, (weights, topics) = random_counts(rng), start(rng)
    with pytest.raises(ValueError, match="weights must sum to one"):
        plsa_log_likelihood(X, weights, topics)
    with pytest.raises(ValueError, match="topics must sum to one"):
        lda_bound(X, topics * 2, 0.1, weights)
    with pytest.raises(ValueError, match="do not match"):
        generalized_kl(X, weights[:-1], topics)
    with pytest.raises(ValueError, match="weights must be finite and non-negative"):
        generalized_kl(X, -weights, topics)
    with pytest.raises(ValueError, match="weights must be finite and positive"):
        lda_bound(X, topics, 0.1, 0 * weights)


def test_lda_bound_is_below_the_exact_likelihood_and_meets_it_with_one_topic(rng):
    x = np.array([3.0, 0, 2, 1])
    for components, alpha in ((2, [0.4, 1.3]), (3, [0.4, 1.3, 0.9]), (2, [5.0, 5.0])):
        topics = rng.dirichlet(np.ones(4), components)
        exact = paper.lda_log_likelihood_exact(x, topics, np.array(alpha))
        bounds = []
        posterior = np.ones((1, components))
        for _ in range(200):
            bounds.append(lda_bound(x[np.newaxis], topics, alpha, posterior))
            posterior = paper.lda_vi(x[np.newaxis], posterior, topics, np.array(alpha), n_iter=1)[
                0
            ][0]
        assert np.all(np.diff(bounds) >= -1e-12)
        assert bounds[-1] < exact
        assert exact - bounds[-1] < 1.5
    one = rng.dirichlet(np.ones(4), 1)
    exact = paper.lda_log_likelihood_exact(x, one, np.array([0.7]))
    assert lda_bound(x[np.newaxis], one, 0.7, [[0.7 + x.sum()]]) == pytest.approx(exact, rel=1e-12)


def test_lda_bound_gap_closes_when_topics_do_not_overlap():
    x, topics = np.array([[4.0, 1, 2, 0]]), np.array([[0.5, 0.5, 0, 0], [0, 0, 0.7, 0.3]])
    alpha = np.array([0.4, 1.3])
    exact = paper.lda_log_likelihood_exact(x[0], topics, alpha)
    posterior = alpha + np.array([[5.0, 2.0]])  # which topic a word came from is certain
    assert lda_bound(x, topics, alpha, posterior) == pytest.approx(exact, rel=1e-12)
    exact = paper.gamma_poisson_log_likelihood_exact(x[0], topics, alpha, np.array([0.5, 2.0]))
    bound = gamma_poisson_bound(x, topics, alpha, [0.5, 2.0], posterior)
    assert bound == pytest.approx(exact, rel=1e-10)


def test_gamma_poisson_bound_is_below_the_exact_likelihood(rng):
    x, topics = np.array([[3.0, 0, 2, 1]]), rng.dirichlet(np.ones(4), 2)
    shape, rate = np.array([0.6, 1.4]), np.array([0.3, 2.0])
    exact = paper.gamma_poisson_log_likelihood_exact(x[0], topics, shape, rate)
    model = GammaPoisson(2, shape=shape, rate=rate, random_state=0, max_iter=5, tol=0).fit(x)
    assert -model.objective_ < paper.gamma_poisson_log_likelihood_exact(
        x[0], model.components_, shape, rate
    )
    for _ in range(20):
        posterior = rng.gamma(1.0, size=(1, 2)) + 0.1
        assert gamma_poisson_bound(x, topics, shape, rate, posterior) < exact

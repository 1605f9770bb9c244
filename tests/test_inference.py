"""What a fitted model can tell."""

import numpy as np
import pytest
from problems import paper_lda, random_counts, sparse_counts
from scipy import sparse, special, stats
from sklearn.base import clone

from isotopic import (
    LDA,
    NMF,
    PLSA,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    Lasso,
    Simplex,
    SparseNMF,
    TopicModel,
    convert,
)
from isotopic.fitted.inference import infer
from isotopic.kernels import expected_counts

MODELS = [
    NMF(3),
    NMF(3, normalize=False),
    PLSA(3),
    paper_lda(3, alpha=0.3),
    paper_lda(3, alpha=0.3, eta=0.2),
    LDA(3),
    LDA(3, estimate="smoothed"),
    GammaPoisson(3, shape=0.4, rate=0.1),
    TopicModel(3, weights=Lasso(0.5)),
    SparseNMF(3, 0.5),
    SparseNMF(3, 0.5, norm="l1", penalty="log"),
    SparseNMF(3, 0.5, norm=1.5, penalty="power"),
]


@pytest.fixture(params=MODELS, ids=lambda m: str(m)[:50])
def model(request, rng):
    X = sparse_counts(rng, 40, 20, 0.5)
    return clone(request.param).set_params(max_iter=200, tol=1e-3, random_state=0).fit(X)


def test_inverse_transform_is_the_product(rng, model):
    weights = rng.random((5, 3))
    np.testing.assert_allclose(model.inverse_transform(weights), weights @ model.components_)


def test_score_is_the_mean_log_probability_of_a_count(rng, model):
    X = random_counts(rng, 7, 20)
    p = model.transform(X) @ model.components_
    p /= p.sum(axis=1, keepdims=True)
    expected = special.xlogy(X, p).sum() / X.sum()
    assert model.score(X) == pytest.approx(expected, rel=1e-10)
    assert model.score(sparse.csr_array(X)) == model.score(X)
    assert model.perplexity(X) == pytest.approx(np.exp(-expected))


def test_score_does_not_count_missing_entries(rng, model):
    X = random_counts(rng, 7, 20)
    mask = rng.random(X.shape) < 0.2
    p = model.transform(X, missing_mask=mask) @ model.components_ * ~mask
    p /= p.sum(axis=1, keepdims=True)
    seen = X * ~mask
    expected = np.where(seen > 0, seen * np.log(np.where(seen > 0, p, 1)), 0).sum() / seen.sum()
    assert model.score(X, missing_mask=mask) == pytest.approx(expected, rel=1e-9)


def test_a_better_model_has_a_better_score(rng):
    topics = rng.dirichlet(np.full(30, 0.05), 4)
    X = rng.poisson(rng.dirichlet(np.full(4, 0.2), 300) @ topics * 100)
    one, four = (
        paper_lda(k, alpha=0.2, max_iter=500, random_state=0).fit(X[:200]).score(X[200:])
        for k in (1, 4)
    )
    assert four > one + 0.1


def test_equivalent_models_have_the_same_score(rng):
    X = sparse_counts(rng, 40, 20, 0.5)
    nmf = NMF(3, max_iter=20000, tol=1e-6, random_state=0)
    nmf.fit(X)
    assert convert(nmf, to=PLSA).score(X) == pytest.approx(nmf.score(X), rel=1e-6)


def test_the_posterior_shares_out_every_count(rng, model):
    X = sparse_counts(rng, 15, 20, 0.5)
    posterior = model.posterior(X)
    assert len(posterior) == len(list(posterior)) == 15
    weights = infer(model.fitted_, model.validate_counts(X)).effective
    counts = expected_counts(X, weights, model.fitted_.topics.effective)
    for row, (features, values, probabilities) in enumerate(posterior):
        np.testing.assert_array_equal(features, X[[row]].indices)
        np.testing.assert_array_equal(values, X[[row]].data)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_allclose(values @ probabilities, counts.weights[row], rtol=1e-9)
    np.testing.assert_array_equal(posterior[-1].probabilities, posterior[14].probabilities)
    assert len(posterior[2:5]) == 3
    assert "15 samples x 20 features" in repr(posterior)
    with pytest.raises(IndexError, match="no sample 15"):
        posterior[15]


def test_samples_are_like_the_data(rng):
    topics = rng.dirichlet(np.full(20, 0.3), 3)
    X = rng.poisson(rng.dirichlet(np.ones(3), 400) @ topics * 80)
    for model in (
        NMF(3),
        PLSA(3),
        paper_lda(3, alpha=1.0),
        GammaPoisson(3, shape=1.0, rate=3 / 80),
    ):
        drawn = model.set_params(random_state=0, max_iter=500).fit(X).sample(3000, random_state=1)
        assert drawn.shape == (3000, 20)
        assert np.issubdtype(drawn.dtype, np.integer)
        mean, expected = drawn.sum(axis=0) / 3000, X.mean(axis=0)
        np.testing.assert_allclose(mean, expected, rtol=0.15, atol=0.3)
        again = model.sample(3000, random_state=1)
        assert (again != drawn).nnz == 0


def test_samples_that_do_not_count_are_not_drawn(rng):
    X = random_counts(rng, 6, 5)
    X[3:] *= 1000
    model = NMF(2, max_iter=20, tol=0, random_state=0).fit(X, sample_weight=[1, 1, 1, 0, 0, 0])
    assert model.sample(200, random_state=0).sum(axis=1).max() < 100


def test_top_terms_are_the_largest(model):
    table = model.top_terms(4)
    assert list(table) == ["topic", "rank", "term", "weight"]
    assert len(table) == 12
    shares = model.components_ / model.components_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table["weight"][:4], np.sort(shares[0])[::-1][:4])
    assert table["term"][0] == f"x{np.argmax(shares[0])}"
    named = model.top_terms(100, feature_names=[f"<b>{i}" for i in range(20)])
    assert len(named) == 60
    assert "&lt;b&gt;" in named._repr_html_()
    assert "<b>" not in named._repr_html_()
    assert repr(table).splitlines()[0].split() == ["topic", "rank", "term", "weight"]


def test_tables_become_data_frames(model):
    for library in ("pandas", "polars"):
        frame = pytest.importorskip(library).DataFrame(model.top_terms(4))
        assert frame.shape == (12, 4)
        assert list(frame.columns) == ["topic", "rank", "term", "weight"]


def test_intervals_are_the_posteriors_quantiles(rng):
    X = sparse_counts(rng, 40, 20, 0.5)
    lda = paper_lda(3, alpha=0.3, eta=0.2, max_iter=50, tol=0, random_state=0).fit(X)
    lower, upper = lda.credible_interval(level=0.8)
    a = lda.weights_posterior_
    np.testing.assert_allclose(lower, stats.beta.ppf(0.1, a, a.sum(1, keepdims=True) - a))
    assert np.all((lower < lda.weights_) & (lda.weights_ < 1))
    assert np.all(lower < upper)
    lower, upper = lda.credible_interval("components")
    assert lower.shape == (3, 20)
    assert np.all((lower <= upper) & (upper <= 1))
    new = lda.credible_interval(X=X[:5], level=0.5)
    assert new[0].shape == (5, 3)
    gap = GammaPoisson(3, max_iter=50, tol=0, random_state=0).fit(X)
    lower, _ = gap.credible_interval(level=0.9)
    expected = stats.gamma.ppf(0.05, gap.weights_posterior_, scale=1 / gap.weights_posterior_rate_)
    np.testing.assert_allclose(lower, expected, rtol=1e-6)


def test_intervals_of_held_and_forbidden_topics(rng):
    X = sparse_counts(rng, 40, 20, 0.5)
    held = rng.dirichlet(np.ones(20), 1)
    lda = paper_lda(
        3, eta=0.2, fixed_topics=held, forbidden={2: [0]}, max_iter=20, tol=0, random_state=0
    )
    lower, upper = lda.fit(X).credible_interval("components")
    np.testing.assert_allclose(lower[0], held[0])
    np.testing.assert_allclose(upper[0], held[0])
    assert lower[2, 0] == upper[2, 0] == 0
    assert np.all(np.isfinite(lower))


@pytest.mark.parametrize(
    ("weights", "topics"),
    [
        (Dirichlet([0.3, 0.5, 0.9]), Simplex()),
        (Simplex(), Dirichlet(0.2)),
        (Dirichlet(0.3), Dirichlet(0.2)),
        (Gamma(0.4, [0.1, 0.2, 0.3]), Simplex()),
        (Gamma(0.4, 0.1), Dirichlet(0.2)),
        (Gamma(0.4, 0.1), Free()),
        (Free(), Gamma(0.4, 0.1)),
        (Free(), Dirichlet(0.2)),
        (Gamma(0.4, 0.1), Gamma(0.3, 0.2)),
    ],
    ids=str,
)
def test_every_bayesian_side_has_the_quantiles_of_its_posterior(rng, weights, topics):
    X = sparse_counts(rng, 40, 20, 0.5)
    model = TopicModel(3, weights=weights, topics=topics, max_iter=50, tol=0, random_state=0).fit(X)
    for side, prior in (("weights", weights), ("components", topics)):
        if not prior.is_bayesian:
            continue
        a, rates = (getattr(model, f"{side}_posterior{end}") for end in ("_", "_rate_"))
        ends = model.credible_interval(side, level=0.8)
        for end, probability in zip(ends, (0.1, 0.9), strict=True):
            if rates is None:
                expected = stats.beta.ppf(probability, a, a.sum(axis=1, keepdims=True) - a)
            else:
                expected = stats.gamma.ppf(probability, a, scale=1 / rates)
            np.testing.assert_allclose(end, expected, rtol=1e-6, atol=1e-300)


def test_points_have_no_intervals(rng):
    X = random_counts(rng)
    with pytest.raises(ValueError, match="point estimate"):
        NMF(2, max_iter=5, tol=0).fit(X).credible_interval()
    with pytest.raises(ValueError, match="components of this model are a point"):
        paper_lda(2, max_iter=5, tol=0).fit(X).credible_interval("components")

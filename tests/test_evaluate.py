"""How good topics are: against the definitions, written out."""

import itertools

import numpy as np
import pytest
from problems import random_counts
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import norm

from isotopic import LDA, NMF, PLSA, GammaPoisson, TopicModel, datasets, evaluate
from isotopic.priors import Dirichlet, Lasso

SETTINGS = {"max_iter": 30, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def corpus():
    kjv = datasets.load_kjv()
    some = np.argsort(-np.asarray(kjv.data.sum(axis=0)).ravel(), kind="stable")[:120]
    return kjv.data[:150][:, np.sort(some)]


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(4, alpha=0.2, **SETTINGS).fit(corpus)


def literal_coherence(topic, X, measure, n):
    has = X > 0
    total = 0.0
    terms = sorted(range(len(topic)), key=lambda v: -topic[v])[:n]
    for strong, weak in itertools.combinations(terms, 2):
        both = (has[:, strong] & has[:, weak]).sum()
        if measure == "umass":
            total += np.log((both + 1) / has[:, strong].sum())
        elif both == 0:
            total += -1
        else:
            p = both / len(X)
            alone = has[:, strong].mean() * has[:, weak].mean()
            total += np.log(p / alone) / -np.log(p)
    return total / (n * (n - 1) / 2)


@pytest.mark.parametrize("measure", ["npmi", "umass"])
def test_coherence_is_what_it_says(model, corpus, measure):
    dense = corpus.toarray()
    expected = [literal_coherence(topic, dense, measure, 7) for topic in model.components_]
    for topics, X in ((model, corpus), (3 * model.components_, dense)):
        np.testing.assert_allclose(evaluate.coherence(topics, X, measure=measure, n=7), expected)


def test_coherence_at_its_ends():
    X = np.array([[1, 2, 0], [3, 1, 0], [0, 0, 2], [0, 0, 1]])
    topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]]
    np.testing.assert_allclose(evaluate.coherence(topics, X, n=2), [1, -1])
    always = np.ones((3, 2))
    assert evaluate.coherence([[0.6, 0.4]], always, n=2) == 1
    unseen = sparse.csr_array(np.array([[0, 0, 1], [0, 0, 1]]))
    assert np.isnan(evaluate.coherence([[3, 2, 0]], unseen, measure="umass", n=2))
    assert evaluate.coherence([[3, 2, 0]], unseen, n=2) == -1


def test_diversity_and_exclusivity_at_their_ends():
    apart, same = np.eye(3), np.tile([0.5, 0.3, 0.2], (4, 1))
    assert evaluate.diversity(apart, n=1) == 1
    assert evaluate.diversity(same, n=2) == 1 / 4
    np.testing.assert_allclose(evaluate.exclusivity(apart, n=1), 1)
    np.testing.assert_allclose(evaluate.exclusivity(same, n=2), 1 / 4)
    np.testing.assert_allclose(evaluate.exclusivity(same * [[1], [2], [3], [4]]), 1 / 4)


@pytest.mark.parametrize(
    "estimator",
    [
        NMF(3, normalize=False, **SETTINGS),
        PLSA(3, **SETTINGS),
        GammaPoisson(3, shape=0.5, rate=0.2, **SETTINGS),
        TopicModel(3, weights=Lasso(0.5), topics=Dirichlet(0.1), **SETTINGS),
    ],
    ids=lambda m: type(m).__name__,
)
def test_prevalence_is_the_share_of_the_counts(rng, estimator):
    X = random_counts(rng, 30, 12, 3.0)
    fitted = estimator.fit(X)
    product = fitted.weights_[:, :, None] * fitted.components_
    mine = product / product.sum(axis=(1, 2), keepdims=True) * X.sum(axis=1)[:, None, None]
    np.testing.assert_allclose(evaluate.prevalence(fitted), mine.sum(axis=(0, 2)) / X.sum())


def minus_likelihood(logs, x, exposures, overall, pseudo_count):
    """The penalised likelihood of one feature over all samples, zeros included, and its slope."""
    rates = np.exp(logs)
    mean = exposures @ rates
    value = x @ np.log(mean) - mean.sum() + pseudo_count * (logs - rates / overall).sum()
    slope = rates * (exposures.T @ (x / mean - 1)) + pseudo_count * (1 - rates / overall)
    return -value, -slope


def brute_force(x, exposures, overall, pseudo_count):
    """Maximise with a general method; the covariance from differences of the slope."""

    def slope(logs):
        return minus_likelihood(logs, x, exposures, overall, pseudo_count)[1]

    start = np.full(exposures.shape[1], np.log(overall))
    found = minimize(
        minus_likelihood,
        start,
        args=(x, exposures, overall, pseudo_count),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-7, "maxiter": 5000},
    )
    eye, h = np.eye(len(start)), 1e-5
    hessian = [(slope(found.x + h * e) - slope(found.x - h * e)) / (2 * h) for e in eye]
    return np.exp(found.x), np.linalg.inv(hessian)


@pytest.mark.parametrize("pseudo_count", [0.5, 0.05])
def test_differences_are_those_of_a_brute_force_likelihood(model, corpus, pseudo_count):
    found = evaluate.differential(model, corpus, pseudo_count=pseudo_count)
    X = corpus.toarray().astype(float)
    exposures = X.sum(axis=1)[:, None] * model.weights_
    for v in range(0, 120, 17):
        overall = X[:, v].sum() / X.sum()
        rates, covariance = brute_force(X[:, v], exposures, overall, pseudo_count)
        np.testing.assert_allclose(found.rates[:, v], rates, rtol=1e-4)
        for k in range(4):
            others = [j for j in range(4) if j != k]
            lfc = np.array([np.log2(rates[k] / rates[j]) for j in others])
            nearest = others[np.argmin(abs(lfc))]
            contrast = np.zeros(4)
            contrast[[k, nearest]] = 1, -1
            se = np.sqrt(contrast @ covariance @ contrast) / np.log(2)
            assert found.versus[k, v] == nearest
            assert found.lfc[k, v] == pytest.approx(lfc[others.index(nearest)], abs=1e-3)
            assert found.se[k, v] == pytest.approx(se, rel=1e-3)


def test_intervals_cover_what_made_the_data(rng):
    """Draw many features with known rates: the intervals hold the truth as often as they say."""
    exposures = 1e4 * rng.dirichlet([0.5, 0.5], 60)
    rates = np.exp(rng.normal(-7, 0.5, (2, 400)))
    X = rng.poisson(exposures @ rates)
    fitted = NMF(2, init=(exposures, rates), max_iter=0, tol=0, normalize=False).fit(X)
    found = evaluate.differential(fitted, X, weights=exposures / rates.sum(axis=1))
    scaled = X.sum(axis=1) / exposures.sum(axis=1)  # the model is about shares of a sample
    truth = np.log2(rates[0] / rates[1])
    lower, upper = found.interval(0.9)
    covered = np.mean((lower[0] <= truth) & (truth <= upper[0]))
    assert np.ptp(scaled) < 0.1 * scaled.mean()
    assert 0.85 <= covered <= 0.95
    half = norm.ppf(0.95) * found.se
    np.testing.assert_allclose(upper - lower, 2 * half)


def test_distinctive_terms_are_ordered_by_what_is_sure(corpus, model):
    names = [f"t{v}" for v in range(120)]
    table = evaluate.distinctive_terms(model, corpus, 5, feature_names=names)
    found = evaluate.differential(model, corpus)
    lower = found.interval()[0]
    for k in range(4):
        rows = table["topic"] == k
        order = np.argsort(-lower[k], kind="stable")[:5]
        order = order[lower[k, order] > 0]
        assert list(table["term"][rows]) == [names[v] for v in order]
        np.testing.assert_array_equal(table["lfc"][rows], found.lfc[k, order])
        np.testing.assert_array_equal(table["rank"][rows], np.arange(1, len(order) + 1))


def test_topics_that_do_not_differ_have_no_distinctive_terms(rng):
    X = random_counts(rng, 30, 12, 5.0)
    topic = X.sum(axis=0) / X.sum()
    same = NMF(2, fixed_topics=np.vstack([topic, topic]), **SETTINGS).fit(X)
    assert len(evaluate.distinctive_terms(same, X)["term"]) == 0


def test_features_that_never_occur_differ_nowhere(rng):
    X = random_counts(rng, 20, 5, 2.0)
    X[:, 3] = 0
    found = evaluate.differential(PLSA(2, **SETTINGS).fit(X), X)
    assert np.all(found.lfc[:, 3] == 0)
    assert np.all(found.se[:, 3] == np.inf)
    assert np.all(found.z[:, 3] == 0)


def test_other_samples_need_their_weights(corpus, model):
    other = datasets.load_kjv().data[150:170][:, :120]
    with pytest.raises(ValueError, match=r"pass weights=model.transform\(X\)"):
        evaluate.differential(model, other)
    found = evaluate.differential(model, other, weights=model.transform(other))
    assert found.lfc.shape == (4, 120)


def test_completion_hides_what_it_scores(rng):
    """The score is that of the hidden counts under weights from the seen ones, written out."""
    X = random_counts(rng, 25, 10, 6.0).astype(int)
    fitted = GammaPoisson(3, shape=0.5, rate=0.1, **SETTINGS).fit(X[:15])
    seen, hidden = evaluate.split_counts(X[15:], held_out=0.3, random_state=4)
    np.testing.assert_array_equal((seen + hidden).toarray(), X[15:])
    product = fitted.transform(seen) @ fitted.components_
    product /= product.sum(axis=1, keepdims=True)
    expected = np.exp(-(hidden.toarray() * np.log(product)).sum() / hidden.sum())
    found = evaluate.completion_perplexity(fitted, X[15:], held_out=0.3, random_state=4)
    assert found == pytest.approx(expected)


def test_completion_knows_too_many_components(rng):
    """On data of two topics, many more explain the seen half better and the hidden half worse."""
    topics = rng.dirichlet(np.full(40, 0.3), 2)
    X = rng.poisson(30 * rng.dirichlet([1, 1], 160) @ topics)
    settings = {"topics": Dirichlet(0.01), "max_iter": 200, "tol": 0, "random_state": 0}
    few, many = (TopicModel(k, **settings).fit(X[:80]) for k in (2, 20))
    test = X[80:]
    hidden = [evaluate.completion_perplexity(m, test) for m in (few, many)]
    assert many.perplexity(test) < few.perplexity(test)
    assert hidden[0] < hidden[1]


def test_what_cannot_be_evaluated_is_refused(model, corpus):
    with pytest.raises(ValueError, match="'npmi' or 'umass', not 'cv'"):
        evaluate.coherence(model, corpus, measure="cv")
    with pytest.raises(ValueError, match="X has 7 features, but the topics have 120"):
        evaluate.coherence(model, corpus[:, :7])
    with pytest.raises(ValueError, match="a mean over pairs"):
        evaluate.coherence(model, corpus, n=1)
    with pytest.raises(ValueError, match="n must be an integer of at least 1, not 0"):
        evaluate.diversity(model, n=0)
    with pytest.raises(ValueError, match=r"n must be an integer of at least 1, not 1\.5"):
        evaluate.distinctive_terms(model, corpus, 1.5)
    with pytest.raises(ValueError, match=r"same shape, but have \(1, 2\)"):
        evaluate.completion_score(model, [[1, 2]], corpus)
    with pytest.raises(ValueError, match="topic 0, feature 1 is nan"):
        evaluate.exclusivity([[1, np.nan]])
    with pytest.raises(ValueError, match="pseudo_count must be a positive number, not 0"):
        evaluate.differential(model, corpus, pseudo_count=0)
    with pytest.raises(ValueError, match="single topic"):
        evaluate.differential(NMF(1, **SETTINGS).fit(corpus), corpus)
    with pytest.raises(ValueError, match=r"row 0, column 1 of X is 0.5"):
        evaluate.split_counts([[1, 0.5]])
    with pytest.raises(ValueError, match="held_out must be between 0 and 1"):
        evaluate.completion_perplexity(model, corpus, held_out=1)
    with pytest.raises(ValueError, match="no counts to score"):
        evaluate.completion_score(model, corpus, 0 * corpus)

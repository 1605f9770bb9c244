"""How many components: the score is of what was not seen, and finds what was put in."""

import numpy as np
import pytest
from scipy import sparse

from isotopic import LDA, NMF, GammaPoisson, plot
from isotopic.generative import multinomial
from isotopic.select import select_components


@pytest.fixture(scope="module")
def four_topics():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.05), size=4)
    weights = rng.dirichlet(np.full(4, 0.3), size=150)
    return multinomial(weights, topics, np.full(150, 60), random_state=rng)


@pytest.mark.parametrize("model", [NMF(), LDA(alpha=0.3), GammaPoisson(shape=0.3, rate=0.01)])
def test_the_number_of_topics_is_found(model, four_topics):
    model.set_params(tol=1e-3, max_iter=300)
    found = select_components(model, four_topics, [12, 2, 4], n_repeats=3, test_size=0.2)
    assert found.n_components.tolist() == [2, 4, 12]
    assert found.best == found.simplest == 4
    assert found.stabilities[1].min() > 0.95
    assert found.stabilities[2].mean() < found.stabilities[1].mean()
    assert model.n_components == 10  # as it was


def test_scores_are_log_likelihoods_of_distributions(four_topics):
    found = select_components(NMF(tol=1e-2), four_topics, [1, 3], n_repeats=2)
    assert np.all(found.scores < 0)
    shares = np.asarray(four_topics.sum(axis=0)).ravel() / four_topics.sum()
    entropy = -(shares[shares > 0] @ np.log(shares[shares > 0]))
    # One topic is the overall distribution: it is as good as that one is.
    np.testing.assert_allclose(found.scores[0], -entropy, rtol=0.05)
    np.testing.assert_allclose(found.table["perplexity"], np.exp(-found.scores.mean(axis=1)))


def test_features_of_held_out_samples_alone_do_not_count():
    counts = np.array([[50, 30, 0]] * 9 + [[40, 40, 90]])
    for seed in range(5):  # whichever samples are held out
        found = select_components(NMF(), counts, [1], n_repeats=2, random_state=seed)
        assert np.all(np.isfinite(found.scores))


def test_the_same_seed_gives_the_same_selection(four_topics):
    first, again, other = (
        select_components(NMF(tol=1e-2), four_topics, [2, 3], n_repeats=2, random_state=seed).scores
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_simplest_is_within_a_standard_error(four_topics):
    found = select_components(NMF(tol=1e-2), four_topics, [3, 4, 5, 6], n_repeats=3)
    means = found.scores.mean(axis=1)
    top = int(np.argmax(means))
    assert found.n_components[top] == found.best
    for number, scores in zip(found.n_components, found.scores, strict=True):
        behind = found.scores[top] - scores
        enough = behind.mean() <= behind.std(ddof=1) / np.sqrt(3)
        assert not (enough and number < found.simplest)
        assert enough or number != found.simplest
    assert f"best: {found.best}" in repr(found)


def test_it_can_be_drawn(four_topics):
    found = select_components(NMF(tol=1e-2), four_topics, [2, 4], n_repeats=2)
    ax = plot.selection(found)
    assert ax.get_xlabel() == "components"
    ax.figure.clear()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": []}, "n_components must be integers of at least 1"),
        ({"n_components": [0, 2]}, "n_components must be integers of at least 1"),
        ({"n_repeats": 1}, "n_repeats must be at least 2"),
        ({"test_size": 0.0}, "leaves one part empty"),
        ({"test_size": 1.0}, "leaves one part empty"),
        ({"X": [[1.5, 2], [3, 4]]}, "Only integer counts"),
        ({"X": [[-1, 2], [3, 4]]}, "negative"),
        ({"X": sparse.csr_array([[1, 0], [0, 0]])}, "no counts"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, message):
    given = {"X": np.ones((6, 3), int), "n_components": [2]} | changes
    with pytest.raises(ValueError, match=message):
        select_components(NMF(), **given)

"""Topics of two models, aligned."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from isotopic import LDA, NMF, datasets, match
from isotopic.match import SIMILARITIES, principal_coordinates

METRICS = ("cosine", "hellinger")


def cosine(p, q):
    return p @ q / np.sqrt((p @ p) * (q @ q))


def hellinger(p, q):
    p, q = p / p.sum(), q / q.sum()
    return 1 - np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum())


LITERAL = {"cosine": cosine, "hellinger": hellinger}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n_a", "n_b"), [(4, 4), (3, 5), (5, 3), (1, 4)])
def test_no_other_pairing_is_better(rng, metric, n_a, n_b):
    a, b = rng.dirichlet(np.full(6, 0.4), n_a), 7 * rng.dirichlet(np.full(6, 0.4), n_b)
    found = match(a, b, metric)
    table = np.array([[LITERAL[metric](p, q) for q in b] for p in a])
    small = min(n_a, n_b)
    best = max(
        sum(table[i, j] for i, j in zip(rows, columns, strict=True))
        for rows in itertools.combinations(range(n_a), small)
        for columns in itertools.permutations(range(n_b), small)
    )
    paired = np.flatnonzero(found.order >= 0)
    np.testing.assert_allclose(found.similarity[paired], table[paired, found.order[paired]])
    assert found.similarity[paired].sum() == pytest.approx(best)
    assert found.mean == pytest.approx(best / small)
    assert np.isnan(found.similarity).sum() == n_a - small
    assert sorted([*found.order[paired], *found.unmatched]) == list(range(n_b))


@pytest.mark.parametrize("metric", METRICS)
def test_an_order_is_found_again(rng, metric):
    topics = rng.dirichlet(np.full(30, 0.1), 8)
    order = rng.permutation(8)
    found = match(topics, topics[order] * rng.uniform(0.1, 9, (8, 1)), metric)
    np.testing.assert_array_equal(order[found.order], np.arange(8))
    np.testing.assert_allclose(found.similarity, 1, atol=1e-7)
    assert len(found.unmatched) == 0


@given(
    arrays(float, (3, 4), elements=st.floats(0, 1e150)),
    arrays(float, (2, 4), elements=st.floats(0, 1e150)),
    st.sampled_from(METRICS),
)
def test_similarities_are_between_zero_and_one_and_symmetric(a, b, metric):
    there, back = match(a, b, metric), match(b, a, metric)
    assert np.all((back.similarity >= 0) & (back.similarity <= 1))
    assert there.mean == pytest.approx(back.mean, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_topics_of_zeros_are_like_no_other(metric):
    similarity = SIMILARITIES[metric](np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros((1, 2)))
    np.testing.assert_array_equal(similarity, 0)


def test_models_and_arrays_and_frames_are_alike():
    X = datasets.load_kjv().data[:100]
    a = NMF(3, max_iter=5, tol=0, random_state=0).fit(X)
    b = LDA(4, max_iter=5, tol=0, random_state=1).fit(X)
    expected = match(a.components_, b.components_)
    for found in (match(a, b), match(pd.DataFrame(a.components_), b)):
        np.testing.assert_array_equal(found.order, expected.order)
        assert found.mean == pytest.approx(expected.mean)
    assert "of 3 topics" in repr(expected)
    assert "unmatched: 0 of a, 1 of b" in repr(expected)


def test_what_cannot_be_matched_is_refused(rng):
    good = rng.random((3, 4))
    with pytest.raises(ValueError, match="metric must be 'cosine' or 'hellinger', not 'l2'"):
        match(good, good, "l2")
    with pytest.raises(ValueError, match="a has 4 features and b has 3"):
        match(good, good[:, :3])
    with pytest.raises(ValueError, match=r"b must be finite .* topic 1, feature 2 is -1"):
        match(good, [[1, 1, 1, 1], [1, 1, -1, 1]])
    with pytest.raises(ValueError, match=r"a must be .* not of shape \(4,\)"):
        match(good[0], good)
    with pytest.raises(TypeError, match="b must contain numbers"):
        match(good, [["x", "y"]])
    with pytest.raises(ValueError, match="not fitted"):
        match(NMF(3), good)
    frame = pd.DataFrame(rng.poisson(2.0, (5, 4)), columns=list("stuv"))
    settings = {"max_iter": 2, "tol": 0, "random_state": 0}
    models = [NMF(2, **settings).fit(X) for X in (frame, frame.rename(columns={"u": "w"}))]
    with pytest.raises(
        ValueError, match=r"names of b .* those of a.\nNot in a:\n- w\nNot in b:\n- u"
    ):
        match(*models)


def test_three_topics_have_their_exact_distances(rng):
    topics = rng.dirichlet(np.ones(9), 3)
    distances = np.array([[jensenshannon(p, q) for q in topics] for p in topics])
    places, kept = principal_coordinates(distances)
    found = np.linalg.norm(places[:, None] - places, axis=-1)
    np.testing.assert_allclose(found, distances, atol=1e-7)
    assert kept.sum() == pytest.approx(1)


def test_points_keep_distances_that_fit_a_plane(rng):
    points = rng.normal(size=(9, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    for n in (1, 2, 3, 9):
        found, kept = principal_coordinates(distances[:n, :n])
        assert found.shape == (n, 2)
        assert kept.sum() == pytest.approx(1 if n > 1 else 0)
        apart = np.linalg.norm(found[:, None] - found, axis=2)
        np.testing.assert_allclose(apart, distances[:n, :n], atol=1e-7)

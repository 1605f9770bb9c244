"""Refit to reference topics and decomposition into them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from isotopic import NMF, CountsWarning, EmptySampleWarning, decompose, refit
from isotopic._core import in_numpy, native
from isotopic.threads import use_threads


def reference_topics(rng, n_topics=12, n_features=40):
    return rng.dirichlet(np.full(n_features, 0.3), size=n_topics)


def planted(rng, topics, n_samples=60, present=3, total=3000):
    weights = np.zeros((n_samples, len(topics)))
    for row in weights:
        chosen = rng.choice(len(topics), present, replace=False)
        row[chosen] = total * rng.dirichlet(np.full(present, 5.0))
    return weights, rng.poisson(weights @ topics)


def test_refit_finds_the_topics_that_are_present_and_no_others(rng):
    topics = reference_topics(rng)
    weights, X = planted(rng, topics)
    found = refit(X, topics)
    assert np.all(found.weights[weights > 0] > 0)
    assert np.count_nonzero(found.weights[weights == 0]) <= 0.02 * np.count_nonzero(weights == 0)
    np.testing.assert_allclose(found.weights.sum(axis=1), X.sum(axis=1), rtol=1e-6)
    assert np.abs(found.weights - weights).max() < 400
    assert np.all(found.p_values[weights > 0] < 1e-3)
    assert np.all(found.p_values[found.weights == 0] == 1)
    assert found.cosine.min() > 0.95


def test_intervals_of_refit_cover_the_weights(rng):
    topics = reference_topics(rng)
    weights, X = planted(rng, topics, n_samples=400, total=1000)
    found = refit(X, topics, level=0.9, dispersion=1)
    both = (found.weights > 0) & (weights > 0)
    inside = (found.lower <= weights) & (weights <= found.upper)
    assert 0.86 < inside[both].mean() < 0.94
    assert np.all(found.lower[both] <= found.weights[both])
    assert np.all(found.upper[both] >= found.weights[both])


def test_refit_recovers_weights_of_data_without_noise(rng):
    topics = reference_topics(rng)
    weights, _ = planted(rng, topics, n_samples=10)
    weights *= rng.uniform(0.5, 2, (10, 1))
    found = refit(weights @ topics, topics)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.divergence, 0, atol=1e-6)
    np.testing.assert_allclose(found.cosine, 1)


def test_weights_of_refit_are_optimal_for_the_chosen_topics(rng):
    topics = reference_topics(rng)
    _, X = planted(rng, topics, total=200)
    found = refit(X, topics)
    with np.errstate(all="ignore"):
        ratio = np.where(X > 0, X / (found.weights @ topics), 0)
    slopes = ratio @ topics.T - 1
    assert np.all(np.abs(slopes[found.weights > 0]) < 1e-3)


def test_a_topic_that_a_twin_could_replace_is_left_out(rng):
    topics = reference_topics(rng)
    twins = np.vstack([topics, 0.98 * topics[3] + 0.02 * topics[4]])
    X = rng.poisson(700 * topics[0] + 200 * topics[3] + 100 * topics[7], size=(40, 40))
    kept = refit(X, twins, certainty=0)
    assert np.all((kept.weights[:, [3, 12]] > 0).any(axis=1))
    assert np.all(kept.probabilities[:, [3, 12]].max(axis=1) < 0.95)
    found = refit(X, twins)
    assert not found.weights[:, [3, 12]].any()
    assert np.all(found.weights[:, 0] > 0)  # without a twin
    assert np.all(found.probabilities[:, 0] > 0.99)
    alone = refit(rng.poisson(900 * topics[3], size=(5, 40)), twins)  # the largest is kept
    assert np.all((alone.weights[:, [3, 12]] > 0).sum(axis=1) == 1)


def test_one_topic_gives_way_to_two_that_only_together_are_better():
    mix = np.array([0.25, 0.25, 0.25, 0.25, 0, 0])  # the best single topic, and then in the way
    topics = np.array([mix, [0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.46, 0.46, 0.04, 0.04]])
    found = refit([[300, 300, 276, 276, 24, 24]], topics)
    np.testing.assert_array_equal(found.weights > 0, [[False, True, True]])


def test_dispersion_keeps_small_topics_out_of_samples_that_no_reference_fits(rng):
    topics = reference_topics(rng)
    weights, _ = planted(rng, topics, n_samples=30, total=1e5)
    X = rng.poisson(weights @ topics * rng.gamma(20, 1 / 20, size=(30, 40)))
    poisson = refit(X, topics, dispersion=1)
    estimated = refit(X, topics)
    assert estimated.dispersion.min() > 3
    true = weights > 0
    assert (estimated.weights > 0)[~true].mean() < 0.25 * (poisson.weights > 0)[~true].mean()
    assert (estimated.weights > 0)[true].mean() > 0.9


def test_a_sample_above_max_total_counts_as_if_it_had_that_total(rng):
    topics = reference_topics(rng)
    _, X = planted(rng, topics, n_samples=8, total=50_000)
    capped = refit(X, topics, max_total=500, dispersion=1)
    with pytest.warns(CountsWarning, match="depends on the scale of X"):
        shrunk = refit(X * (500 / X.sum(axis=1, keepdims=True)), topics, dispersion=1)
    scale = X.sum(axis=1, keepdims=True) / 500
    np.testing.assert_allclose(capped.weights, shrunk.weights * scale, rtol=1e-6)
    np.testing.assert_allclose(capped.p_values, shrunk.p_values, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(capped.weights.sum(axis=1), X.sum(axis=1), rtol=1e-6)
    below = refit(X, topics, max_total=1e9)
    np.testing.assert_array_equal(below.weights, refit(X, topics).weights)


def test_opportunity_corrects_for_features_that_occur_less_often(rng):
    topics = reference_topics(rng)
    factors = rng.uniform(0.2, 3, size=40)
    exome = topics * factors
    exome /= exome.sum(axis=1, keepdims=True)
    weights, X = planted(rng, exome)
    corrected = refit(X, topics, opportunity=factors)
    assert np.mean((corrected.weights > 0) == (weights > 0)) > 0.98
    assert corrected.cosine.mean() > refit(X, topics).cosine.mean()


@pytest.mark.filterwarnings("ignore::isotopic.FeatureOrderWarning")
def test_reference_is_aligned_by_names_and_turned(rng, tmp_path):
    topics = reference_topics(rng)
    _, X = planted(rng, topics, n_samples=6)
    features = [f"f{i}" for i in range(40)]
    frame = pd.DataFrame(X, columns=features, index=[f"s{i}" for i in range(6)])
    table = pd.DataFrame(topics, columns=features, index=[f"SBS{k}" for k in range(12)])
    plain = refit(X, topics).weights
    shuffled = table[features[::-1]]
    file = tmp_path / "cosmic.csv"
    shuffled.T.to_csv(file)
    for reference in (table, shuffled, shuffled.T, file, str(file)):
        found = refit(frame, reference)
        np.testing.assert_allclose(found.weights, plain, rtol=1e-6)
        assert list(found.topic_names) == list(table.index)
        assert list(found.sample_names) == list(frame.index)
    np.testing.assert_array_equal(refit(X, topics.T).weights, plain)  # by its shape
    np.testing.assert_array_equal(refit(sparse.csr_array(X), topics).weights, plain)
    assert set(found.table["topic"]) <= set(table.index)


def test_reference_may_be_a_fitted_model(rng):
    X = rng.poisson(5, size=(30, 10))
    model = NMF(3, random_state=0).fit(X)
    found = refit(X, model)
    assert found.weights.shape == (30, 3)
    np.testing.assert_allclose(found.topics, model.components_ / model.components_.sum(1)[:, None])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="f3"), "Not in reference:\n- f3"),
        (lambda table: table.rename(columns={"f3": "g3"}), "Not in the data:\n- g3"),
        (lambda table: -table, "must be finite and non-negative"),
        (lambda table: table * np.nan, "must be finite and non-negative"),
        (lambda table: table * 0, "zero in all features"),
    ],
)
def test_a_reference_that_does_not_fit_is_refused(rng, change, message):
    topics = pd.DataFrame(reference_topics(rng, 3, 8), columns=[f"f{i}" for i in range(8)])
    topics.index = ["a", "b", "c"]
    X = pd.DataFrame(rng.poisson(3, size=(4, 8)), columns=topics.columns)
    with pytest.raises(ValueError, match=message):
        refit(X, change(topics))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"penalty": -1}, "penalty must be"),
        ({"certainty": 1}, "certainty must be at least 0 .* and below 1, not 1"),
        ({"certainty": None}, "certainty must be"),
        ({"level": 1}, "level must be between 0 and 1"),
        ({"dispersion": 0.5}, "dispersion must be a finite number of at least 1"),
        ({"dispersion": "many"}, "dispersion must be"),
        ({"max_total": 0}, "max_total must be"),
        ({"opportunity": [1, 2]}, "one factor for each of the 40 features"),
        ({"opportunity": [-1] * 40}, "must be finite and non-negative"),
    ],
)
def test_refit_refuses_settings_that_mean_nothing(rng, given, message):
    with pytest.raises(ValueError, match=message):
        refit(np.ones((2, 40)), reference_topics(rng), **given)
    with pytest.raises(ValueError, match="reference has 40 features and the data has 39"):
        refit(np.ones((2, 39)), reference_topics(rng))


def test_samples_of_zeros_and_counts_that_nothing_explains(rng):
    topics = np.array([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]])
    with pytest.warns(EmptySampleWarning, match="1 of 3 samples have no counts"):
        found = refit([[0, 0, 0, 0], [50, 50, 0, 1], [0, 0, 0, 3]], topics)
    assert np.all(found.weights[0] == 0)
    assert np.isnan(found.cosine[0])
    assert found.divergence[0] == 0
    assert found.weights[1, 0] == pytest.approx(100)
    assert found.divergence[1] == np.inf
    assert np.all(np.isfinite(found.weights))
    assert "reference topics" in repr(found)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**31), scale=st.sampled_from([0.5, 30, 2e4]))
def test_selection_agrees_with_its_twin_in_numpy_for_any_number_of_threads(seed, scale):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(15, 0.4), size=7)
    X = sparse.csr_array(rng.poisson(scale * rng.dirichlet(np.ones(7), 5) @ topics * 15))
    entries = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(float)
    settings_ = np.ascontiguousarray(topics.T), np.full(5, 3.0), 1e-3, 1.92, 1.0, True

    def select(core, threads):
        found = [*(np.empty((5, 7)) for _ in range(5)), np.empty(5)]
        core.select_topics(*entries, *settings_, *found, threads)
        return found

    ours = select(native, 1)
    for one, other, twin in zip(ours, select(native, 3), select(in_numpy, 1), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, twin, rtol=1e-3, atol=1e-3 * (1 + scale))


def test_refit_has_the_same_bits_for_any_number_of_threads(rng):
    topics = reference_topics(rng)
    _, X = planted(rng, topics)
    one = refit(X, topics, n_jobs=1)
    with use_threads(3):
        assert np.array_equal(refit(X, topics, n_jobs=3).weights, one.weights)


def test_the_core_checks_what_selection_is_given():
    out = [*(np.empty((1, 2)) for _ in range(5)), np.empty(1)]
    topics = np.full((3, 2), 1 / 3)
    starts, values = np.array([0, 1]), np.ones(1)
    with pytest.raises(ValueError, match="not among those of the topics"):
        native.select_topics(
            *[starts, np.array([3], np.int32), values, topics],
            *[np.ones(1), 1e-3, 1.9, 1.0, True, *out, 1],
        )
    out[2] = np.empty((2, 2))
    with pytest.raises(ValueError, match="the results differ in shape"):
        native.select_topics(
            *[starts, np.array([0], np.int32), values, topics],
            *[np.ones(1), 1e-3, 1.9, 1.0, True, *out, 1],
        )


def test_decompose_tells_known_topics_from_mixes_and_new_ones(rng):
    reference = pd.DataFrame(reference_topics(rng, 20), index=[f"R{k}" for k in range(20)]).rename(
        columns=str
    )
    known = rng.dirichlet(2000 * reference.to_numpy()[3] + 1e-3)
    mix = 0.5 * reference.to_numpy()[1] + 0.5 * reference.to_numpy()[7]
    new = reference_topics(rng, 1)[0]
    found = decompose([known, mix, 30 * new], reference)
    assert list(found.verdict) == ["known", "mix", "new"]
    assert found.names[0] == ["R3"]
    assert set(found.names[1]) == {"R1", "R7"}
    assert found.cosine[1] > 0.99
    assert found.cosine[2] < 0.9
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    assert list(found.table) == ["topic", "names", "shares", "cosine", "verdict"]
    assert "mix" in repr(found)


def test_a_mix_has_no_reference_topics_that_hardly_matter(rng):
    reference = reference_topics(rng, 20)
    mix = 0.5 * reference[1] + 0.45 * reference[7] + 0.03 * reference[4] + 0.02 * reference[9]
    found = decompose([mix], reference)
    assert set(found.names[0]) == {"1", "7"}
    assert found.cosine[0] > 0.98


def test_a_transposed_table_is_said_to_be_transposed(rng):
    reference = pd.DataFrame(reference_topics(rng, 4)).rename(columns="f{}".format)
    tumours = pd.DataFrame(rng.poisson(5.0, (6, 40)), columns=reference.columns)
    tumours.index = [f"s{i}" for i in range(6)]
    with pytest.raises(ValueError, match="X is transposed: its rows have the names"):
        refit(tumours.T, reference)
    model = NMF(2, tol=1e-2, random_state=0).fit(tumours)
    with pytest.raises(ValueError, match="X is transposed: its rows have the names"):
        model.transform(tumours.T)


def test_a_decomposition_names_the_topics_of_a_model(rng):
    reference = pd.DataFrame(rng.dirichlet(np.full(20, 0.2), 4), index=list("abcd"))
    model = NMF(2, fixed_topics=reference.to_numpy()[[2, 0]], tol=1e-2, random_state=0)
    model.fit(rng.poisson(5.0, (10, 20)))
    assert list(model.label(decompose(model, reference)).topic_names_) == ["c", "a"]


def test_decompose_uses_at_most_so_many_reference_topics(rng):
    reference = reference_topics(rng, 20)
    mix = rng.dirichlet(np.ones(20), size=3) @ reference
    for most in (1, 2, 5):
        found = decompose(mix, reference, max_topics=most)
        assert np.count_nonzero(found.weights, axis=1).max() <= most
    with pytest.raises(ValueError, match="max_topics must be an integer of at least 1"):
        decompose(mix, reference, max_topics=0)
    with pytest.raises(ValueError, match="threshold must be above 0"):
        decompose(mix, reference, threshold=0)
    with pytest.raises(ValueError, match="Topic '1' of topics is zero"):
        decompose([[1.0] * 40, [0.0] * 40], reference)


def test_topics_of_a_reference_have_names_of_their_own(rng):
    topics = reference_topics(rng)
    names = [f"S{k}" for k in range(len(topics))]
    names[-1] = "S0"
    with pytest.raises(ValueError, match=r"reference has 2 topics with the name 'S0'. Give each"):
        refit(np.ones((1, topics.shape[1])), pd.DataFrame(topics, names))

"""Consensus of many runs: stable components, the number of them, and runs that go on."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from isotopic import LDA, NMF, PLSA, CountsWarning, GammaPoisson, consensus, load, plot
from isotopic.consensus import cluster_components
from isotopic.consensus.choice import choose_number
from isotopic.consensus.plan import resample
from isotopic.generative import multinomial


@pytest.fixture(scope="module")
def four_topics():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.05), size=4)
    weights = rng.dirichlet(np.full(4, 0.3), size=150)
    return multinomial(weights, topics, np.full(150, 60), random_state=rng)


def quick(model=NMF, **parameters):
    return model(tol=1e-2, max_iter=300, **parameters)


@pytest.mark.parametrize("model", [NMF, PLSA, LDA, GammaPoisson])
def test_the_planted_number_is_found(model, four_topics):
    given = quick(model)
    found = consensus(given, four_topics, [2, 4, 5, 7], n_runs=6, random_state=0)
    assert found.n_components == 4
    assert "4 " in found.reason
    assert found.stability.shape == (4,)
    assert found.stability.min() > 0.8
    assert found.components["found"].tolist() == [6] * 4
    assert found.table["n_components"].tolist() == [2, 4, 5, 7]
    assert given.n_components == 10  # as it was


def test_the_result_does_not_depend_on_threads_or_on_the_other_numbers(four_topics):
    results = [
        consensus(quick(), four_topics, numbers, n_runs=3, random_state=1, n_jobs=jobs, choose=4)
        for numbers, jobs in (([3, 4, 5], 1), ([3, 4, 5], 3), ([4, 6], 2))
    ]
    one, *others = results
    for other in others:
        np.testing.assert_array_equal(other.model.components_, one.model.components_)
        np.testing.assert_array_equal(other.stability, one.stability)
        row = other.table["n_components"].tolist().index(4)
        assert other.table["score"][row] == one.table["score"][1]
    different = consensus(quick(), four_topics, 4, n_runs=3, random_state=2)
    assert not np.array_equal(different.model.components_, one.model.components_)


class Interrupted(NMF):
    """A model whose fits are interrupted once there were some."""

    allowed, fits = 10**9, 0

    def fit(self, X, y=None, **given):
        type(self).fits += 1
        if type(self).fits > type(self).allowed:
            raise KeyboardInterrupt
        return super().fit(X, y, **given)


def test_a_killed_consensus_goes_on(four_topics, tmp_path):
    settings = {"n_components": [3, 4, 5], "n_runs": 3, "random_state": 0, "n_jobs": 1}
    file = tmp_path / "runs.isotopic"
    whole = consensus(quick(Interrupted), four_topics, **settings)
    Interrupted.fits, Interrupted.allowed = 0, 10
    with pytest.raises(KeyboardInterrupt):
        consensus(quick(Interrupted), four_topics, **settings, checkpoint=file)
    Interrupted.fits, Interrupted.allowed = 0, 10**9
    resumed = consensus(quick(Interrupted), four_topics, **settings, checkpoint=file)
    assert Interrupted.fits == 3 * (3 + 5) - 10 + 1  # the rest, and the consensus model
    np.testing.assert_array_equal(resumed.model.components_, whole.model.components_)
    for name, column in whole.table.items():
        np.testing.assert_array_equal(resumed.table[name], column)
    with pytest.raises(ValueError, match="belongs to another consensus"):
        consensus(quick(), four_topics, **settings | {"random_state": 1}, checkpoint=file)
    with pytest.raises(ValueError, match="checkpoint needs an integer random_state"):
        consensus(quick(), four_topics, 4, n_runs=2, checkpoint=file)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        consensus(quick(), four_topics, 4, n_runs=2, random_state=0, checkpoint=file / "x" / "y")


def test_the_checkpoint_of_a_consensus_sees_every_entry_of_a_setting(four_topics, tmp_path):
    """As text, a large array is abbreviated, and its middle is left out."""
    X = sparse.csr_array(sparse.hstack([four_topics] * 12))
    settings = {"n_components": 3, "n_runs": 2, "random_state": 0, "checkpoint": tmp_path / "runs"}
    seeds = np.zeros((3, X.shape[1]))
    assert seeds.size > np.get_printoptions()["threshold"]
    seeds[0, 0] = 1
    consensus(quick(seeds=seeds), X, **settings)
    consensus(quick(seeds=seeds.copy()), X.astype(np.float32), **settings)
    seeds[1, X.shape[1] // 2] = 1
    with pytest.raises(ValueError, match="belongs to another consensus"):
        consensus(quick(seeds=seeds), X, **settings)


@pytest.mark.parametrize("model", [NMF, LDA, GammaPoisson])
def test_the_model_is_like_any_other(model, four_topics, tmp_path):
    found = consensus(quick(model), four_topics, 4, n_runs=3, random_state=0).model
    assert found.transform(four_topics[:5]).shape == (5, 4)
    assert found.weights_.shape == (150, 4)
    assert np.isfinite(found.score(four_topics))
    found.save(tmp_path / "model.isotopic")
    again = load(tmp_path / "model.isotopic")
    np.testing.assert_array_equal(again.components_, found.components_)
    assert len(found.top_terms()) > 0


def test_rare_features_that_no_median_has_are_still_explained():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(1, 20, size=(60, 2)) @ rng.dirichlet(np.ones(10), size=2))
    X = np.hstack([X, np.zeros((60, 2), int)])
    X[0, 10] = X[5, 11] = 1  # a bootstrap loses each of them every third time
    found = consensus(quick(), X, 2, n_runs=3, random_state=3).model
    assert np.isfinite(found.objective_)
    assert np.all(found.components_.max(axis=0) > 0)


def test_the_number_can_be_overruled(four_topics):
    found = consensus(quick(), four_topics, [3, 4, 5], n_runs=3, random_state=0, choose=5)
    assert found.n_components == 5
    assert found.reason.startswith("5 was asked for. The rule says: 4")
    other = found.at(3)
    assert other.model.components_.shape[0] == other.n_components == len(other.stability) == 3
    assert found.n_components == 5
    with pytest.raises(ValueError, match="n_components=9 was not tried"):
        found.at(9)


def test_plots_show_the_chosen_number(four_topics):
    pytest.importorskip("matplotlib")
    found = consensus(quick(), four_topics, [3, 4, 5], n_runs=3, random_state=0, choose=3)
    ax = plot.selection(found)
    assert ax.lines[-1].get_xdata()[0] == 3
    ax.figure.clear()
    ax = plot.consensus(found)
    assert ax.get_xlabel() == "3 components of 3 runs"
    ax.figure.clear()


def test_a_number_at_the_edge_of_the_range_warns(four_topics):
    with pytest.warns(UserWarning, match="4, or the best stable one lies at the edge of"):
        consensus(quick(), four_topics, [2, 3, 4], n_runs=3, random_state=0)


def test_progress_says_how_much_is_left(four_topics, capsys):
    consensus(quick(), four_topics, 4, n_runs=2, random_state=0, verbose=1)
    assert "7 of 7 fits, about 0 s left" in capsys.readouterr().err
    consensus(quick(), four_topics, 4, n_runs=2, random_state=0)
    assert capsys.readouterr().err == ""


def test_runs_see_different_data(four_topics, rng):
    counts = sparse.csr_array(four_topics, dtype=float)
    drawn = resample(counts, "bootstrap", rng)
    assert drawn.shape == counts.shape
    assert not np.array_equal(drawn.toarray(), counts.toarray())
    assert abs(drawn.sum() / counts.sum() - 1) < 0.05
    assert resample(counts, "subsample", rng).shape == (120, 40)
    assert resample(counts, "none", rng) is counts


@pytest.mark.parametrize("resampling", ["subsample", "none"])
def test_other_resampling_finds_the_same_topics(resampling, four_topics):
    one = consensus(quick(), four_topics, 4, n_runs=4, random_state=0)
    other = consensus(quick(), four_topics, 4, n_runs=4, random_state=0, resampling=resampling)
    both = np.corrcoef(one.model.components_, other.model.components_)[:4, 4:]
    assert both.max(axis=1).min() > 0.98


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": []}, "n_components must be integers of at least 1"),
        ({"n_components": [0, 2]}, "n_components must be integers of at least 1"),
        ({"n_components": [2.5]}, "n_components must be integers of at least 1"),
        ({"n_components": 2.5}, "n_components must be integers of at least 1, not 2.5"),
        ({"n_components": 7}, "n_components=7 is larger than the data"),
        ({"n_runs": 1}, "n_runs must be an integer of at least 2"),
        ({"resampling": "jackknife"}, "resampling must be one of"),
        ({"test_size": 1.0}, "test_size must be at least 0"),
        ({"choose": 3}, "choose=3 is not among the numbers to try"),
        ({"X": [[-1, 2], [3, 4]]}, "negative"),
        ({"X": np.zeros((4, 3))}, "X has no counts"),
        ({"model": NMF(fixed_topics=[[1, 1, 1]])}, "Use refit instead"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, message):
    given = {"model": NMF(), "X": np.ones((6, 3), int), "n_components": 2} | changes
    with pytest.raises(ValueError, match=message):
        consensus(**given)
    with pytest.raises(TypeError, match="model must be a model of this package"):
        consensus("NMF", [[1]], 1)


@pytest.mark.parametrize(
    "X", [[[5, 3, 2, 1, 0]], [[1.5, 2, 0.5], [3, 4, 1], [0.2, 1, 5]], [[4, 0], [0, 3]]]
)
@pytest.mark.filterwarnings("ignore:Fewer samples of X have counts")
def test_too_few_samples_or_counts_that_are_not_whole_have_no_held_out_score(X):
    found = consensus(quick(), X, [1, 2], n_runs=2, random_state=0, choose=1)
    assert "score" not in found.table
    assert "nothing was held out" in found.reason
    assert found.model.components_.shape == (1, len(X[0]))


# Clusters


def noisy_runs(rng, topics, n_runs=8, counts=3000):
    """Return topics with noise, in another order in each run."""
    orders = np.array([rng.permutation(len(topics)) for _ in range(n_runs)])
    runs = np.array([rng.multinomial(counts, topics)[order] for order in orders]) / counts
    return runs, orders


def test_clusters_have_one_component_of_each_run(rng):
    topics = rng.dirichlet(np.full(50, 0.3), size=5)
    runs, orders = noisy_runs(rng, topics)
    found = cluster_components(runs)
    true = np.take_along_axis(orders, found.order, axis=1)  # which topic each component is
    assert np.all(true == true[0])
    assert sorted(true[0]) == list(range(5))
    np.testing.assert_allclose(found.topics, topics[true[0]], atol=0.03)
    assert found.stability.min() > 0.9
    assert found.found.tolist() == [8] * 5
    np.testing.assert_allclose(found.topics.sum(axis=1), 1)


def test_a_component_that_no_other_run_finds_is_an_outlier(rng):
    topics = rng.dirichlet(np.full(50, 0.1), size=4)
    runs, orders = noisy_runs(rng, topics)
    runs[3, np.argsort(orders[3])[2]] = rng.dirichlet(np.full(50, 0.1))
    found = cluster_components(runs)
    assert found.is_outlier.sum() == 1
    run, cluster = np.argwhere(found.is_outlier)[0]
    assert run == 3
    assert orders[0][found.order[0, cluster]] == 2
    assert found.found[cluster] == 7
    assert found.stability.argmin() == cluster
    np.testing.assert_allclose(found.topics[cluster], topics[2], atol=0.03)


def test_runs_in_poor_optima_do_not_move_the_consensus_topics(rng):
    topics = rng.dirichlet(np.full(50, 0.3), size=3)
    runs, _ = noisy_runs(rng, topics, n_runs=30)
    poor = 0.5 * runs + 0.5 * runs.mean(axis=1, keepdims=True)  # topics that are mixed up
    runs[12:] = poor[12:]
    objectives = np.where(np.arange(30) < 12, 1.0, 2.0)
    found = cluster_components(runs, objectives)
    distance = np.abs(found.topics[:, np.newaxis] - topics).sum(axis=2).min(axis=1)
    assert distance.max() < 0.1
    of_all = cluster_components(runs)
    assert np.abs(of_all.topics[:, np.newaxis] - topics).sum(axis=2).min(axis=1).min() > 0.2
    np.testing.assert_allclose(np.sort(found.stability), np.sort(of_all.stability))  # of all runs


def test_random_components_are_not_stable(rng):
    runs = rng.dirichlet(np.full(50, 0.1), size=(8, 4))
    assert cluster_components(runs).stability.max() < 0.5
    same = np.repeat(runs[:1], 8, axis=0)
    np.testing.assert_allclose(cluster_components(same).stability, 1)
    assert cluster_components(same[:, :1]).stability[0] == pytest.approx(1)


# The rule


def test_the_rule_uses_stability_and_score_together():
    numbers, high = np.arange(2, 7), np.full(5, 0.95)
    scores = np.array([[-3.0, -3.1], [-2.5, -2.6], [-2.2, -2.3], [-2.1, -2.2], [-2.0, -2.1]])
    mean = np.array([0.95, 0.95, 0.95, 0.6, 0.5])
    choice = choose_number(numbers, mean, mean, scores)
    assert choice.number == 4
    assert not choice.is_edge
    assert "6 scores higher, but its mean stability is only 0.50" in choice.reason
    assert choose_number(numbers, high, high, scores).is_edge  # 6, the best
    assert choose_number(numbers, high, np.array([0.9, 0.9, 0.1, 0.1, 0.1]), scores).number == 3
    flat = np.array([[-3.0, -3.1], [-2.2, -2.4], [-2.1, -2.5], [-2.3, -2.4], [-2.3, -2.5]])
    assert choose_number(numbers, high, high, flat).number == 3
    unstable = choose_number(numbers, 0 * high, 0 * high, scores)
    assert "none is stable" in unstable.reason
    assert not unstable.is_stable
    assert choose_number(numbers, mean, mean, np.empty((5, 0))).number == 4
    assert choose_number(np.array([1, 2]), high[:2], high[:2], scores[::-1][:2]).is_edge is False


def test_if_no_number_is_stable_the_most_stable_ones_compete():
    numbers, scores = (
        np.arange(2, 6),
        np.array([[-3.0, -3.1], [-2.5, -2.6], [-2.2, -2.3], [-2, -2.1]]),
    )
    mean = np.array([0.7, 0.77, 0.6, 0.3])
    choice = choose_number(numbers, mean, mean, scores)
    assert choice.number == 3
    assert "5 scores higher, but its mean stability is only 0.30" in choice.reason


def test_a_range_without_a_stable_number_warns(rng):
    X = rng.poisson(1.0, (40, 12))
    with pytest.warns(UserWarning, match="No number of components from 4 to 5 is stable"):
        consensus(quick(), X, [4, 5], n_runs=3, random_state=0)


def test_a_few_large_samples_do_not_decide_if_their_total_is_limited(rng):
    """Two samples with most of the counts have a topic of their own each."""
    topics = rng.dirichlet(np.full(30, 0.1), size=5)
    X = rng.poisson(300 * rng.dirichlet(np.full(3, 0.2), size=80) @ topics[:3])
    large = rng.poisson(100_000 * topics[3:])
    X = np.vstack([X, large])
    found = consensus(quick(), X, 3, n_runs=4, random_state=0)
    assert "The 4 samples with the most counts have" in found.reason
    limited = consensus(quick(), X, 3, n_runs=4, random_state=0, max_total=20)
    assert "most counts" not in limited.reason

    def cosines(model):
        ours = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
        planted = topics[:3] / np.linalg.norm(topics[:3], axis=1, keepdims=True)
        return (ours @ planted.T).max(axis=0).min()

    assert cosines(found.model) < 0.9 < cosines(limited.model)
    totals = limited.model.weights_ @ limited.model.components_.sum(axis=1)
    np.testing.assert_allclose(totals[-2:], X[-2:].sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize(
    ("X", "max_total", "message"),
    [
        (np.full((9, 4), 2), 0, "max_total must be a finite number of at least 1, not 0"),
        (np.arange(36).reshape(9, 4) + 0.5, 10, "max_total needs whole counts"),
    ],
)
def test_totals_that_cannot_be_limited_are_refused(X, max_total, message):
    with pytest.raises(ValueError, match=message):
        consensus(quick(), X, 2, n_runs=2, max_total=max_total)


def test_proportions_are_said_not_to_be_counts(four_topics):
    X = sparse.csr_array(four_topics).toarray()
    with pytest.warns(CountsWarning, match="divided by their sums"):
        consensus(quick(), X / X.sum(axis=1, keepdims=True), 2, n_runs=2, random_state=0)


def test_a_consensus_can_be_pickled(four_topics):
    found = consensus(quick(), four_topics, [3, 4], n_runs=3, choose=3, random_state=0)
    again = pickle.loads(pickle.dumps(found))
    assert again.reason == found.reason
    np.testing.assert_array_equal(again.at(4).model.weights_, found.at(4).model.weights_)


@pytest.mark.parametrize("n_samples", [1, 3])
def test_fewer_samples_than_components_are_said(four_topics, n_samples):
    X = sparse.csr_array(four_topics)[:n_samples].toarray()
    X = np.vstack([X, np.zeros_like(X[:1])])  # a sample of zeros has no say
    with pytest.warns(UserWarning, match=rf"have counts \({n_samples}\) than n_components"):
        found = consensus(quick(), X, n_samples + 1, n_runs=3, random_state=0)
    assert found.model.weights_.shape == (n_samples + 1, n_samples + 1)
    assert np.all(found.model.weights_[-1] == 0)


def test_a_component_that_few_runs_find_is_named(four_topics):
    """Eight components are too many for four topics: runs do not agree on all of them."""
    found = consensus(quick(), four_topics, 8, n_runs=6, random_state=0)
    rare = np.flatnonzero(2 * found.components["found"] < 6)
    assert len(rare) > 0
    number = found.components["found"][rare[0]]
    assert "Fewer than half of the 6 runs found these" in found.reason
    assert f"component {rare[0]} by {number}" in found.reason
    assert len(found.model.components_) == 8  # it is not lost
    assert "half of the" not in consensus(quick(), four_topics, 4, n_runs=6, random_state=0).reason


def test_missing_entries_are_refused(four_topics):
    X = sparse.csr_array(four_topics).toarray().astype(float)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"X has missing entries \(NaN\), which resampled data"):
        consensus(quick(), X, 2, n_runs=2, random_state=0)


def test_without_held_out_samples_stability_chooses(four_topics):
    settings = {"n_runs": 5, "test_size": 0, "random_state": 0}
    found = consensus(quick(NMF), four_topics, [2, 3, 4, 6], **settings)
    assert found.n_components == 4
    assert "nothing was held out" in found.reason
    assert "score" not in found.table

"""How features and weights differ between topics and groups of samples."""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from isotopic import (
    NMF,
    PLSA,
    SampleOrderWarning,
    differential_anndata,
    evaluate,
    fit_anndata,
    plot,
)
from isotopic._core import in_numpy, native
from isotopic.evaluate.shrinkage import fit_prior, shrink
from isotopic.threads import use_threads

DATA = Path(__file__).parents[1] / os.environ.get("ISOTOPIC_DATA", "../shared/data")
CELLS = DATA / "pbmc_facs"
SETTINGS = {"max_iter": 50, "tol": 0, "random_state": 0}


def planted(rng, n_features=1500, n_topics=3, n_samples=200, null=0.7):
    """Draw counts whose rates differ in some features only; the topics have equal sums."""
    rates = np.tile(rng.gamma(0.5, 1, n_features) + 1e-3, (n_topics, 1))
    changes = rng.normal(0, 1.5, rates.shape) * (rng.random(rates.shape) > null)
    rates *= 2**changes
    rates[:, -1] = rates.sum(axis=1).max() + 1 - rates[:, :-1].sum(axis=1)
    rates /= rates.sum(axis=1, keepdims=True)
    weights = rng.dirichlet(np.full(n_topics, 0.3), n_samples)
    totals = rng.integers(1000, 5000, (n_samples, 1))
    return rng.poisson(totals * weights @ rates), weights, rates


def known_model(X, weights, rates):
    return PLSA(len(rates), init=(weights, rates), max_iter=0, tol=0).fit(X)


# --------------------------------------------------------------------------------------------------
# Rates
# --------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([0.1, 5, 1000]),
    n_samples=st.sampled_from([1, 7, 300]),
)
def test_rates_agree_with_their_twin_in_numpy_for_any_number_of_threads(seed, scale, n_samples):
    rng = np.random.default_rng(seed)
    exposures = scale * rng.dirichlet(np.full(3, 0.3), n_samples)
    X = sparse.csc_array(rng.poisson(exposures @ rng.gamma(0.5, 1, (3, 20))).astype(float))
    overall = np.asarray(X.sum(axis=0)).ravel() / exposures.sum()

    def fit(core, threads):
        rates, covariance = np.tile(overall[:, None], (1, 3)), np.full((20, 9), np.nan)
        core.fit_rates(
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32),
            X.data,
            exposures,
            exposures.sum(axis=0),
            overall,
            0.5,
            rates,
            covariance,
            threads,
        )
        return rates, covariance

    for ours, other, twin in zip(fit(native, 1), fit(native, 3), fit(in_numpy, 1), strict=True):
        np.testing.assert_array_equal(ours, other)
        np.testing.assert_allclose(ours, twin, rtol=1e-5, atol=1e-9)


def test_the_core_checks_what_rates_are_fitted_to():
    starts, samples = np.array([0, 1]), np.zeros(1, np.int32)
    one = np.ones(1)
    table = np.ones((1, 2))
    good = [starts, samples, one, table, np.ones(2), one, 0.5, table.copy(), np.ones((1, 4)), 1]
    native.fit_rates(*good)
    for at, wrong in ((0, np.array([0, 2])), (1, np.ones(1, np.int32)), (3, np.ones((1, 3))),
                      (4, one), (5, np.ones(2)), (8, np.ones((1, 2)))):  # fmt: skip
        with pytest.raises(ValueError, match=r"do not fit|differ|sample|shape"):
            native.fit_rates(*good[:at], wrong, *good[at + 1 :])


def test_differences_do_not_depend_on_threads_or_on_how_features_are_cut(rng, monkeypatch):
    X, weights, rates = planted(rng, 300)
    model = known_model(X, weights, rates)
    with use_threads(1):
        one = evaluate.differential(model, X)
    module = sys.modules["isotopic.evaluate.differential"]
    monkeypatch.setattr(module, "_ENTRIES_AT_A_TIME", 9 * 7)
    with use_threads(3):
        cut = evaluate.differential(model, X)
    for name in ("rates", "lfc", "se", "versus", "shrunken_lfc", "lfsr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(cut, name))


def test_a_topic_is_compared_with_the_nearest_a_chosen_or_the_mean_topic(rng):
    X, weights, rates = planted(rng, 200)
    model = known_model(X, weights, rates)
    nearest, mean, second = (
        evaluate.differential(model, X, versus=versus) for versus in ("nearest", "mean", 1)
    )
    occurs = X.sum(axis=0) > 0
    logs = np.log2(nearest.rates[:, occurs])
    np.testing.assert_allclose(second.lfc[:, occurs], logs - logs[1])
    assert np.all(second.lfc[1] == 0)
    assert np.all(second.se[1] == np.inf)
    assert np.all(second.lfsr[1] == 1)
    assert np.all(second.versus == 1)
    assert np.all(np.abs(nearest.lfc) <= np.abs(np.delete(second.lfc, 1, 0)).max(axis=0) + 1e-12)
    shares = evaluate.prevalence(model)
    np.testing.assert_allclose(mean.lfc[:, occurs], logs - np.log2(shares @ 2**logs))
    assert np.all(mean.versus == -1)
    # The mean of all topics has little error of its own, so the comparison is the surest.
    assert np.median(mean.se) < np.median(nearest.se[np.isfinite(nearest.se)])
    for wrong in ("farthest", 3, -1, True, 1.0, None):
        with pytest.raises(ValueError, match="versus must be 'nearest', 'mean' or a topic between"):
            evaluate.differential(model, X, versus=wrong)


@pytest.mark.parametrize("versus", ["nearest", "mean", 0])
def test_false_sign_rates_are_calibrated(rng, versus):
    """Among features below a false sign rate, no more signs are wrong than it says."""
    X, weights, rates = planted(rng, 3000)
    model = known_model(X, weights, rates)
    found = evaluate.differential(model, X, versus=versus)
    logs = np.log2(rates)
    other = (
        np.log2(evaluate.prevalence(model) @ rates)
        if versus == "mean"
        else np.take_along_axis(logs, found.versus, axis=0)
    )
    truth = np.where(np.abs(logs - other) < 1e-9, 0, logs - other)
    is_wrong = np.sign(truth) != np.sign(found.lfc)
    for rate in (0.05, 0.2):
        chosen = found.lfsr < rate
        assert chosen.sum() > 300
        assert is_wrong[chosen].mean() <= rate
    known = np.isfinite(found.se)
    assert is_wrong[known].mean() > 0.2  # without the rate many signs are wrong
    error = (found.shrunken_lfc - truth)[known], (found.lfc - truth)[known]
    assert np.mean(error[0] ** 2) < np.mean(error[1] ** 2)


def test_z_scores_are_those_of_a_likelihood_ratio():
    """Each sample has one topic, so the ratio is that of two Poisson rates."""
    rng = np.random.default_rng(3)
    X = rng.poisson([[30, 50, 100, 4, 1000]] * 20 + [[30, 60, 0, 0.2, 1000]] * 20)
    weights = np.repeat(np.eye(2), 20, axis=0)
    model = known_model(X, weights, np.vstack([X[:20].sum(axis=0), X[20:].sum(axis=0)]) + 1.0)
    found = evaluate.differential(model, X, weights=weights, pseudo_count=1e-3)
    counts, totals = np.vstack([X[:20].sum(axis=0), X[20:].sum(axis=0)]), X.sum(axis=1)
    exposures = np.array([[totals[:20].sum()], [totals[20:].sum()]])
    common = counts.sum(axis=0) / exposures.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(counts / exposures / common), 0)
    expected = np.sign(found.lfc[0]) * np.sqrt(2 * terms.sum(axis=0))
    np.testing.assert_allclose(found.z[0], expected, rtol=0.02)
    np.testing.assert_allclose(found.z[1], -found.z[0], rtol=1e-6)
    assert found.z[0, 2] > 30  # none in the other topic
    assert found.lfc[0, 2] / found.se[0, 2] < 5
    many = [0, 1, 4]
    np.testing.assert_allclose(found.z[0, many], (found.lfc / found.se)[0, many], rtol=0.02)


# --------------------------------------------------------------------------------------------------
# Shrinkage
# --------------------------------------------------------------------------------------------------


def test_shrinkage_is_the_posterior_of_its_prior_by_numerical_integration(rng):
    errors = rng.uniform(0.3, 1, 400)
    estimates = np.where(rng.random(400) < 0.5, 0, rng.normal(0, 2, 400)) + errors * rng.normal(
        size=400
    )
    prior, found = fit_prior(estimates, errors), shrink(estimates, errors)
    sds = np.sqrt(prior.variances[1:])
    grid = np.linspace(-15, 15, 60_001)
    density = sum(share * stats.norm.pdf(grid, 0, sd) for share, sd in
                  zip(prior.shares[1:], sds, strict=True))  # fmt: skip
    step = grid[1] - grid[0]
    for i in range(0, 400, 57):
        likelihood = stats.norm.pdf(estimates[i], grid, errors[i])
        null = prior.shares[0] * stats.norm.pdf(estimates[i], 0, errors[i])
        posterior = density * likelihood * step
        total = posterior.sum() + null
        mean = (posterior * grid).sum() / total
        sd = np.sqrt((posterior * grid**2).sum() / total - mean**2)
        below, above = posterior[grid < 0].sum() / total, posterior[grid > 0].sum() / total
        assert found.mean[i] == pytest.approx(mean, abs=2e-3)
        assert found.sd[i] == pytest.approx(sd, abs=2e-3)
        assert found.lfsr[i] == pytest.approx(null / total + min(below, above), abs=2e-3)


def test_shrinkage_finds_how_many_values_are_zero(rng):
    errors = np.full(20_000, 0.2)
    truth = np.where(rng.random(20_000) < 0.8, 0, rng.normal(0, 2, 20_000))
    prior = fit_prior(truth + errors * rng.normal(size=20_000), errors)
    assert prior.shares[prior.variances < 0.2**2].sum() == pytest.approx(0.8, abs=0.05)


def test_no_information_is_no_sign():
    found = shrink(np.array([0.0, 3.0, -2.0]), np.array([np.inf, 0.5, np.nan]))
    assert found.lfsr[[0, 2]].tolist() == [1, 1]
    assert found.mean[[0, 2]].tolist() == [0, 0]
    assert 0 < found.mean[1] < 3
    nothing = shrink(np.zeros((2, 2)), np.full((2, 2), np.inf))
    assert np.all(nothing.lfsr == 1)


@pytest.mark.skipif(not CELLS.exists(), reason="needs the sorted cells of pbmc_facs")
def test_top_genes_are_markers_of_the_sorted_cells():
    X = sparse.load_npz(CELLS / "pbmc_facs.npz")[::3]
    genes = [line.split("|")[-1] for line in (CELLS / "vocab.txt").read_text().splitlines()]
    types = np.array((CELLS / "labels.txt").read_text().splitlines())[::3]
    model = NMF(6, tol=1e-2, init="random", random_state=1).fit(X)
    found = evaluate.differential(model, X)
    shares = evaluate.proportions(model.weights_, model.components_)
    markers = {
        "CD19+ B": {"CD79A", "MS4A1", "CD79B", "IGLL5", "LINC00926", "TCL1A"},
        "CD14+ Monocyte": {"S100A8", "S100A9", "LYZ", "FCN1", "CD14", "CFD"},
        "CD56+ NK": {"GNLY", "NKG7", "GZMA", "GZMB", "PRF1", "CST7"},
        "CD34+": {"SPINK2", "PRSS57", "SOX4", "EGFL7", "CYTL1", "LAPTM4B"},
    }
    for kind, known in markers.items():
        own = shares[types == kind].mean(axis=0) - shares[types != kind].mean(axis=0)
        topic = own.argmax()
        top = np.argsort(-found.interval()[0][topic])[:12]
        assert len(known & {genes[v] for v in top}) >= 4
        assert np.all(found.lfsr[topic, top] < 0.01)


# --------------------------------------------------------------------------------------------------
# Groups of samples
# --------------------------------------------------------------------------------------------------


def test_groups_are_compared_by_ranks(rng):
    weights = rng.dirichlet([1, 2, 3], 30)
    groups = np.array(["a", "b", "c"])[rng.integers(3, size=30)]
    table = evaluate.compare_groups(5 * weights, groups)
    assert len(table) == 9
    for i in range(9):
        own = groups == table["group"][i]
        k = table["topic"][i]
        result = stats.mannwhitneyu(weights[own, k], weights[~own, k])
        assert table["p_value"][i] == pytest.approx(result.pvalue)
        assert table["mean"][i] == pytest.approx(weights[own, k].mean())
        assert (table["versus"][i], table["n"][i]) == ("others", own.sum())
    one = evaluate.compare_groups(weights, groups, versus="b")
    assert set(one["group"]) == {"a", "c"}
    assert set(one["versus"]) == {"b"}
    assert set(one["n_versus"]) == {(groups == "b").sum()}


def test_intervals_of_many_samples_are_those_of_welchs_test(rng):
    own, others = rng.dirichlet([1, 2, 3], 3000), rng.dirichlet([3, 2, 1], 4000)
    table = evaluate.compare_groups(np.vstack([own, others]), [0] * 3000 + [1] * 4000, versus=1)
    interval = stats.ttest_ind(own, others, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(table["lower"], interval.low, rtol=2e-3)
    np.testing.assert_allclose(table["upper"], interval.high, rtol=2e-3)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_a_few_samples_that_are_all_zero_are_no_evidence(n, rng):
    rejected, covered, repeats = 0, 0, 200
    for _ in range(repeats):
        shares = (rng.random(n + 150) < 0.1) * rng.beta(2, 5, n + 150)
        weights = np.column_stack([shares, 1 - shares])
        table = evaluate.compare_groups(weights, [0] * n + [1] * 150, versus=1)
        rejected += table["p_value"][0] < 0.05
        covered += table["lower"][0] <= 0 <= table["upper"][0]
    assert rejected <= 0.12 * repeats
    assert covered >= 0.9 * repeats


def test_intervals_of_groups_cover_the_truth(rng):
    covered = []
    for _ in range(100):
        weights = np.vstack([rng.dirichlet([2, 3], 15), rng.dirichlet([4, 2], 25)])
        table = evaluate.compare_groups(weights, [0] * 15 + [1] * 25, versus=1, level=0.9)
        covered.append(table["lower"][0] <= 2 / 5 - 4 / 6 <= table["upper"][0])
    assert 0.82 <= np.mean(covered) <= 0.97


def test_groups_of_a_model_are_those_of_its_samples(rng):
    X, weights, rates = planted(rng, 100)
    model = known_model(X, weights, rates)
    groups = weights.argmax(axis=1)
    table = evaluate.compare_groups(model, groups)
    own = table["group"] == table["topic"]
    assert np.all(table["lower"][own] > 0.3)
    frame = pd.DataFrame(weights, index=[f"s{i}" for i in range(len(weights))])
    labels = pd.Series(groups, index=frame.index)
    expected = evaluate.compare_groups(frame, labels)
    with pytest.warns(SampleOrderWarning):
        turned = evaluate.compare_groups(frame, labels[::-1])
    for name in ("group", "difference", "se"):
        np.testing.assert_array_equal(turned[name], expected[name])


def test_a_group_of_one_sample_has_no_interval():
    table = evaluate.compare_groups([[1, 0], [0.5, 0.5], [0, 1]], ["a", "b", "b"], versus="b")
    np.testing.assert_allclose(table["difference"], [0.75, -0.75])
    assert np.all(table["se"] == np.inf)
    assert table["lower"].tolist() == [-np.inf, -np.inf]
    assert np.all(table["p_value"] == 1)


def test_groups_that_cannot_be_compared_are_refused():
    weights = [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="a label for each of the 2 samples"):
        evaluate.compare_groups(weights, ["a"])
    with pytest.raises(ValueError, match="single label 'a', so there is nothing to compare"):
        evaluate.compare_groups(weights, ["a", "a"])
    with pytest.raises(ValueError, match=r"versus='c' is not among the groups, which are \['a'"):
        evaluate.compare_groups(weights, ["a", "b"], versus="c")
    with pytest.raises(ValueError, match="no label for 1 samples, the first of which is 1"):
        evaluate.compare_groups(weights, ["a", None])
    with pytest.raises(ValueError, match="no label for 1 samples"):
        evaluate.compare_groups(weights, [1.0, np.nan])
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        evaluate.compare_groups(weights, ["a", "b"], level=95)


# --------------------------------------------------------------------------------------------------
# Annotated data and plots
# --------------------------------------------------------------------------------------------------


def annotated(rng):
    anndata = pytest.importorskip("anndata")
    X, _, _ = planted(rng, 40, n_samples=50)
    names = pd.DataFrame(index=[f"gene{v}" for v in range(40)])
    return anndata.AnnData(X.astype(np.float32), var=names)


def test_differences_are_stored_in_annotated_data_and_survive_a_file(rng, tmp_path):
    data = annotated(rng)
    model = fit_anndata(data, NMF(3, **SETTINGS))
    found = differential_anndata(data, model, versus="mean")
    expected = evaluate.differential(model, data, versus="mean")
    np.testing.assert_array_equal(found.lfsr, expected.lfsr)
    data.write_h5ad(tmp_path / "cells.h5ad")
    kept = pytest.importorskip("anndata").read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(kept.varm["nmf_lfc"], expected.shrunken_lfc.T)
    np.testing.assert_array_equal(kept.varm["nmf_lfsr"], expected.lfsr.T)
    np.testing.assert_array_equal(kept.varm["nmf_z"], expected.z.T)
    table = kept.uns["nmf_differential"]
    assert table["params"]["versus"] == "mean"
    best = np.argsort(-expected.z[1], kind="stable")
    assert list(table["names"]["topic 1"]) == [f"gene{v}" for v in best]
    np.testing.assert_array_equal(table["lfsr"]["topic 1"], expected.lfsr[1][best])
    with pytest.raises(ValueError, match=r"varm\['nmf_lfc'\] and .* already"):
        differential_anndata(data, model)
    differential_anndata(data, model, overwrite=True)
    assert data.uns["nmf_differential"]["params"]["versus"] == "nearest"
    with pytest.raises(TypeError, match="must be an AnnData object, not ndarray"):
        differential_anndata(data.X, model)


@pytest.mark.parametrize(
    ("versus", "words"),
    [("nearest", "the nearest other topic"), ("mean", "the mean topic"), (2, "topic 2")],
)
def test_a_volcano_says_what_a_topic_is_compared_with(rng, versus, words):
    X, weights, rates = planted(rng, 60)
    found = evaluate.differential(known_model(X, weights, rates), X, versus=versus)
    ax = plot.volcano(found, 0)
    assert ax.get_xlabel().endswith(f"against {words}")
    with pytest.raises(ValueError, match="topics must be indices between 0 and 2, not 3"):
        plot.volcano(found, 3)

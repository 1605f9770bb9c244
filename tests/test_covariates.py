"""Covariates: concentrations of the weights that are log-linear in what is known of samples."""

import zipfile
from datetime import date

import numpy as np
import pytest
from scipy import sparse, special, stats
from sklearn.base import clone

import isotopic
from isotopic import LDA, NMF, GammaPoisson, OnlineEM, PoissonFactorization
from isotopic.covariates import read_table
from isotopic.fitted.effects import with_intervals
from isotopic.priors import CollapsedDirichlet, Dirichlet, Evidence, Gamma, with_covariates
from isotopic.report.metadata import describe_metadata, read_metadata
from isotopic.serve.session import Version, infer_text

K = 3
TRUE = np.array([[-1.2, -1.0, -1.5], [1.0, -1.0, 0.0], [0.8, 0.0, -0.8]])


def simulate(n=300, seed=0, n_features=40, length=60):
    """Return counts, covariates and topics of a model with known coefficients."""
    topics = np.random.default_rng(9).dirichlet(np.full(n_features, 0.1), K)
    rng = np.random.default_rng(seed)
    party = rng.choice(["left", "right"], n)
    year = rng.uniform(-1, 1, n)
    columns = np.column_stack([np.ones(n), party == "right", year])
    weights = rng.standard_gamma(np.exp(columns @ TRUE))
    weights /= weights.sum(axis=1, keepdims=True)
    counts = [rng.multinomial(length, row) for row in weights @ topics]
    return sparse.csr_array(np.array(counts)), {"party": party, "year": year}, topics


X, TABLE, TOPICS = simulate()


def fit(model=None, **given):
    model = LDA(K, fixed_topics=TOPICS, random_state=0) if model is None else model
    return model.fit(X, covariates=TABLE, **given)


def some(table, rows):
    return {name: np.asarray(column)[rows] for name, column in table.items()}


MODEL = fit()


def every_estimate():
    """Return an LDA of each estimate; modes need given concentrations."""
    given = {"map": {"alpha": 1.3, "eta": 1.05}}
    names = ("cvb0", "smoothed", "variational", "map")
    return [LDA(K, estimate=name, random_state=0, **given.get(name, {})) for name in names]


@pytest.mark.parametrize("model", every_estimate(), ids=lambda model: model.estimate)
def test_known_coefficients_are_found_by_every_estimate(model):
    model = fit(clone(model).set_params(fixed_topics=TOPICS))
    assert model.coefficients_.shape == TRUE.shape
    assert np.abs(model.coefficients_[1:] - TRUE[1:]).max() < 0.6
    assert list(model.covariate_names_) == ["Intercept", "party[right]", "year"]


def test_topics_are_learned_along_with_the_coefficients():
    model = fit(LDA(K, random_state=0))
    order = isotopic.match(TOPICS, model.components_).order
    assert np.abs(model.coefficients_[1:][:, order] - TRUE[1:]).max() < 0.6


@pytest.mark.parametrize("kind", [Dirichlet(0.3), CollapsedDirichlet(0.3), Gamma(0.3, 0.1)])
def test_slopes_are_the_derivative_of_the_likelihood(kind):
    """The statistics' gradient is that of the likelihood of the counts, by finite differences."""
    rng = np.random.default_rng(1)
    z = np.column_stack([np.ones(20), rng.normal(size=20)])
    counts = rng.poisson(3.0, (20, K)) * 1.0
    copies = rng.uniform(0.5, 2, 20)
    beta = rng.normal(0, 0.3, (2, K))
    prior = with_covariates(kind, z).__class__(kind, z, beta)
    probability, size = np.ones(counts.shape), counts
    if isinstance(kind, CollapsedDirichlet):  # sums of many small draws
        probability = 1 - np.exp(-counts)
        size = counts / np.where(counts > 0, probability, 1)

    def likelihood(beta):
        alpha = np.exp(z @ beta)
        rises = probability * (special.gammaln(alpha + size) - special.gammaln(alpha))
        if isinstance(kind, Gamma):
            falls = (alpha * np.log1p(1.0 / 0.1)).sum(axis=1)
        else:
            whole = alpha.sum(axis=1)
            falls = special.gammaln(whole + counts.sum(axis=1)) - special.gammaln(whole)
        return copies @ (rises.sum(axis=1) - falls)

    found = prior.sufficient_statistics(Evidence(counts, None, 1.0, copies))
    gradient = found[: 2 * K].reshape(2, K)
    for place in np.ndindex(2, K):
        step = np.zeros((2, K))
        step[place] = 1e-5
        slope = (likelihood(beta + step) - likelihood(beta - step)) / 2e-5
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_the_bound_never_rises():
    model = LDA(K, estimate="variational", solver="joint", max_iter=60, tol=0, random_state=0)
    steps = np.diff(fit(model).history_["objective"])
    assert steps.max() <= 1e-9 * model.objective_


def test_better_predictions_where_covariates_matter():
    new, table, _ = simulate(seed=1)
    seen, hidden = isotopic.evaluate.split_counts(new, held_out=0.9, random_state=0)
    plain = LDA(K, fixed_topics=TOPICS, random_state=0).fit(X)

    def score(weights):
        return float(hidden.multiply(np.log(weights @ TOPICS + 1e-300)).sum())

    assert score(MODEL.transform(seen, covariates=table)) > score(plain.transform(seen))


@pytest.mark.parametrize(
    "model",
    [
        GammaPoisson(K, fixed_topics=TOPICS, shape=0.3, rate=0.01, random_state=0),
        PoissonFactorization(K, fixed_topics=TOPICS, random_state=0),
    ],
)
def test_gamma_weights_have_log_linear_shapes(model):
    model = fit(model)
    large = np.abs(TRUE[1:]) > 0.5
    assert np.array_equal(np.sign(model.coefficients_[1:])[large], np.sign(TRUE[1:])[large])
    assert np.all(model.fitted_.weights_prior.kind.rate < 0.5)  # learned, too
    sized = fit(model, size_factors=np.full(X.shape[0], 2.0))
    assert np.allclose(sized.coefficients_, model.coefficients_, atol=0.1)


def test_row_blocks_and_threads_give_the_same_bits():
    parts = [X[:100], X[100:180], X[180:]]
    model = LDA(K, random_state=0, max_iter=45, tol=0, n_jobs=1)
    whole = fit(model)
    blocked = LDA(K, random_state=0, max_iter=45, tol=0, n_jobs=2)
    blocked.fit(isotopic.open_blocks(parts), covariates=TABLE)
    assert np.allclose(blocked.coefficients_, whole.coefficients_, atol=1e-8)
    again = fit(LDA(K, random_state=0, max_iter=45, tol=0, n_jobs=2))
    assert np.array_equal(again.coefficients_, whole.coefficients_)
    found = blocked.transform(isotopic.open_blocks(parts), covariates=TABLE)
    assert np.allclose(found, whole.transform(X, covariates=TABLE), atol=1e-6)


def test_dask_gives_the_same_bits_as_row_blocks():
    distributed = pytest.importorskip("distributed")
    parts = [X[:150], X[150:]]
    settings = {"random_state": 0, "max_iter": 25, "tol": 0}
    here = LDA(K, **settings).fit(isotopic.open_blocks(parts), covariates=TABLE)
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        there = LDA(K, **settings).fit(isotopic.open_blocks(parts, client=client), covariates=TABLE)
    assert np.array_equal(here.coefficients_, there.coefficients_)


def test_a_sample_weight_of_two_is_the_sample_twice():
    copies = np.ones(X.shape[0])
    copies[:50], copies[50:60] = 2, 0
    rows = np.r_[0:50, 0:50, 60 : X.shape[0]]
    settings = {"fixed_topics": TOPICS, "random_state": 0, "max_iter": 45, "tol": 0}
    weighted = LDA(K, **settings).fit(X, covariates=TABLE, sample_weight=copies)
    repeated = LDA(K, **settings).fit(X[rows], covariates=some(TABLE, rows))
    assert np.allclose(weighted.coefficients_, repeated.coefficients_, atol=1e-3)


def test_missing_entries_seeds_and_mini_batches():
    counts = X.toarray().astype(float)
    counts[::5, 3] = np.nan
    for model, data in [
        (LDA(K, missing="nan", random_state=0), counts),
        (LDA(K, seeds={0: [1, 2]}, random_state=0), X),
        (LDA(K, solver=OnlineEM(batch_size=100), random_state=0), X),
    ]:
        model.fit(data, covariates=TABLE)
        order = isotopic.match(TOPICS, model.components_).order
        assert np.abs(model.coefficients_[1:][:, order] - TRUE[1:]).max() < 0.7


@pytest.mark.parametrize(
    "model",
    [*every_estimate(), GammaPoisson(K, shape=0.3, rate=0.01, random_state=0)],
    ids=lambda model: getattr(model, "estimate", "gamma"),
)
def test_partial_fit_learns_coefficients_from_batches(model):
    many, table, _ = simulate(n=3000, seed=5)
    model = clone(model)
    for begin in range(0, 3000, 200):
        rows = slice(begin, begin + 200)
        model.partial_fit(many[rows], covariates=some(table, rows))
    order = isotopic.match(TOPICS, model.components_).order
    found = model.coefficients_[:, order]
    large = np.abs(TRUE[1:]) > 0.5
    assert np.array_equal(np.sign(found[1:])[large], np.sign(TRUE[1:])[large])
    assert np.abs(found[1:] - TRUE[1:]).max() < 1
    width = np.mean(model.effects_["upper"] - model.effects_["lower"])
    few = clone(model).partial_fit(many[:200], covariates=some(table, slice(200)))
    assert width < np.mean(few.effects_["upper"] - few.effects_["lower"])


def test_the_first_batches_do_not_lose_a_topic_to_the_coefficients():
    """Topics of a random start have few counts here; their concentration must not follow."""
    counts, table, _ = simulate(n=600)
    model = LDA(K, random_state=0)
    for begin in list(range(0, 600, 150)) * 5:
        rows = slice(begin, begin + 150)
        model.partial_fit(counts[rows], covariates=some(table, rows))
        if begin == 0 and model.n_iter_ == 1:
            assert model.effects_["se"].min() > 0  # learned from the first batch alone
    assert isotopic.match(TOPICS, model.components_).similarity.min() > 0.9


def test_partial_fit_goes_on_after_a_fit(tmp_path):
    many, table, _ = simulate(n=1200, seed=5)
    model = fit(LDA(K, random_state=0))
    before = model.coefficients_
    for begin in range(0, 1200, 300):
        rows = slice(begin, begin + 300)
        model.partial_fit(many[rows], np.full(300, 1.5), covariates=some(table, rows))
    assert np.abs(model.coefficients_ - before).max() < 0.5
    model.save(tmp_path / "model.isotopic")
    models = [model, isotopic.load(tmp_path / "model.isotopic"), model.reorder([2, 0, 1])]
    for each in models:
        each.partial_fit(many[:300], covariates=some(table, slice(300)))
    assert np.array_equal(models[1].coefficients_, model.coefficients_)
    assert np.allclose(models[2].coefficients_, model.coefficients_[:, [2, 0, 1]], rtol=1e-5)


def test_partial_fit_needs_the_covariates_of_the_first_batch():
    model = LDA(K, random_state=0).partial_fit(X, covariates=TABLE)
    with pytest.raises(ValueError, match="Pass the covariates of these samples"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="'green', which no fitted sample had"):
        model.partial_fit(X, covariates=TABLE | {"party": np.full(X.shape[0], "green")})
    with pytest.raises(ValueError, match="without covariates"):
        LDA(K, random_state=0).partial_fit(X).partial_fit(X, covariates=TABLE)
    blocks = isotopic.open_blocks([X], keep_weights=False)
    model = LDA(K, random_state=0, max_iter=25, tol=0).fit(blocks, covariates=TABLE)
    with pytest.raises(ValueError, match="keep_weights=True"):
        model.partial_fit(X, covariates=TABLE)


@pytest.mark.parametrize("kind", [Dirichlet(0.3), Gamma(0.3, 0.1)])
def test_remembered_statistics_ask_for_no_second_step(kind):
    rng = np.random.default_rng(1)
    z = np.column_stack([np.ones(50), rng.normal(size=50)])
    evidence = Evidence(rng.poisson(2.0, (50, K)) * 1.0, None, 1.0)
    prior = with_covariates(kind, z)
    statistics = prior.sufficient_statistics(evidence)
    updated = prior.with_statistics(statistics)
    again = updated.with_statistics(updated.statistics_at(statistics, prior))
    step = np.abs(updated._known_coefficients - prior._known_coefficients).max()
    assert np.abs(again.coefficients - updated.coefficients).max() < 0.02 * step
    fitted = updated.statistics_of_fit(evidence)
    assert np.allclose(updated.with_statistics(fitted).coefficients, updated.coefficients)


def test_files_checkpoints_and_reordering_keep_the_coefficients(tmp_path):
    model = fit(formula="~ party + spline(year, 4)") if _has_formulaic() else MODEL
    model.save(tmp_path / "model.isotopic")
    loaded = isotopic.load(tmp_path / "model.isotopic")
    new = some(TABLE, slice(0, 7))
    assert np.array_equal(
        loaded.transform(X[:7], covariates=new), model.transform(X[:7], covariates=new)
    )
    assert np.array_equal(loaded.effects_["lower"], model.effects_["lower"])

    def unfinished(state):
        return state.iteration >= 25

    free = LDA(K, random_state=0, max_iter=45, tol=0)
    stopped = LDA(K, random_state=0, max_iter=45, tol=0, callbacks=unfinished)
    file = isotopic.Checkpoint(tmp_path / "fit", seconds=0)
    fit(stopped, checkpoint=file)
    continued = fit(LDA(K, random_state=0, max_iter=45, tol=0), checkpoint=file)
    assert np.array_equal(continued.coefficients_, fit(free).coefficients_)
    turned = free.reorder([2, 0, 1])
    assert np.allclose(turned.coefficients_, free.coefficients_[:, [2, 0, 1]], rtol=1e-12)


def test_a_warm_start_continues():
    first = fit(LDA(K, random_state=0, tol=1e-3))
    again = fit(LDA(K, init=first, random_state=0, tol=1e-3))
    assert again.n_iter_ < first.n_iter_
    assert np.allclose(again.coefficients_, first.coefficients_, atol=0.1)


def _has_formulaic():
    try:
        import formulaic  # noqa: F401
    except ImportError:
        return False
    return True


def test_a_formula_remembers_knots_and_categories():
    pytest.importorskip("formulaic")
    model = fit(formula="~ party + spline(year, 4)")
    names = list(model.covariate_names_)
    assert names[:2] == ["Intercept", "party[T.right]"]
    assert len(names) == 6
    # A single sample alone says nothing about knots and categories.
    one = {"party": ["right"], "year": [0.3]}
    row = np.flatnonzero(TABLE["party"] == "right")[:1]
    table = some(TABLE, row) | {"year": np.array([0.3])}
    alone = model.transform(X[row], covariates=one)
    assert np.allclose(alone, model.transform(X[row], covariates=table))
    table = model.effects("year", values=[-1.0, 0.0, 1.0])
    assert np.allclose(table["proportion"].reshape(3, K).sum(axis=1), 1)


def test_frames_are_aligned_by_name_and_anndata_has_its_own():
    pandas = pytest.importorskip("pandas")
    names = [f"doc{i}" for i in range(X.shape[0])]
    data = pandas.DataFrame(X.toarray(), index=names)
    data.columns = [f"w{i}" for i in range(X.shape[1])]
    frame = pandas.DataFrame(TABLE, index=names).sample(frac=1, random_state=0)
    settings = {"random_state": 0, "max_iter": 25, "tol": 0}
    with pytest.warns(isotopic.names.SampleOrderWarning):
        aligned = LDA(K, **settings).fit(data, covariates=frame)
    plain = LDA(K, **settings).fit(X, covariates=TABLE)
    assert np.allclose(aligned.coefficients_, plain.coefficients_, atol=1e-4)
    with pytest.raises(ValueError, match="covariates"):
        LDA(K).fit(data, covariates=frame.rename(index={"doc3": "other"}))
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(sparse.csr_matrix(X.astype(np.float32)), obs=frame.loc[names])
    found = LDA(K, **settings).fit(cells, covariates=["party", "year"])
    assert np.allclose(found.coefficients_, plain.coefficients_, atol=1e-3)
    given = found.transform(cells[:5], covariates=cells.obs[:5])
    assert np.array_equal(found.transform(cells[:5]), given)
    without = anndata.AnnData(cells.X, obs=frame.loc[names][["party"]], var=cells.var)
    with pytest.raises(ValueError, match="Pass the covariates"):
        found.transform(without)


def test_a_series_in_a_dict_is_aligned_by_name():
    pandas = pytest.importorskip("pandas")
    names = [f"doc{i}" for i in range(X.shape[0])]
    year = pandas.Series(TABLE["year"], index=names)
    with pytest.warns(isotopic.names.SampleOrderWarning):
        found = read_table(
            {"year": year[::-1], "party": TABLE["party"]},
            None,
            n_samples=len(names),
            sample_names=lambda: np.array(names, dtype=object),
        )
    assert np.array_equal(found["year"], TABLE["year"])
    assert found["party"].tolist() == TABLE["party"].tolist()


def test_missing_values_of_every_kind_are_found_and_dates_are_years():
    pandas = pytest.importorskip("pandas")
    missing = {
        "numbers": pandas.array([1, None], dtype="Int64"),
        "texts": pandas.array(["a", None], dtype="string"),
        "groups": pandas.Categorical(["a", None]),
        "times": pandas.to_datetime(["2001-01-01", None]),
        "dates": np.array([date(2001, 1, 1), None], dtype=object),
    }
    found = read_table(missing, None, n_samples=2, sample_names=lambda: None)
    for name in ("numbers", "times", "dates"):
        assert np.isnan(found[name]).tolist() == [False, True], name
    for name in ("texts", "groups"):
        assert found[name].tolist() == ["a", ""], name
    zoned = pandas.date_range("2001-01-01", periods=2, tz="UTC")
    years = read_table({"when": zoned}, None, n_samples=2, sample_names=lambda: None)["when"]
    assert years == pytest.approx([2001, 2001 + 1 / 365.2425], abs=0.01)
    assert found["dates"][0] == found["times"][0] == years[0]


def test_values_of_effects_are_those_of_the_covariate():
    with pytest.raises(ValueError, match="must be numbers or dates, as in the fit, not 'a'"):
        MODEL.effects("year", values=["a"])
    with pytest.raises(ValueError, match=r"must be texts, as in the fit, not 1\.0"):
        MODEL.effects("party", values=[1])
    with pytest.raises(ValueError, match=r"values\[1\] must be finite, not nan"):
        MODEL.effects("year", values=[0.5, np.nan])
    named = LDA(K, fixed_topics=TOPICS, tol=0.1).fit(X, covariates={"topic": TABLE["year"]})
    with pytest.raises(ValueError, match="column 'topic' of its own"):
        named.effects("topic")
    dates = MODEL.effects("year", values=[np.datetime64("2001-01-01")])
    assert dates["year"] == pytest.approx(2001, abs=0.01)


def test_intervals_cover_and_agree_with_the_bootstrap():
    table = MODEL.effects()
    lower, upper = (table[name].reshape(TRUE.shape)[1:] for name in ("lower", "upper"))
    assert ((lower <= TRUE[1:]) & (TRUE[1:] <= upper)).mean() >= 0.5
    se = table["se"].reshape(TRUE.shape)
    resampled = MODEL.effects(method="bootstrap", X=X, n_resamples=20, random_state=0)
    ratio = resampled["se"].reshape(TRUE.shape)[1:] / se[1:]
    assert 0.5 < np.median(ratio) < 2
    assert np.array_equal(resampled["coefficient"], table["coefficient"])


def test_intervals_of_small_groups_stay_in_their_range():
    rng = np.random.default_rng(0)
    groups = np.array([f"g{i:02d}" for i in np.r_[np.zeros(180, int), 1 + np.arange(120) % 20]])
    group = rng.permutation(groups)
    model = LDA(K, fixed_topics=TOPICS, random_state=0).fit(X, covariates={"group": group})
    table = model.effects("group")
    width = table["upper"] - table["lower"]
    assert 0 < table["lower"].min() < table["upper"].max() < 1
    assert width.max() < 0.7
    assert -1 < table["difference_lower"].min() < table["difference_upper"].max() < 1
    # A difference from a group of many samples is as uncertain as the proportion.
    apart = table["difference_upper"] - table["difference_lower"]
    assert np.all((apart > 0.6 * width)[K:] & (apart < 1.7 * width + 0.1)[K:])
    assert np.array_equal(model.effects("group")["lower"], table["lower"])


def test_groups_with_hardly_any_samples_are_pointed_out():
    author = np.array([f"author {i // 2}" for i in range(X.shape[0])])
    expected = "150 groups for 300 samples; 150 of them have fewer than 5, such as 'author 0'"
    with pytest.warns(UserWarning, match=expected):
        LDA(K, fixed_topics=TOPICS, max_iter=1, tol=0).fit(X, covariates={"author": author})


def test_rare_groups_are_shrunk_like_others():
    """The prior of a group's coefficient does not depend on how many samples it has."""
    rare = (np.arange(X.shape[0]) < 8).astype(float)
    fitted = fit(LDA(K, fixed_topics=TOPICS, random_state=0)).fitted_
    columns = fitted.offsets.covariates.design
    assert columns.scales[:2].tolist() == [1, 1]
    model = LDA(K, fixed_topics=TOPICS, random_state=0).fit(X, covariates={"rare": rare})
    assert model.fitted_.offsets.covariates.design.scales.tolist() == [1, 1]
    assert np.abs(model.coefficients_[1]).max() < 2


def test_intervals_of_few_refits_reach_as_far_as_these_err():
    table = MODEL.effects("party")
    shape = table["proportion"].shape
    errors = np.full((4, *shape), -0.02)  # all of it bias
    found = isotopic.Intervals(table["proportion"], None, None, errors, 0.5)
    told = with_intervals(table, {"proportion": found, "difference": found})
    reach = 0.02 * stats.t.ppf(0.75, 4)
    assert told["upper"] == pytest.approx(table["proportion"] + reach)
    assert told["lower"] == pytest.approx(np.maximum(table["proportion"] - reach, 0))
    assert told["difference_lower"] == pytest.approx(table["proportion"] - reach)
    assert np.array_equal(told["proportion"], table["proportion"])


def test_expected_proportions_follow_the_coefficients():
    groups = MODEL.effects("party")
    assert list(groups["party"]) == ["left"] * K + ["right"] * K
    assert np.allclose(groups["proportion"].reshape(2, K).sum(axis=1), 1)
    assert np.all(groups["lower"] < groups["proportion"])
    assert np.all(groups["proportion"] < groups["upper"])
    difference = groups["difference"][K:]
    assert difference[0] > 0 > difference[1]
    assert np.allclose(groups["difference"][:K], 0)
    typical = MODEL.effects("year", values=[0.0], others="typical")
    shares = special.softmax(
        MODEL.coefficients_[0] + MODEL.coefficients_[1] * (np.mean(TABLE["party"] == "right") > 0.5)
    )
    assert np.allclose(typical["proportion"], shares)


def test_metadata_routing_passes_covariates_on():
    import sklearn
    from sklearn.model_selection import cross_validate

    with sklearn.config_context(enable_metadata_routing=True):
        model = LDA(K, fixed_topics=TOPICS, random_state=0)
        model.set_fit_request(covariates=True).set_score_request(covariates=True)
        frame = np.column_stack([TABLE["party"] == "right", TABLE["year"]]).astype(float)
        found = cross_validate(model, X, cv=2, params={"covariates": frame}, error_score="raise")
    assert np.all(found["test_score"] < 0)


BAD = {
    "no value for 1 of 300 samples; the first is sample 0": TABLE
    | {"party": np.array([None, *TABLE["party"][1:]])},
    "'year' are too large": {"year": 1e300 * TABLE["year"]},
    "no finite value for 1": {"year": np.r_[np.nan, TABLE["year"][1:]]},
    "values, but X has": {"year": TABLE["year"][1:]},
    "same value": {"year": np.ones(X.shape[0])},
    "combination": {"a": TABLE["year"], "b": 2 * TABLE["year"] + 1},
    "has no columns": {},
    "same value, 'left'": TABLE | {"party": np.full(X.shape[0], "left")},
    "is not a list of values": {"year": 2001},
    "model's own column of ones": {"Intercept": TABLE["year"]},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_covariates_are_named(message):
    with pytest.raises(ValueError, match=message):
        LDA(K).fit(X, covariates=BAD[message])


@pytest.mark.parametrize("column", [TABLE["year"] + 1j, np.arange(300, dtype="m8[D]")])
def test_columns_that_are_no_covariates_are_refused(column):
    with pytest.raises(TypeError, match=r"'c' holds .* Pass numbers, dates or texts"):
        LDA(K).fit(X, covariates={"c": column})


def test_new_samples_need_the_covariates_that_were_fitted():
    with pytest.raises(ValueError, match=r"fitted with covariates \(party, year\)"):
        MODEL.transform(X)
    with pytest.raises(ValueError, match="has no column 'year'"):
        MODEL.transform(X, covariates={"party": TABLE["party"]})
    unknown = TABLE | {"party": np.full(X.shape[0], "green")}
    with pytest.raises(ValueError, match="'green', which no fitted sample had"):
        MODEL.transform(X, covariates=unknown)
    numbers = TABLE | {"party": np.zeros(X.shape[0])}
    with pytest.raises(ValueError, match="holds numbers"):
        MODEL.transform(X, covariates=numbers)
    with pytest.raises(ValueError, match="without covariates"):
        LDA(K, random_state=0, tol=0.1).fit(X).transform(X, covariates=TABLE)


def test_models_without_a_concentration_say_so():
    with pytest.raises(ValueError, match="Dirichlet or Gamma"):
        NMF(K).fit(X, covariates=TABLE)
    with pytest.raises(ValueError, match=r"alpha must start above 1; it is 0\.9"):
        LDA(K, estimate="map", alpha=0.9, eta=1.1).fit(X, covariates=TABLE)
    with pytest.raises(ValueError, match="log-linear"):
        fit(LDA(K, random_state=0, tol=0.1)).merge([[0, 1]], X)
    with pytest.raises(AttributeError, match="covariates"):
        LDA(K, random_state=0, tol=0.1).fit(X).coefficients_  # noqa: B018
    with pytest.raises(ValueError, match="none of the model's covariates"):
        MODEL.effects("sex")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("~ 0 + year", "intercept"),
        ("~ sex", "needs 'sex'"),
        ("year ~ party", "left side"),
        ("~ log(year)", "makes"),
        ("~ (", "cannot be used"),
        ("~ 1", "no column that varies"),
    ],
)
def test_bad_formulas_are_explained(formula, message):
    pytest.importorskip("formulaic")
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        fit(formula=formula)


def test_coefficients_of_a_fit_that_stopped_too_early_are_not_there_yet():
    X = np.random.default_rng(0).poisson(2.0, (20, 6))
    model = LDA(2, max_iter=0, tol=0, random_state=0).fit(X, covariates={"x": np.arange(20.0)})
    with pytest.raises(ValueError, match=r"have not been learned.*larger max_iter"):
        model.coefficients_  # noqa: B018 - the property raises


def test_everything_that_infers_new_samples_takes_their_covariates(tmp_path):
    new, table, _ = simulate(n=40, seed=3)
    seen, hidden = isotopic.evaluate.split_counts(new, random_state=0)
    calls = [
        lambda **given: isotopic.evaluate.completion_perplexity(MODEL, new, **given),
        lambda **given: isotopic.evaluate.completion_score(MODEL, seen, hidden, **given),
        lambda **given: isotopic.evaluate.completion_scorer(MODEL, new, **given),
        lambda **given: MODEL.document_info(new, **given),
        lambda **given: isotopic.pyldavis_arguments(MODEL, new, **given),
        lambda **given: MODEL.report(tmp_path / "new.html", new, overwrite=True, **given),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="Pass the covariates of these samples"):
            call()
        call(covariates=table)
    weights = MODEL.transform(seen, covariates=table)
    expected = (hidden.toarray() * np.log(weights @ TOPICS + 1e-300)).sum() / hidden.sum()
    assert calls[1](covariates=table) == pytest.approx(expected)
    assert calls[0](covariates=table) == pytest.approx(np.exp(-expected))
    assert calls[2](covariates=table) == pytest.approx(expected, rel=0.02)  # another split
    plain = LDA(K, random_state=0, tol=0.1).fit(X)
    with pytest.raises(ValueError, match="without covariates"):
        plain.document_info(new, covariates=table)


def test_covariates_of_held_out_samples_are_aligned_by_name():
    pandas = pytest.importorskip("pandas")
    new, table, _ = simulate(n=40, seed=3)
    names = [f"doc{i}" for i in range(40)]
    words = [f"w{i}" for i in range(new.shape[1])]
    frame = pandas.DataFrame(table, index=names)
    data = pandas.DataFrame(new.toarray(), index=names, columns=words)
    fitted = pandas.DataFrame(X.toarray(), columns=words)
    model = LDA(K, fixed_topics=TOPICS, random_state=0).fit(fitted, covariates=TABLE)
    for measure in (isotopic.evaluate.completion_perplexity, isotopic.evaluate.completion_scorer):
        expected = measure(model, data, covariates=frame)
        with pytest.warns(isotopic.names.SampleOrderWarning):
            assert measure(model, data, covariates=frame[::-1]) == expected
        with pytest.raises(ValueError, match="covariates"):
            measure(model, data, covariates=frame.rename(index={"doc3": "other"}))


def test_a_column_is_the_same_as_a_covariate_and_in_the_report():
    dates = np.array(["2001-07-02", "", "1999-12-31"] * 20, dtype=object)
    columns = {
        "day": (dates, "date"),
        "month": (np.where(dates == "", "", "2001-07"), "date"),
        "made": (np.array([date(2001, 7, 2), None] * 30, dtype=object), "date"),
        "party": (np.array(["left", "right"] * 30), "group"),
        "size": (np.arange(60.0), "number"),
    }
    given = {name: values for name, (values, _) in columns.items()}
    found = read_table(given, None, n_samples=60, sample_names=lambda: None)
    told = describe_metadata(read_metadata(given, None, 60), np.arange(60))
    for name, kind in ((column["name"], column["kind"]) for column in told):
        assert kind == columns[name][1], name
        assert (found[name].dtype.kind == "f") == (kind != "group"), name
    assert found["day"][:3] == pytest.approx([2001.5, np.nan, 2000], abs=0.01, nan_ok=True)


def test_texts_that_are_all_numbers_are_numbers_wherever_they_come_from(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [f"{name} word{i % 3} word{i % 5},{2001 + i % 7}" for i, name in enumerate("ab" * 30)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,year", *rows]))
    data = isotopic.read_counts(tmp_path / "texts.csv", min_df=1, token_pattern=r"\w+")
    years = data.metadata["year"]
    as_numbers = years.astype(float)
    for given in (["year"], dict(data.metadata), pandas.DataFrame(data.metadata), {"year": years}):
        model = LDA(2, random_state=0, max_iter=3, tol=0).fit(data, covariates=given)
        assert list(model.covariate_names_) == ["Intercept", "year"], type(given)
        np.testing.assert_array_equal(model.fitted_.offsets.covariates.table["year"], as_numbers)


@pytest.mark.parametrize("dtype", [int, str])
def test_a_categorical_column_of_numbers_stays_groups(dtype):
    pandas = pytest.importorskip("pandas")
    numbers = np.tile(np.array([1, 2, 3]), 100).astype(dtype)
    frame = pandas.DataFrame({"site": pandas.Categorical(numbers)})
    model = LDA(K, fixed_topics=TOPICS, random_state=0).fit(X, covariates=frame)
    assert list(model.covariate_names_) == ["Intercept", "site[2]", "site[3]"]
    expected = model.transform(X, covariates=frame)
    texts = {"site": numbers.astype(str)}  # of new samples are read as the fit read them
    np.testing.assert_array_equal(model.transform(X, covariates=texts), expected)


def test_the_spline_of_stm_is_told_its_name_here():
    pytest.importorskip("formulaic")
    with pytest.raises(ValueError, match=r"needs 's'.*spline\(year, df\)"):
        LDA(K).fit(X, covariates=TABLE, formula="~ party + s(year)")
    with pytest.raises(ValueError, match=r"needs 's', which is not among[^.]*\.$"):
        LDA(K).fit(X, covariates=TABLE, formula="~ party + s")


def test_one_value_that_is_no_number_is_named_before_numbers_become_groups():
    years = np.tile(np.arange(2001, 2011).astype(str), 30).astype(object)
    years[5] = "c. 2006"
    with pytest.warns(UserWarning, match="'year' becomes groups.*299 of its 300.*'c. 2006' of sam"):
        model = LDA(K, fixed_topics=TOPICS, random_state=0).fit(X, covariates={"year": years})
    assert len(model.covariate_names_) == 11


def test_a_model_holds_its_covariates_once(tmp_path):
    pieces = MODEL.fitted_.offsets.covariates
    assert pieces.matrix is MODEL.fitted_.weights_prior.covariates
    assert pieces.table is pieces.design.table
    MODEL.save(tmp_path / "model.isotopic")
    with zipfile.ZipFile(tmp_path / "model.isotopic") as file:
        contents = [file.read(name) for name in file.namelist()]
    for array in (pieces.matrix, pieces.table["year"]):
        assert sum(array.tobytes() in content for content in contents) == 1


def test_a_pasted_text_is_that_of_a_typical_sample():
    names = np.array([f"word{i}" for i in range(X.shape[1])])
    text = "word1 word2 word2 word7"
    told = infer_text(Version(MODEL, X, names), text, {})
    row = sparse.csr_array(np.bincount([1, 2, 2, 7], minlength=X.shape[1])[np.newaxis])
    party = max(set(TABLE["party"]), key=TABLE["party"].tolist().count)
    typical = {"party": [party], "year": [TABLE["year"].mean()]}
    expected = MODEL.transform(row, covariates=typical)[0]
    for topic, share in told["topics"]:
        assert share == pytest.approx(expected[topic])


def test_a_product_with_a_number_does_not_depend_on_where_the_number_begins():
    """Years since 0 and since 2005 are the same years: so are the trends of the groups."""
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(3)
    party, year = rng.choice(["left", "right"], 300), rng.integers(1990, 2021, 300).astype(float)
    trend = np.where(party == "left", 0.9, -0.9) * (year - 2005) / 10
    weights = rng.standard_gamma(np.exp(np.column_stack([trend, 0 * trend, 0 * trend])))
    weights /= weights.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(60, row @ TOPICS) for row in weights])
    models = [
        LDA(K, fixed_topics=TOPICS, random_state=0).fit(
            counts, covariates={"party": party, "year": year - start}, formula="~ party * year"
        )
        for start in (0, 2005)
    ]
    slopes = [model.coefficients_[-1] for model in models]  # party[T.right]:year
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slopes[0][0] - slopes[0][1:].mean(), -0.18, atol=0.05)
    np.testing.assert_allclose(models[0].weights_, models[1].weights_, rtol=1e-4, atol=1e-6)


def test_comparing_groups_that_the_model_knows_warns():
    with pytest.warns(UserWarning, match=r"fitted with covariates \(party, year\)"):
        isotopic.evaluate.compare_groups(MODEL, TABLE["party"])

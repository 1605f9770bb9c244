"""Metadata of samples: from files to covariates, tables over time, and the command line."""

import csv
import json
import sys

import numpy as np
import pytest

import isotopic
from isotopic import LDA, GammaPoisson, evaluate, group_weights, read_counts
from isotopic.cli import main

PARTIES = ["left", "right"] * 20
YEARS = [str(2000 + i // 4) for i in range(40)]
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(np.where(np.arange(40)[:, None] % 2 == np.arange(12) % 2, 4.0, 0.5))
TEXTS = [" ".join(f"word{v}" for v in range(12) for _ in range(row[v])) for row in COUNTS]


def write_table(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture
def documents(tmp_path):
    rows = zip(map("doc{}".format, range(40)), PARTIES, YEARS, TEXTS, strict=True)
    return write_table(tmp_path / "docs.csv", ["id", "party", "year", "text"], rows)


@pytest.fixture
def wide(tmp_path):
    header = ["id", "party", "year", *map("word{}".format, range(12))]
    rows = [(f"doc{i}", PARTIES[i], YEARS[i], *COUNTS[i]) for i in range(40)]
    return write_table(tmp_path / "wide.csv", header, rows)


def test_columns_of_documents_travel_with_the_counts(documents, tmp_path):
    data = read_counts(documents)
    assert list(data.metadata) == ["party", "year"]
    assert data.metadata["party"].tolist() == PARTIES
    assert list(read_counts(documents, metadata=["year"]).metadata) == ["year"]
    lines = [
        json.dumps({"text": text, "party": party})
        for text, party in zip(TEXTS, PARTIES, strict=True)
    ]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    assert read_counts(tmp_path / "docs.jsonl").metadata["party"].tolist() == PARTIES
    assert list(read_counts(documents, metadata="year").metadata) == ["year"]
    with pytest.raises(ValueError, match="no metadata called 'sex'"):
        read_counts(documents, metadata=["sex"])


def test_columns_of_a_table_of_counts_are_named(wide, tmp_path):
    data = read_counts(wide, metadata=["party", "year"])
    assert data.counts.shape == (40, 12)
    assert data.metadata["year"].tolist() == YEARS
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"party": PARTIES} | {f"word{v}": COUNTS[:, v] for v in range(12)}
    parquet.write_table(arrow.table(columns), tmp_path / "wide.parquet")
    data = read_counts(tmp_path / "wide.parquet", metadata=["party"])
    assert data.metadata["party"].tolist() == PARTIES


def test_obs_and_folders_are_metadata(tmp_path):
    for name, text in zip("abcd", TEXTS, strict=False):
        folder = tmp_path / "texts" / ("odd" if name in "ac" else "even")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text)
    found = read_counts(tmp_path / "texts", min_df=1)
    assert found.metadata["folder"].tolist() == [n.split("/")[0] for n in found.sample_names]
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame(
        {"party": pandas.Categorical([None, *PARTIES[1:]]), "age": np.arange(40.0)},
        index=[f"cell{i}" for i in range(40)],
    )
    anndata.AnnData(COUNTS.astype(np.float32), obs=obs).write_h5ad(tmp_path / "cells.h5ad")
    data = read_counts(tmp_path / "cells.h5ad")
    assert data.metadata["party"].tolist() == ["", *PARTIES[1:]]
    model = LDA(2, random_state=0).fit(data, covariates=["age"])
    assert model.covariate_names_.tolist() == ["Intercept", "age"]
    with pytest.raises(ValueError, match="no value for 1 of 40 samples"):
        LDA(2).fit(data, covariates=["party"])
    with pytest.raises(ValueError, match="no metadata called 'sex'"):
        LDA(2).fit(data, covariates=["sex"])
    with pytest.raises(ValueError, match="need X with metadata"):
        LDA(2).fit(COUNTS, covariates=["party"])


@pytest.mark.parametrize("given", ["party,year", "~ party + year"])
def test_the_command_line_fits_and_transforms_with_covariates(given, documents, tmp_path, capsys):
    if given.startswith("~"):
        pytest.importorskip("formulaic")
    out = tmp_path / "out"
    fit = ["fit", str(documents), "--model", "LDA", "-k", "2", "-o", str(out), "--seed", "0"]
    assert main([*fit, "--covariates", given]) == 0
    rows = list(csv.DictReader((out / "effects.csv").read_text().splitlines()))
    assert len(rows) == 6
    party = [float(row["coefficient"]) for row in rows if row["covariate"].startswith("party")]
    assert party[0] * party[1] < 0  # each party has a topic of its own
    assert "effects.csv" in json.loads((out / "manifest.json").read_text())["files"]
    assert read_counts(out).metadata["party"].tolist() == PARTIES
    new = tmp_path / "new.csv"
    assert main(["transform", str(out), str(documents), "-o", str(new)]) == 0
    assert len(new.read_text().splitlines()) == 41
    capsys.readouterr()
    assert main([*fit, "--force", "--covariates", "sex"]) == 2
    assert "sex" in capsys.readouterr().err


def test_transform_needs_the_metadata_of_new_samples(wide, tmp_path, capsys):
    out = tmp_path / "out"
    fit = ["fit", str(wide), "--model", "LDA", "-k", "2", "-o", str(out), "--no-report"]
    assert main([*fit, "--metadata", "party,year", "--covariates", "party"]) == 0
    transform = ["transform", str(out), str(wide), "-o", str(tmp_path / "new.csv")]
    capsys.readouterr()
    assert main([*transform, "--drop-columns", "party", "--drop-columns", "year"]) == 2
    assert "needs metadata" in capsys.readouterr().err
    assert main([*transform, "--metadata", "party,year"]) == 0


WEIGHTS = np.column_stack([np.linspace(0.1, 0.9, 40), np.linspace(0.9, 0.1, 40)])


def test_times_are_aligned_with_the_samples_by_name():
    pandas = pytest.importorskip("pandas")
    names = [f"doc{i}" for i in range(40)]
    weights = pandas.DataFrame(WEIGHTS, index=names)
    numbers = pandas.Series([int(year) for year in YEARS], index=names)
    days = pandas.to_datetime(pandas.Series(YEARS, index=names), format="%Y")
    expected = evaluate.over_time(weights, numbers)["mean"]
    for time in (numbers, days, days.dt.date, days.astype(str)):
        with pytest.warns(isotopic.names.SampleOrderWarning):
            found = evaluate.over_time(weights, time[::-1])
        assert np.allclose(found["mean"], expected)


def test_means_over_time_are_those_of_the_samples():
    years = np.array(YEARS, dtype=float)
    table = evaluate.over_time(WEIGHTS, years)
    first = table["time"] == 2000
    assert np.allclose(table["mean"][first], WEIGHTS[:4].mean(axis=0))
    assert np.array_equal(table["n"], np.full(20, 4))
    assert np.all((table["lower"] <= table["mean"]) & (table["mean"] <= table["upper"]))
    decades = evaluate.over_time(WEIGHTS, years, period=5)
    assert decades["time"][::2].tolist() == [2000, 2005]
    dates = np.array([f"{year}-06-01" for year in YEARS])
    by_date = evaluate.over_time(WEIGHTS, dates, period="year")
    assert np.allclose(by_date["mean"], table["mean"])
    assert by_date["time"][0] == np.datetime64("2000-01-01")
    many = evaluate.over_time(WEIGHTS, np.linspace(0, 1, 40))
    assert len(np.unique(many["time"])) == 20
    single = evaluate.over_time(WEIGHTS[:2], [1, 2])
    assert single["lower"].tolist() == [0.0] * 4
    assert single["upper"].tolist() == [1.0] * 4


@pytest.mark.parametrize("as_text", [False, True])
def test_periods_of_whole_years_are_whole_and_begin_with_the_data(as_text):
    years = np.repeat(np.arange(1998, 2024), 4)
    weights = np.full((len(years), 2), 0.5)
    time = years.astype(str) if as_text else years
    table = evaluate.over_time(weights, time)
    assert table["time"][::2].tolist() == list(range(1998, 2024, 2))
    assert set(table["n"]) == {8}
    assert evaluate.over_time(weights, time, period=5)["time"][::2].tolist() == [
        *(1998, 2003, 2008, 2013, 2018, 2023)
    ]
    quarters = evaluate.over_time(weights, years + 0.1, period=0.25)["time"]
    assert quarters[0] == 1998


def test_the_axis_of_time_has_the_name_of_its_column():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    time = pandas.Series(np.repeat([1998, 1999], 20), name="year")
    assert isotopic.plot.over_time(WEIGHTS, time, topics=0).get_xlabel() == "year"


def test_years_as_texts_are_dates_if_the_period_is_a_unit():
    by_date = evaluate.over_time(WEIGHTS, YEARS, period="year")
    assert by_date["time"][0] == np.datetime64("2000-01-01")


@pytest.mark.parametrize(
    ("time", "period", "message"),
    [
        (YEARS[:3], None, "samples"),
        (["x"] * 40, None, "numbers or dates"),
        ([np.nan, *range(39)], None, "sample 0 has"),
        (range(40), "year", "needs dates"),
        (range(40), -1, "positive number"),
        ([f"{year}-06-01" for year in YEARS], 5, "pass numbers such as 2001"),
        (np.array(["NaT"] * 40, dtype="datetime64[D]"), None, "missing"),
    ],
)
def test_bad_times_are_explained(time, period, message):
    with pytest.raises(ValueError, match=message):
        evaluate.over_time(WEIGHTS, time, period=period)


def planted_batches(seed=0, n=300, n_topics=3, n_features=100):
    """Return counts of which each batch adds a third of its own."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_features, 0.05), n_topics)
    backgrounds = rng.dirichlet(np.full(n_features, 0.1), 2)
    batch = rng.integers(0, 2, n)
    weights = rng.dirichlet(np.full(n_topics, 0.3), n)
    rates = 100 * (0.67 * weights @ topics + 0.33 * backgrounds[batch])
    return rng.poisson(rates), batch, topics


def largest_correlation(weights, batch):
    shares = weights / weights.sum(axis=1, keepdims=True)
    return max(abs(np.corrcoef(share, batch)[0, 1]) for share in shares.T)


def test_backgrounds_of_groups_remove_a_planted_batch_effect():
    counts, batch, topics = planted_batches()
    settings = {"shape": 0.3, "rate": 0.01, "random_state": 0, "tol": 1e-3}
    plain = GammaPoisson(3, **settings).fit(counts)
    given = group_weights(counts, batch)
    model = GammaPoisson(5, **settings).fit(counts, fixed_weights=given)
    assert largest_correlation(plain.weights_, batch) > 0.4
    assert largest_correlation(model.weights_[:, 2:], batch) < 0.2
    found = model.components_[2:]
    order = isotopic.match(topics, found).order
    assert np.abs(found[order] - topics).sum(axis=1).max() < 0.3
    # New samples need the groups in the same order, and covariates can come on top.
    new = group_weights(counts[batch == 1], batch[batch == 1], levels=[0, 1])
    assert new[:, 0].sum() == 0
    assert model.transform(counts[batch == 1], fixed_weights=new).shape[1] == 5
    both = GammaPoisson(5, **settings).fit(
        counts, fixed_weights=given, covariates={"x": np.arange(300.0)}
    )
    assert both.coefficients_.shape == (2, 5)


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (["a"] * 3, {}, "label for each"),
        ([None] * 40, {}, "no label"),
        (PARTIES, {"share": 1.5}, "between 0 and 1"),
        (PARTIES, {"levels": ["left"]}, "'right', which is none"),
        (PARTIES, {"levels": ["left", "right", "left"]}, "a group twice"),
    ],
)
def test_bad_groups_are_explained(groups, options, message):
    with pytest.raises(ValueError, match=message):
        group_weights(COUNTS, groups, **options)


def texts_and_table(folder, table, separator=","):
    texts = folder / "texts"
    texts.mkdir()
    for name in ("b", "a", "c"):
        (texts / f"{name}.txt").write_text("sun moon sun moon")
    file = folder / "about.csv"
    file.write_text("\n".join(separator.join(row) for row in table))
    return texts, file


@pytest.mark.parametrize("ending", ["", ".txt"])
def test_rows_of_a_sample_table_are_found_by_name(tmp_path, ending):
    rows = [
        ("year", "file"),
        ("3", f"c{ending}"),
        ("9", "other"),
        ("1", f"a{ending}"),
        ("2", f"b{ending}"),
    ]
    texts, file = texts_and_table(tmp_path, rows)
    data = read_counts(texts, sample_table=file)
    assert data.sample_names.tolist() == ["a.txt", "b.txt", "c.txt"]
    assert {name: list(column) for name, column in data.metadata.items()} == {
        "year": ["1", "2", "3"]
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("file", "year"), ("a", "1"), ("c", "2")],
            "1 of 3 samples, such as 'b.txt', have no row",
        ),
        (
            [("file", "year"), ("x", "1")],
            r"such as 'a\.txt'\. Its columns are 'file' with 'x', 'year' with '1'",
        ),
        (
            [("file", "year"), ("a", "1"), ("b", "1"), ("c", "1"), ("a", "2")],
            "2 rows for the sample",
        ),
    ],
)
def test_a_sample_table_that_does_not_fit_is_refused(tmp_path, rows, message):
    texts, file = texts_and_table(tmp_path, rows)
    with pytest.raises(ValueError, match=message):
        read_counts(texts, sample_table=file)


def test_a_sample_table_that_is_not_there_is_named_alone(tmp_path):
    texts, file = texts_and_table(tmp_path, [("file", "year")])
    with pytest.raises(FileNotFoundError) as caught:
        read_counts(texts, sample_table=file.with_name("abuot.csv"))
    assert str(texts) not in str(caught.value)
    assert "abuot.csv" in str(caught.value)


def test_covariates_of_a_folder_of_texts_ask_for_a_sample_table(tmp_path, capsys):
    texts, file = texts_and_table(tmp_path, [("f", "year"), ("a", "1"), ("b", "2"), ("c", "3")])
    fit = ["fit", str(texts), "--model", "LDA", "-k", "2", "-o", str(tmp_path / "out")]
    fit += ["--covariates", "year"]
    assert main(fit) == 2
    message = capsys.readouterr().err
    assert "--sample-table FILE" in message
    with pytest.raises(ValueError, match="sample_table="):
        LDA(2).fit(read_counts(texts), covariates=["year"])
    assert "--m" not in message
    assert main([*fit, "--sample-table", str(file), "--no-report"]) == 0
    transform = ["transform", str(tmp_path / "out"), str(texts), "-o", str(tmp_path / "new.csv")]
    capsys.readouterr()
    assert main(transform) == 2
    assert "--sample-table FILE" in capsys.readouterr().err


def test_a_formula_without_its_library_says_which_columns_to_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match=r"--covariates party,year\)"):
        LDA(2).fit(COUNTS, covariates={"party": PARTIES}, formula="~ party + spline(year, 4)")


def test_no_column_of_a_sample_table_replaces_one_of_the_data(tmp_path):
    documents, about = tmp_path / "documents.csv", tmp_path / "about.csv"
    documents.write_text("name,text,year\na,sun moon,1\nb,sun moon,2\n")
    about.write_text("name,year\na,3\nb,4\n")
    with pytest.raises(ValueError, match="both have a column 'year'"):
        read_counts(documents, sample_table=about)

"""Metadata in the report: topics over time and by group, and filters."""

import json
import re
from pathlib import Path

import browsing
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from isotopic import LDA, load, read_counts, report
from isotopic.cli import main
from isotopic.names import SampleOrderWarning
from isotopic.report import effects
from isotopic.report.limits import Limits
from isotopic.report.metadata import describe_metadata, read_metadata
from isotopic.report.payload import ReportData

needs_browser = browsing.needs_browser
ALL = np.arange(4)


def test_rows_of_metadata_are_aligned_with_the_samples_by_name():
    X = pd.DataFrame(np.eye(4, dtype=int), index=list("abcd"))
    metadata = pd.DataFrame({"year": [4, 3, 2, 1]}, index=list("dcba"))
    with pytest.warns(SampleOrderWarning):
        found = dict(read_metadata(metadata, X, 4))
    assert found["year"].tolist() == [1, 2, 3, 4]
    assert dict(read_metadata({"year": [4, 3, 2, 1]}, X, 4))["year"].tolist() == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["2001-05-17", "2003-01-02", "1999-12-31", ""], "date"),
        (["1999", "2001", "1999", "2001"], "group"),  # four digits may be anything
        (np.array(["1901-01-01", "NaT", "2000-02-03", "2001-01-01"], "datetime64[D]"), "date"),
        ([1.5, np.nan, 3.0, 4.0], "number"),
        (["1", "2", "3", "4.5"], "number"),
        (["a", None, "a", None], "group"),
        (["a", pd.NA, "a", pd.NA], "group"),
        ([1.5, pd.NA, 3.0, 4.0], "number"),
        ([True, False, True, True], "group"),
        (["every", "one", "is", "different"], "text"),
        (["2001-13-45", "2001-01-01", "2001-01-01", "2001-01-01"], "group"),
        ([float("inf"), 1.0, 2.0, 3.0], "number"),
    ],
)
def test_columns_are_dates_numbers_groups_or_texts(values, kind):
    found = describe_metadata(read_metadata({"x": values}, None, 4), ALL)[0]
    assert found["kind"] == kind
    if kind == "date":
        days = found["first"] + np.asarray(found["values"]) - 1
        first = str(np.asarray(values, dtype=object)[0])
        assert str(np.datetime64(int(days[0]), "D")) == first
        assert list(found["values"]).count(0) == 1  # the one that is missing
    frame = pd.DataFrame({"x": values})
    assert describe_metadata(read_metadata(frame, None, 4), ALL)[0]["kind"] == kind


def test_all_intervals_of_the_page_have_one_level():
    script = (Path(report.__file__).parent / "page" / "groups.js").read_text()
    found = re.search(r"INTERVAL = \{ level: ([\d.]+), reach: ([\d.]+) \}", script)
    assert float(found[1]) == effects._LEVEL
    assert float(found[2]) == pytest.approx(stats.norm.ppf((1 + effects._LEVEL) / 2), abs=1e-3)


def test_years_are_dates():
    found = describe_metadata(read_metadata({"year": [1999, 2001, 2001, 2002]}, None, 4), ALL)[0]
    assert found["kind"] == "date"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], TypeError, "must be a data frame or a dict"),
        ({"x": [1, 2]}, ValueError, "column 'x' has 2 values, but X has 4 samples"),
    ],
)
def test_wrong_metadata_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        read_metadata(given, None, 4)


HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give the folder of a fit to a table of documents with dates and groups."""
    rng = np.random.default_rng(0)
    sea, farm = ["ship", "sails", "harbour", "captain"], ["wheat", "barn", "cattle", "plough"]
    path = tmp_path_factory.mktemp("news")
    lines = []
    for i in range(200):
        year = 1900 + i // 20
        words = [*rng.choice(sea, 3 + 2 * (i // 20)), *rng.choice(farm, 12)]
        lines.append(
            json.dumps(
                {
                    "text": " ".join(words),
                    "date": f"{year}-06-{1 + i % 28:02d}",
                    "paper": ["Times", HOSTILE][i % 2],
                    "id": f"n{i}",
                }
            )
        )
    (path / "news.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ["fit", str(path / "news.jsonl"), "-k", "2", "--model", "LDA", "-o", str(path / "o")]
    assert main(command) == 0
    return path / "o"


def test_other_columns_are_kept_with_the_counts(folder):
    data = read_counts(folder)
    assert list(data.metadata) == ["date", "paper"]
    assert data.metadata["date"][0] == "1900-06-01"


@needs_browser
def test_topics_over_time_by_group_and_filtered(folder, open_page):
    page = open_page(folder / "report.html")
    data, model = read_counts(folder), load(folder / "model.isotopic")
    sea = int(np.argmax(model.components_[:, data.feature_names.tolist().index("ship")]))
    page.click(f"#topic-{sea}")
    years = np.array([date[:4] for date in data.metadata["date"]])
    shares = model.fitted_.weights.explained
    shares = shares[:, sea] / shares.sum(axis=1)
    assert len(page.texts("#groups-plot .point")) == 10
    assert len(page.texts("#groups-plot .band")) == 1
    top = [
        float(v)
        for v in page.run(
            "return [...document.querySelectorAll('#groups-plot .point')]"
            ".map(p => p.getAttribute('cy'))"
        )
    ]
    means = [shares[years == str(1900 + i)].mean() for i in range(10)]
    assert np.corrcoef(top, means)[0, 1] < -0.999  # higher is nearer to the top
    page.click("label[for=column-1]")
    assert page.texts("#groups-plot .group text:first-child")[0][:4] in ("Time", "<img")
    assert len(page.texts("#groups-plot .group")) == 2
    before = page.pixels()
    page.run(
        "const s = document.getElementById('filter-1'); s.value = [...s.options].find("
        "o => o.textContent === 'Times').value; s.dispatchEvent(new Event('change'))"
    )
    assert page.texts("#filter-note") == ["100 of 200 documents are shown."]
    assert page.texts("#found") == ["100 documents"]
    assert page.pixels() != before
    assert "filter=" in page.browser.current_url
    page.click("#clear-filter")
    assert page.texts("#found") == ["200 documents"]
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]
    assert "paper: " in page.texts("#sample .fields")[0]
    page.screenshot("groups")


@needs_browser
def test_long_names_of_groups_fit_and_the_heading_names_what_there_is(open_page, tmp_path):
    kinds = ["D4+/CD45RA+/CD25- Naive T", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW 1", "B"]
    X = np.random.default_rng(0).poisson(3.0, (30, 6))
    model = LDA(2, max_iter=5, tol=0, random_state=0).fit(X)
    page = open_page(model.report(tmp_path / "x.html", X, metadata={"cell": kinds * 10}))
    assert page.texts("#groups-heading") == ["Groups"]
    for topic in ("#groups", "#topic-1"):  # stacked bars, and the bars of one topic
        page.click(topic)
        assert kinds[0] in page.texts("#groups-plot .group text:first-child")
        left = page.run(
            "return [...document.querySelectorAll('#groups-plot .group text:first-child')]"
            ".map(text => text.getBBox().x)"
        )
        assert len(left) == 3
        assert min(left) >= 0


def test_anndata_brings_its_own_metadata():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    known = pd.DataFrame({"kind": list("aabbab")}, index=[f"cell{i}" for i in range(6)])
    cells = anndata.AnnData(np.eye(6) + 1.0, obs=known)
    told = ReportData(LDA(2, max_iter=1, tol=0, random_state=0).fit(cells), cells)
    assert told.payload("", Limits())["metadata"][0]["groups"] == ["a", "b"]

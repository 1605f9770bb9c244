"""The effects of covariates in the report."""

import browsing
import numpy as np
import pytest

from isotopic import LDA
from isotopic.report import write_report
from isotopic.report.payload import ReportData

HOSTILE = "<img src=x onerror=window.hacked=1>"
PHONE = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.2), size=3)
    groups = ["1st", "2nd", HOSTILE]  # the first in alphabetical order is the reference
    party, year = rng.choice(groups, 80), rng.uniform(2000, 2020, 80)
    weights = rng.gamma(np.exp((party[:, np.newaxis] == groups) * 1.5 - 1))
    X = rng.poisson(60 * weights @ topics)
    X[:, 0] += 1
    model = LDA(3, tol=1e-2, random_state=0).fit(X, covariates={"party": party, "year": year})
    return X, model


def shown_rows(page):
    rows = page.run(
        "return [...document.querySelectorAll('#effects-rows tr')].map((row) => "
        "[...row.querySelectorAll('th, .figure')].map((cell) => cell.textContent))"
    )
    return [[name, *(text.replace("\u2212", "-") for text in figures)] for name, *figures in rows]


@browsing.needs_browser
def test_the_page_shows_the_effects_on_the_selected_topic(fit, axe, tmp_path, open_page):
    X, model = fit
    page = open_page(write_report(model, X, tmp_path / "x.html"), "dark")
    page.click("#topic-1")
    table = model.effects_
    expected = np.flatnonzero((table["topic"] == 1) & (table["covariate"] != "Intercept"))
    rows = shown_rows(page)
    assert [row[0] for row in rows] == table["covariate"][expected].tolist()
    assert any(HOSTILE in row[0] for row in rows)
    for at, (_, coefficient, interval) in zip(expected, rows, strict=True):
        found = [float(coefficient), *map(float, interval.split(" to "))]
        assert found == pytest.approx(
            [table[name][at] for name in ("coefficient", "lower", "upper")], rel=6e-3
        )
    assert browsing.findings(page, axe) == []
    page.screenshot("effects-dark")

    page.click("#overview")
    assert len(shown_rows(page)) == 3 * len(expected)
    csv = page.browser.execute_async_script(
        "const done = arguments[0];"
        "saves.find((entry) => entry.file === 'effects.csv').content().then(done)"
    )
    assert len(csv.splitlines()) == 1 + len(table["topic"])
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        assert page.run("return document.documentElement.scrollWidth") <= 380
        assert browsing.findings(page, axe) == []
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.run("return window.hacked") is None


def test_groups_share_a_scale_and_a_number_has_its_own(fit):
    X, model = fit
    table, found = model.effects_, ReportData(model, X).effects
    ends = np.maximum(abs(table["lower"]), abs(table["upper"])).reshape(4, 3).max(axis=1)
    assert found["reach"].tolist() == [ends[0], *[ends[1:3].max()] * 2, ends[3]]


def test_a_report_without_covariates_has_no_effects(fit):
    X, _ = fit
    assert ReportData(LDA(2, max_iter=2, tol=0).fit(X), X).effects is None

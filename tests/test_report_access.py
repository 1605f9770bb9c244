"""The report for everyone: without findings of axe-core, on a telephone, and by keyboard."""

import browsing
import pytest

from isotopic import LDA, datasets

pytestmark = browsing.needs_browser

PHONE = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
SECTIONS = ("topics", "groups", "samples", "fit", "about")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return a report with everything: texts, dates, groups, many topics in every colour."""
    corpus = datasets.load_kjv()
    X = corpus.data[:300]
    n = X.shape[0]
    model = LDA(50, alpha=0.1, eta=0.1, estimate="variational", max_iter=3, tol=0, random_state=0)
    return model.fit(X).report(
        tmp_path_factory.mktemp("access") / "report.html",
        X,
        feature_names=corpus.feature_names,
        sample_names=corpus.sample_names[:n],
        documents=[f"{name}: the waters of the earth" for name in corpus.sample_names[:n]],
        metadata={"year": [1600 + i // 10 for i in range(n)], "kind": list("abc") * (n // 3)},
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme, report, axe, open_page):
    page = open_page(report, scheme)
    assert browsing.findings(page, axe) == []
    page.write("#search", "waters")
    page.click("#save-menu summary")
    page.click("label[for=column-1]")
    assert browsing.findings(page, axe) == []


def test_a_telephone_shows_one_short_section_at_a_time(report, axe, open_page):
    page = open_page(report)
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        for section in SECTIONS:
            page.click(f"nav a[href='#{section}']")
            seen = page.run(
                "return [...document.querySelectorAll('main > section[id]')]"
                ".filter(s => s.offsetHeight).map(s => s.id)"
            )
            assert seen == [section]
            assert page.run("return document.documentElement.scrollHeight") < 3000
            assert page.run("return document.documentElement.scrollWidth") <= 380
            assert browsing.findings(page, axe) == []
        page.click("nav a[href='#topics']")
        name = page.texts("#best .chip bdi")[1]
        page.click("#best .chip:nth-child(2)")  # leads to the sample
        assert page.texts("#sample-name") == [name]
        assert page.run("return document.getElementById('samples').offsetHeight") > 0
        page.screenshot("telephone")
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The report for everyone: without findings of axe-core, on a telephone, and by keyboard."""

import re

import browsing
import pytest

from isotopic import LDA, datasets

Keys = browsing.Keys
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


def tabbed(page, last):
    """Press Tab from the beginning of the page to an element; return all that had the focus."""
    seen = []
    while last not in seen:
        assert len(seen) < 300
        browsing.webdriver.ActionChains(page.browser).send_keys(Keys.TAB).perform()
        seen.append(page.run("return document.activeElement.id"))
    return seen


def move_pointer_away(page):
    """Move the pointer to the bar, which stays where it is: what scrolls by is not pointed at."""
    brand = page.find(".brand")
    browsing.webdriver.ActionChains(page.browser).move_to_element(brand).perform()


def test_squares_of_the_relations_are_selected_by_keyboard_as_by_click(report, axe, open_page):
    page = open_page(report)
    assert {"topic-list", "terms", "matrix"} <= set(tabbed(page, "groups-plot"))
    matrix = page.find("#matrix")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", matrix)
    side = page.run("return arguments[0].clientWidth", matrix) / 50
    row, column = 7, 3
    chain = browsing.webdriver.ActionChains(page.browser)
    x, y = ((at + 0.5 - 25) * side for at in (column, row))
    chain.move_to_element_with_offset(matrix, round(x), round(y)).click().perform()
    clicked, told = page.texts("#terms-title"), page.texts("#tip")
    page.click("#overview")  # then the keys begin at the first square
    assert page.texts("#terms-title") != clicked
    move_pointer_away(page)
    matrix.send_keys(*[Keys.ARROW_DOWN] * row, *[Keys.ARROW_RIGHT] * column)
    assert page.texts("#tip") == told
    assert matrix.get_attribute("aria-activedescendant") == f"square-{row}-{column}"
    said = page.run("return document.getElementById('square-7-3').getAttribute('aria-label')")
    assert told[0].endswith(said.split("; ")[-1])
    assert browsing.findings(page, axe) == []
    matrix.send_keys(Keys.ENTER)
    assert page.texts("#terms-title") == clicked
    page.screenshot("relations-keys")
    page.find("#search").send_keys("")
    assert matrix.get_attribute("aria-activedescendant") is None


@pytest.mark.parametrize("column", [0, 1])
def test_years_and_groups_are_filtered_by_keyboard_as_by_click(column, report, axe, open_page):
    page = open_page(report)
    page.click(f"label[for=column-{column}]")
    options = page.texts("#groups-plot [role=option]")
    second = f"#groups-plot .{('point', 'group')[column]}[role=option]:nth-last-child(2)"
    page.click(second)
    clicked = page.texts("#filter-note"), page.run("return location.hash")
    assert "of 300" in clicked[0][0]
    page.click("#clear-filter")
    move_pointer_away(page)
    plot = page.find("#groups-plot")
    plot.send_keys(Keys.END, Keys.ARROW_LEFT)
    assert page.find(second).get_attribute("aria-selected") == "true"
    assert page.find("#tip").is_displayed()
    assert browsing.findings(page, axe) == []
    page.screenshot(f"groups-keys-{column}")
    plot.send_keys(Keys.ENTER)
    assert (page.texts("#filter-note"), page.run("return location.hash")) == clicked
    assert page.run("return document.activeElement.id") == "groups-plot"
    plot.send_keys(Keys.SPACE)  # once more lets everything through again
    assert page.texts("#filter-note") == ["All 300 documents are shown."]
    assert page.texts("#groups-plot [role=option]") == options


@pytest.mark.parametrize("column", [0, 1])
def test_lines_and_parts_of_bars_select_topics_by_keyboard(column, report, axe, open_page):
    page = open_page(report)
    page.click(f"label[for=column-{column}]")
    page.click("#overview")
    plot = page.find("#groups-plot")
    plot.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    said = page.find("#groups-plot [aria-selected=true]").get_attribute("aria-label")
    assert browsing.findings(page, axe) == []
    plot.send_keys(Keys.ENTER)
    topic = re.search(r"[Tt]opic (\d+)", said)[1]
    assert page.texts("#terms-title")[0].startswith(f"{topic}Topic {topic}")

"""Two fits side by side: what the page says of them, and what a reader does with it."""

import csv
import json

import browsing
import numpy as np
import pandas as pd
import pytest

from isotopic import LDA, NMF, PLSA, datasets
from isotopic.cli import main
from isotopic.report import ComparedFit, write_comparison
from isotopic.report.compare import Comparison
from isotopic.report.comparison_page import describe_comparison

SETTINGS = {"max_iter": 30, "tol": 0, "random_state": 0}
HOSTILE = "</script><img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def corpus():
    return datasets.load_kjv()


@pytest.fixture(scope="module")
def fits(corpus):
    """Give two fits of the bundled corpus, of another kind and with another number of topics."""
    names = {"feature_names": corpus.feature_names, "sample_names": corpus.sample_names}
    nmf = NMF(6, **SETTINGS).fit(corpus.data).label({2: HOSTILE})
    lda = LDA(9, **SETTINGS).fit(corpus.data)
    texts = [f"{HOSTILE} {name}" for name in corpus.sample_names]
    return (
        ComparedFit(nmf, corpus.data, "NMF", **names, documents=texts),
        ComparedFit(lda, corpus.data, HOSTILE, **names),
    )


def test_a_fit_does_not_differ_from_itself_in_another_order(corpus):
    model = LDA(5, **SETTINGS).fit(corpus.data)
    order = [3, 1, 4, 0, 2]
    found = Comparison(
        ComparedFit(model, corpus.data, "a"), ComparedFit(model.reorder(order), corpus.data, "b")
    )
    assert found.partners.tolist() == np.argsort(order).tolist()
    np.testing.assert_allclose(found.changes, 0, atol=1e-12)
    assert found.stays == pytest.approx(1)
    table, looked_at = found.moves
    assert looked_at == 1
    assert np.count_nonzero(table > 1e-6 * table.sum()) == 5


def test_every_count_is_in_one_place_of_the_table(fits):
    found = Comparison(*fits)
    table = found.moves[0]
    assert table.sum() == pytest.approx(found.sides[0].X.total)
    for axis, fit in enumerate(fits):
        posterior = fit.model.posterior(fit.X)
        own = sum(part.counts @ part.probabilities for part in posterior)
        np.testing.assert_allclose(
            table.sum(axis=1 - axis), own, rtol=0.02
        )  # weights inferred anew


def test_merged_topics_are_the_same_to_the_samples(corpus):
    """The parts of a topic are taken for it, so that no sample has changed."""
    model = PLSA(6, **SETTINGS).fit(corpus.data)
    merged = model.merge([[1, 4]], corpus.data)
    for pair in ((model, merged), (merged, model)):
        found = Comparison(*(ComparedFit(each, corpus.data, "x") for each in pair))
        np.testing.assert_allclose(found.changes, 0, atol=1e-6)
        assert np.count_nonzero(found.partners >= 0) == 5


def test_fits_of_other_features_and_samples_are_compared_on_what_both_have(rng):
    counts = rng.poisson(3.0, (30, 8))
    table = pd.DataFrame(counts, columns=list("abcdefgh"), index=[f"s{i}" for i in range(30)])
    other = table.iloc[::-1].iloc[:20][list("hgfedcba")].drop(columns="c")
    a, b = NMF(3, **SETTINGS).fit(table), NMF(3, **SETTINGS).fit(other)
    found = Comparison(ComparedFit(a, table, "a"), ComparedFit(b, other, "b"))
    assert found.sides[0].feature_names[found.features[0]].tolist() == list("abdefgh")
    assert found.sides[1].feature_names[found.features[1]].tolist() == list("abdefgh")
    assert len(found.changes) == 20
    assert found.moves[0].sum() == pytest.approx(other.to_numpy().sum())
    described = describe_comparison(found)
    assert described["common"] == {"samples": 20, "features": 7}
    with pytest.raises(ValueError, match="no samples in common"):
        Comparison(
            ComparedFit(a, table, "a"),
            ComparedFit(b, other, "b", sample_names=[f"t{i}" for i in range(20)]),
        )
    with pytest.raises(ValueError, match="some share a name"):
        Comparison(ComparedFit(a, table, "a"), ComparedFit(b, other, "b", sample_names=["s1"] * 20))


def test_samples_and_features_without_names_are_not_matched_by_their_numbers(rng):
    counts = rng.poisson(3.0, (30, 8))
    a, b, c = (
        ComparedFit(NMF(3, **SETTINGS).fit(X), X, "x") for X in (counts, counts[10:], counts[:, 2:])
    )
    with pytest.raises(ValueError, match="30 and 20 samples, without names"):
        Comparison(a, b)
    with pytest.raises(ValueError, match="8 and 6 features, without names"):
        Comparison(a, c)


def test_the_model_writes_a_comparison_and_keeps_an_existing_file(tmp_path, rng):
    counts = rng.poisson(3.0, (20, 6))
    a, b = (NMF(2, max_iter=5, tol=0, random_state=seed).fit(counts) for seed in (0, 1))
    path = a.compare(b, tmp_path / "x.html", counts, names=("seed 0", "seed 1"))
    assert b"seed 0 and seed 1" in path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        a.compare(b, path, counts)
    with pytest.raises(ValueError, match="each of the two models, not 'ab'"):
        a.compare(b, path, counts, names="ab", overwrite=True)
    a.compare(b, path, counts, overwrite=True, title="<b>")
    assert b"<b>" not in path.read_bytes()


def test_the_command_compares_two_folders(tmp_path, capsys, monkeypatch, corpus):
    table = pd.DataFrame(corpus.data[:60].toarray(), columns=corpus.feature_names)
    table = table.loc[:, table.sum() > 0]
    table.index = [f"chapter {i}" for i in range(60)]
    table.to_csv(tmp_path / "counts.csv")
    for name, seed in (("one", "0"), ("two", "1")):
        given = ["-k", "3", "--seed", seed, "-o", str(tmp_path / name), "--no-report"]
        assert main(["fit", str(tmp_path / "counts.csv"), "--max-iter", "5", *given]) == 0
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["report", "one", "two", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparison"] == "one-two.html"
    assert (tmp_path / "one-two.html").stat().st_size > 10_000
    assert main(["report", "one", "two"]) == 2
    assert "one-two.html would be overwritten" in capsys.readouterr().err
    assert main(["report", "one", "two", "--labels", "counts.csv", "--force"]) == 2
    assert "a comparison has two" in capsys.readouterr().err


# In a browser.


@pytest.fixture(scope="module")
def page_file(fits, tmp_path_factory):
    return write_comparison(*fits, tmp_path_factory.mktemp("compared") / "compared.html")


@browsing.needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_topics_are_selected_on_either_side(page_file, fits, open_page, axe, scheme):
    page = open_page(page_file, scheme)
    assert browsing.findings(page, axe) == []
    found = Comparison(*fits)
    page.screenshot(f"comparison-{scheme}")
    page.click("#node-0-3 rect")
    partner = found.partners[3]
    assert page.texts("#chosen-0 .swatch") == ["3"]
    assert page.texts("#chosen-1 .swatch") == [str(partner)]
    assert f"Similarity {found.similarity[3, partner]:.2f}: these two are partners" in "".join(
        page.texts("#likeness")
    )
    alone = int(np.setdiff1d(np.arange(9), found.partners)[0])
    page.click(f"#node-1-{alone} rect")
    most = int(found.moves[0][:, alone].argmax())
    assert page.texts("#chosen-0 .swatch") == [str(most)]
    assert "they are not partners" in "".join(page.texts("#likeness"))
    page.find("#pairs").send_keys(browsing.Keys.HOME)
    first = int(np.argmax(found.sides[0].explained.sum(axis=0)))
    assert page.texts("#chosen-0 .swatch") == [str(first)]
    page.find("#node-0-1").send_keys(browsing.Keys.ENTER)
    assert page.texts("#chosen-0 .swatch") == ["1"]
    bright = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, bright.strip("rgb()").split(","))) > 380) == (scheme == "light")


@browsing.needs_browser
def test_samples_that_changed_are_found_and_shown(page_file, fits, open_page):
    page = open_page(page_file)
    found = Comparison(*fits)
    names = found.sides[0].sample_names
    assert page.texts("#sample-name") == [names[found.changes.argmax()]]
    page.write("#search", "genesis 1")
    shown = page.texts("#results .entry bdi")
    assert set(shown) == {name for name in names if "genesis 1" in name.lower()}
    page.click("#results .entry:nth-child(2)")
    assert page.texts("#sample-name") == [shown[1]]
    assert page.texts(".excerpt") == [f"{HOSTILE} {shown[1]}"]
    page.write("#search", "nothing like this")
    assert "No document here has this in its name" in page.texts("#found")[0]
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]


@browsing.needs_browser
def test_a_link_and_a_table_leave_the_page(page_file, fits, open_page, browser, tmp_path):
    page = open_page(page_file)
    page.click("#node-1-4 rect")
    page.click("label[for=sort-similarity]")
    page.write("#search", "job")
    places = ("#chosen-0", "#chosen-1", "#found", "#pairs", "#sample-name")
    before = {place: page.texts(place) for place in places}
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    browsing.until(lambda: page.run("return 'ready' in document.documentElement.dataset"))
    assert {place: page.texts(place) for place in places} == before
    given = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", given)
    page.click("#save-menu summary")
    page.click('#save-list [data-file="moved.csv"]')
    browsing.until((tmp_path / "moved.csv").exists)
    with (tmp_path / "moved.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    total = sum(float(row["counts in both"]) for row in rows)
    assert total == pytest.approx(Comparison(*fits).sides[0].X.total, rel=1e-4)
    page.path = browsing.Address(browser.current_url)


@browsing.needs_browser
def test_a_telephone_shows_one_section_without_scrolling_sideways(page_file, open_page, browser):
    page = open_page(page_file)
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        wide = "return document.documentElement.scrollWidth"
        browsing.until(lambda: page.run(wide) <= 390)
        page.click('nav a[href="#samples"]')
        browsing.until(lambda: page.find("#results").is_displayed())
        assert not page.find("#pairs").is_displayed()
        assert page.run(wide) <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The report in a browser: what is clicked changes what is seen, and nothing leaves the file."""

import browsing
import numpy as np
import pytest
from scipy import sparse

from isotopic import LDA, NMF, GammaPoisson, convert, datasets
from isotopic.cli import main
from isotopic.report import write_report
from isotopic.report.topics import relevance

Keys = browsing.Keys
webdriver = browsing.webdriver
pytestmark = browsing.needs_browser


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "report.html"
    assert main(["demo", "--output", str(path.parent)]) == 0
    return path


@pytest.fixture(scope="module")
def corpus():
    return datasets.load_kjv()


@pytest.fixture(scope="module")
def fitted(corpus, tmp_path_factory):
    """Return a fit of the bundled corpus that the page can be compared with, and its report."""
    model = LDA(
        8, alpha=0.2, eta=None, estimate="variational", max_iter=60, tol=0, random_state=1
    ).fit(corpus.data)
    path = write_report(
        model,
        corpus.data,
        tmp_path_factory.mktemp("fitted") / "fitted.html",
        feature_names=corpus.feature_names,
        sample_names=corpus.sample_names,
        documents=[f"This is {name}, of earth and waters." for name in corpus.sample_names],
    )
    return model, path


def check_terms(page, model, corpus, topic, weight):
    """Check that the page lists the 25 most relevant terms in order (equals in any)."""
    totals = np.asarray(corpus.data.sum(axis=0))
    possible = np.flatnonzero(model.components_[topic] > 0)
    values = relevance(model.components_[topic, possible], totals[possible] / totals.sum(), weight)
    value_of = dict(zip(corpus.feature_names[possible], values, strict=True))
    shown = page.texts("#terms .term-name")
    assert len(set(shown)) == 25
    best = np.sort(values)[::-1][:25]
    np.testing.assert_allclose([value_of[term] for term in shown], best, atol=1e-5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_demo_in_light_and_dark(scheme, demo, open_page):
    page = open_page(demo, scheme)
    assert len(page.texts("#topic-list .entry")) == 20
    assert page.texts("#page-title") == ["The King James Bible by chapter"]
    background = page.run("return getComputedStyle(document.body).backgroundColor")
    bright = sum(map(int, background.strip("rgb()").split(","))) > 380
    assert bright == (scheme == "light")
    assert len(page.pixels()) >= 20  # every topic is to be seen
    picture = page.screenshot(f"demo-{scheme}")
    page.click("#theme")
    assert page.run("return getComputedStyle(document.body).backgroundColor") != background
    other = page.screenshot(f"demo-{scheme}-switched")
    assert min(len(picture), len(other)) > 100_000
    assert picture != other


def test_a_topic_is_chosen_in_the_list_and_on_the_map(fitted, corpus, open_page):
    model, path = fitted
    page = open_page(path)
    before = page.pixels()
    page.click("#topic-3")
    assert page.texts("#terms-title")[0].startswith("3Topic 3")
    check_terms(page, model, corpus, 3, 0.6)
    assert page.find("#topic-3").get_attribute("aria-selected") == "true"
    assert page.pixels() != before
    page.click("#map-5")
    check_terms(page, model, corpus, 5, 0.6)
    assert page.find("#topic-5").get_attribute("aria-selected") == "true"
    assert page.find("#topic-3").get_attribute("aria-selected") == "false"
    page.click("#best .chip")
    assert page.texts("#sample-name") == [corpus.sample_names[model.weights_[:, 5].argmax()]]


def test_the_slider_reorders_the_terms(fitted, corpus, open_page):
    model, path = fitted
    page = open_page(path)
    page.click("#topic-2")
    slider = page.find("#lambda")
    slider.send_keys(Keys.END)
    assert page.texts("#lambda-value") == ["λ = 1.00"]
    check_terms(page, model, corpus, 2, 1.0)
    slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * 20)
    assert page.texts("#lambda-value") == ["λ = 0.20"]
    check_terms(page, model, corpus, 2, 0.2)


def test_pointing_at_a_term_shows_where_it_occurs(fitted, corpus, open_page):
    model, path = fitted
    page = open_page(path)
    radii = "return [...document.querySelectorAll('#map circle')].map(c => c.getAttribute('r'))"
    before = page.run(radii)
    row = page.find("#terms [role]")
    webdriver.ActionChains(page.browser).move_to_element(row).perform()
    assert page.run(radii) != before
    term = page.texts("#terms .term-name")[0]
    assert page.texts("#map-hint") == [f"topics of {term}"]
    counts = model.fitted_.weights.explained.sum(axis=0)
    column = counts * model.components_[:, corpus.feature_names.tolist().index(term)]
    said = page.texts("#tip")[0]
    assert f"topic {column.argmax()}: {100 * column.max() / column.sum():.0f}%" in said


def shown_weights(page):
    """Return what the page says of the chosen sample's weights, by topic."""
    topics, values = page.texts("#weights .swatch"), page.texts("#weights .amount")
    said = [float(value.rstrip("%").replace(",", "")) for value in values]
    assert said
    return dict(zip(map(int, topics), said, strict=True))


def test_a_sample_is_found_and_its_weights_are_the_models(fitted, corpus, open_page):
    model, path = fitted
    page = open_page(path)
    page.find("#search").send_keys("psalms 104")
    assert page.texts("#results .entry > .cut") == ["Psalms 104"]
    assert page.texts("#found") == ["1 match"]
    assert page.texts("#sample-name") == ["Psalms 104"]
    row = corpus.sample_names.tolist().index("Psalms 104")
    for topic, percents in shown_weights(page).items():
        assert percents == pytest.approx(100 * model.weights_[row, topic], abs=0.06)
    assert page.texts("#sample mark.word") == ["earth", "waters"]
    assert page.texts("#sample .text") == ["This is Psalms 104, of earth and waters."]
    page.find("#search").clear()
    page.find("#search").send_keys("no such sample anywhere")
    assert page.texts("#found") == ["0 matches"]
    assert page.texts("#no-results") == ["No document contains no such sample anywhere."]


def test_the_switch_reads_the_weights_as_other_models(fitted, corpus, open_page):
    model, path = fitted
    page = open_page(path)
    page.find("#search").send_keys("exodus 12")
    row = corpus.sample_names.tolist().index("Exodus 12")
    assert page.texts("#exact") == ["the fitted model"]
    pictures = [page.pixels()]
    page.click("label[for=reading-3]")
    assert page.texts("#exact") == ["exactly equivalent"]
    gamma = convert(model, to=GammaPoisson)
    for topic, value in shown_weights(page).items():
        assert value == pytest.approx(gamma.weights_[row, topic], rel=0.05)
    pictures.append(page.pixels())
    page.click("label[for=reading-0]")
    assert page.texts("#exact") == ["not equivalent"]
    assert "one has a prior on the weights, the other has none" in page.texts("#meaning")[0]
    for topic, value in shown_weights(page).items():
        assert value == pytest.approx(model.fitted_.weights.explained[row, topic], rel=0.05)
    pictures.append(page.pixels())
    page.click("label[for=reading-1]")
    shown = shown_weights(page)
    shares = model.fitted_.weights.explained[row] / model.fitted_.weights.explained[row].sum()
    for topic, value in shown.items():
        assert value == pytest.approx(100 * shares[topic], abs=0.06)
    assert pictures[0] != pictures[1]
    assert page.texts("#sample h4")[0].startswith("Weights as PLSA")
    page.screenshot("read-as-plsa")


def test_topics_are_sorted(fitted, open_page):
    model, path = fitted
    page = open_page(path)

    def numbers():
        return [int(text) for text in page.texts("#topic-list .swatch")]

    prevalence = model.fitted_.weights.explained.sum(axis=0)
    assert numbers() == np.argsort(-prevalence).tolist()
    page.click("label[for=sort-number]")
    assert numbers() == list(range(8))
    page.click("label[for=sort-terms]")
    labels = page.texts("#topic-list bdi")
    assert labels == sorted(labels)


def test_many_topics_are_filtered_and_sorted_by_similarity(demo, open_page):
    page = open_page(demo)
    page.click("label[for=sort-similar]")
    numbers = [int(text) for text in page.texts("#topic-list .swatch")]
    assert sorted(numbers) == list(range(20))
    page.write("#topic-search", "jesus")
    listed = page.texts("#topic-list .entry")
    assert 0 < len(listed) < 20
    assert page.texts("#topics-found") == [f"{len(listed)} of 20 topics"]
    page.write("#topic-search", "<b>nothing")
    assert page.texts("#topics-found") == ["No topic has this in its name or terms."]
    boxes = page.run(
        "return [...document.querySelectorAll('#map circle')].map(c => "
        "['cx', 'cy', 'r'].map(a => Number(c.getAttribute(a))))"
    )
    for i, (x, y, r) in enumerate(boxes):  # every number on the map can be read
        for other in boxes[i + 1 :]:
            assert np.hypot(x - other[0], y - other[1]) > 0.7 * (r + other[2])


def test_everything_works_from_the_keyboard(fitted, corpus, open_page):
    _, path = fitted
    page = open_page(path)
    page.click("label[for=sort-number]")
    page.find("#topic-list").send_keys(Keys.HOME, Keys.ARROW_DOWN)
    assert page.texts("#terms-title")[0].startswith("1Topic 1")
    page.find("#terms").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.texts("#map-hint") == [f"topics of {page.texts('#terms .term-name')[1]}"]
    page.find("#map svg").send_keys(Keys.END)
    assert page.texts("#map-hint") == [""]
    last = page.find("#map svg").get_attribute("aria-activedescendant")
    assert page.find(f"#{last}").get_attribute("aria-selected") == "true"
    page.click("label[for=order-given]")
    page.find("#structure").send_keys(Keys.END)
    assert page.texts("#sample-name") == ["Revelation 22"]
    assert page.find("#structure").get_attribute("aria-valuetext") == "Revelation 22"
    assert page.find("#structure").get_attribute("aria-valuenow") == str(corpus.data.shape[0] - 1)
    page.find("#search").send_keys("ruth", Keys.ARROW_DOWN)
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert page.texts("#sample-name") == ["Ruth 2"]
    unnamed = page.run(
        "return [...document.querySelectorAll('[role], button, input')].filter(e => !("
        "e.textContent.trim() || e.ariaLabel || e.hasAttribute('aria-labelledby') || "
        "e.labels?.length || e.role === 'presentation')).map(e => e.outerHTML)"
    )
    assert unnamed == []


def test_the_curves_are_drawn(fitted, open_page):
    page = open_page(fitted[1])
    assert "60 iterations" in page.texts("#verdict")[0]
    for place in ("#objective canvas", "#residual canvas"):
        painted = (
            "const c = document.querySelector(arguments[0]); return c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data.some(value => value)"
        )
        assert page.run(painted, place)
    page.click("label[for=against-seconds]")
    assert "seconds" in page.texts("#residual .u-legend")[0]


HOSTILE = {
    "script": "</script><script>window.hacked = 1</script>",
    "image": "<img src='http://127.0.0.1:9/x' onerror='window.hacked = 1'>",
    "svg": "<svg/onload=window.hacked=1>",
    "link": "javascript:window.hacked=1",
    "template": "${window.hacked = 1}{{hacked}}%%script%%",
    "prototype": "__proto__",
    "long": "w" * 10_000,
    "emoji": "👩🏽\u200d🚀🏳️\u200d🌈",
    "right to left": "\u202e\u05e9\u05de \u0639\u0631\u0628\u064a",
    "controls": "\x00\x1b[31m\u2028\u2029\ufeff",
    "half a pair": "\ud83d",
    "nothing": "",
}


def test_hostile_text_is_only_text(open_page, tmp_path):
    rng = np.random.default_rng(0)
    texts = list(HOSTILE.values())
    X = rng.poisson(2.0, size=(len(texts), len(texts))) + 1
    model = NMF(3, max_iter=10, tol=0, random_state=0).fit(X)
    path = model.report(
        tmp_path / "hostile.html",
        X,
        feature_names=texts,
        sample_names=texts,
        documents=[text * 3 for text in texts],
        title=HOSTILE["script"],
    )
    page = open_page(path)
    assert page.texts("#page-title") == [HOSTILE["script"]]
    assert page.browser.title == HOSTILE["script"]
    for k in range(3):
        page.click(f"#topic-{k}")
        found = page.texts("#terms .term-name")
        assert {HOSTILE["script"], HOSTILE["image"], HOSTILE["emoji"]} <= set(found)
        assert all(len(text) <= 80 for text in found)
    for i, text in enumerate(texts):
        page.run("document.getElementById(arguments[0]).click()", f"sample-{i}")
        assert len(page.texts("#sample-name")[0]) <= 80
        if text and text.isprintable() and len(text) < 80:
            assert page.texts("#sample-name") == [text]
            assert page.texts("#sample .text") == [text * 3]
    assert page.texts("#sample-name") == ["(no name)"]
    page.find("#search").send_keys("<img")
    assert page.texts("#sample-name") == [HOSTILE["image"]]
    assert page.run("return window.hacked") is None
    assert page.run("return document.querySelectorAll('img, script').length") == 5
    wide = page.run("return document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0  # nothing is pushed out of the page
    page.screenshot("hostile")


def test_a_large_fit(open_page, tmp_path):
    samples, features, entries = 100_000, 20_000, 1_000_000
    rng = np.random.default_rng(0)
    columns = (features * rng.power(0.3, size=entries)).astype(np.int64)
    rows = rng.integers(samples, size=entries)
    X = sparse.coo_array((np.ones(entries), (rows, columns)), shape=(samples, features)).tocsr()
    model = LDA(20, eta=None, estimate="variational", init="random", max_iter=1, tol=0)
    model.set_params(random_state=0).fit(X)
    path = model.report(tmp_path / "large.html", X)
    assert path.stat().st_size < 20_000_000
    page = open_page(path)
    said = " ".join(page.texts("#left-out li"))
    assert "share of at least 0.1%" in said
    assert page.texts("#facts dd")[:2] == ["100,000", "20,000"]
    before = page.pixels()
    page.click("#topic-7")
    assert page.texts("#terms-title")[0].startswith("7Topic 7")
    assert page.pixels() != before
    page.find("#lambda").send_keys(Keys.HOME)
    assert page.texts("#lambda-value") == ["λ = 0.00"]
    kept = page.texts("#results .entry bdi")[5]
    page.find("#search").send_keys(kept)
    assert kept in page.texts("#results .entry bdi")
    page.click("label[for=reading-3]")
    assert page.texts("#exact") == ["exactly equivalent"]
    page.screenshot("large")


def test_the_smallest_fit(open_page, tmp_path):
    X = np.array([[3, 1, 0], [0, 0, 0]])
    page = open_page(NMF(1, max_iter=0, random_state=0).fit(X).report(tmp_path / "x.html", X))
    assert page.texts("#verdict") == ["The model was fitted without iterations."]
    assert page.texts("#map .place text") == ["0"]
    assert shown_weights(page) == {0: 4.0}
    page.click("#sample-1")
    assert page.texts("#weights") == ["This sample has no counts."]


def test_a_fit_whose_residual_is_not_known_yet(corpus, open_page, tmp_path):
    X = corpus.data[:60]
    model = LDA(3, max_iter=5, tol=0, random_state=0).fit(X)
    assert not np.isfinite(model.history_["residual"][-1])
    page = open_page(model.report(tmp_path / "x.html", X))
    assert "not finite: the priors were still learning" in page.texts("#verdict")[0]
    assert page.texts("#exact") == ["the fitted model"]


def test_a_small_window_has_nothing_beyond_its_edge(fitted, open_page):
    page = open_page(fitted[1])
    size = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert page.run("return document.documentElement.scrollWidth") <= 380
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_overview_shows_all_topics_together(fitted, corpus, open_page):
    model, path = fitted
    page = open_page(path)
    page.click("#topic-3")
    faded = page.pixels()
    page.click("#overview")
    assert page.texts("#terms-title") == ["Words of all topics"]
    assert page.pixels() != faded  # no topic is faded
    assert not page.find("#naming").is_displayed()
    terms = page.texts("#terms .term-name")
    assert len(set(terms)) == 25
    page.click("#terms > div:first-child")  # leads to its main topic
    counts = model.fitted_.weights.explained.sum(axis=0)[:, np.newaxis] * model.components_
    main_topic = int(counts[:, corpus.feature_names.tolist().index(terms[0])].argmax())
    assert page.texts("#terms-title")[0].startswith(f"{main_topic}Topic {main_topic}")
    page.find("#topic-list").send_keys(Keys.ESCAPE)
    assert "topic=none" in page.browser.current_url


def test_the_tree_and_the_matrix_of_topics(fitted, open_page):
    page = open_page(fitted[1])
    order = page.run("return report.relations.order")
    assert sorted(order) == list(range(8))
    assert len(page.texts("#tree .branch")) == 7
    assert [int(text.split()[0]) for text in page.texts("#tree .leaf")] == order
    page.click("label[for=sort-similar]")
    assert page.texts("#topic-list .swatch") == list(map(str, order))
    page.click("label[for=measure-correlation]")
    weights = fitted[0].weights_
    shares = weights / weights.sum(axis=1, keepdims=True)
    expected = np.corrcoef(shares.T)
    a, b = page.texts("#pairs .pair:first-child .swatch")
    np.fill_diagonal(expected, -1)
    found = expected[int(a), int(b)]
    assert found > expected.max() - 2 / 250  # which is stored in steps, so others may be as large
    (amount,) = page.texts("#pairs .pair:first-child .amount")
    assert float(amount) == pytest.approx(found, abs=0.005 + 1 / 250)
    page.run(
        "document.querySelector('#tree .leaf[data-topic=\"5\"]').dispatchEvent(new Event('click'))"
    )
    assert page.texts("#terms-title")[0].startswith("5Topic 5")

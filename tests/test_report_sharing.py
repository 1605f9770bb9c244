"""What a reader takes out of the report: names of topics, links, tables and pictures."""

import csv
import json

import browsing
import numpy as np
import pytest

from isotopic import LDA, datasets, load
from isotopic.cli import main

pytestmark = browsing.needs_browser


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """Give the folder of a fit of the bundled corpus, written by the command line."""
    folder = tmp_path_factory.mktemp("kjv")
    assert main(["demo", "--components", "6", "--output", str(folder)]) == 0
    return folder


def test_a_topic_is_named_and_the_name_is_honoured_everywhere(fit, open_page, downloads, capsys):
    page = open_page(fit / "report.html")
    page.click("#topic-3")
    page.write("#topic-name", '<b>Wars</b> & "kings"')
    assert page.texts("#terms-title")[0].startswith('3Topic 3: <b>Wars</b> & "kings"')
    assert '<b>Wars</b> & "kings"' in page.texts("#topic-list .entry bdi")
    assert "<b>Wars" in page.find("#map-3").get_attribute("aria-label")
    page.click("#save-labels")
    labels = downloads("labels.json")
    assert json.loads(labels.read_text()) == {"3": '<b>Wars</b> & "kings"'}
    labels.rename(fit / "labels.json")
    capsys.readouterr()
    assert main(["topics", str(fit)]) == 0
    assert "3 <b>Wars</b> & " in capsys.readouterr().out
    assert main(["topics", str(fit), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["topics"][3]["name"] == '<b>Wars</b> & "kings"'
    assert main(["report", str(fit), "--force"]) == 0
    page = open_page(fit / "report.html")
    assert '<b>Wars</b> & "kings"' in page.texts("#topic-list .entry bdi")
    (fit / "labels.json").unlink()


def test_names_are_read_from_a_file_in_the_page(fit, open_page, tmp_path):
    page = open_page(fit / "report.html")
    bad = tmp_path / "bad.json"
    bad.write_text("not JSON")
    page.find("#labels-file").send_keys(str(bad))
    browsing.until(lambda: page.texts("#labels-note") == ["This file holds no names of topics."])
    good = tmp_path / "labels.json"
    good.write_text(json.dumps({"1": "law", "77": "nothing", "__proto__": "x"}))
    page.find("#labels-file").send_keys(str(good))
    browsing.until(lambda: "law" in page.texts("#topic-list .entry bdi"))


def test_a_link_shows_the_same_page_elsewhere(fit, open_page, browser):
    page = open_page(fit / "report.html")
    page.click("#topic-4")
    page.write("#topic-name", "Law")
    page.write("#search", "ark")
    page.click("label[for=reading-1]")
    page.click("label[for=sort-number]")
    page.click("#results .entry:nth-child(2)")
    page.settle()
    places = ("#terms-title", "#found", "#sample-name", "#weights", "#topic-list", "#exact")
    before = {place: page.texts(place) for place in places}
    address = browser.current_url
    assert "topic=4" in address
    browser.get("about:blank")
    browser.get(address)
    browsing.until(lambda: page.run("return 'ready' in document.documentElement.dataset"))
    assert {place: page.texts(place) for place in places} == before
    page.run("location.hash = 'topic=1&lambda=0.25&sort=terms'")
    browsing.until(lambda: page.texts("#terms-title")[0].startswith("1Topic 1"))
    assert page.texts("#lambda-value") == ["λ = 0.25"]
    assert page.run("return document.querySelector('[name=sort]:checked').value") == "terms"


@pytest.mark.parametrize(
    "hash_",
    [
        "topic=999&sample=-1&lambda=7&sort=__proto__&reading=x&names=%7B%22a%22",
        "topic=<img src=x onerror=window.hacked=1>&query=<script>window.hacked=1</script>",
        "names=%7B%220%22%3A%22<img src=x onerror=window.hacked=1>%22%7D&theme=javascript:x",
        "%%%=%E0%A4%A",
    ],
)
def test_a_hostile_link_changes_nothing_but_text(hash_, fit, open_page, browser):
    page = open_page(fit / "report.html")
    browser.get("about:blank")
    browser.get((fit / "report.html").as_uri() + "#" + hash_)
    browsing.until(lambda: page.run("return 'ready' in document.documentElement.dataset"))
    page.settle()
    assert len(page.texts("#topic-list .entry")) == 6
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]
    page.path = browsing.Address(browser.current_url)


def test_tables_and_pictures_are_saved(fit, open_page, downloads):
    model = load(fit / "model.isotopic")
    page = open_page(fit / "report.html")

    def save(name):
        page.click("#save-menu summary")
        page.click(f'#save-list [data-file="{name}"]')
        return downloads(name)

    with save("topics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    explained = model.fitted_.weights.explained.sum(axis=0)
    for row in rows:
        assert float(row["share"]) == pytest.approx(
            explained[int(row["topic"])] / explained.sum(), rel=1e-5
        )
    with save("weights.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert table[0][:3] == ["row", "sample", "counts"]
    found = np.array([row[3:] for row in table[1:]], dtype=float)
    np.testing.assert_allclose(found, model.weights_, atol=2e-3)
    assert [row[1] for row in table[1:]] == datasets.load_kjv().sample_names.tolist()
    assert save("terms.csv").stat().st_size > 1000
    drawing = save("map.svg").read_text(encoding="utf-8")
    assert drawing.startswith("<svg")
    assert drawing.count("<circle") == 6
    for name in ("map.png", "structure.png", "convergence.png"):
        assert save(name).read_bytes().startswith(b"\x89PNG")


def test_names_stay_with_their_topics(tmp_path):
    corpus = datasets.load_kjv()
    model = LDA(4, max_iter=3, tol=0, random_state=0).fit(corpus.data)
    named = model.label({1: "law", "3": " wars "})
    assert model.topic_names_ is None
    assert named.topic_names_.tolist() == ["", "law", "", "wars"]
    turned = named.reorder([3, 2, 1, 0])
    assert turned.topic_names_.tolist() == ["wars", "", "law", ""]
    merged = named.merge([[1, 3]], corpus.data)
    assert merged.topic_names_.tolist() == ["", "law + wars", ""]
    named.save(tmp_path / "m")
    assert load(tmp_path / "m").topic_names_.tolist() == named.topic_names_.tolist()
    assert named.topic_info()["name"].tolist().count("law") == 1
    assert set(named.top_terms(2)["name"]) == {"0", "law", "2", "wars"}
    assert set(named.document_info()["name"]) <= {"0", "law", "2", "wars"}
    heard = []

    def namer(terms, texts):
        heard.append((terms, texts))
        return terms[0].upper()

    given = {"feature_names": corpus.feature_names, "documents": corpus.sample_names}
    called = model.label(namer, n_terms=5, n_documents=2, **given)
    assert called.topic_names_.tolist() == [terms[0].upper() for terms, _ in heard]
    best = corpus.sample_names[model.weights_[:, 0].argmax()]
    assert heard[0][1][0] == best
    assert len(heard[0][0]) == 5
    assert named.label(None).topic_names_ is None


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ({9: "x"}, ValueError, "9 is not a topic. The topics are 0 to 3."),
        ({"1.5": "x"}, ValueError, "'1.5' is not a topic"),
        (["a"], ValueError, "1 names for 4 topics"),
        ({0: 3}, TypeError, "must be a str or None, not 3"),
    ],
)
def test_wrong_names_of_topics_are_refused(names, error, message):
    model = LDA(4, max_iter=1, tol=0, random_state=0).fit(np.eye(6) + 1)
    with pytest.raises(error, match=message):
        model.label(names)

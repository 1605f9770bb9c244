"""A reader's way through the report, from the first document to the files that are taken away."""

import csv
import json

import browsing
import numpy as np
import pytest

from isotopic.cli import main

pytestmark = browsing.needs_browser

SUBJECTS = (
    "ship sails harbour captain waves anchor",
    "wheat barn cattle plough harvest farmer",
    "rocket planet orbit moon comet galaxy",
)
YEARS = range(1900, 1906)
SEEN = (
    "#terms-title",
    "#topic-list",
    "#groups-title",
    "#filter-note",
    "#groups-plot",
    "#found",
    "#results",
    "#sample-name",
    "#text",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the report of documents in which ships become more frequent from year to year."""
    rng = np.random.default_rng(0)
    subjects = [text.split() for text in SUBJECTS]
    folder = tmp_path_factory.mktemp("journey")
    lines = []
    for i in range(72):
        year, place = divmod(i, 12)
        first = 0 if place < 1 + 2 * year else 2 - place % 2
        most = rng.integers(12, 23)  # documents with the same mixture could share one topic
        words = [
            *rng.choice(subjects[first], most),
            *rng.choice(subjects[(first + 1) % 3], 24 - most),
        ]
        document = {"text": " ".join(words), "year": YEARS[year], "paper": "AB"[i % 2]}
        lines.append(json.dumps(document | {"id": f"n{i}"}))
    (folder / "news.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ["fit", str(folder / "news.jsonl"), "-k", "3", "--model", "LDA"]
    assert main([*command, "-o", str(folder / "fit")]) == 0
    return folder / "fit" / "report.html"


def test_a_reader_reads_names_follows_finds_shares_and_saves(report, open_page, downloads):
    page = open_page(report)

    # Read a document, and go from one of its words to the topic that explains it.
    page.click("#results .entry:nth-child(3)")
    assert page.texts("#sample-name") == ["n2"]
    word = page.run(
        "return 1 + [...document.getElementById('text').children]"
        ".findIndex(e => arguments[0].includes(e.textContent))",
        SUBJECTS[0].split(),
    )
    page.click(f"#text .word:nth-child({word})")
    assert "ship" in page.texts("#terms .term-name")[:6]

    # Name the topic, and follow it over the years.
    page.write("#topic-name", "Ships")
    assert page.texts("#groups-title")[0].endswith(": Ships by year")
    tops = page.run(
        "return [...document.querySelectorAll('#groups-plot .point')].map(p => p.cy.baseVal.value)"
    )
    assert len(tops) == len(YEARS)
    assert tops == sorted(tops, reverse=True)  # higher every year
    page.click("#groups-plot .point:last-child")
    assert page.texts("#filter-note") == ["12 of 72 documents are shown."]

    # Find a word in the documents of that year.
    page.write("#search", "wheat")
    assert 0 < len(page.texts("#results .entry")) < 12
    assert "wheat" in page.texts("#text .hit")
    seen = {place: page.texts(place) for place in SEEN}

    # Share what is seen.
    page.click("#copy-link")
    link = page.run("return location.href")
    page.browser.get("about:blank")
    page.browser.get(link)
    browsing.until(lambda: page.run("return 'ready' in document.documentElement.dataset"))
    assert {place: page.texts(place) for place in SEEN} == seen
    assert page.find("#search").get_attribute("value") == "wheat"
    assert page.find("#topic-name").get_attribute("value") == "Ships"

    # Take a picture and a table along.
    def save(name):
        page.click("#save-menu summary")
        page.click(f'#save-list [data-file="{name}"]')
        return downloads(name)

    assert save("groups.svg").read_text(encoding="utf-8").startswith("<svg")
    with save("topics.csv").open(encoding="utf-8", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)].count("Ships") == 1
    with save("matches.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(page.texts("#results .entry"))

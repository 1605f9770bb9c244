"""Reading documents in the report: words in the colours of their topics, and a search."""

import re

import browsing
import numpy as np
import pytest

from isotopic import LDA, read_counts
from isotopic.report import write as writing
from isotopic.report import write_report
from isotopic.report.limits import Limits

Keys = browsing.Keys
webdriver = browsing.webdriver
pytestmark = browsing.needs_browser

SUBJECTS = {
    "sea": "ship sails harbour captain waves storm island anchor crew don't",
    "farm": "wheat harvest tractor barn cattle field plough farmer New York milk",
    "space": "rocket planet orbit star telescope moon astronaut galaxy zombie comet",
}


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """Give documents in which the words of two subjects are mixed, a fit and its report."""
    rng = np.random.default_rng(3)
    subjects = [text.replace("New York", "New_York").split() for text in SUBJECTS.values()]
    lines = []
    for i in range(120):
        first, second = rng.permutation(3)[:2]
        own = [*rng.choice(subjects[first], 30), *rng.choice(subjects[second], 8)]
        text = " ".join(rng.permutation(own)).replace("_", " ")
        lines.append(f"Story number {i}: {text}. <b>The end</b>!")
    folder = tmp_path_factory.mktemp("stories")
    (folder / "stories.txt").write_text("\n".join(lines), encoding="utf-8")
    options = {"ngrams": (1, 2), "keep_text": 100_000, "min_df": 3}
    data = read_counts(folder / "stories.txt", **options)
    model = LDA(3, random_state=0).fit(data.counts)
    names = {"feature_names": data.feature_names, "sample_names": data.sample_names}
    path = write_report(
        model, data.counts, folder / "stories.html", documents=data.documents, **names
    )
    return model, data, path


# What the page knows of each counted word: the term, and its topics with their probabilities.
WORDS = (
    "return [...document.querySelectorAll('#text .word')].map(e => ({text: e.textContent, "
    "topics: e.word.topics.map(t => [t.topic, t.share])}))"
)


def test_every_counted_word_has_the_probabilities_of_the_model(stories, open_page):
    model, data, path = stories
    page = open_page(path)
    known = data.feature_names.tolist()
    posterior = model.posterior(data.counts)
    for row in (0, 17, 119):
        page.run("document.getElementById(arguments[0]).click()", f"sample-{row}")
        page.settle()
        words, explained = page.run(WORDS), posterior[row]
        found = {}
        for word in words:
            term = re.sub(r"\s+", " ", word["text"].lower())
            found[term] = word["topics"]
        single = {t for t in data.feature_names[explained.features] if " " not in t}
        covered = {part for term in found for part in term.split()}
        assert single <= covered  # not one counted word without a colour
        for term, topics in found.items():
            at = explained.features.tolist().index(known.index(term))
            shares = np.zeros(3)
            for topic, share in topics:
                shares[topic] = share
            np.testing.assert_allclose(shares, explained.probabilities[at], atol=0.01)
    text = page.texts("#text")[0]
    assert text == data.documents[119]
    assert "<b>" not in text  # shown as it was counted: without HTML


def test_words_are_coloured_by_topic_and_tell_their_probabilities(stories, open_page):
    _, _, path = stories
    page = open_page(path)
    page.write("#search", "zombie")
    element = page.find("#text .word.hit")
    colour = page.run("return getComputedStyle(arguments[0]).boxShadow", element)
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)

    def is_told():  # the pointer may have been there before, or the text be drawn again under it
        hover = webdriver.ActionChains(page.browser).move_to_element(page.find("#sample-name"))
        hover.move_to_element(page.find("#text .word.hit")).perform()
        return re.search(r"zombie.*\d%", page.texts("#tip")[0])

    browsing.until(is_told)
    topic = page.run("return arguments[0].word.topics[0].topic", element)
    page.click("label[for=colouring-selected]")
    others = [k for k in range(3) if k != topic]
    page.run("document.getElementById(arguments[0]).click()", f"topic-{others[0]}")
    faded = page.run("return getComputedStyle(arguments[0]).boxShadow", page.find("#text .hit"))
    assert faded != colour
    page.find("#text").send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert re.fullmatch(r"[\w' ]+: topic \d \d+.*", page.texts("#word-said")[0])
    words = page.run(WORDS)
    assert page.texts("#text .current") == [words[1]["text"]]
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.texts("#terms-title")[0].startswith(str(words[1]["topics"][0][0]))
    page.screenshot("reading")


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        ("zombie", r"zombie"),
        ("ZOMB", r"zomb"),
        ("zombie wheat", r"(?=.*zombie).*wheat"),
        ('"new york"', r"\bnew york\b"),
        ('"york new"', r"\byork new\b"),
        ("don\u2019t", r"don't"),
        ("number 11", r"(?=.*number).*11"),
        ("the", "the"),  # a stop word, which no term is
    ],
)
def test_search_finds_all_documents(asked, pattern, stories, open_page):
    _, data, path = stories
    page = open_page(path)
    expected = {
        name
        for name, text in zip(data.sample_names, data.documents, strict=True)
        if re.search(pattern, f"{name} {text}", re.IGNORECASE)
    }
    assert 0 < len(expected) <= 120
    page.write("#search", asked)
    assert set(page.texts("#results .entry > .cut")) == expected
    assert page.texts("#found")[0].startswith(f"{len(expected)} match")
    assert len(page.texts("#results .snippet mark")) >= len(expected)
    assert page.texts("#text mark.hit")


def test_search_says_when_nothing_is_found_and_keeps_to_a_topic(stories, open_page):
    model, data, path = stories
    page = open_page(path)
    page.write("#search", "<i>nowhere</i>")
    assert page.texts("#no-results") == ["No document contains <i>nowhere</i>."]
    page.write("#search", "")
    page.click("#topic-2")
    page.click("#with-topic")
    shares = model.fitted_.weights.explained
    shares = shares / shares.sum(axis=1, keepdims=True)
    assert set(page.texts("#results .entry > .cut")) == set(
        data.sample_names[shares[:, 2] >= 0.1].tolist()
    )


def test_without_texts_the_search_finds_every_term(stories, open_page, tmp_path):
    model, data, _ = stories
    given = {"feature_names": data.feature_names, "sample_names": data.sample_names}
    page = open_page(write_report(model, data.counts, tmp_path / "x.html", **given))
    page.write("#search", "zombie")
    columns = [i for i, name in enumerate(data.feature_names) if "zombie" in name]
    holders = data.counts[:, columns].sum(axis=1) > 0
    assert set(page.texts("#results .entry > .cut")) == set(data.sample_names[holders])
    assert page.texts("#sample-name") == [data.sample_names[holders][0]]


def test_whole_documents_are_read_from_the_file_beside_the_page(
    stories, open_page, tmp_path, monkeypatch
):
    model, data, _ = stories
    monkeypatch.setattr(writing, "Limits", lambda: Limits(text=2_000))
    given = {"feature_names": data.feature_names, "documents": data.documents}
    path = write_report(model, data.counts, tmp_path / "x.html", **given)
    page = open_page(path)
    assert page.texts("#text")[0].endswith("…")
    page.write("#search", '"the end"')
    assert "open the file beside it" in page.texts("#no-results")[0]
    other = tmp_path / "other.texts"
    other.write_text("something else")
    page.find("#sidecar-file").send_keys(str(other))
    browsing.wait.WebDriverWait(page.browser, 20).until(
        lambda _: "not the file" in page.texts("#sidecar")[0]
    )
    page.find("#sidecar-file").send_keys(str(tmp_path / "x.texts"))
    browsing.wait.WebDriverWait(page.browser, 20).until(
        lambda _: page.texts("#found") == ["120 matches"]
    )
    assert page.texts("#text") == [data.documents[0]]


TONGUES = {
    "japanese": ("私は東京タワーが好きです。東京は広い。", ["東京", "東京タワー", "好き"]),
    "case": ("The US told us: US!", ["US", "us"]),
    "turkish": ("İstanbul ve İzmir; istanbul", ["i̇stanbul", "istanbul"]),
    "signs": ("c++ is not c# :-) at all", ["c++", ":-)", "all"]),
    "phrase": ("Bank,\nholiday bank holidays", ["bank holiday", "bank"]),
}


def test_terms_are_found_in_texts_of_all_kinds(open_page, tmp_path):
    terms = sorted({term for _, listed in TONGUES.values() for term in listed})
    documents = [text for text, _ in TONGUES.values()]
    X = np.zeros((len(documents), len(terms)))
    for row, (_, listed) in enumerate(TONGUES.values()):
        X[row, [terms.index(term) for term in listed]] = 1
    model = LDA(2, alpha=0.5, eta=0.1, max_iter=5, tol=0, random_state=0).fit(X)
    given = {"feature_names": terms, "documents": documents, "sample_names": list(TONGUES)}
    page = open_page(write_report(model, X, tmp_path / "x.html", **given))
    expected = {
        "japanese": ["東京タワー", "好き", "東京"],
        "case": ["US", "us", "US"],
        "signs": ["c++", ":-)", "all"],
        "phrase": ["Bank,\nholiday", "bank"],
    }
    for name, words in expected.items():
        page.run(
            "document.getElementById(arguments[0]).click()", f"sample-{list(TONGUES).index(name)}"
        )
        page.settle()
        assert [word["text"] for word in page.run(WORDS)] == words

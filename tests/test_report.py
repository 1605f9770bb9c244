"""What the report is told: the numbers are the model's, and the text is only data."""

import base64
import json
import pathlib
import re
import zlib
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import NotFittedError

from isotopic import (
    LDA,
    NMF,
    PLSA,
    Dirichlet,
    GammaPoisson,
    Lasso,
    TopicModel,
    convert,
    load,
    read_counts,
)
from isotopic.report import summary, write_report
from isotopic.report import write as writing
from isotopic.report.chunks import split_evenly
from isotopic.report.limits import Limits
from isotopic.report.payload import ReportData
from isotopic.report.relations import correlate, topic_tree
from isotopic.report.samples import choose_samples
from isotopic.report.topics import nearest_topics, relevance, relevant_terms, salient_terms
from isotopic.report.write import as_json

ROOT = pathlib.Path(__file__).parent.parent
FIT = {"max_iter": 15, "tol": 0, "random_state": 0}
MODELS = {
    "NMF": NMF(4, **FIT),
    "NMF, free topics": NMF(4, normalize=False, **FIT),
    "PLSA": PLSA(4, **FIT),
    "LDA": LDA(4, alpha=[0.1, 0.2, 0.3, 0.4], eta=None, estimate="variational", **FIT),
    "LDA with eta": LDA(4, alpha=0.2, eta=0.1, estimate="variational", **FIT),
    "LDA, all learned": LDA(4, **FIT),
    "LDA, smoothed": LDA(4, estimate="smoothed", **FIT),
    "LDA, mode": LDA(4, alpha=1.5, eta=1.1, estimate="map", **FIT),
    "GammaPoisson": GammaPoisson(4, shape=0.4, rate=0.05, **FIT),
    "GammaPoisson, own rates": GammaPoisson(4, rate=[0.1, 0.2, 0.3, 0.4], **FIT),
    "Lasso": TopicModel(4, weights=Lasso(0.5), **FIT),
    "by sample": TopicModel(4, weights=Dirichlet(np.linspace(0.1, 1, 240).reshape(60, 4)), **FIT),
    "one topic": LDA(1, **FIT),
}
CLASSES = {"NMF": NMF, "PLSA": PLSA, "LDA": LDA, "Gamma-Poisson": GammaPoisson}


@pytest.fixture(scope="module", name="X")
def some_counts():
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(0.3, 4, size=(60, 4)) @ rng.dirichlet(np.full(90, 0.1), 4) * 8)
    counts[7] = 0  # an empty sample
    counts[:, 11] = 0  # a feature that never occurs
    return sparse.csr_array(counts)


def material(model, X, **names):
    given = {"feature_names": None, "sample_names": None, "documents": None, **names}
    return ReportData(model, X, **given)


def payload_of(page):
    """Read the payload back as a browser does: the element's text, as JSON."""

    class Parser(HTMLParser):
        inside, text = False, ""

        def handle_starttag(self, tag, attrs):
            self.inside = dict(attrs).get("id") == "payload"

        def handle_endtag(self, tag):
            self.inside = False

        def handle_data(self, data):
            self.text += data if self.inside else ""

    parser = Parser()
    parser.feed(page)
    return json.loads(parser.text)


def chunk_of(page, name):
    """Read a chunk back as the page does: its length, its JSON, and the arrays that follow."""
    data = zlib.decompress(base64.b64decode(re.search(f'id="{name}">([^<]*)<', page).group(1)))
    start = 8 + int.from_bytes(data[:8], "little")
    tree = json.loads(data[8:start])
    for key, value in tree.items():
        if isinstance(value, dict):
            at = start + value["start"]
            tree[key] = np.frombuffer(data, value["packed"], value["length"], at)
    return tree


@pytest.mark.parametrize("name", MODELS)
def test_readings_are_the_conversions(name, X):
    model = MODELS[name].fit(X)
    of = material(model, X)
    assert of.readings
    for reading in of.readings:
        weights = (of.explained + reading["add"]) / np.asarray(reading["divide"])
        if reading["normalize"]:
            sums = weights.sum(axis=1, keepdims=True)
            weights = np.where(sums > 0, weights / np.where(sums > 0, sums, 1), 0.25)
        cls = CLASSES[reading["name"]]
        if reading["why_not"]:
            if "the report" not in reading["why_not"]:  # a reason of the page, not of the models
                with pytest.raises(ValueError, match=re.escape(reading["why_not"])):
                    convert(model, to=cls)
            continue
        if reading["note"]:  # the model's own weights, nearly
            assert reading["own"]
            continue
        same = model if reading["own"] else convert(model, to=cls)
        scale = same.components_.sum(axis=1)  # of free topics, which the page normalises
        np.testing.assert_allclose(weights, same.weights_ * scale, rtol=1e-10)


def test_a_report_opens_on_the_fitted_model_if_its_prior_differs_between_samples(X):
    year = np.arange(X.shape[0]) / X.shape[0]
    model = LDA(3, tol=1e-2, random_state=0).fit(X, covariates={"year": year})
    own = [reading for reading in material(model, X).readings if reading["own"]]
    assert [reading["name"] for reading in own] == ["LDA"]
    assert own[0]["note"] == "the prior differs between samples, and the report uses its mean"
    assert not own[0]["why_not"]


def test_what_read_counts_knows_of_documents_is_in_the_report(tmp_path):
    file = tmp_path / "news.csv"
    rows = [f"{2000 + i},word{i % 3} word{i % 2} and a longer text" for i in range(12)]
    file.write_text("\n".join(["year,text", *rows]))
    data = read_counts(file, keep_text=12)
    model = NMF(2, tol=1e-2, random_state=0).fit(data)
    of = ReportData(model, data)
    assert [name for name, _ in of.metadata] == ["year"]
    assert of.documents[0] == "word0 word0 \u2026"
    assert "The texts of 12 documents end in \u2026" in " ".join(
        of.payload("", Limits())["left_out"]
    )
    whole = read_counts(file, keep_text=True)
    assert whole.documents[0] == "word0 word0 and a longer text"
    left_out = ReportData(model, whole).payload("", Limits())["left_out"]
    assert "\u2026" not in " ".join(left_out)


def test_which_readings_are_exact(X):
    def exact(model):
        return {
            r["name"] for r in material(model.fit(X), X).readings if not r["why_not"] + r["note"]
        }

    assert exact(MODELS["NMF"]) == exact(MODELS["PLSA"]) == {"NMF", "PLSA"}
    assert exact(MODELS["LDA"]) == exact(MODELS["GammaPoisson"]) == {"LDA", "Gamma-Poisson"}
    for name in ("LDA with eta", "LDA, all learned", "LDA, smoothed"):
        assert exact(MODELS[name]) == {"LDA"}
    assert exact(MODELS["LDA, mode"]) == set()
    assert exact(MODELS["GammaPoisson, own rates"]) == {"Gamma-Poisson"}
    assert exact(MODELS["by sample"]) == set()


@pytest.mark.parametrize("name", MODELS)
def test_numbers_are_the_models(name, X):
    model = MODELS[name].fit(X)
    of = material(model, X)
    told = of.payload("title", Limits(share=0.0))
    little = of.payload("title", Limits(entries=0))  # some terms of each sample instead of all
    some_terms, named = little["samples"], little["terms"]["features"]
    assert told["samples"]["own"] is None
    topics, samples, dense = told["topics"], told["samples"], X.toarray()
    shares = model.components_ / model.components_.sum(axis=1, keepdims=True)
    used = [int(term.removeprefix("x")) for term in told["terms"]["names"]]
    np.testing.assert_array_equal(told["terms"]["totals"], dense.sum(axis=0)[used])
    for k in range(len(shares)):
        some = slice(topics["starts"][k], topics["starts"][k + 1])
        terms = np.asarray(used)[topics["terms"][some]]
        np.testing.assert_allclose(topics["shares"][some], shares[k, terms])
    np.testing.assert_allclose(topics["counts"], of.explained.sum(axis=0))
    np.testing.assert_allclose(samples["explained"], of.explained.sum(axis=1))
    mixed, own = samples["mixtures"], some_terms["own"]
    for row in range(60):
        some = slice(mixed["starts"][row], mixed["starts"][row + 1])
        listed = np.where(mixed["shares"][some] < 65535, 2 ** (mixed["shares"][some] / -2048), 0)
        assert np.all(np.diff(listed) <= 0)
        whole = np.zeros(len(shares))
        whole[mixed["topics"][some]] = samples["explained"][row] * listed
        np.testing.assert_allclose(whole, of.explained[row], rtol=2e-4, atol=1e-6)
        some = slice(own["starts"][row], own["starts"][row + 1])
        terms = named[own["terms"][some]]
        np.testing.assert_array_equal(own["counts"][some], dense[row, terms])
        joint = (
            model.fitted_.weights.effective[row][:, None] * model.fitted_.topics.effective[:, terms]
        )
        np.testing.assert_array_equal(own["topics"][some], joint.argmax(axis=0))
    proportions = model.weights_ * model.components_.sum(axis=1)
    proportions /= np.maximum(proportions.sum(axis=1, keepdims=True), 1e-300)
    for k, (best, said) in enumerate(
        zip(samples["best"], samples["best_proportions"], strict=True)
    ):
        np.testing.assert_allclose(said, proportions[best, k])
        assert said[0] == pytest.approx(proportions[:, k].max())
    assert told["data"]["counts"] == dense.sum()
    assert told["data"]["nonzeros"] == np.count_nonzero(dense)
    assert told["data"]["empty samples"] == np.sum(dense.sum(axis=1) == 0)
    assert told["data"]["features never seen"] == np.sum(dense.sum(axis=0) == 0)
    assert told["convergence"]["objective"] == model.objective_
    residuals = [r if np.isfinite(r) else None for r in model.history_["residual"].tolist()]
    assert told["convergence"]["by_residual"] == residuals


def test_the_counts_of_a_settled_fit_add_up(X):
    model = LDA(
        3, alpha=0.2, eta=None, estimate="variational", tol=1e-9, max_iter=3000, random_state=0
    ).fit(X)
    of = material(model, X)
    counts = of.explained.sum(axis=0) @ model.components_
    np.testing.assert_allclose(counts, X.sum(axis=0), atol=1e-4)


@given(
    hnp.arrays(float, (3, 40), elements=st.floats(0, 1, width=32)),
    hnp.arrays(float, 40, elements=st.floats(0.0078125, 1, width=32)),
    st.floats(0, 1),
)
def test_the_most_relevant_terms_are_there_for_every_lambda(topics, frequencies, weight):
    topics[:, 0] += 0.01
    weight = round(weight, 2)  # a place of the slider
    for shares, terms in zip(topics, relevant_terms(topics, frequencies, 5), strict=True):
        possible = np.flatnonzero(shares)
        values = relevance(shares[possible], frequencies[possible], weight)
        best = np.sort(values)[::-1][:5]
        kept = relevance(shares[terms], frequencies[terms], weight)
        np.testing.assert_allclose(np.sort(kept)[::-1][:5], best, rtol=1e-12, atol=1e-12)


def test_relevance_is_frequency_at_one_and_lift_at_zero():
    shares, frequencies = np.array([0.4, 0.1, 0.2]), np.array([0.5, 0.01, 0.1])
    np.testing.assert_allclose(relevance(shares, frequencies, 1.0), np.log(shares))
    np.testing.assert_allclose(
        relevance(shares, frequencies, 0.0), np.log(shares / frequencies), atol=1e-5
    )


def test_the_nearest_topics(rng):
    points = rng.normal(size=(5, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    near, far = nearest_topics(distances, 2)
    for k in range(5):
        np.testing.assert_array_equal(far[k], np.sort(np.delete(distances[k], k))[:2])
        assert k not in near[k]
    assert nearest_topics(np.zeros((1, 1)), 4)[0].shape == (1, 0)


def test_similar_topics_are_neighbours_in_the_list(rng):
    groups = np.repeat(np.arange(4), 5)[rng.permutation(20)]
    points = 10.0 * groups[:, np.newaxis] + rng.normal(size=(20, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    tree = topic_tree(distances)
    order = tree["order"]
    assert sorted(order) == list(range(20))
    assert np.count_nonzero(np.diff(groups[order])) == 3  # each group in one piece
    members = [{k} for k in range(20)]
    for first, second in zip(tree["first"], tree["second"], strict=True):
        members.append(members[first] | members[second])
        places = sorted(order.index(k) for k in members[-1])
        assert places == list(range(places[0], places[-1] + 1))  # no branch crosses another
    assert members[-1] == set(range(20))
    assert topic_tree(np.zeros((1, 1)))["order"] == [0]


def test_correlations_are_those_of_numpy(rng):
    shares = rng.dirichlet(np.ones(5), size=50)
    np.testing.assert_allclose(correlate(shares), np.corrcoef(shares.T), atol=1e-12)
    assert not correlate(np.ones((4, 2))).any()  # nothing varies


def test_salient_terms_tell_topics_apart():
    topics = np.array([[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]])
    shares = (topics / topics.sum(axis=0)).T
    found = salient_terms(shares, topics.mean(axis=0), np.array([0.5, 0.5]), 2)
    assert set(found) == {1, 3}  # the most frequent term says nothing


def test_of_many_samples_the_best_and_an_even_choice_are_kept(rng):
    shares = rng.dirichlet([0.3, 0.3, 0.3], size=1000)
    limits = Limits(samples=100, best_samples=5)
    which, spread = choose_samples(shares, limits)
    assert len(which) <= 100
    assert np.all(np.diff(which) > 0)
    for k in range(3):
        assert set(np.argsort(-shares[:, k])[:5]) <= set(which)
    assert np.diff(which[spread]).max() <= 12
    everything, spread = choose_samples(shares[:100], limits)
    assert len(everything) == 100
    assert spread.all()


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=4)))
def test_json_holds_any_text_and_no_markup(value):
    text = as_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        ([0, 255], "uint8"),
        ([0, 256], "uint16"),
        ([70000.0, 1.0], "uint32"),
        ([0.5, 2.0], "float32"),
        ([-1.0], "float32"),
        ([], "uint8"),
    ],
)
def test_arrays_are_packed_into_the_smallest_type(array, kind):
    assert json.loads(as_json(np.array(array)))["packed"] == kind


def test_what_is_not_data_is_refused():
    with pytest.raises(TypeError, match="cannot contain a object"):
        as_json({"x": object()})


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "\u2028\u2029\x00",
    "lone \ud800 surrogate",
    "%%data%%",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text, X, tmp_path):
    names = [f"{text} {i}" for i in range(60)]
    path = write_report(
        MODELS["NMF"].fit(X),
        X,
        tmp_path / "x.html",
        feature_names=[f"{text} {i}" for i in range(90)],
        sample_names=names,
        documents=names,
        title=text,
    )
    page = path.read_text(encoding="utf-8")
    n_chunks = page.count('<script type="application/octet-stream"')
    assert n_chunks == 3  # counts, topics of terms, texts
    assert page.count("<script") == page.count("</script>") == 2 + n_chunks
    told = payload_of(page)
    expected = [name.replace("\ud800", "?") for name in names]
    assert told["samples"]["names"] == expected
    assert chunk_of(page, "texts-0")["texts"] == expected


def test_long_names_and_texts_are_cut_and_the_page_says_so(X, tmp_path):
    path = write_report(
        MODELS["NMF"].fit(X),
        X,
        tmp_path / "x.html",
        feature_names=["w" * 10_000 + str(i) for i in range(90)],
        documents=["long " * 10_000] * 60,
    )
    told = payload_of(path.read_text(encoding="utf-8"))
    assert {len(name) for name in told["terms"]["names"]} == {80}
    assert "Names are shortened to 80 characters." in told["left_out"]
    assert not path.with_suffix(".texts").exists()  # texts are whole


def test_documents_that_are_too_large_for_the_page_lie_beside_it(X, tmp_path, monkeypatch, rng):
    documents = ["".join(rng.choice(list("abcdefgh "), 3000)) for _ in range(60)]

    monkeypatch.setattr(writing, "Limits", lambda: Limits(text=20_000))
    model = MODELS["NMF"].fit(X)
    path = write_report(model, X, tmp_path / "x.html", documents=documents)
    page, beside = path.read_text(encoding="utf-8"), (tmp_path / "x.texts").read_bytes()
    told = payload_of(page)
    texts = chunk_of(page, "texts-0")["texts"]
    assert max(map(len, texts)) == told["texts"]["shown"] < 3000
    assert all(whole.startswith(cut[:-1]) for whole, cut in zip(documents, texts, strict=True))
    assert any("x.texts, the file beside this page, has them whole" in t for t in told["left_out"])
    head, archive = told["sidecar"]["head"].encode(), told["sidecar"]["archives"]["texts"]
    assert beside.startswith(head)
    found = []
    for start, stop in pairwise(archive["starts"]):
        data = zlib.decompress(beside[start:stop])
        found += json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["texts"]
    assert found == documents
    with pytest.raises(FileExistsError, match=r"x\.texts"):
        write_report(model, X, tmp_path / "x.htm", documents=documents)
    assert (tmp_path / "x.texts").read_bytes() == beside


def test_rows_of_the_page_are_the_counts(X, tmp_path):
    page = MODELS["LDA"].fit(X).report(tmp_path / "x.html", X).read_text(encoding="utf-8")
    told, rows = payload_of(page), chunk_of(page, "rows-0")
    features = np.frombuffer(base64.b64decode(told["terms"]["features"]["data"]), np.uint8)
    assert told["archives"]["rows"]["bounds"] == [0, 60]
    starts = np.append(0, np.cumsum(rows["lengths"], dtype=int))
    dense = X.toarray()
    for row in range(60):
        some = slice(starts[row], starts[row + 1])
        terms = features[np.cumsum(rows["low"][some] + 256 * rows["high"][some].astype(int))]
        found = np.zeros(90)
        found[terms] = rows["counts"][some]
        np.testing.assert_array_equal(found, dense[row])


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 60))
def test_chunks_cover_all_samples_and_are_small(sizes, most):
    bounds = split_evenly(sizes, most)
    assert bounds[0] == 0
    assert bounds[-1] == len(sizes)
    for start, stop in pairwise(bounds):
        assert start < stop
        assert stop == start + 1 or sum(sizes[start:stop]) <= most


def test_a_report_that_would_be_too_large_is_made_again_with_less(X, tmp_path, monkeypatch):
    model = MODELS["NMF"].fit(X)
    empty = len(as_json(material(model, X).payload("", Limits(samples=1))))
    monkeypatch.setattr(writing, "LARGEST", empty + 1_000)
    path = write_report(
        model, X, tmp_path / "x.html", sample_names=["🙂" * 70 + str(i) for i in range(60)]
    )
    told = payload_of(path.read_text(encoding="utf-8"))
    assert any("of 60 samples: those with" in text for text in told["left_out"])


def test_nothing_is_overwritten_unless_asked(X, tmp_path):
    path = tmp_path / "x.html"
    path.write_text("mine")
    model = MODELS["NMF"].fit(X)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.report(path, X)
    assert path.read_text() == "mine"
    assert model.report(str(path), X, overwrite=True) == path
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_same_fit_gives_the_same_file(X, tmp_path):
    model = MODELS["LDA"].fit(X)
    model.save(tmp_path / "model")
    model.report(tmp_path / "a.html", X)
    load(tmp_path / "model").report(tmp_path / "b.html", X.toarray())
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_functions_are_named_without_their_place_in_memory(X):
    model = NMF(2, max_iter=2, tol=0, callbacks=lambda iteration: False).fit(X)
    said = material(model, X).payload("", Limits())["model"]["parameters"]
    assert "lambda" in said["callbacks"]
    assert "0x" not in said["callbacks"]


def test_other_samples_are_inferred_and_the_page_says_so(X):
    model = MODELS["LDA"].fit(X)
    some = X[np.arange(20, 40)]
    of = material(model, some)
    assert not of.payload("", Limits())["data"]["fitted"]
    lda = next(r for r in of.readings if r["name"] == "LDA")
    weights = of.explained + lda["add"]
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights, model.transform(some), rtol=1e-10)


def test_the_fitted_data_are_known_in_any_form(X):
    halves = X / 3
    model = PLSA(3, **FIT).fit(halves.astype(np.float32).toarray())
    assert material(model, halves.astype(np.float32)).is_fitted_data
    assert not material(model, halves[::-1]).is_fitted_data
    assert not material(model, halves.toarray()[:, ::-1]).is_fitted_data
    weighted = PLSA(3, **FIT).fit(X, sample_weight=np.arange(60))
    assert material(weighted, X).is_fitted_data


def test_names_come_from_a_data_frame(X):
    frame = pd.DataFrame(X.toarray(), index=[f"d{i}" for i in range(60)])
    frame.columns = [f"word{i}" for i in range(90)]
    told = material(NMF(3, **FIT).fit(frame), frame).payload("", Limits())
    assert told["samples"]["names"][:2] == ["d0", "d1"]
    assert told["terms"]["names"]
    assert all(name.startswith("word") for name in told["terms"]["names"])
    listed = material(NMF(3, **FIT).fit(X), X.toarray().tolist()).payload("", Limits())
    assert listed["samples"]["names"][0] == "sample 0"


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ({"feature_names": ["a"]}, ValueError, "feature_names must have one name for each"),
        ({"sample_names": ["a"]}, ValueError, "sample_names has 1 entries, but X has 60 samples"),
        ({"documents": ["a", "b"]}, ValueError, "documents has 2 entries, but X has 60 samples"),
        ({"documents": "a text"}, TypeError, "documents must be a sequence"),
    ],
)
def test_wrong_names_are_refused_by_name(names, error, message, X, tmp_path):
    with pytest.raises(error, match=message):
        write_report(MODELS["NMF"].fit(X), X, tmp_path / "x.html", **names)
    assert not (tmp_path / "x.html").exists()


def test_what_cannot_be_reported_is_refused(X, tmp_path):
    path = tmp_path / "x.html"
    with pytest.raises(NotFittedError):
        NMF(3).report(path, X)
    model = MODELS["NMF"].fit(X)
    with pytest.raises(ValueError, match="features"):
        model.report(path, X[:, :5])
    with pytest.raises(ValueError, match="no counts"):
        model.report(path, np.zeros((3, 90)))
    with pytest.raises(FileNotFoundError):
        model.report(tmp_path / "no" / "x.html", X)


def test_the_citation_is_that_of_the_project():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    titles = re.findall(r'title: "(.*)"', citation)
    version = re.search(r"^version: (.*)$", citation, flags=re.MULTILINE).group(1)
    said = " ".join((summary.PAPER + summary.LIBRARY).split())
    assert len(titles) == 2
    assert f"version = {{{version}}}" in said
    assert all(f"{{{title}}}" in said for title in titles)
    assert all(name in said for name in re.findall(r"(?:family|given)-names: (.*)", citation))


def test_the_page_fetches_nothing(X, tmp_path):
    page = MODELS["NMF"].fit(X).report(tmp_path / "x.html", X).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b", page)
    assert not re.search(r"""\b(src|href)=["'](?!#)""", page)


def test_a_folder_that_does_not_exist_is_named_before_any_work(tmp_path):
    X = np.eye(4)
    model = NMF(2, max_iter=2, tol=0).fit(X)
    missing = tmp_path / "nodir"
    for write in (lambda path: model.report(path, X), model.save):
        with pytest.raises(FileNotFoundError, match=r"no such folder.*nodir'$"):
            write(missing / "x.html")

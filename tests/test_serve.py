"""The served page: what a person does with it, and what it refuses."""

import http.client
import json
import signal
import subprocess
import sys
import threading

import browsing
import numpy as np
import pytest
from processes import LIMIT, started_python

from isotopic import LDA, datasets, load
from isotopic.cli import main
from isotopic.serve import PageServer, Session
from isotopic.serve.server import LARGEST_REQUEST, TOKEN_HEADER
from isotopic.serve.session import infer_text

HOSTILE = "</script><img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def corpus():
    return datasets.load_kjv()


@pytest.fixture(scope="module")
def model(corpus):
    given = {"alpha": 0.1, "eta": 0.05, "estimate": "variational", "tol": 1e-2}
    return LDA(6, max_iter=60, random_state=0, **given).fit(corpus.data[:300])


@pytest.fixture
def session(corpus, model):
    """Give a session of a small fit, whose texts are hostile."""
    return Session(
        model,
        corpus.data[:300],
        feature_names=corpus.feature_names,
        sample_names=corpus.sample_names[:300],
        documents=[f"{name} {HOSTILE} of the waters" for name in corpus.sample_names[:300]],
    )


@pytest.fixture
def server(session):
    """Serve it on any free port."""
    server = PageServer(session)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join(LIMIT)
    server.server_close()


class Client:
    """Send raw requests."""

    def __init__(self, server):
        self.host = server.url.split("/")[2]
        self.token = server.token

    def send(self, method, path, body=None, **headers):
        """Return the status and the text of the answer; a header of None is not sent."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.host.split(":")[1]), LIMIT)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path="/", **headers):
        return self.send("GET", path, **{"Host": self.host, **headers})

    def post(self, content, path="/api", **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        given = {
            "Host": self.host,
            "Origin": f"http://{self.host}",
            "Content_Type": "application/json",
            "Content_Length": str(len(body)),
            TOKEN_HEADER: self.token,
        }
        status, text = self.send("POST", path, body, **{**given, **headers})
        return status, json.loads(text)


@pytest.fixture
def client(server):
    return Client(server)


# What it refuses.


def test_the_page_needs_the_token_the_host_and_the_own_origin(client):
    good = f"/?token={client.token}"
    status, text = client.get(good)
    assert (status, "<title>" in text) == (200, True)
    assert client.get(good, Origin=f"http://{client.host}")[0] == 200
    port = client.host.split(":")[1]
    assert client.get(good, Host=f"localhost:{port}")[0] == 200
    bad = [
        client.get("/"),
        client.get("/?token="),
        client.get(f"/?token={client.token[:-1]}"),
        client.get("/?token=%ff"),
        client.get(good, Host=f"evil.example:{port}"),
        client.get(good, Host="127.0.0.1"),
        client.get(good, Host=None),
        client.get(good, Origin="http://evil.example"),
        client.get(good, Origin="null"),
        client.get(f"/change?token={client.token}x"),
    ]
    for status, text in bad:
        assert status == 403
        assert client.token not in text
        assert "<" not in text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({TOKEN_HEADER: None}, 403),
        ({TOKEN_HEADER: "wrong"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://127.0.0.1"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": None}, 415),
        ({"Content_Length": None}, 411),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": str(LARGEST_REQUEST + 1)}, 413),
        ({"Content_Length": "9" * 5000}, 413),
        ({"Transfer_Encoding": "chunked"}, 411),
    ],
)
def test_a_request_that_is_not_of_the_page_changes_nothing(client, session, headers, status):
    before = session.current
    found, answer = client.post({"action": "rename", "topic": 0, "name": "x"}, **headers)
    assert found == status
    assert answer["error"]
    assert session.current is before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"null",
        b'{"action": "__init__"}',
        b'{"action": ["merge"]}',
        b'{"action": "merge"}',
        b'{"action": "merge", "topics": "01"}',
        b'{"action": "merge", "topics": [0, 99]}',
        b'{"action": "split", "topic": -1}',
        b'{"action": "split", "topic": 0, "n": 1e9}',
        b'{"action": "drop", "topic": true}',
        b'{"action": "drop_features", "features": ["no such word"]}',
        b'{"action": "drop_features", "features": [1]}',
        b'{"action": "rename", "topic": 0, "name": 7}',
        b'{"action": "infer", "text": ""}',
        b'{"action": "infer", "text": "xyzzy"}',
        b'{"action": "undo"}',
        b'{"action": "save", "folder": "x"}',
    ],
)
def test_a_request_without_a_meaning_is_answered_with_a_sentence(client, session, body):
    before = session.current
    status, answer = client.post(body)
    assert status == 400
    assert len(answer["error"]) > 10
    assert session.current is before


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api"],
)
def test_there_are_no_other_pages(client, path):
    assert client.get(f"{path}?token={client.token}")[0] == 404
    assert client.post({"action": "undo"}, path="/other")[0] == 404


def test_the_server_listens_on_this_machine_only_and_says_little(server, client):
    assert server.server_address[0] == "127.0.0.1"
    connection = http.client.HTTPConnection(client.host, timeout=LIMIT)
    connection.request("GET", f"/?token={client.token}")
    headers = connection.getresponse().headers
    connection.close()
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Server"].strip() == "isotopic"
    assert client.send("OPTIONS", "/api", Host=client.host)[0] == 501


# What it does.


def test_steps_are_kept_compared_and_undone(client, session, model, corpus):
    assert client.post({"action": "split", "topic": 2, "refit": True})[0] == 200
    split = session.current.model
    assert split.n_components == 7
    assert split.n_iter_ > 0
    assert client.get(f"/change?token={client.token}")[0] == 200
    status, _ = client.post({"action": "merge", "topics": [2, 6], "refit": False})
    assert (status, session.current.model.n_components) == (200, 6)
    assert session.current.model.n_iter_ == 0
    assert client.post({"action": "drop", "topic": 0, "refit": True})[0] == 200
    status, _ = client.post({"action": "drop_features", "features": ["lord", "god"], "refit": True})
    assert (status, session.current.X.shape[1]) == (200, corpus.data.shape[1] - 2)
    assert session.current.change["moved"] < 0.8
    assert client.post({"action": "rename", "topic": 1, "name": HOSTILE})[0] == 200
    assert session.current.model.topic_names_[1] == HOSTILE
    for _ in range(5):
        assert client.post({"action": "undo"})[0] == 200
    assert session.current.model is model
    assert not session.is_changed
    assert model.n_components == 6
    assert client.get(f"/change?token={client.token}")[0] == 400


def test_the_page_is_never_that_of_a_step_that_was_undone(session):
    for name in ("name one", "name two", "name three"):
        session.run({"action": "rename", "topic": 0, "name": name})
        page = session.page()
        assert name.encode() in page
        assert session.page() is page
        session.run({"action": "undo"})


def test_a_refit_goes_on_learning_and_keeps_names(corpus):
    X = corpus.data[:200]
    model = LDA(4, tol=1e-2, random_state=0).fit(X).label({3: "law"})
    session = Session(model, X)
    session.run({"action": "drop", "topic": 0, "refit": True})
    new = session.current.model
    assert (new.alpha, new.eta, new.init) == ("auto", "auto", "auto")
    assert new.topic_names_.tolist() == ["", "", "law"]
    assert new.converged_


def test_the_topics_of_a_text_are_those_of_transform(session, model, corpus):
    text = "The WATERS of the earth; and God said, waters! xyzzy"
    told = infer_text(session.current, text, {})
    places = {name: i for i, name in enumerate(corpus.feature_names)}
    words = [w for w in ("waters", "earth", "god", "said", "waters") if w in places]
    row = np.zeros((1, len(places)))
    for word in words:
        row[0, places[word]] += 1
    expected = model.transform(row)[0]
    for topic, share in told["topics"]:
        assert share == pytest.approx(expected[topic], rel=1e-6)
    assert told["known"] == len(words)
    assert told["unknown"] >= 1
    for _, chances in told["words"]:
        assert sum(share for _, share in chances) <= 1 + 1e-9


def test_other_data_is_not_explored(corpus, model):
    with pytest.raises(ValueError, match="not the data that the model was fitted to"):
        model.explore(corpus.data[:299])


def test_what_the_page_cannot_refit_is_left_alone(corpus):
    X = corpus.data[:60]
    model = LDA(2, max_iter=3, tol=0, random_state=0).fit(X, covariates={"year": np.arange(60.0)})
    session = Session(model, X)
    with pytest.raises(ValueError, match="with covariates is not refitted here"):
        session.run({"action": "refit"})
    assert session.current.model is model
    holes = X[:20].toarray().astype(float)
    holes[0, 0] = np.nan
    with_holes = LDA(2, missing="nan", max_iter=2, tol=0, random_state=0).fit(holes)
    with pytest.raises(ValueError, match="missing entries cannot be edited"):
        with_holes.explore(holes)


def test_an_explorer_ends_and_keeps_the_model(corpus, model):
    names = {"feature_names": corpus.feature_names}
    with model.explore(corpus.data[:300], **names) as explorer:
        client = Client(explorer._server)
        assert client.post({"action": "drop", "topic": 0})[0] == 200
        assert explorer.url in repr(explorer)
    explorer.close()
    assert explorer.model.n_components == 5
    assert model.n_components == 6
    with pytest.raises(ConnectionRefusedError):
        client.get()


def test_a_notebook_shows_the_page_in_a_frame(corpus, model, monkeypatch):
    shown = []
    display = type(sys)("IPython.display")
    display.IFrame = lambda *given: given
    display.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", type(sys)("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with model.explore(corpus.data[:300]) as explorer:
        explorer._ipython_display_()
        assert shown[0][0] == explorer.url


# The command.


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """Give the folder of a fit of documents."""
    folder = tmp_path_factory.mktemp("serve")
    texts = ["the sea and the ship at sea", "a ship at sea", "trees in the wood", "wood of trees"]
    rows = [json.dumps({"text": text, "year": 1900 + i}) for i, text in enumerate(texts * 5)]
    (folder / "texts.jsonl").write_text("\n".join(rows))
    given = ["-k", "2", "-o", str(folder / "out"), "--seed", "1", "--no-report"]
    assert main(["fit", str(folder / "texts.jsonl"), *given]) == 0
    return folder / "out"


@pytest.fixture
def command(fit):
    """Run `isotopic serve`, and give its process and address."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started_python("-m", "isotopic", "serve", fit, "--json", **pipes) as process:
        watch = threading.Timer(LIMIT, process.kill)  # so that reading ends
        watch.start()
        lines = []
        while not lines or lines[-1] not in ("}\n", ""):
            lines.append(process.stdout.readline())
        yield process, json.loads("".join(lines))["url"]
        watch.cancel()


def test_the_command_saves_when_asked_and_ends_with_ctrl_c(command, fit):
    process, url = command
    server = type("Address", (), {"url": url, "token": url.partition("token=")[2]})
    client = Client(server)
    before = load(fit / "model.isotopic").components_
    assert client.post({"action": "drop_features", "features": ["ship"], "refit": True})[0] == 200
    assert client.post({"action": "rename", "topic": 1, "name": "woods"})[0] == 200
    for name in ("../away", "/tmp/away", "..", "", "a/b", "a\\b", "x\n", "a" * 300):
        assert client.post({"action": "save", "folder": name})[0] == 400
    status, answer = client.post({"action": "save", "folder": fit.name})
    assert (status, "exists" in answer["error"]) == (400, True)
    other = fit.parent / "other"
    other.mkdir()
    status, answer = client.post({"action": "save", "folder": "other", "overwrite": True})
    assert (status, "not the folder of a fit" in answer["error"]) == (400, True)
    assert client.post({"action": "save", "folder": "edited"})[1]["saved"] == str(
        fit.parent / "edited"
    )
    assert client.post({"action": "save", "folder": "edited", "overwrite": True})[0] == 200
    np.testing.assert_array_equal(load(fit / "model.isotopic").components_, before)
    assert main(["topics", str(fit.parent / "edited")]) == 0
    assert load(fit.parent / "edited" / "model.isotopic").topic_names_[1] == "woods"
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 0
    assert process.stderr.read().splitlines()[-1] == "Stopped."


# In a browser.


class Served:
    """The address of a served page, for a Page."""

    def __init__(self, url):
        self.url = url

    def as_uri(self):
        return self.url


@pytest.fixture
def page(server, browser):
    page = browsing.Page(browser, Served(server.url))
    yield page
    complaints, asked = page.close()
    # A request that makes no sense is told to the reader, and logged by the browser.
    assert [each for each in complaints if "status of 400" not in each] == []
    host = server.url.split("?")[0]
    assert {address.split("?")[0] for address in asked} <= {host, f"{host}api", f"{host}change"}


def wait_for_version(page, session, n):
    """Wait until the page shows the n-th step."""

    def is_shown():
        try:
            ready = "return 'ready' in document.documentElement.dataset && live.steps.length"
            return page.run(ready) == n
        except browsing.JavascriptException:
            return False  # between two pages

    browsing.until(is_shown)
    page.settle()
    assert len(session.versions) == n + 1


@browsing.needs_browser
def test_a_person_splits_merges_drops_and_undoes(page, session):
    page.click("#topic-2")
    page.click("#live-split")
    wait_for_version(page, session, 1)
    assert len(page.texts("#topic-list .entry")) == 7
    assert page.texts("#live-topic .swatch") == ["2"]
    assert "6 topics became 7" in page.texts("#live-change")[0]
    page.run("document.getElementById('live-other').value = '6'")
    page.click("#live-merge")
    wait_for_version(page, session, 2)
    assert len(page.texts("#topic-list .entry")) == 6
    page.click("#topic-0")
    page.click("#live-drop")
    wait_for_version(page, session, 3)
    assert session.current.model.n_components == 5
    assert [step.strip() for step in page.texts(".live-steps li")] == [
        "topic 2 was split",
        "topics 2 and 6 were merged",
        "topic 0 was dropped",
    ]
    page.screenshot("served")
    own = page.browser.current_window_handle
    page.click("#live-compare")
    browsing.until(lambda: len(page.browser.window_handles) == 2)
    page.browser.switch_to.window(page.browser.window_handles[-1])
    browsing.until(lambda: page.texts("#page-title") == ["Before and after: topic 0 was dropped"])
    assert len(page.texts("#flow .node")) == 11
    page.browser.close()
    page.browser.switch_to.window(own)
    page.click("#live-undo")
    wait_for_version(page, session, 2)
    assert len(page.texts("#topic-list .entry")) == 6


@browsing.needs_browser
def test_a_person_leaves_words_out_and_names_a_topic(page, session):
    page.write("#live-words", "nosuchword")
    page.click("#live-stop")
    browsing.until(
        lambda: page.texts("#live-note") == ["'nosuchword' is not a feature of this model."]
    )
    page.write("#live-words", "lord, god")
    page.click("#live-stop")
    wait_for_version(page, session, 1)
    assert not {"lord", "god"} & set(session.current.feature_names)
    page.click("#topic-1")
    page.write("#topic-name", HOSTILE)
    page.find("#topic-name").send_keys(browsing.Keys.ENTER)
    browsing.until(lambda: session.current.model.topic_names_ is not None)
    browsing.until(lambda: page.texts("#live-note") == ["Topic 1 has its name."])
    assert session.current.model.topic_names_[1] == HOSTILE
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]


@browsing.needs_browser
def test_a_pasted_text_is_coloured_and_cannot_script_the_page(page):
    text = f"And God said to Moses: {HOSTILE} the waters of the earth, xyzzy"
    page.write("#live-text", text)
    page.click("#live-infer")
    browsing.until(lambda: page.texts("#inferred .text") == [text])
    assert "waters" in page.texts("#inferred .word")
    assert "xyzzy" not in page.texts("#inferred .word")
    topic = page.find("#inferred-topics .weight").get_attribute("data-topic")
    page.click("#inferred-topics .weight")
    assert page.texts("#live-topic .swatch") == [topic]
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]
    page.write("#live-text", "xyzzy")
    page.click("#live-infer")
    browsing.until(lambda: "None of the 1 words" in page.texts("#live-note")[0])


@browsing.needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_served_page_is_for_everyone(server, browser, axe, scheme):
    page = browsing.Page(browser, Served(server.url), scheme)
    assert browsing.findings(page, axe) == []
    page.screenshot(f"served-{scheme}")
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.click('nav a[href="#live"]')
        browsing.until(lambda: page.find("#live-text").is_displayed())
        browsing.until(lambda: page.run("return document.documentElement.scrollWidth") <= 390)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_stopped_server_frees_its_port_at_once(corpus, model):
    X = corpus.data[:300]
    explorer = model.explore(X)
    port = explorer._server.server_address[1]
    explorer.close()
    with model.explore(X, port=port) as again:
        assert Client(again._server).get(f"/?token={again._server.token}")[0] == 200

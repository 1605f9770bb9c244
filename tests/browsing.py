"""A browser for the tests of the report: what a person does with a page, and what it logs.

Screenshots go to the folder that ``ISOTOPIC_SCREENSHOTS`` names, if it does.
"""

import base64
import json
import os
import pathlib
import shutil
import socket

import pytest
from processes import LIMIT

try:
    from selenium import webdriver
    from selenium.common.exceptions import (
        ElementClickInterceptedException,
        JavascriptException,
        StaleElementReferenceException,
    )
    from selenium.webdriver.support import wait

    Keys = webdriver.Keys
except ImportError:  # then the tests are skipped
    webdriver = wait = Keys = JavascriptException = None


BINARY, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    webdriver is None or BINARY is None or DRIVER is None,
    reason="selenium, chromium or chromedriver is not installed: the report is not tested in a "
    "browser",
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1400,1000",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BINARY
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    # Selenium waits for an answer of the driver without a limit unless sockets have one.
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(LIMIT)
    try:
        driver = webdriver.Chrome(options=options, service=service)
    finally:
        socket.setdefaulttimeout(before)
    try:
        # Below the limit of the socket, so that the error names what was slow.
        driver.set_page_load_timeout(LIMIT / 2)
        driver.set_script_timeout(LIMIT / 2)
        yield driver
    finally:
        driver.quit()


class Page:
    """A report that is open, and what a person does with it."""

    def __init__(self, browser, path, scheme="light"):
        self.browser, self.path = browser, path
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        browser.get("about:blank")
        self.close()  # what was logged before is not ours
        browser.get(path.as_uri())
        is_ready = "return 'ready' in document.documentElement.dataset"
        wait.WebDriverWait(browser, LIMIT / 2).until(lambda _: self.run(is_ready))
        self.settle()

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def settle(self):
        """Wait until the page has read and drawn what was asked for."""
        is_settled = "return !('busy' in document.documentElement.dataset)"
        wait.WebDriverWait(self.browser, 60, 0.02).until(lambda _: self.run(is_settled))

    def texts(self, selector):
        """Give what stands in all elements of a kind, also of those that are out of sight."""
        self.settle()
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def click(self, selector):
        """Click an element, found anew if the page draws or moves it before the click arrives."""

        def clicked(_):
            element = self.find(selector)
            self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
            element.click()
            return True

        redrawn = (StaleElementReferenceException, ElementClickInterceptedException)
        wait.WebDriverWait(self.browser, LIMIT / 2, 0.02, ignored_exceptions=redrawn).until(clicked)

    def pixels(self):
        """Give a digest of the structure plot: how often each of its colours occurs."""
        return self.run(
            "const c = document.getElementById('structure'), seen = {};"
            "const copy = new OffscreenCanvas(c.width, c.height)"
            ".getContext('2d', {willReadFrequently: true}); copy.drawImage(c, 0, 0);"
            "const data = copy.getImageData(0, 0, c.width, c.height).data;"
            "for (let i = 0; i < data.length; i += 4) {"
            "  const key = [data[i], data[i + 1], data[i + 2]].join();"
            "  seen[key] = (seen[key] || 0) + 1;"
            "} return seen"
        )

    def write(self, selector, text):
        """Replace what is written in a field."""
        field = self.find(selector)
        field.clear()
        field.send_keys(text)
        self.settle()

    def screenshot(self, name):
        """Take a picture of the whole page."""
        height = self.run("return document.documentElement.scrollHeight")
        size = {"width": 1400, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        taken = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        picture = base64.b64decode(taken["data"])
        folder = os.environ.get("ISOTOPIC_SCREENSHOTS")
        if folder:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            pathlib.Path(folder, f"{name}.png").write_bytes(picture)
        return picture

    def close(self):
        """Give the complaints on the console, and all addresses that were asked for."""
        complaints = [entry["message"] for entry in self.browser.get_log("browser")]
        events = [json.loads(e["message"])["message"] for e in self.browser.get_log("performance")]
        asked = {
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        }
        return complaints, asked - {"about:blank"}


@pytest.fixture
def open_page(browser):
    """Open reports; in the end none of them complained or asked for anything but itself."""
    opened = []

    def open_report(path, scheme="light"):
        opened.append(Page(browser, path, scheme))
        return opened[-1]

    yield open_report
    if not opened:
        return  # the test has failed before
    complaints, asked = opened[-1].close()
    assert complaints == []
    # A picture that is saved is drawn from an address that the page itself has made.
    asked = {address for address in asked if not address.startswith("blob:")}
    assert asked == {opened[-1].path.as_uri()}


class Address(str):
    """An address as the path of a page, without what follows the hash."""

    def as_uri(self):
        return str(self).split("#")[0]


def until(is_so, seconds=60):
    """Wait until something is so."""
    wait.WebDriverWait(None, seconds, 0.02).until(lambda _: is_so())


@pytest.fixture
def downloads(browser, tmp_path):
    """Give a function that waits for a file that the page saves."""
    folder = tmp_path / "downloads"
    given = {"behavior": "allow", "downloadPath": str(folder)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", given)

    def saved(name):
        until((folder / name).exists)
        return folder / name

    return saved


@pytest.fixture(scope="session")
def axe():
    """Return the script of axe-core, which a package brings along."""
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    return pathlib.Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8")


def findings(page, axe):
    """Return what axe-core finds: its rule, and the elements."""
    page.run(axe)
    found = page.browser.execute_async_script(
        "const done = arguments[0]; axe.run(document).then((result) => done("
        "result.violations.map((v) => [v.id, v.nodes.map((node) => node.target.join(' '))])))"
    )
    return [tuple(finding) for finding in found]

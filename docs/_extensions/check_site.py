"""Check a built site: every link leads somewhere, and nothing is loaded from a network.

``python docs/_extensions/check_site.py build/docs`` prints what is wrong, and fails.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements whose address a browser loads by itself.
LOADED = {"script", "img", "link", "iframe", "source", "audio", "video"}


class Page(HTMLParser):
    """The anchors of a page, and the addresses that it links to or loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Collect what one element says."""
        values = dict(attrs)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        address = values.get("href") or values.get("src")
        if address:
            self.links.add(address)
            if tag in LOADED:
                self.loaded.add(address)


def problems(root):
    """Yield a sentence for each link that leads nowhere or to a network that a page needs."""
    paths = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    if not pages:
        yield f"{root} has no pages"
    for path, page in pages.items():
        name = path.relative_to(root)
        yield from (f"{name} loads {a}" for a in sorted(page.loaded) if urlsplit(a).netloc)
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name} links to {link}, which does not exist"
                continue
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in anchors:
                yield f"{name} links to {link}, which has no such anchor"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]).resolve()))
    sys.exit("\n".join(found) or 0)

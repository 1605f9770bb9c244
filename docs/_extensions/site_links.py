"""Let links that work in the repository work on the site, too."""

import importlib
import re

from sphinx.errors import NoUri

import isotopic

# Pages of the repository that the site has under another name.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "README.md": "index.md",
}


def rewrite(text):
    """Return Markdown in which links out of docs/ lead to what the site has.

    Source files become downloads. Markdown below src/ is no page, so only its name stays.
    """
    text = re.sub(r"\[([^\]]*)\]\((?:\.\./)?src/[^)]*\.md\)", r"\1", text)
    text = re.sub(r"\]\((?:\.\./)?src/", "](../src/", text)
    for there, here in PAGES.items():
        text = re.sub(rf"\]\((?:\.\./)?{there}", f"]({here}", text)
    return text


def rewrite_source(app, name, content):
    """Rewrite a page that Sphinx has read."""
    if app.env.doc2path(name).suffix == ".md":
        content[0] = rewrite(content[0])


def rewrite_included(app, path, parent, content):
    """Rewrite a file that a page includes."""
    if path.suffix == ".md":
        content[0] = rewrite(content[0])


def find(name, module):
    """Return the object that a reference names, from its module or from the package; or raise."""
    for prefix in ("", f"{module}.", "isotopic."):
        *path, attribute = f"{prefix}{name}".split(".")
        for cut in range(len(path), 0, -1):
            try:
                found = importlib.import_module(".".join(path[:cut]))
                for step in [*path[cut:], attribute]:
                    found = getattr(found, step)
            except (ImportError, AttributeError):
                continue
            return found
    raise NoUri


def resolve(app, env, node, contnode):
    """Link a name to the page of the public name that it stands for.

    Names that exist but are not public are shown without a link. Names that do not exist stay
    unresolved, which is an error.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if _is_module(target):
        return contnode
    try:
        found = find(target, node.get("py:module") or "isotopic")
    except NoUri:
        return None
    public = getattr(found, "__name__", None)
    if public in isotopic.__all__ and getattr(isotopic, public) is found:
        python, name = env.get_domain("py"), f"isotopic.{public}"
        return python.resolve_xref(env, env.docname, app.builder, "obj", name, node, contnode)
    return contnode


def _is_module(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def setup(app):
    """Connect the rules to the build."""
    app.connect("source-read", rewrite_source)
    app.connect("include-read", rewrite_included)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

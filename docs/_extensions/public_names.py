"""Fill in the names of the reference page: those of a module, and those listed nowhere else.

A line ``plot.*`` of a list stands for all public names of that module that the page does not list,
and a line ``*`` for all other public names of the package. So no name can be forgotten.
"""

import re

import isotopic

LINE = re.compile(r"^   (?:([a-z_]+)\.)?\*$", re.MULTILINE)


def listed(page):
    """Return the names that the lists of a page contain."""
    return re.findall(r"^   ([A-Za-z_][\w.]*)$", page, re.MULTILINE)


def public_names():
    """Return the public names by the module that they are shown under, which is "" for most."""
    modules = [name for name in isotopic.__all__ if hasattr(getattr(isotopic, name), "__path__")]
    names = {name: getattr(isotopic, name).__all__ for name in modules}
    return names | {"": [name for name in isotopic.__all__ if name not in modules]}


def fill(page):
    """Return the page with the names in the place of the stars."""
    given, public = set(listed(page)), public_names()

    def names(found):
        module = found[1] or ""
        full = [f"{module}.{name}".lstrip(".") for name in public[module]]
        return "\n".join(f"   {name}" for name in full if name not in given)

    return LINE.sub(names, page)


def fill_source(app, name, content):
    """Fill in the reference page when it is read."""
    if name == "reference":
        content[0] = fill(content[0])


def fill_before_autosummary(app):
    """Write the filled page to where autosummary looks for names: it reads files, not sources."""
    page = (app.srcdir / "reference.md").read_text(encoding="utf-8")
    filled = app.srcdir / "auto" / "names.rst"
    filled.parent.mkdir(exist_ok=True)
    blocks = re.findall(r"```\{eval-rst\}\n(.*?)```", fill(page), re.DOTALL)
    filled.write_text(":orphan:\n\n" + "".join(blocks).replace(":toctree: api", ":toctree: ../api"))
    app.config.autosummary_generate = ["auto/names.rst"]


def setup(app):
    """Connect both to the build."""
    app.connect("source-read", fill_source)
    app.connect("builder-inited", fill_before_autosummary, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

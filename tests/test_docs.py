"""The examples of the documentation and of the docstrings, and the commands that pages show."""

import ast
import doctest
import importlib
import inspect
import pathlib
import re
import shlex
import tomllib

import pytest
from documentation import PAGES, ROOT, blocks, commands, is_program

import isotopic
from isotopic.cli.app import find_command
from isotopic.cli.command import UsageError

SOURCE = pathlib.Path(isotopic.__file__).parent

DOCTESTS = [page for page in PAGES if ">>> " in page.read_text()]
MODULES = [
    ".".join(["isotopic", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(
        ".__init__"
    )
    for path in sorted(SOURCE.rglob("*.py"))
    if re.search(r"^ *>>> ", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("page", DOCTESTS, ids=lambda page: page.name)
def test_examples_of_the_docs(page):
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0


# Python blocks


def lines_of(code):
    """Return the lines without indentation and comments."""
    return {line.partition("  # ")[0].strip() for line in code.splitlines()}


EXCERPTS = [page for page in PAGES if not all(map(is_program, blocks(page, "python")))]


@pytest.mark.parametrize("page", EXCERPTS, ids=lambda page: page.name)
def test_excerpts_are_in_the_source(page):
    excerpts = [block for block in blocks(page, "python") if not is_program(block)]
    code = {line for path in SOURCE.rglob("*.py") for line in lines_of(path.read_text())}
    for excerpt in excerpts:
        assert lines_of(excerpt) <= code


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_programs_import_what_exists(page):
    programs = [ast.parse(block) for block in blocks(page, "python") if is_program(block)]
    for node in [node for program in programs for node in ast.walk(program)]:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("isotopic"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name), f"{node.module}.{alias.name}"


# Console blocks

COMMANDS = [
    pytest.param(command, id=f"{page.name}: {command[:40]}")
    for page in PAGES
    for command in commands(page)
]


def check_isotopic(arguments):
    name, *options = arguments
    command = find_command(name)
    flags = {flag for option in command.options for flag in option.flags}
    used = {word for word in options if re.match("--?[a-z]", word)}
    assert used <= flags


def check_pip(arguments):
    assert arguments[0] == "install"
    extras = re.fullmatch(r"(?:\.|isotopic)(?:\[(.*)\])?", arguments[1])[1]
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set((extras or "cli").split(",")) <= set(known["optional-dependencies"])


def check_make(arguments):
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert arguments[0] in targets.split()


def check_source(arguments):
    assert arguments == [".venv/bin/activate"]


def check_python(arguments):
    assert arguments[0] == "-m"
    if arguments[1] == "venv":
        return
    folder = ROOT / arguments[1]
    assert (folder / "__main__.py").exists()
    code = "".join(path.read_text() for path in folder.rglob("*.py"))
    for option in arguments[2:]:
        assert not option.startswith("-") or f'"{option}"' in code, option


CHECKS = {
    "isotopic": check_isotopic,
    "pip": check_pip,
    "make": check_make,
    "python": check_python,
    "source": check_source,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_and_their_options_exist(command):
    if "_ISOTOPIC_COMPLETE=" in command:  # shell completion
        assert re.search(r"_ISOTOPIC_COMPLETE=(bash|zsh|fish)_source isotopic\b", command)
        return
    program, *arguments = shlex.split(command, comments=True)
    CHECKS[program](arguments)


def test_commands_were_found():
    assert len(COMMANDS) > 10
    with pytest.raises(AssertionError):
        check_isotopic(["fit", "x", "--no-such-option"])
    with pytest.raises(UsageError, match="no-such-command"):
        check_isotopic(["no-such-command"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    missing = [
        link for link in links if "://" not in link and not (page.parent / link).resolve().exists()
    ]
    assert missing == []


def test_the_reference_lists_every_public_name_once(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    from public_names import fill, listed

    modules = {name for name in isotopic.__all__ if inspect.ismodule(getattr(isotopic, name))}
    members = {f"{name}.{own}" for name in modules for own in getattr(isotopic, name).__all__}
    found = listed(fill((ROOT / "docs" / "reference.md").read_text()))
    assert sorted(found) == sorted(members | set(isotopic.__all__) - modules)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_page_says_first_who_it_is_for_and_what_they_can_do_then(page):
    text = page.read_text()
    if page.name == "index.md" or "{include}" in text:
        return
    beginning = " ".join(re.search(r"^# .*?\n\n(.*?)\n\n", text, re.DOTALL)[1].split())
    assert re.match(r"(This page is|These pages are) for .*? After reading .*? you ", beginning)


def test_every_page_is_in_a_table_of_contents():
    pages = sorted((ROOT / "docs").glob("*.md"))
    contents = "".join(page.read_text() for page in pages)
    trees = "".join(re.findall(r"^```{toctree}\n(.*?)^```", contents, re.MULTILINE | re.DOTALL))
    listed = re.findall(r"^(?:.*<)?([\w-]+)>?$", trees, re.MULTILINE)
    assert sorted(page.stem for page in pages if page.stem != "index") == sorted(listed)


PUBLIC = {
    f"{module}.{name}".lstrip("."): getattr(place, name)
    for module, place in [("", isotopic), *inspect.getmembers(isotopic, inspect.ismodule)]
    if module in {"", *isotopic.__all__}
    for name in place.__all__
}


GALLERY = "".join(path.read_text() for path in (ROOT / "docs" / "gallery").glob("*.py"))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example(name):
    """Examples of docstrings are run above; those of plots are the gallery, which the site runs."""
    if inspect.ismodule(PUBLIC[name]):
        return
    if name.startswith("plot."):
        assert f"{name}(" in GALLERY, f"Draw {name} in docs/gallery."
        assert f"`{name}(" in (ROOT / "docs" / "plots.md").read_text(), f"Describe {name}."
    else:
        assert ">>> " in inspect.getdoc(PUBLIC[name]), f"Give {name} a section Examples."


def test_promises_name_tests_that_exist():
    code = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    promised = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "reliability.md").read_text())
    assert len(promised) > 50
    assert set(promised) - set(re.findall(r"^def (test_\w+)\(", code, re.MULTILINE)) == set()

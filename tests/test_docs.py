"""The examples of the documentation and of the docstrings."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import isotopic

ROOT = pathlib.Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(isotopic.__path__, "isotopic.")]


PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if ">>> " in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_the_docs(page):
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("name", [m for m in MODULES if not m.endswith("__main__")])
def test_examples_of_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0

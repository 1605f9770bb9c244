"""The examples of the documentation and of the docstrings."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import isotopic

ROOT = pathlib.Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(isotopic.__path__, "isotopic.")]


@pytest.mark.parametrize("name", ["docs/guide.md", "docs/scale.md"])
def test_examples_of_the_guide(name):
    failed, tried = doctest.testfile(str(ROOT / name), module_relative=False)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("name", [m for m in MODULES if not m.endswith("__main__")])
def test_examples_of_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0

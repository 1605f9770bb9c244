"""Decompose count data into parts: NMF, PLSA, LDA and Gamma-Poisson factorization.

NMF under the Kullback-Leibler divergence, PLSA, LDA and Gamma-Poisson factorization are one model
under different normalizations and priors, with one joint update (Geiger & Park):

- a model is a **divergence** and a pair of **priors**, one for the weights and one for the topics;
- a pass distributes each count over the components (:func:`expected_counts`, the E step);
- each prior absorbs the counts of its side (the M step), and a **solver** repeats both;
- the result of a fit is one value (:class:`Fitted`), and everything else is a function of it.

:class:`TopicModel` takes any priors, divergence and solver. :class:`NMF`, :class:`PLSA`,
:class:`LDA`, :class:`GammaPoisson` and the others are choices of these parts. The public names are
listed in :mod:`isotopic.public`.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isotopic.public import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `isotopic --help` needs none of them."""
    if not name.startswith("__") and find_spec(f"isotopic.{name}") is not None:
        module = import_module(f"isotopic.{name}")
        return globals().get(name, module)
    if name == "__all__" or not name.startswith("__"):
        public = import_module("isotopic.public")
        if hasattr(public, name):
            return globals().setdefault(name, getattr(public, name))
    raise AttributeError(f"module 'isotopic' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the module's own names and the public names."""
    return sorted({*globals(), *import_module("isotopic.public").__all__})


class _Package(ModuleType):
    """A package in which ``isotopic.verify`` is the function, not the module that holds it."""

    def __setattr__(self, name: str, value: Any) -> None:
        is_submodule = isinstance(value, ModuleType)
        function = getattr(value, name, None) if is_submodule else None
        super().__setattr__(name, function if callable(function) else value)


sys.modules[__name__].__class__ = _Package

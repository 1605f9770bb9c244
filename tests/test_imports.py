"""The shape of the package: imports go one way, and importing it is cheap."""

import ast
import pathlib

import pytest
from processes import run_python

import isotopic

ROOT = pathlib.Path(isotopic.__file__).parent

# From the bottom to the top; a module may import from its own layer and from those before it.
LAYERS = [
    {"_core", "archive", "arrays", "random", "registry", "threads"},
    {"missing"},
    {"counts"},
    {"kernels"},
    {"divergences", "priors"},
    {"problem"},
    {"blocks", "dask"},
    {"beta_problem"},
    {"init", "objectives", "solvers"},
    {"generative", "responsibilities", "table"},
    {"evaluate", "fitted"},
    {"match"},
    {"estimators"},
    {"annotated", "convert", "datasets", "io", "select"},
    {"bootstrap", "plot", "report"},
    {"verify"},
    {"cli", "__main__"},
]


def layer_of(module):
    return next(i for i, names in enumerate(LAYERS) if module in names)


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("isotopic"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]


FILES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downwards(path):
    module = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if module in ("cli", "__main__", "verify"):  # the top may use the public names
        return
    for other in imported_modules(path):
        if (module, other) == ("estimators", "report"):  # a leaf, loaded when a report is asked for
            continue
        assert layer_of(other) <= layer_of(module), f"{module} imports {other}"


def test_importing_loads_nothing_heavy():
    heavy = ("matplotlib", "pandas", "polars", "dask", "distributed", "pyarrow", "anndata")
    heavy += ("h5py", "zarr")
    # scikit-learn itself loads pandas where it is installed.
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import isotopic; "
        f"print([m for m in {heavy!r} if m in set(sys.modules) - before])"
    )
    run = run_python("-c", code)
    assert run.stdout == "[]\n"


def test_public_names_exist_and_are_documented():
    for name in isotopic.__all__:
        assert getattr(isotopic, name).__doc__, name

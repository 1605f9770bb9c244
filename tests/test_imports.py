"""The shape of the package: imports go one way, and importing it is cheap."""

import ast
import os
import pathlib
import re
from importlib.util import find_spec

import pytest
from processes import run_python

import isotopic

ROOT = pathlib.Path(isotopic.__file__).parent

# From the bottom to the top; a module may import from its own layer and from those before it.
LAYERS = [
    {"_core", "archive", "arrays", "atomic", "npy", "random", "registry", "terminal", "threads"},
    {"mutation_types"},
    {"names"},
    {"containers"},
    {"count_checks", "covariates", "io", "missing"},
    {"counts"},
    {"elementwise", "transformed"},
    {"concentration", "kernels"},
    {"row_inference", "sampling"},
    {"divergences", "priors"},
    {"problem"},
    {"blocks", "dask"},
    {"init", "objectives", "solvers"},
    {"generative", "progress", "responsibilities", "table"},
    {"evaluate", "fitted"},
    {"match", "references"},
    {"refit"},
    {"decompose"},
    {"estimators"},
    {"annotated", "consensus", "convert", "datasets", "group_weights", "interchange"},
    {"bootstrap", "plot", "report"},
    {"serve", "verify"},
    {"__init__", "public"},  # the public names
    {"cli", "__main__"},
]

# Methods that hand over to a layer above. They import it when they are called, never before.
UPWARDS = {
    ("estimators/pages.py", "report"),
    ("estimators/pages.py", "serve"),
    ("estimators/effects.py", "bootstrap"),
}

MODULES = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
MODULES -= {"__pycache__"}
FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}


def layer_of(module):
    return next(i for i, names in enumerate(LAYERS) if module in names)


def module_of(file):
    return file.split("/")[0].removesuffix(".py")


def top_level_of(name):
    """Return the top-level module that a dotted name of the package lies in."""
    part = [*name.split("."), "__init__"][1]
    return part if part in MODULES else "__init__"  # else one of the public names


def imported_modules(tree):
    """Return what a file imports: by statements at any depth, and by names given as strings."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer they reach into"
            if node.module == "isotopic":
                names |= {f"isotopic.{alias.name}" for alias in node.names}
            else:
                names.add(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"^isotopic(?:\.\w+)+$", node.value))
    return {top_level_of(name) for name in names if name.split(".")[0] == "isotopic"}


def imported_at_once(tree):
    """Return what a file imports when it is itself imported."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    statements, stack = [], [tree]
    while stack:
        for node in ast.iter_child_nodes(stack.pop()):
            if not isinstance(node, functions):
                statements.append(node)
                stack.append(node)
    imports = [node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))]
    return imported_modules(ast.Module(imports, []))


def test_every_module_has_a_layer():
    assert sorted(name for names in LAYERS for name in names) == sorted(MODULES)


@pytest.mark.parametrize("file", FILES)
def test_imports_go_downwards(file):
    module, tree = module_of(file), ast.parse(FILES[file].read_text())
    above = {other for other in imported_modules(tree) if layer_of(other) > layer_of(module)}
    assert above == {other for each, other in UPWARDS if each == file}
    assert not above & imported_at_once(tree)


@pytest.mark.parametrize(
    "code",
    [
        "from isotopic.cli import main",
        "from isotopic import cli",
        "import isotopic.cli",
        "def late():\n    from isotopic.cli.app import run",
        "import_module('isotopic.cli.app')",
        "NAMES = {'main': 'isotopic.cli'}",
    ],
)
def test_imports_of_any_kind_are_seen(code):
    assert imported_modules(ast.parse(code)) == {"cli"}
    assert imported_modules(ast.parse("from isotopic import NMF")) == {"__init__"}


def test_a_function_imports_later():
    code = "def late():\n    from isotopic.cli.app import run\nfrom isotopic import plot"
    assert imported_at_once(ast.parse(code)) == {"plot"}


def test_importing_loads_nothing_heavy():
    heavy = ("matplotlib", "pandas", "polars", "dask", "distributed", "pyarrow", "anndata")
    heavy += ("h5py", "zarr", "click")
    # scikit-learn itself loads pandas where it is installed.
    code = (
        "import sys, sklearn.base; before = set(sys.modules); from isotopic import *; "
        f"print([m for m in {heavy!r} if m in set(sys.modules) - before])"
    )
    run = run_python("-c", code)
    assert run.stdout == "[]\n"


def test_help_of_the_command_line_loads_no_library():
    """It starts at once: public names are imported when they are used."""
    heavy = ("numpy", "scipy", "sklearn", "isotopic.public")
    code = (
        "import sys; from isotopic.cli import main; main(['--help']); main(['--version']); "
        f"main(['fitt']); print([m for m in {heavy!r} if m in sys.modules])"
    )
    run = run_python("-c", code)
    assert run.stdout.splitlines()[-1] == "[]"
    assert "Did you mean fit?" in run.stderr


def test_a_function_is_not_hidden_by_the_module_that_holds_it():
    code = (
        "import isotopic.verify, isotopic.convert, isotopic; from isotopic.match import match; "
        "import isotopic.bootstrap; names = ('verify', 'convert', 'match', 'bootstrap'); "
        "print([callable(getattr(isotopic, name)) for name in names], "
        "isotopic.kernels.__name__, hasattr(isotopic, 'nonsense'), 'NMF' in dir(isotopic))"
    )
    assert run_python("-c", code).stdout == "[True, True, True, True] isotopic.kernels False True\n"


def test_other_modules_are_reached_by_their_names():
    functions = {name for name in isotopic.__all__ if callable(getattr(isotopic, name))}
    for name in MODULES - functions - {"__init__", "__main__"}:
        assert getattr(isotopic, name).__name__ == f"isotopic.{name}"


def test_public_names_exist_and_are_documented():
    for name in isotopic.__all__:
        assert getattr(isotopic, name).__doc__, name


@pytest.mark.skipif(
    "ISOTOPIC_ALL_EXTRAS" not in os.environ, reason="only `make test` installs all extras"
)
def test_no_test_is_skipped_for_want_of_a_library():
    tests = "".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("*.py"))
    names = set(re.findall(r'importorskip\("(\w+)', tests)) - {"pty", "termios"}  # of POSIX
    assert names
    assert not {name for name in names if find_spec(name) is None}

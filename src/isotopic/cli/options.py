"""Arguments and options that several commands share, and help texts that end with examples."""

import json
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from pathlib import Path
from textwrap import indent
from typing import Any, TypeVar

import click

from isotopic.cli.output import InputError
from isotopic.estimators import MODELS
from isotopic.init import STRATEGIES
from isotopic.solvers import SOLVERS

_Command = TypeVar("_Command", bound=Callable[..., Any])

# The named models; TopicModel needs priors, which have no option.
MODEL_NAMES = list(MODELS)
MODEL_NAMES.remove("TopicModel")


class CommandWithExamples(click.Command):
    """A command whose ``--help`` ends with its epilog: examples of its use."""

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples without rewrapping their lines."""
        formatter.write(f"\nExamples:\n{indent(cleandoc(self.epilog or ''), '  ')}\n")


data_argument = click.argument("data", type=click.Path(exists=True))
folder_argument = click.argument(
    "folder", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
output_folder_option = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write."
)
no_report_option = click.option("--no-report", is_flag=True, help="Do not write the HTML report.")
json_option = click.option("--json", "json_", is_flag=True, help="Print JSON instead of text.")
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")
open_option = click.option("--open", "open_", is_flag=True, help="Open the report in a browser.")
components_option = partial(
    click.option,
    "-k",
    "--components",
    type=click.IntRange(1),
    metavar="N",
    show_default=True,
    help="Number of components (topics).",
)
seed_option = partial(
    click.option,
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    show_default=True,
    help="Seed of the random start.",
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Number of threads; it does not change the result.  [default: all cores]",
)


def parse_numbers(_: Any, parameter: click.Parameter, text: str | None) -> Any:
    """Return a number, a list of comma-separated numbers, or a word such as ``auto``."""
    if text is None or text.isalpha():
        return text
    try:
        found = list(map(float, text.split(",")))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither a number nor a comma-separated list of numbers.", param=parameter
        ) from None
    return found[0] if len(found) == 1 else found


def parse_assignments(_: Any, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` options as a dict; a value is JSON, or else plain text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE.", param=parameter)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


# The parameters of models that have an option of the same name.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "alpha": {
        "callback": parse_numbers,
        "metavar": "X[,X...]",
        "help": "LDA: Dirichlet concentration of the weights, or auto.",
    },
    "eta": {
        "callback": parse_numbers,
        "metavar": "X",
        "help": "LDA: Dirichlet concentration of the topics, or auto.",
    },
    "shape": {
        "callback": parse_numbers,
        "metavar": "X[,X...]",
        "help": "GammaPoisson: shape of the Gamma prior of the weights.",
    },
    "rate": {
        "callback": parse_numbers,
        "metavar": "X[,X...]",
        "help": "GammaPoisson: rate of the Gamma prior of the weights.",
    },
    "solver": {"type": click.Choice(list(SOLVERS)), "help": "Solver of the fit."},
    "init": {"type": click.Choice(list(STRATEGIES)), "help": "How the fit is initialised."},
    "max_iter": {
        "type": click.IntRange(0),
        "metavar": "N",
        "help": "Maximum number of iterations.",
    },
    "tol": {
        "type": click.FloatRange(0),
        "metavar": "X",
        "help": "Stop when an update would move at most this fraction of the counts.",
    },
    "n_init": {
        "type": click.IntRange(1),
        "metavar": "N",
        "help": "Number of initialisations; the best fit is kept.",
    },
}

# Parameters that --set must not change, since other options or the command set them.
_RESERVED = {"n_components", "random_state", "n_jobs", "callbacks", "verbose", *_PARAMETERS}


def model_options(command: _Command) -> _Command:
    """Add the options that choose the model and set its parameters."""
    command = threads_option(command)
    command = click.option(
        "--set",
        "others",
        multiple=True,
        callback=parse_assignments,
        metavar="NAME=VALUE",
        help="Set any other parameter of the model. Can be repeated.",
    )(command)
    for name, settings in reversed(_PARAMETERS.items()):
        command = click.option("--" + name.replace("_", "-"), **settings)(command)
    return click.option(
        "--model",
        type=click.Choice(MODEL_NAMES, case_sensitive=False),
        metavar="NAME",
        default="NMF",
        show_default=True,
        help=f"Model to fit: {', '.join(MODEL_NAMES)}. "
        "Options you leave out keep the model's defaults.",
    )(command)


def make_model(given: dict[str, Any], **settings: Any) -> Any:
    """Return the unfitted model that the options ask for; reject parameters that it lacks."""
    name = given["model"]
    parameters = {key: given[key] for key in _PARAMETERS if given[key] is not None}
    accepted = MODELS[name]().get_params()
    for parameter in (*parameters, *given["others"]):
        if parameter not in accepted:
            having = [other for other in MODELS if parameter in MODELS[other]().get_params()]
            advice = f" Models that have it: {', '.join(having)}." if having else ""
            raise InputError(f"{name} has no parameter {parameter!r}.{advice}")
    for parameter in sorted(_RESERVED & set(given["others"])):
        raise InputError(f"--set cannot change {parameter!r}: use the option of the command.")
    return MODELS[name](**settings, n_jobs=given["threads"], **parameters, **given["others"])

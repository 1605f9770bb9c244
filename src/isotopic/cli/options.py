"""Options that several commands share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from isotopic.cli.errors import InputError, library_errors_as_messages
from isotopic.cli.progress import waiting
from isotopic.estimators.persistence import MODELS
from isotopic.init import STRATEGIES
from isotopic.io import FORMATS, CountData, read_counts
from isotopic.solvers import SOLVERS

_Command = TypeVar("_Command", bound=Callable[..., Any])

# The named models; TopicModel needs priors, which have no option.
MODEL_NAMES = [name for name in MODELS if name != "TopicModel"]

json_option = click.option("--json", "json_", is_flag=True, help="Print JSON instead of text.")
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")
open_option = click.option("--open", "open_", is_flag=True, help="Open the report in a browser.")
seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of the random start.",
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Number of threads; it does not change the result.  [default: all cores]",
)

# How data is read: the arguments of ``read_counts`` that have an option of the same name.
_READING: dict[str, dict[str, Any]] = {
    "format": {
        "type": click.Choice(FORMATS),
        "metavar": "NAME",
        "help": f"Format of DATA, if it is not recognised: {', '.join(FORMATS)}.",
    },
    "transpose": {"is_flag": True, "help": "Rows of DATA are features and columns are samples."},
    "sample_names": {"metavar": "FILE", "help": "Sample names, one per line."},
    "feature_names": {"metavar": "FILE", "help": "Feature names, one per line."},
    "layer": {"metavar": "NAME", "help": "Layer of an AnnData file.  [default: X]"},
    "text_column": {"metavar": "NAME", "help": "Column or JSON key that holds the documents."},
    "name_column": {"metavar": "NAME", "help": "Column or JSON key that holds the sample names."},
    "stop_words": {
        "metavar": "english|none|FILE",
        "default": "english",
        "show_default": True,
        "help": "Words of documents to ignore. A FILE has one word per line.",
    },
    "min_df": {
        "metavar": "N",
        "default": "2",
        "show_default": True,
        "help": "Ignore terms in fewer than N documents. With a decimal point, N is a fraction.",
    },
    "max_df": {
        "metavar": "N",
        "default": "1.0",
        "show_default": True,
        "help": "Ignore terms in more than N documents. With a decimal point, N is a fraction.",
    },
    "max_features": {
        "type": click.IntRange(1),
        "metavar": "N",
        "help": "Keep only this many of the most frequent terms.",
    },
    "encoding": {
        "metavar": "NAME",
        "default": "utf-8",
        "show_default": True,
        "help": "Encoding of text files.",
    },
}


def parse_numbers(_: Any, parameter: click.Parameter, text: str | None) -> Any:
    """Return a number, a list of comma-separated numbers, or a word such as ``auto``."""
    if text is None or text.isalpha():
        return text
    try:
        found = [float(part) for part in text.split(",")]
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
    "solver": {"type": click.Choice(list(SOLVERS)), "help": "Algorithm of the fit."},
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


def reading_options(command: _Command) -> _Command:
    """Add the options that say how data is read."""
    for name, settings in reversed(_READING.items()):
        command = click.option("--" + name.replace("_", "-"), **settings)(command)
    return command


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


def reading_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`isotopic.read_counts` that the options stand for."""
    settings = {name: given[name] for name in _READING}
    settings["min_df"] = _parse_frequency(given["min_df"], "--min-df")
    settings["max_df"] = _parse_frequency(given["max_df"], "--max-df")
    words = given["stop_words"]
    if words == "none":
        settings["stop_words"] = None
    elif words != "english":
        with library_errors_as_messages():
            text = Path(words).read_text(encoding=given["encoding"])
        settings["stop_words"] = text.split()
    return settings


def _parse_frequency(text: str, option: str) -> int | float:
    try:
        number = int(text) if text.isdecimal() else float(text)
    except ValueError:
        number = -1
    if number < 0 or (isinstance(number, float) and number > 1):
        raise InputError(
            f"{option} must be a number of documents (such as 5) or a fraction from 0.0 to 1.0, "
            f"but is {text!r}."
        )
    return number


def read_data(path: str, settings: dict[str, Any]) -> CountData:
    """Return the counts of a file or folder; unreadable data ends the command with a message."""
    with library_errors_as_messages(), waiting(f"reading {path}"):
        return read_counts(path, **settings)

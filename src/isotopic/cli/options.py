"""Options that several commands share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from isotopic.cli.problems import Unusable, in_one_line
from isotopic.cli.progress import waiting
from isotopic.estimators import MODELS
from isotopic.init import STRATEGIES
from isotopic.io import FORMATS, CountData, read_counts
from isotopic.solvers import SOLVERS

_Command = TypeVar("_Command", bound=Callable[..., Any])

_READING = (
    click.option("--format", type=click.Choice(FORMATS), help="Of data that is not recognised."),
    click.option("--transpose", is_flag=True, help="The rows of the matrix or table are features."),
    click.option("--sample-names", metavar="FILE", help="Names of the samples, one a line."),
    click.option("--feature-names", metavar="FILE", help="Names of the features, one a line."),
    click.option("--layer", metavar="NAME", help="Layer of an AnnData file."),
    click.option("--text-column", metavar="NAME", help="Column or key that holds documents."),
    click.option("--name-column", metavar="NAME", help="Column or key that names the samples."),
    click.option(
        "--stop-words",
        metavar="english|none|FILE",
        default="english",
        show_default=True,
        help="Words of documents that are not counted; a file has one a line.",
    ),
    click.option(
        "--min-df", metavar="N", default="2", show_default=True,
        help="Leave out terms in fewer documents; a share if it has a point.",
    ),
    click.option(
        "--max-df", metavar="N", default="1.0", show_default=True,
        help="Leave out terms in more documents; a share if it has a point.",
    ),
    click.option("--max-features", type=click.IntRange(1), help="Keep the most frequent terms."),
    click.option("--encoding", default="utf-8", show_default=True, help="Of files of text."),
)  # fmt: skip

READING_NAMES = (
    "format",
    "transpose",
    "sample_names",
    "feature_names",
    "layer",
    "text_column",
    "name_column",
    "stop_words",
    "min_df",
    "max_df",
    "max_features",
    "encoding",
)


def reading_options(command: _Command) -> _Command:
    """Add what says how data is read."""
    for option in reversed(_READING):
        command = option(command)
    return command


json_option = click.option("--json", "json_", is_flag=True, help="Print JSON instead of text.")
force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")
open_option = click.option("--open", "open_", is_flag=True, help="Open the report in a browser.")
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random start."
)
threads_option = click.option(
    "--threads", type=click.IntRange(1), help="Default: every core. The result is the same."
)


def numbers(_: Any, parameter: click.Parameter, given: str | None) -> Any:
    """Read one number, or several with commas, or a word such as ``auto``."""
    if given is None or given.isalpha():
        return given
    try:
        found = [float(part) for part in given.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is not a number, nor numbers with commas", param=parameter
        ) from None
    return found[0] if len(found) == 1 else found


def assignments(_: Any, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` pairs; values are JSON, or else text."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param=parameter)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


_MODEL = (
    click.option(
        "--model",
        type=click.Choice([name for name in MODELS if name != "TopicModel"], case_sensitive=False),
        default="NMF",
        show_default=True,
    ),
    click.option("--alpha", callback=numbers, metavar="X[,X...]", help="Prior of LDA's weights."),
    click.option("--eta", callback=numbers, metavar="X", help="Prior of LDA's topics."),
    click.option("--shape", callback=numbers, metavar="X[,X...]", help="Of Gamma-Poisson weights."),
    click.option("--rate", callback=numbers, metavar="X[,X...]", help="Of Gamma-Poisson weights."),
    click.option(
        "--set", "others", multiple=True, callback=assignments, metavar="NAME=VALUE",
        help="Any other parameter of the model; several times for several.",
    ),
    click.option("--solver", type=click.Choice(list(SOLVERS))),
    click.option("--init", type=click.Choice([*STRATEGIES]), help="Where it starts."),
    click.option("--max-iter", type=click.IntRange(0), help="Most iterations."),
    click.option(
        "--tol", type=click.FloatRange(0),
        help="Stop when an update moves at most this share of the counts.",
    ),
    click.option(
        "--n-init", type=click.IntRange(1), help="Starts; the best is kept.",
    ),
    threads_option,
)  # fmt: skip

_PARAMETERS = ("alpha", "eta", "shape", "rate", "solver", "init", "max_iter", "tol", "n_init")

# Those that the command sets itself.
_OWN = {"n_components", "random_state", "n_jobs", "callbacks", "verbose", *_PARAMETERS}


def model_options(command: _Command) -> _Command:
    """Add what says which model is fitted, and how."""
    for option in reversed(_MODEL):
        command = option(command)
    return command


def make_model(given: dict[str, Any], **settings: Any) -> Any:
    """Make the unfitted model that was asked for; complain about parameters that it lacks."""
    cls = MODELS[given["model"]]
    asked = {name: given[name] for name in _PARAMETERS if given[name] is not None}
    for name in (*asked, *given["others"]):
        if name not in cls().get_params():
            having = [other for other, kind in MODELS.items() if name in kind().get_params()]
            rest = f"; these have it: {', '.join(having)}" if having else ""
            raise Unusable(f"{given['model']} has no {name}{rest}")
    for name in _OWN & set(given["others"]):
        raise Unusable(f"{name} has an option of its own")
    return cls(**settings, n_jobs=given["threads"], **asked, **given["others"])


def reading_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments of :func:`isotopic.read_counts` that options stand for."""
    settings = {name: given[name] for name in READING_NAMES}
    settings["min_df"] = _frequency(given["min_df"], "--min-df")
    settings["max_df"] = _frequency(given["max_df"], "--max-df")
    words = given["stop_words"]
    if words == "none":
        settings["stop_words"] = None
    elif words != "english":
        with in_one_line():
            text = Path(words).read_text(encoding=given["encoding"])
        settings["stop_words"] = text.split()
    return settings


def _frequency(text: str, name: str) -> int | float:
    try:
        number = int(text) if text.isdecimal() else float(text)
    except ValueError:
        number = -1
    if number < 0 or (isinstance(number, float) and number > 1):
        raise Unusable(f"{name} is a number of documents, or a share from 0.0 to 1.0, not {text!r}")
    return number


def read_data(path: str, settings: dict[str, Any]) -> CountData:
    """Read counts; what is wrong with them ends the command."""
    with in_one_line(), waiting(f"reading {path}"):
        return read_counts(path, **settings)

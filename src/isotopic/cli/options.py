"""The options of the commands, each declared once, and the models they describe."""

import json
import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic.cli.command import Option, UsageError
from isotopic.cli.output import InputError, library_errors_as_messages
from isotopic.estimators import MODELS
from isotopic.init import STRATEGIES
from isotopic.io import FORMATS, Options
from isotopic.io.files import open_text
from isotopic.report.fields import FIELDS
from isotopic.solvers import SOLVERS

# The named models; TopicModel needs priors, which have no option.
MODEL_NAMES = tuple(name for name in MODELS if name != "TopicModel")


# How the values of options are parsed


def integer(least: int) -> Callable[[str], int]:
    """Return a parser of whole numbers that are at least ``least``."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ValueError(f"{text[:50]!r} is not a whole number of at least {least}.")
        return number

    return parse


def number(*, above: float = -math.inf, below: float = math.inf) -> Callable[[str], float]:
    """Return a parser of numbers between two limits, which are excluded."""
    limits = [f"above {above:g}"] * (above > -math.inf) + [f"below {below:g}"] * (below < math.inf)

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not above < value < below:
            raise ValueError(f"{text!r} is not a number {' and '.join(limits)}.")
        return value

    return parse


def parse_tolerance(text: str) -> float:
    """Return a number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise ValueError(f"{text!r} is not a number of at least 0.")
    return value


def parse_numbers(text: str) -> Any:
    """Return a number, a list of comma-separated numbers, or a word such as ``auto``."""
    if text.isalpha():
        return text
    try:
        found = list(map(float, text.split(",")))
    except ValueError:
        raise ValueError(
            f"{text!r} is neither a number nor a comma-separated list of numbers."
        ) from None
    return found[0] if len(found) == 1 else found


def parse_names(text: str) -> list[str]:
    """Return comma-separated names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_frequency(text: str) -> int | float:
    """Return a number of documents, or with a decimal point a fraction of them."""
    try:
        value = int(text) if text.isdecimal() else float(text)
    except ValueError:
        value = -1
    if not value >= 0 or (isinstance(value, float) and value > 1):
        raise ValueError(
            f"{text!r} is neither a number of documents (such as 5) nor a fraction from 0.0 to 1.0."
        )
    return value


def parse_lengths(text: str) -> tuple[int, ...]:
    """Return the positive whole numbers of a comma-separated list."""
    try:
        return tuple(integer(1)(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of lengths such as 1 or 1,2.") from None


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return the name and the value of ``NAME=VALUE``; the value is JSON, or else plain text."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise ValueError(f"{text!r} is not of the form NAME=VALUE.")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def parse_path(text: str) -> Path:
    """Return a path; an empty one would be the current folder."""
    if not text:
        raise ValueError("the path must not be empty.")
    return Path(text)


def parse_existing(text: str) -> str:
    """Return a path that exists."""
    if not parse_path(text).exists():
        raise ValueError(f"{text!r} does not exist.")
    return text


def parse_data(text: str) -> str:
    """Return a path that exists, or ``-`` for standard input."""
    return text if text == "-" else parse_existing(text)


def parse_output_file(text: str) -> Path:
    """Return the path of a file to write."""
    if parse_path(text).is_dir():
        raise ValueError(f"{text!r} is a folder, but must be a file.")
    return Path(text)


def parse_folder(text: str) -> Path:
    """Return the path of a folder that exists."""
    if not Path(parse_existing(text)).is_dir():
        raise ValueError(f"{text!r} is a file, but must be the folder of a fit.")
    return Path(text)


# Arguments, and options of several commands

DATA = Option(
    "data", "File or folder to read; - is standard input.", parse=parse_data, is_required=True
)
OPTIONAL_DATA = replace(DATA, is_required=False)
FOLDER = Option("folder", "Folder of a fit.", parse=parse_folder, is_required=True)
REFERENCE = Option(
    "reference",
    "Known topics: a table, such as that of COSMIC signatures, or the folder of a fit.",
    parse=parse_existing,
    is_required=True,
)

MAX_TOTAL = Option(
    "--max-total",
    "Total above which a sample counts as if it had this total (hypermutated tumours).",
    "N",
    number(above=0),
)

COMPONENTS = Option(
    "-k, --components", "Number of components (topics).", "N", integer(1), group="Model"
)
SEED = Option("--seed", "Seed of the random start.", "N", integer(0), default=0, group="Model")
THREADS = Option(
    "--threads",
    "Number of threads; it does not change the result.",
    "N",
    integer(1),
    default_text="all cores",
)
OUTPUT_FOLDER = Option(
    "-o, --output", "Folder to write.", "FOLDER", parse_path, group="Output", is_required=True
)
TABLE_FILE = Option(
    "-o, --output", "File to write: .csv or .parquet.", "FILE", parse_output_file, group="Output"
)
NO_REPORT = Option("--no-report", "Do not write the HTML report.", group="Output", is_flag=True)
OPEN = Option("--open", "Open the report in a browser.", group="Output", is_flag=True)
LABELS = Option(
    "--labels",
    "JSON file with names of topics, as the report saves them.",
    "FILE",
    lambda text: Path(parse_existing(text)),
    default_text="FOLDER/labels.json, if it exists",
)
FIELD = Option(
    "--field",
    "Whose words the report uses: document and word, cell and gene, tumour and signature, ...",
    choices=tuple(FIELDS),
    default_text="by the format and the names of the features",
)
FORCE = Option("--force", "Overwrite existing files.", group="Output", is_flag=True)
JSON = Option("--json", "Print JSON instead of text.", group="Output", is_flag=True)
MEMORY_LIMIT = Option(
    "--memory-limit",
    "Read DATA in row blocks and use at most this much memory, such as 2GB.",
    "SIZE",
)

# The model and its parameters

MODEL = Option(
    "--model",
    f"Model to fit: {', '.join(MODEL_NAMES)}. Options you leave out keep the model's defaults.",
    "NAME",
    default="NMF",
    choices=MODEL_NAMES,
    group="Model",
)

_STARTS = ("auto", *STRATEGIES)

# The parameters of models that have an option of the same name.
_PARAMETERS = (
    Option(
        "--alpha",
        "LDA: Dirichlet concentration of the weights, or auto.",
        "X[,X...]",
        parse_numbers,
    ),
    Option("--eta", "LDA: Dirichlet concentration of the topics, or auto.", "X", parse_numbers),
    Option(
        "--shape",
        "Shape of the Gamma prior of the weights (GammaPoisson, PoissonFactorization), or of the "
        "inverse-Gamma prior of their means (ARDNMF).",
        "X[,X...]",
        parse_numbers,
    ),
    Option(
        "--rate",
        "Rate of the Gamma prior of the weights (GammaPoisson, PoissonFactorization).",
        "X[,X...]",
        parse_numbers,
    ),
    Option("--solver", f"Solver of the fit: {', '.join(SOLVERS)}.", "NAME", choices=tuple(SOLVERS)),
    Option(
        "--init",
        f"How the fit is initialised: {', '.join(_STARTS)}.",
        "NAME",
        choices=_STARTS,
    ),
    Option("--max-iter", "Maximum number of iterations.", "N", integer(0)),
    Option(
        "--tol",
        "Stop when an update would move at most this fraction of the counts.",
        "X",
        parse_tolerance,
    ),
    Option("--n-init", "Number of initialisations; the best fit is kept.", "N", integer(1)),
)
_SET = Option(
    "--set",
    "Set any other parameter of the model.",
    "NAME=VALUE",
    parse_assignment,
    is_repeatable=True,
    group="Model",
)


def _default_of(parameter: str) -> str:
    """Return what the help text says about the default of a parameter."""
    models = [MODELS[name]().get_params() for name in MODEL_NAMES]
    defaults = {str(model[parameter]) for model in models if parameter in model}
    return defaults.pop() if len(defaults) == 1 else "depends on the model"


#: The options that choose the model and set its parameters.
MODEL_OPTIONS = (
    MODEL,
    *(
        replace(option, group="Model", default_text=_default_of(option.key))
        for option in _PARAMETERS
    ),
    _SET,
    SEED,
    THREADS,
)

# Parameters that --set must not change: those with an option of their own, by name, and those that
# the command itself sets.
_OWN_OPTIONS = {option.key: option.name for option in _PARAMETERS} | {
    "n_components": "--components",
    "random_state": "--seed",
    "n_jobs": "--threads",
}
_SET_BY_COMMAND = {"callbacks", "verbose"}


def make_model(given: Namespace, **settings: Any) -> Any:
    """Return the unfitted model that the options describe; reject parameters that it lacks."""
    name, others = given.model, dict(given.set or [])
    asked = {option.key: getattr(given, option.key) for option in _PARAMETERS}
    parameters = {key: value for key, value in asked.items() if value is not None}
    accepted = MODELS[name]().get_params()
    for parameter in (*parameters, *others):
        if parameter not in accepted:
            having = [other for other in MODELS if parameter in MODELS[other]().get_params()]
            advice = f" Models that have it: {', '.join(having)}." if having else ""
            raise InputError(f"{name} has no parameter {parameter!r}.{advice}")
    for parameter in others:
        if parameter in _OWN_OPTIONS:
            raise InputError(
                f"--set cannot change {parameter!r}. Use the option {_OWN_OPTIONS[parameter]}."
            )
        if parameter in _SET_BY_COMMAND:
            raise InputError(
                f"--set cannot change {parameter!r}: the command sets it. Leave it out."
            )
    return MODELS[name](**settings, n_jobs=given.threads, **parameters, **others)


# How data is read

#: The arguments of ``read_counts`` that have an option of the same name.
READING_OPTIONS = tuple(
    replace(option, group="Reading DATA")
    for option in (
        Option(
            "--format",
            f"Format of DATA: {', '.join(FORMATS)}.",
            "NAME",
            choices=FORMATS,
            default_text="recognised from the name and the content",
        ),
        Option("--transpose", "Rows of DATA are features and columns are samples.", is_flag=True),
        Option("--sample-names", "Sample names, one per line.", "FILE"),
        Option("--feature-names", "Feature names, one per line.", "FILE"),
        Option("--layer", "Layer of an AnnData file.", "NAME", default_text="X"),
        Option("--text-column", "Column or JSON key that holds the documents.", "NAME"),
        Option(
            "--name-column",
            "Column (for AnnData, of obs) or JSON key that holds the sample names.",
            "NAME",
        ),
        Option(
            "--drop-columns",
            "Column of a wide table to ignore, because it does not hold counts.",
            "NAME",
            is_repeatable=True,
        ),
        Option(
            "--metadata",
            "Columns of a table, or of obs, that are kept for the report and for --covariates.",
            "NAME,NAME",
            parse_names,
            default_text="all that do not hold counts",
        ),
        Option(
            "--sample-table",
            "A table with a row for each sample, found by its name: its columns are metadata, too.",
            "FILE",
        ),
        Option(
            "--header",
            "Whether the first line of a table names its columns.",
            choices=("yes", "no"),
        ),
        Option(
            "--stop-words",
            "Words of documents to ignore: those of a language, or a FILE with one word per line. "
            "Languages other than English need isotopic[text].",
            "LANGUAGE|none|FILE",
            default="english",
        ),
        Option(
            "--ngrams",
            "Lengths of n-grams: 1,2 counts single words and pairs of adjacent words.",
            "N[,N...]",
            parse_lengths,
            default=1,
        ),
        Option(
            "--token-pattern",
            "Regular expression for words.",
            "REGEX",
            default_text="words of two or more letters or digits; contractions are one word",
        ),
        Option("--lowercase", "Ignore case (the default).", is_flag=True),
        Option("--keep-case", "Distinguish upper and lower case.", is_flag=True),
        Option("--keep-html", "Keep HTML tags and entities as text.", is_flag=True),
        Option(
            "--min-df",
            "Ignore terms in fewer than N documents. With a decimal point, N is a fraction.",
            "N",
            parse_frequency,
            default=2,
        ),
        Option(
            "--max-df",
            "Ignore terms in more than N documents. With a decimal point, N is a fraction.",
            "N",
            parse_frequency,
            default=1.0,
        ),
        Option(
            "--max-features", "Keep only this many of the most frequent terms.", "N", integer(1)
        ),
        Option(
            "--encoding",
            "Encoding of text files. With utf-8,cp1252 those that are not UTF-8 are cp1252.",
            "NAME[,NAME]",
            default="utf-8",
        ),
        Option(
            "--max-size",
            "Refuse DATA that claims more memory than this (such as 2GB) and more than 200 times "
            "its file size.",
            "SIZE",
            default="256MiB",
        ),
    )
)


def reading_settings(given: Namespace) -> dict[str, Any]:
    """Return the arguments of :func:`isotopic.read_counts` that the options stand for."""
    settings = {option.key: getattr(given, option.key) for option in READING_OPTIONS}
    settings["drop_columns"] = tuple(settings["drop_columns"] or ())
    header = settings["header"]
    settings["header"] = None if header is None else header == "yes"
    if given.lowercase and given.keep_case:
        raise UsageError("Use either --lowercase or --keep-case, not both.")
    settings["lowercase"] = not settings.pop("keep_case")
    words = settings["stop_words"]
    if words == "none":
        settings["stop_words"] = None
    elif Path(words).is_file():
        with library_errors_as_messages(), open_text(Path(words), given.encoding) as stream:
            settings["stop_words"] = stream.read().split()
    elif not words.isalpha():  # languages are words
        raise InputError(f"--stop-words {words}: there is no such file.")
    return settings


# How documents are split into terms: the same for new documents as for those of the fit.
SPLITTING = ("stop_words", "ngrams", "token_pattern", "lowercase", "keep_html")


def document_settings(settings: dict[str, Any], fit_facts: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``read_counts`` for new data that apply to documents only.

    They are split as in the fit, unless the ``settings`` that were given say otherwise.
    ``fit_facts`` is the manifest of the fit.
    """
    of_fit, defaults = fit_facts["data"].get("reading"), Options()
    known = of_fit if isinstance(of_fit, dict) else {}
    not_given = [name for name in SPLITTING if settings[name] == getattr(defaults, name)]
    return {name: known[name] for name in not_given if name in known}

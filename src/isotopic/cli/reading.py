"""How commands read DATA: its options, whole in memory or in row blocks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click
import numpy as np

from isotopic.arrays import Array
from isotopic.blocks import open_blocks
from isotopic.cli.output import InputError, library_errors_as_messages, waiting
from isotopic.io import FORMATS, CountData, Options, Source, open_source, read_counts
from isotopic.io.data import names_of

_Command = TypeVar("_Command", bound=Callable[..., Any])

memory_limit_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Read DATA in row blocks and use at most this much memory, such as 2GB.",
)


def parse_frequency(_: Any, parameter: click.Parameter, text: str) -> int | float:
    """Return a number of documents, or with a decimal point a fraction of them."""
    try:
        number = int(text) if text.isdecimal() else float(text)
    except ValueError:
        number = -1
    if number < 0 or (isinstance(number, float) and number > 1):
        raise InputError(
            f"{parameter.opts[0]} must be a number of documents (such as 5) or a fraction from 0.0 "
            f"to 1.0, but is {text!r}."
        )
    return number


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
        "callback": parse_frequency,
        "metavar": "N",
        "default": "2",
        "show_default": True,
        "help": "Ignore terms in fewer than N documents. With a decimal point, N is a fraction.",
    },
    "max_df": {
        "callback": parse_frequency,
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


def reading_options(command: _Command) -> _Command:
    """Add the options that say how data is read."""
    for name, settings in reversed(_READING.items()):
        command = click.option("--" + name.replace("_", "-"), **settings)(command)
    return command


def reading_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`isotopic.read_counts` that the options stand for."""
    settings = {name: given[name] for name in _READING}
    words = given["stop_words"]
    if words == "none":
        settings["stop_words"] = None
    elif words != "english":
        with library_errors_as_messages():
            text = Path(words).read_text(encoding=given["encoding"])
        settings["stop_words"] = text.split()
    return settings


def read_data(path: str, settings: dict[str, Any]) -> CountData:
    """Return the counts of a file or folder; unreadable data ends the command with a message."""
    with library_errors_as_messages(), waiting(f"reading {path}"):
        return read_counts(path, **settings)


@dataclass(frozen=True)
class SampleNames:
    """The names of the samples of a source, read where they are needed."""

    source: Source

    def __getitem__(self, which: slice | Array) -> Array:
        if isinstance(which, slice):
            return names_of(self.source, 0, which.start or 0, which.stop)
        return np.concatenate([names_of(self.source, 0, int(i), int(i) + 1) for i in which])


@dataclass(frozen=True, eq=False)
class LargeData:
    """What is known of data that is not copied to the folder of a fit."""

    feature_names: Array
    sample_names: SampleNames | Array
    facts: dict[str, Any]  # for the manifest: samples, features, nonzeros, format


def describe_data(data: CountData | LargeData) -> dict[str, Any]:
    """Return the numbers of samples, features and nonzeros, and the format."""
    if isinstance(data, LargeData):
        return dict(data.facts)
    shape = {"samples": data.counts.shape[0], "features": data.counts.shape[1]}
    return shape | {"nonzeros": data.counts.nnz, "format": data.format}


@contextmanager
def open_data(
    path: str, settings: dict[str, Any], limit: str | None, scratch_parent: Path
) -> Iterator[tuple[Any, CountData | LargeData]]:
    """Yield the counts, in row blocks if the memory is limited, and what is known of them.

    Row blocks may need a scratch folder, which exists as long as they are used.
    """
    if limit is None:
        data = read_data(path, settings)
        yield data.counts, data
        return
    reading = dict(settings)
    format = reading.pop("format", None)
    with TemporaryDirectory(prefix="isotopic-", dir=scratch_parent) as scratch:
        with library_errors_as_messages(), waiting(f"opening {path}"):
            source, format = open_source(path, Options(**reading), format)
            names = names_of(source, 1)
            if 0 in source.shape:
                raise InputError(f"{path} has no counts: it is {source.shape}.")
            blocks = open_blocks(source, memory_limit=limit, scratch=scratch)
            # As for data in memory, names are in the files of the fit, not in the model.
            blocks = replace(blocks, feature_names=None)
        shape = {"samples": source.shape[0], "features": source.shape[1]}
        facts = shape | {"nonzeros": source.entries, "format": format}
        yield blocks, LargeData(names, SampleNames(source), facts)

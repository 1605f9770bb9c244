"""How commands read DATA: whole in memory or in row blocks."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.atomic import scratch_folder
from isotopic.blocks import open_blocks
from isotopic.cli.output import (
    InputError,
    library_errors_as_messages,
    print_message,
    waiting,
    warnings_as_messages,
)
from isotopic.io import TEXT_FORMATS, CountData, Options, Source, open_source, read_counts
from isotopic.io.data import names_of
from isotopic.io.files import check_encoding
from isotopic.io.read import errors_naming_file, recognise

# The argument that stands for standard input, and what messages call it.
STDIN, STDIN_NAME = "-", "standard input"


@contextmanager
def as_file(path: str) -> Iterator[str]:
    """Yield the path of data; standard input is copied, since files are read more than once."""
    if path != STDIN:
        yield path
        return
    with scratch_folder(gettempdir()) as folder:
        copy = folder / STDIN_NAME
        with library_errors_as_messages(), copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield str(copy)
        except InputError as error:
            raise InputError(str(error).replace(str(copy), STDIN_NAME)) from error


def absolute(path: str) -> str:
    """Return where data is, for the manifest."""
    return STDIN_NAME if path == STDIN else str(Path(path).absolute())


def name_of(path: str) -> str:
    """Return what messages call data."""
    return STDIN_NAME if path == STDIN else path


def load_data(
    path: str, settings: dict[str, Any], of_documents: dict[str, Any] | None = None
) -> CountData:
    """Return the counts of a file or folder; unreadable data ends the command with a message.

    ``of_documents`` are further settings, which apply only if the data are documents.
    """
    with (
        as_file(path) as file,
        library_errors_as_messages(),
        warnings_as_messages(),
        waiting(f"reading {name_of(path)}"),
    ):
        data = read_counts(file, **_all_settings(file, settings, of_documents))
    _print_notes(data.notes)
    return data


def _print_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        print_message(note)


def _all_settings(
    file: str, settings: dict[str, Any], of_documents: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the settings for reading a file."""
    if not of_documents:
        return settings
    reading = {name: value for name, value in settings.items() if name != "format"}
    with errors_naming_file(Path(file)):
        check_encoding(reading["encoding"])
        format = settings["format"] or recognise(Path(file), Options(**reading))
    return settings | of_documents if format in TEXT_FORMATS else settings


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
    """Names and facts of data that is not copied to the folder of a fit."""

    feature_names: Array
    sample_names: SampleNames | Array
    facts: dict[str, Any]  # for the manifest: samples, features, nonzeros, format
    n_terms: int | None = None  # as in CountData


def describe_data(data: CountData | LargeData) -> dict[str, Any]:
    """Return the numbers of samples, features and nonzeros, and the format."""
    if isinstance(data, LargeData):
        return dict(data.facts)
    shape = {"samples": data.counts.shape[0], "features": data.counts.shape[1]}
    return shape | {"nonzeros": data.counts.nnz, "format": data.format}


@contextmanager
def open_data(
    path: str,
    settings: dict[str, Any],
    of_documents: dict[str, Any],
    limit: str | None,
    scratch_parent: Path,
) -> Iterator[tuple[Any, CountData | LargeData]]:
    """Yield data to fit, in row blocks if the memory is limited, with their names and facts.

    The settings are those of :func:`load_data`. Row blocks may need a scratch folder, which exists
    as long as they are used.
    """
    if limit is None:
        data = load_data(path, settings, of_documents)
        yield data, data
        return
    if settings["sample_table"] is not None:
        raise InputError(
            "--sample-table needs the data in memory: row blocks keep no metadata. Leave out "
            "--memory-limit or --sample-table."
        )
    with ExitStack() as stack:
        file = stack.enter_context(as_file(path))
        with library_errors_as_messages():
            scratch = stack.enter_context(scratch_folder(scratch_parent))
        with library_errors_as_messages(), waiting(f"opening {name_of(path)}"):
            reading = dict(_all_settings(file, settings, of_documents))
            source, format = open_source(
                file, format=reading.pop("format"), options=Options(**reading)
            )
            names = names_of(source, 1)
            if 0 in source.shape:
                raise InputError(f"{name_of(path)} has no counts: it is {source.shape}.")
            blocks = open_blocks(source, memory_limit=limit, scratch=scratch)
        shape = {"samples": source.shape[0], "features": source.shape[1]}
        facts = shape | {"nonzeros": source.entries, "format": format}
        _print_notes(getattr(source, "notes", ()))
        n_terms = getattr(source, "n_terms", None)
        yield blocks, LargeData(names, SampleNames(source), facts, n_terms)

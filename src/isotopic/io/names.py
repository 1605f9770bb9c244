"""Names of samples and features: lists, and files with a name in each line."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from isotopic.arrays import Array
from isotopic.io.opening import beside, open_text
from isotopic.io.options import Options


def as_names(names: Iterable[str]) -> Array:
    """Return names as an array of str objects, in which one long name does not widen the others.

    Lone surrogates, which file names and JSON can contain, are not valid text and are escaped.
    """
    listed = [str(name).encode("utf-8", "backslashreplace").decode() for name in names]
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def given_names(given: Iterable[str] | str | os.PathLike[str] | None) -> str | Array | None:
    """Return the path of a file of names, or the names themselves as an array."""
    if given is None:
        return None
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else as_names(given)


def read_names(path: Path, encoding: str, start: int = 0, stop: int | None = None) -> list[str]:
    """Return the names in the lines ``start:stop``, up to the first tab."""
    with open_text(path, encoding) as stream:
        lines = islice(stream, start, stop)
        return [line.rstrip("\r\n").partition("\t")[0] for line in lines]


def find_name_files(
    path: Path, shape: tuple[int, int], options: Options
) -> tuple[str | None, str | None]:
    """Return the files beside a matrix that name its rows and its columns.

    ``rows.txt`` names samples and ``vocab.txt`` features. They do not say which matrix they belong
    to, so that a file with another number of lines is ignored.
    """
    if not options.has_names_beside:
        return None, None
    names = ("vocab.txt", "rows.txt") if options.transpose else ("rows.txt", "vocab.txt")
    files: list[str | None] = []
    for name, count in zip(names, shape, strict=True):
        file = beside(path, name)
        fits = file is not None and len(read_names(file, options.encoding)) == count
        files.append(os.fspath(file) if file is not None and fits else None)
    return files[0], files[1]

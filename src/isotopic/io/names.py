"""Names of samples and features: lists, and files with a name in each line."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from isotopic.arrays import Array
from isotopic.io.opening import beside, open_text


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
    """Return the names in the lines ``start:stop``: what stands before the first tab."""
    with open_text(path, encoding) as stream:
        lines = islice(stream, start, stop)
        return [line.rstrip("\r\n").partition("\t")[0] for line in lines]


def find_names(path: Path, encoding: str, count: int, *names: str) -> str | None:
    """Find a file of ``count`` names beside another file.

    The name of such a file does not say which matrix it belongs to, so that a file with another
    number of lines is ignored.
    """
    found = beside(path, *names)
    if found is None or len(read_names(found, encoding)) != count:
        return None
    return os.fspath(found)

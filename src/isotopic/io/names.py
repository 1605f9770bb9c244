"""Files of names: one a line."""

import os
from collections.abc import Iterable
from pathlib import Path

from isotopic.io.opening import open_text


def given_names(given: Iterable[str] | str | os.PathLike[str], encoding: str) -> list[str]:
    """Take names as they are, or read them from the file that was named."""
    if isinstance(given, (str, os.PathLike)):
        return read_names(Path(given), encoding)
    return [str(name) for name in given]


def read_names(path: Path, encoding: str) -> list[str]:
    """Read a name from each line; of a table (with tabs) the first column."""
    with open_text(path, encoding) as stream:
        return [line.rstrip("\r\n").partition("\t")[0] for line in stream]

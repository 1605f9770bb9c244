"""Files of names: one a line."""

import os
from collections import Counter
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


def read_features_10x(path: Path, encoding: str) -> list[str]:
    """Read the names of genes, with their identifiers where a name stands for several genes."""
    with open_text(path, encoding) as stream:
        rows = [line.rstrip("\r\n").split("\t") for line in stream]
    names = [row[1] if len(row) > 1 else row[0] for row in rows]
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({row[0]})"
        for name, row in zip(names, rows, strict=True)
    ]

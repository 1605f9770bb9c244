"""Counts with their names in isotopic's own file format."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic import archive
from isotopic.io.data import CountData
from isotopic.io.names import as_names
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, loaded

# The name of the file in the folder of a fit.
IN_FOLDER = "counts.isotopic"

_MEMBERS = {"counts", "sample_names", "feature_names", "documents"}


def write_counts(path: str | os.PathLike[str], data: CountData) -> None:
    """Write counts and names to a file that :func:`isotopic.read_counts` reads.

    Parameters
    ----------
    path : str or path-like
        Replaced once the new file is complete.
    data : CountData
    """
    tree = {
        "counts": sparse.csr_array(data.counts),
        "sample_names": as_names(data.sample_names),
        "feature_names": as_names(data.feature_names),
        "documents": None if data.documents is None else as_names(data.documents),
    }
    archive.write(path, "counts", tree)


def read(path: Path, options: Options) -> LoadedSource:
    """Read such a file, or the one in the folder of a fit."""
    tree: Any = archive.read(path / IN_FOLDER if path.is_dir() else path, "counts", {})
    if not isinstance(tree, dict) or set(tree) != _MEMBERS:
        raise ValueError("the file does not hold counts and their names")
    if not sparse.issparse(tree["counts"]):
        raise ValueError("the counts of the file are not a sparse table")
    for name in _MEMBERS - {"counts"}:
        given = tree[name]
        strings = isinstance(given, np.ndarray) and given.dtype.kind == "O" and given.ndim == 1
        if not (strings or (given is None and name == "documents")):
            raise ValueError(f"the {name} of the file are not a list of str")
    names = tree["sample_names"], tree["feature_names"], tree["documents"]
    return loaded(tree["counts"], *names)

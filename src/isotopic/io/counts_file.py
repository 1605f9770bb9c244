"""Counts with their names in isotopic's own file format."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic import archive
from isotopic.io.data import Content, CountData, as_names
from isotopic.io.options import Options

# What the file is called in the folder of a fit.
IN_FOLDER = "counts.isotopic"


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
    }
    archive.write(path, "counts", tree)


def read(path: Path, options: Options) -> Content:
    """Read such a file, or that of a fit's folder."""
    tree: Any = archive.read(path / IN_FOLDER if path.is_dir() else path, "counts", {})
    if not isinstance(tree, dict) or set(tree) != {"counts", "sample_names", "feature_names"}:
        raise ValueError("the file does not hold counts and their names")
    if not sparse.issparse(tree["counts"]):
        raise ValueError("the counts of the file are not a sparse table")
    for name in ("sample_names", "feature_names"):
        if not (isinstance(tree[name], np.ndarray) and tree[name].dtype.kind == "O"):
            raise ValueError(f"the {name} of the file are not a list of str")
    return Content(tree["counts"], tree["sample_names"], tree["feature_names"])

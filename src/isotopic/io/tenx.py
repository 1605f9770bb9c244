"""Folders of 10x Genomics: a matrix of features x cells, and the names of both."""

import os
from collections import Counter
from pathlib import Path

from isotopic.io.matrix_market import open_matrix
from isotopic.io.names import as_names
from isotopic.io.opening import beside, open_text
from isotopic.io.options import Options
from isotopic.io.source import Source, named, transposed


def find_10x(folder: Path) -> Path | None:
    """Find the matrix of a folder of 10x Genomics' layout."""
    return beside(folder / "-", "matrix.mtx")


def open_10x(path: Path, options: Options) -> Source:
    """Open a folder with a matrix of features x cells, features (or genes) and barcodes."""
    matrix = find_10x(path)
    if matrix is None:
        raise ValueError("there is no matrix.mtx or matrix.mtx.gz in the folder")
    genes = beside(matrix, "features.tsv", "genes.tsv")
    cells = beside(matrix, "barcodes.tsv")
    return named(
        transposed(open_matrix(matrix, options)),
        None if cells is None else os.fspath(cells),
        None if genes is None else as_names(_gene_names(genes, options.encoding)),
        options.encoding,
    )


def _gene_names(path: Path, encoding: str) -> list[str]:
    """Return the names of genes; a name of several genes gets the identifier of each."""
    with open_text(path, encoding) as stream:
        rows = [line.rstrip("\r\n").split("\t") for line in stream]
    names = [row[1] if len(row) > 1 else row[0] for row in rows]
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({row[0]})"
        for name, row in zip(names, rows, strict=True)
    ]

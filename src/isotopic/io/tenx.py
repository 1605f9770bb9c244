"""Folders of 10x Genomics: a matrix of features x cells, and the names of both."""

from collections import Counter
from pathlib import Path

from isotopic.io.data import Content
from isotopic.io.matrix_market import read_matrix
from isotopic.io.names import read_names
from isotopic.io.opening import beside, open_text
from isotopic.io.options import Options


def find_10x(folder: Path) -> Path | None:
    """Find the matrix of a folder of 10x Genomics' layout."""
    return beside(folder / "-", "matrix.mtx")


def read(path: Path, options: Options) -> Content:
    """Read a folder with matrix, features (or genes) and barcodes: features x cells there."""
    matrix = find_10x(path)
    if matrix is None:
        raise ValueError("there is no matrix.mtx or matrix.mtx.gz in the folder")
    counts = read_matrix(matrix, options)
    genes = beside(matrix, "features.tsv", "genes.tsv")
    cells = beside(matrix, "barcodes.tsv")
    return Content(
        counts.T,
        None if cells is None else read_names(cells, options.encoding),
        None if genes is None else _gene_names(genes, options.encoding),
    )


def _gene_names(path: Path, encoding: str) -> list[str]:
    """Read the names of genes, with their identifiers where a name stands for several genes."""
    with open_text(path, encoding) as stream:
        rows = [line.rstrip("\r\n").split("\t") for line in stream]
    names = [row[1] if len(row) > 1 else row[0] for row in rows]
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({row[0]})"
        for name, row in zip(names, rows, strict=True)
    ]

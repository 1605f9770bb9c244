"""Matrix Market."""

from pathlib import Path

from scipy import io as scipy_io

from isotopic.io.data import Content
from isotopic.io.names import read_names
from isotopic.io.opening import bare, beside, open_bytes
from isotopic.io.options import Options


def read(path: Path, options: Options) -> Content:
    """Read a file of samples x features; names of rows and columns may stand beside it."""
    with open_bytes(path) as stream:
        counts = scipy_io.mmread(stream, spmatrix=False)
    rows, columns = (_names_beside(path, kind, options.encoding) for kind in ("row", "col"))
    content = Content(counts, rows, columns)
    return content.transposed() if options.transpose else content


def _names_beside(path: Path, kind: str, encoding: str) -> list[str] | None:
    """Find ``x.mtx_rows``, ``x.rows``, ``x_rows.txt``, ``x.rownames.txt`` or the like."""
    whole, stem = bare(path).name, bare(path).stem
    endings = [f"{kind}s", f"{kind}names", f"{kind}_names"]
    names = [f"{whole}_{kind}s", *(f"{whole}.{ending}" for ending in endings)]
    names += [
        f"{stem}{mark}{ending}{suffix}"
        for mark in "._"
        for ending in endings
        for suffix in ("", ".txt", ".tsv")
    ]
    found = beside(path, *names)
    return None if found is None else read_names(found, encoding)

"""Matrix Market."""

from pathlib import Path
from typing import IO, Any, cast

from scipy import io as scipy_io

from isotopic.io.data import Content
from isotopic.io.names import read_names
from isotopic.io.opening import bare, beside, open_bytes
from isotopic.io.options import Options


def read(path: Path, options: Options) -> Content:
    """Read a file of samples x features; names of rows and columns may stand beside it."""
    counts = read_matrix(path)
    rows, columns = (_names_beside(path, kind, options.encoding) for kind in ("row", "col"))
    content = Content(counts, rows, columns)
    return content.transposed() if options.transpose else content


def read_matrix(path: Path) -> Any:
    """Read the matrix alone."""
    with open_bytes(path) as stream:
        return scipy_io.mmread(cast(Any, _OnlyRead(stream)), spmatrix=False)


class _OnlyRead:
    """A stream that ends with the end of a line and cannot go back.

    Otherwise some damaged files make SciPy read beyond its memory, or end the process.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._ended = stream, False

    def read(self, size: int) -> bytes:
        """Read some bytes; at the end a line break."""
        part = self._stream.read(size)
        if part or self._ended:
            return part
        self._ended = True
        return b"\n"


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

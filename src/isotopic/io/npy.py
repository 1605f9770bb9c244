"""NumPy's ``.npy`` and memory maps: a dense array in a file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from isotopic.io.csr_arrays import read_array_header
from isotopic.io.names import find_name_files
from isotopic.io.opening import is_plain_file
from isotopic.io.options import Options
from isotopic.io.source import Source, named


@dataclass(frozen=True, eq=False)
class NpySource(Source):
    """A dense array in a file that the system maps into memory.

    Parameters
    ----------
    dtype : str
    offset : int
        Where in the file the numbers start.
    order : {"C", "F"}
    """

    dtype: str
    offset: int
    order: Literal["C", "F"]

    def rows(self, start: int, stop: int) -> Any:
        """Return a copy of the rows ``start:stop``."""
        mapped: Any = np.memmap(
            self.path, self.dtype, "r", offset=self.offset, shape=self.shape, order=self.order
        )
        return np.array(mapped[start:stop])


def open_npy(path: Path, options: Options) -> Source:
    """Open an array; its names are beside it in ``rows.txt`` and ``vocab.txt``."""
    if not is_plain_file(path):
        raise ValueError("arrays of NumPy are mapped into memory: decompress the file first")
    with path.open("rb") as file:
        shape, is_fortran, dtype = read_array_header(file)
        offset = file.tell()
        held = os.fstat(file.fileno()).st_size - offset
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise ValueError(f"the array is {dtype} of shape {shape}, not a table of counts")
    promised = shape[0] * shape[1] * dtype.itemsize
    if promised > held:
        raise ValueError(f"the header promises {promised:,} bytes; {held:,} follow")
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    entries = shape[0] * shape[1]
    source = NpySource(
        os.fspath(path), shape, entries, dtype.str, offset, order, can_read_rows=True
    )
    rows, columns = find_name_files(path, source.shape, options)
    return named(source, rows, columns, options.encoding)


def memory_map_source(mapped: Any) -> Source:
    """Return a source for a memory map, which is opened again where its rows are read."""
    if not (mapped.flags.c_contiguous or mapped.flags.f_contiguous):
        raise ValueError("a memory map must be contiguous")
    root = mapped
    while isinstance(root.base, np.memmap):  # only the base of a view knows its offset in the file
        root = root.base
    first, own = (array.__array_interface__["data"][0] for array in (root, mapped))
    offset = root.offset + own - first
    return NpySource(
        os.fspath(mapped.filename),
        mapped.shape,
        mapped.size,
        mapped.dtype.str,
        offset,
        "C" if mapped.flags.c_contiguous else "F",
        can_read_rows=True,
    )

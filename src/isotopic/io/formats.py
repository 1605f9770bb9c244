"""The formats that counts are read from: one entry says all that differs between them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from isotopic.io.bags import read_docword, read_ldac, read_svmlight
from isotopic.io.count_tables import open_wide, read_catalogue, read_long
from isotopic.io.data import read_counts_file
from isotopic.io.hdf5 import open_h5ad, open_hdf5
from isotopic.io.matrix_market import open_10x, open_mtx
from isotopic.io.npy import open_csr_folder, open_npy
from isotopic.io.npz import open_npz
from isotopic.io.source import Options, Source
from isotopic.io.text import read_jsonl, read_text_folder, read_text_lines, read_text_table
from isotopic.io.triplets import open_triplets


@dataclass(frozen=True)
class Format:
    """A format and its reader.

    Attributes
    ----------
    open : callable
        Functions called ``open_...`` return sources that may be read by rows; those called
        ``read_...`` read everything, because their format leaves no choice.
    of : {"file", "folder", "file or folder"}
    suffixes : tuple of str
        Of files whose content does not say which format it is.
    magic : bytes
        The first bytes of such files.
    is_text : bool
        Whether it holds documents, whose words are counted.
    has_columns : bool
        Whether a column (or key) can name the samples.
    can_transpose : bool
        Whether the format leaves open if rows are samples or features.
    field : str or None
        The field that its data comes from, whose words the report uses; None: any.
    """

    open: Callable[[Path, Options], Source]
    of: str = "file"
    suffixes: tuple[str, ...] = ()
    magic: bytes = b""
    is_text: bool = False
    has_columns: bool = False
    can_transpose: bool = False
    field: str | None = None


BY_NAME = {
    "mtx": Format(open_mtx, suffixes=(".mtx",), magic=b"%%MatrixMarket", can_transpose=True),
    "10x": Format(open_10x, of="folder", field="cells"),
    "npz": Format(open_npz, suffixes=(".npz",), can_transpose=True),
    "npy": Format(open_npy, suffixes=(".npy",), magic=b"\x93NUMPY", can_transpose=True),
    "csr-folder": Format(open_csr_folder, of="folder", can_transpose=True),
    "isotopic": Format(read_counts_file, of="file or folder", suffixes=(".isotopic",)),
    "h5ad": Format(
        open_h5ad,
        of="file or folder",
        suffixes=(".h5ad",),
        has_columns=True,
        can_transpose=True,
        field="cells",
    ),
    "hdf5": Format(open_hdf5, of="file or folder", suffixes=(".h5", ".hdf5"), can_transpose=True),
    "zarr": Format(open_hdf5, of="file or folder", can_transpose=True),
    "wide": Format(open_wide, has_columns=True, can_transpose=True),
    "long": Format(read_long),
    "triplets": Format(open_triplets, can_transpose=True),
    "catalogue": Format(read_catalogue, field="tumours"),
    "docword": Format(read_docword),
    "svmlight": Format(read_svmlight, suffixes=(".svm", ".svmlight", ".libsvm")),
    "ldac": Format(read_ldac, suffixes=(".ldac", ".lda-c")),
    "text-folder": Format(read_text_folder, of="folder", is_text=True, field="text"),
    "text-lines": Format(read_text_lines, is_text=True, field="text"),
    "text-table": Format(read_text_table, is_text=True, field="text", has_columns=True),
    "jsonl": Format(
        read_jsonl, suffixes=(".jsonl", ".ndjson"), is_text=True, field="text", has_columns=True
    ),
}

#: The formats that :func:`isotopic.read_counts` and :func:`isotopic.open_blocks` know, by name.
FORMATS = tuple(BY_NAME)

#: Formats of documents, whose words are counted.
TEXT_FORMATS = tuple(name for name, known in BY_NAME.items() if known.is_text)

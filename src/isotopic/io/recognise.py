"""Recognise the format of a file or folder by its first bytes, its name and its first lines."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from isotopic.io import counts_file
from isotopic.io.catalogue import looks_like_catalogue
from isotopic.io.csr_folder import is_csr_folder
from isotopic.io.docword import looks_like_docword
from isotopic.io.hdf5 import has_annotations, is_hdf5, is_zarr
from isotopic.io.long import is_called_long, looks_long
from isotopic.io.opening import bare_suffix, head_of, open_seekable
from isotopic.io.options import Options
from isotopic.io.pairs import looks_like_ldac, looks_like_pairs
from isotopic.io.tables import open_table, text_columns
from isotopic.io.tenx import find_10x
from isotopic.io.text import text_files

_LINES = 20

_BY_MAGIC = {b"%%MatrixMarket": "mtx", b"\x93NUMPY": "npy"}

# Formats of files whose content does not say which it is.
_BY_SUFFIX = {
    ".mtx": "mtx",
    ".npz": "npz",
    ".npy": "npy",
    ".h5ad": "h5ad",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".isotopic": "isotopic",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".ldac": "ldac",
    ".lda-c": "ldac",
}
_TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq")


def recognise(path: Path, options: Options) -> str:
    """Return the name of the format; raise if none fits."""
    if path.is_dir():
        return _recognise_folder(path)
    head, suffix = head_of(path), bare_suffix(path)
    if head.startswith(b"PK\x03\x04"):
        return _recognise_archive(path)
    if is_hdf5(head):
        return "h5ad" if suffix == ".h5ad" or has_annotations(path) else "hdf5"
    known = [name for magic, name in _BY_MAGIC.items() if head.startswith(magic)]
    if known or suffix in _BY_SUFFIX:
        return known[0] if known else _BY_SUFFIX[suffix]
    if suffix in _TABLES or head.startswith(b"PAR1"):
        return _recognise_table(path, options)
    return _recognise_lines(path, head, options)


def _recognise_folder(path: Path) -> str:
    if (path / counts_file.IN_FOLDER).is_file():
        return "isotopic"
    if find_10x(path) is not None:
        return "10x"
    if is_zarr(path):
        return "zarr"
    if is_csr_folder(path):
        return "csr-folder"
    if text_files(path):
        return "text-folder"
    raise ValueError(
        "the folder holds no matrix.mtx with its names (10x Genomics), no .txt files, no fit, no "
        "zarr array, and no CSR arrays (data.npy, indices.npy, indptr.npy)"
    )


def _recognise_archive(path: Path) -> str:
    try:
        with open_seekable(path) as stream, ZipFile(stream) as archive:
            return "isotopic" if "manifest.json" in archive.namelist() else "npz"
    except (BadZipFile, NotImplementedError) as error:
        raise ValueError(f"the archive is damaged: {error}") from error


def _recognise_table(path: Path, options: Options) -> str:
    table = open_table(path, options)
    if options.text_column is not None:
        return "text-table"
    if looks_like_catalogue(table):
        return "catalogue"
    if is_called_long(table):
        return "long"
    text, _ = text_columns(table, options)
    if text is not None and any(len(row) > text and " " in row[text].strip() for row in table.head):
        return "text-table"
    return "long" if looks_long(table) else "wide"


def _recognise_lines(path: Path, head: bytes, options: Options) -> str:
    text = head.decode(options.encoding, errors="replace")
    if "\0" in text:
        raise ValueError("the content is binary and of no known format; name the format")
    lines = text.splitlines()
    whole = lines[:-1] if len(lines) > 1 and len(head) == 2**16 else lines  # the last may be cut
    lines = whole[:_LINES]
    if looks_like_docword(lines):
        return "docword"
    if looks_like_ldac(lines):
        return "ldac"
    if looks_like_pairs(lines):
        return "svmlight"
    if lines and lines[0].startswith("{"):
        return "jsonl"
    if lines and "\t" in lines[0] and looks_like_catalogue(open_table(path, options)):
        return "catalogue"
    if bare_suffix(path) == ".txt":
        return "text-lines"
    raise ValueError("neither the name nor the content says which format this is; name the format")

"""Reading counts: every format has one reader, for whole files and for rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic.io import catalogue, counts_file, docword, long
from isotopic.io.csr_folder import open_csr_folder
from isotopic.io.data import CountData, as_count_data
from isotopic.io.hdf5 import open_h5ad, open_hdf5
from isotopic.io.matrix_market import open_mtx
from isotopic.io.names import given_names
from isotopic.io.npy import open_npy
from isotopic.io.npz import open_npz
from isotopic.io.opening import DAMAGED
from isotopic.io.options import Options
from isotopic.io.pairs import read_ldac, read_svmlight
from isotopic.io.recognise import recognise
from isotopic.io.source import LoadedSource, Source, named, transposed
from isotopic.io.tenx import open_10x
from isotopic.io.text import read_jsonl, read_text_folder, read_text_lines, read_text_table
from isotopic.io.triplets import open_triplets
from isotopic.io.wide import open_wide

# Functions called ``open_...`` return sources that may be read by rows; those called ``read`` or
# ``read_...`` read everything, because their format leaves no choice.
_OPENERS: dict[str, Callable[[Path, Options], Source]] = {
    "mtx": open_mtx,
    "10x": open_10x,
    "npz": open_npz,
    "npy": open_npy,
    "csr-folder": open_csr_folder,
    "isotopic": counts_file.read,
    "h5ad": open_h5ad,
    "hdf5": open_hdf5,
    "zarr": open_hdf5,
    "wide": open_wide,
    "long": long.read,
    "triplets": open_triplets,
    "catalogue": catalogue.read,
    "docword": docword.read,
    "svmlight": read_svmlight,
    "ldac": read_ldac,
    "text-folder": read_text_folder,
    "text-lines": read_text_lines,
    "text-table": read_text_table,
    "jsonl": read_jsonl,
}

#: The formats that :func:`isotopic.read_counts` and :func:`isotopic.open_blocks` know, by name.
FORMATS = tuple(_OPENERS)

#: Formats of documents, whose words are counted.
TEXT_FORMATS = ("text-folder", "text-lines", "text-table", "jsonl")

# Formats that do not say whether rows are samples or features.
_EITHER_WAY = ("mtx", "npz", "npy", "csr-folder", "h5ad", "hdf5", "zarr", "wide", "triplets")


def read_counts(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    transpose: bool = False,
    sample_names: Any = None,
    feature_names: Any = None,
    layer: str | None = None,
    text_column: str | None = None,
    name_column: str | None = None,
    stop_words: str | Sequence[str] | None = "english",
    min_df: int | float = 2,
    max_df: int | float = 1.0,
    max_features: int | None = None,
    vocabulary: Sequence[str] | None = None,
    encoding: str = "utf-8",
    keep_text: int = 0,
) -> CountData:
    r"""Read counts and their names from a file or folder.

    Parameters
    ----------
    path : str or path-like
        Compressed files (gzip, bzip2, xz, zstd) are unpacked on the way.
    format : str or None, default=None
        One of :data:`isotopic.io.FORMATS`; ``None`` looks at the content and the name.
    transpose : bool, default=False
        Whether the rows of a matrix or wide table are the features. Formats that define what the
        samples are, such as 10x Genomics and catalogues of mutations, do not need it.
    sample_names, feature_names : path, sequence of str or None, default=None
        Names to use instead of those of the file, or a file with a name in each line.
    layer : str or None, default=None
        The layer of an AnnData file; ``None`` is its ``X``.
    text_column, name_column : str or None, default=None
        The columns (of JSON: the keys) that hold the documents and the names of the rows.
    stop_words : {"english"}, sequence of str or None, default="english"
        Words of documents to ignore.
    min_df, max_df : int or float, default=2, 1.0
        Ignore terms in fewer, or in more, documents: a number of documents, or a fraction of them
        if it is a float.
    max_features : int or None, default=None
        Keep only this many of the most frequent terms.
    vocabulary : sequence of str or None, default=None
        Count only these terms of documents; the four limits above do not apply.
    encoding : str, default="utf-8"
        The encoding of text files.
    keep_text : int, default=0
        How many characters of each document to keep in ``documents``.

    Returns
    -------
    data : CountData
        With ``counts`` (samples x features, sparse), ``sample_names``, ``feature_names`` and
        ``format``.

    Raises
    ------
    ValueError
        If the content is not valid; the message names the file and the line or entry.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import isotopic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "counts.csv"
    ...     _ = file.write_text("sample,feature,count\nA,x,2\nA,y,1\nB,y,3\n")
    ...     data = isotopic.read_counts(file)
    >>> data
    CountData(2 samples x 2 features, 3 nonzeros, format='long')
    >>> data.counts.toarray().tolist()
    [[2, 1], [0, 3]]
    """
    options = make_options(
        transpose=transpose,
        sample_names=sample_names,
        feature_names=feature_names,
        layer=layer,
        text_column=text_column,
        name_column=name_column,
        stop_words=stop_words,
        min_df=min_df,
        max_df=max_df,
        max_features=max_features,
        vocabulary=vocabulary,
        encoding=encoding,
        keep_text=keep_text,
    )
    source, found = open_source(path, options, format)
    with errors_that_name(Path(path)):
        return as_count_data(source, found)


def make_options(**given: Any) -> Options:
    """Return reading options; a vocabulary replaces the limits on the terms that are counted."""
    if given.get("vocabulary") is not None:
        given |= {"stop_words": None, "min_df": 1, "max_df": 1.0, "max_features": None}
    return Options(**given)


def open_source(
    path: str | os.PathLike[str], options: Options | None = None, format: str | None = None
) -> tuple[Source, str]:
    """Open a file or folder without reading its counts, if its format allows that.

    Parameters
    ----------
    path : str or path-like
    options : Options or None
    format : str or None
        One of :data:`isotopic.io.FORMATS`; ``None`` looks at the content and the name.

    Returns
    -------
    source : Source
        Which can be read as a whole, and by rows if ``source.can_read_rows``.
    format : str
    """
    file, options = Path(path), options or Options()
    with errors_that_name(file):
        format = recognise(file, options) if format is None else format
        return _open(file, format, options), format


def _open(file: Path, format: str, options: Options) -> Source:
    if format not in _OPENERS:
        raise ValueError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    if options.transpose and format not in _EITHER_WAY:
        raise ValueError(
            f"transpose is for {', '.join(_EITHER_WAY)}; {format} says itself what the samples are"
        )
    if options.layer is not None and format != "h5ad":
        raise ValueError(f"layer is for h5ad; this is {format}")
    source = _OPENERS[format](file, options)
    if isinstance(source, LoadedSource):
        source = replace(source, path=os.fspath(file))
    if options.transpose:
        source = transposed(source)
    samples, features = given_names(options.sample_names), given_names(options.feature_names)
    return named(source, samples, features, options.encoding)


@contextmanager
def errors_that_name(file: Path) -> Iterator[None]:
    """Turn whatever a damaged file raises into a ValueError that names the file."""
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such file or folder")
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{file}: {error}") from error
    except DAMAGED as error:
        raise ValueError(f"{file} is damaged or cut off: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise ValueError(f"{file} cannot be read: {error}") from error  # a part of the file

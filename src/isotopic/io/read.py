"""Counts from files of many formats."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic.io import (
    catalogue,
    counts_file,
    docword,
    h5ad,
    jsonl,
    ldac,
    long,
    matrix_market,
    npz,
    svmlight,
    tenx,
    text_folder,
    text_lines,
    text_table,
    wide,
)
from isotopic.io.data import Content, CountData, finished
from isotopic.io.names import given_names
from isotopic.io.opening import DAMAGED
from isotopic.io.options import Options
from isotopic.io.recognise import recognise

_READERS: dict[str, Callable[[Path, Options], Content]] = {
    "mtx": matrix_market.read,
    "10x": tenx.read,
    "npz": npz.read,
    "isotopic": counts_file.read,
    "h5ad": h5ad.read,
    "wide": wide.read,
    "long": long.read,
    "catalogue": catalogue.read,
    "docword": docword.read,
    "svmlight": svmlight.read,
    "ldac": ldac.read,
    "text-folder": text_folder.read,
    "text-lines": text_lines.read,
    "text-table": text_table.read,
    "jsonl": jsonl.read,
}

#: The formats that :func:`isotopic.read_counts` knows, by name.
FORMATS = tuple(_READERS)

#: Those that hold documents, whose words are counted.
TEXT_FORMATS = ("text-folder", "text-lines", "text-table", "jsonl")

# Those that do not say which way round they are.
_EITHER_WAY = ("mtx", "npz", "h5ad", "wide")


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
        Whether the rows of a matrix or wide table are the features. (Where a format says which
        way round it is, as folders of 10x Genomics and catalogues of mutations do, this is not
        needed.)
    sample_names, feature_names : path, sequence of str or None, default=None
        Names instead of those of the file, or a file with a name in each line.
    layer : str or None, default=None
        The layer of an AnnData file; ``None`` is its ``X``.
    text_column, name_column : str or None, default=None
        The columns (of JSON: the keys) that hold the documents and the names of the rows.
    stop_words : {"english"}, sequence of str or None, default="english"
        Words of documents that are not counted.
    min_df, max_df : int or float, default=2, 1.0
        Terms that are in fewer, or in more, documents are left out: a number of documents, or a
        share of them if it is a float.
    max_features : int or None, default=None
        Keep only so many terms, the most frequent.
    vocabulary : sequence of str or None, default=None
        Count these terms of documents and no others; the four limits above do not apply.
    encoding : str, default="utf-8"
        Of files of text.
    keep_text : int, default=0
        How many characters of each document are kept, as ``documents``.

    Returns
    -------
    data : CountData
        With ``counts`` (samples x features, sparse), ``sample_names``, ``feature_names`` and
        ``format``.

    Raises
    ------
    ValueError
        If the content is not what it should be; the message says in which line or entry.
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
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such file or folder")
    options = Options(
        transpose=transpose,
        sample_names=sample_names,
        feature_names=feature_names,
        layer=layer,
        text_column=text_column,
        name_column=name_column,
        stop_words=stop_words if vocabulary is None else None,
        min_df=min_df if vocabulary is None else 1,
        max_df=max_df if vocabulary is None else 1.0,
        max_features=max_features if vocabulary is None else None,
        vocabulary=vocabulary,
        encoding=encoding,
        keep_text=keep_text,
    )
    try:
        return _read(file, format, options)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{file}: {error}") from error
    except DAMAGED as error:
        raise ValueError(f"{file} is damaged or cut off: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise ValueError(f"{file} cannot be read: {error}") from error  # of what is inside


def _read(file: Path, format: str | None, options: Options) -> CountData:
    if format is None:
        format = recognise(file, options)
    if format not in _READERS:
        raise ValueError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    _check_applicable(format, options)
    content = _READERS[format](file, options)
    named = {
        name: given_names(getattr(options, name), options.encoding)
        for name in ("sample_names", "feature_names")
        if getattr(options, name) is not None
    }
    return finished(replace(content, **named), format)


def _check_applicable(format: str, options: Options) -> None:
    """Raise if something was asked for that the format does not have."""
    if options.transpose and format not in _EITHER_WAY:
        raise ValueError(
            f"transpose is for {', '.join(_EITHER_WAY)}; {format} says itself what the samples are"
        )
    if options.layer is not None and format != "h5ad":
        raise ValueError(f"layer is for h5ad; this is {format}")

"""Reading counts: the format is recognised, and each has one reader, for whole files or rows."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from isotopic.io.bags import looks_like_docword, looks_like_ldac, looks_like_pairs
from isotopic.io.count_tables import looks_like_catalogue
from isotopic.io.data import COUNTS_IN_FOLDER, CountData, as_count_data
from isotopic.io.files import (
    DAMAGED,
    HEAD_BYTES,
    as_names,
    bare,
    check_encoding,
    encodings_of,
    head_of,
    open_seekable,
)
from isotopic.io.formats import BY_NAME, FORMATS, TEXT_FORMATS
from isotopic.io.hdf5 import HDF5_MAGIC, has_annotations, is_zarr
from isotopic.io.limits import MAX_SIZE
from isotopic.io.matrix_market import find_10x
from isotopic.io.npy import is_csr_folder
from isotopic.io.sample_table import read_sample_table
from isotopic.io.source import LoadedSource, Names, Options, Source, named, transposed
from isotopic.io.table_kinds import check_lines, recognise_table
from isotopic.io.tables import open_table
from isotopic.io.text import text_files

# Options that apply to documents only.
_OF_DOCUMENTS = (
    *("text_column", "stop_words", "ngrams", "token_pattern", "lowercase", "keep_html"),
    *("min_df", "max_df", "max_features", "vocabulary", "keep_text"),
)

# Formats of files whose content does not say which it is.
_BY_SUFFIX = {end: name for name, known in BY_NAME.items() for end in known.suffixes}
_TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq")

# Lines that are read to recognise a file of text.
_LINES_READ = 20


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
    drop_columns: str | Sequence[str] = (),
    metadata: str | Sequence[str] | None = None,
    sample_table: str | os.PathLike[str] | None = None,
    header: bool | None = None,
    stop_words: str | Sequence[str] | None = "english",
    ngrams: int | Sequence[int] = 1,
    token_pattern: str | None = None,
    lowercase: bool = True,
    keep_html: bool = False,
    min_df: int | float = 2,
    max_df: int | float = 1.0,
    max_features: int | None = None,
    vocabulary: Sequence[str] | None = None,
    encoding: str = "utf-8",
    keep_text: int | bool = False,
    max_size: int | str = MAX_SIZE,
) -> CountData:
    r"""Read counts and their names from a file or folder.

    Parameters
    ----------
    path : str or path-like
        A file or folder. Compressed files (gzip, bzip2, xz, zstd) are decompressed.
    format : str or None, default=None
        One of :data:`isotopic.io.FORMATS`; ``None`` looks at the content and the name.
    transpose : bool, default=False
        Whether the rows of a matrix or wide table are the features. Formats that define what the
        samples are, such as 10x Genomics and catalogues of mutations, do not need it.
    sample_names, feature_names : path, sequence of str or None, default=None
        Names to use instead of those of the file, or a file with one name per line.
    layer : str or None, default=None
        The layer of an AnnData file; ``None`` is its ``X``.
    text_column, name_column : str or None, default=None
        The columns that hold the documents and the names of the samples. For JSON these are keys,
        for AnnData columns of ``obs``.
    drop_columns : str or sequence of str, default=()
        Columns of a wide table that do not hold counts, such as labels and years.
    metadata : str, sequence of str or None, default=None
        Columns that are kept as ``metadata`` of the samples, such as years and groups. ``None``
        keeps all that are known not to hold counts: the other columns of documents, ``obs`` of
        AnnData. Those of a table of counts must be named.
    sample_table : path or None, default=None
        A CSV, TSV or Parquet file that knows more about the samples, such as the dates of the texts
        in a folder. One of its columns holds the names of the samples; the others become
        ``metadata``. Rows of other samples are ignored.
    header : bool or None, default=None
        Whether the first line of a CSV or TSV table names its columns; without names they are
        called ``"x0"``, ``"x1"``, ... ``None`` looks at the line, and raises if it may be either.
    stop_words : str, sequence of str or None, default="english"
        Words of documents to ignore: those of a language, given by its English name or ISO 639-1
        code (languages other than English need ``isotopic[text]``), or the words themselves.
    ngrams : int or sequence of int, default=1
        The lengths of n-grams: ``(1, 2)`` counts single words and pairs of adjacent words. Stop
        words are left out first.
    token_pattern : str or None, default=None
        A regular expression for words. By default they have two or more letters or digits, and
        contractions are kept whole (``don't``), without a possessive ``'s``.
    lowercase : bool, default=True
        Whether to ignore case.
    keep_html : bool, default=False
        Whether to keep tags, comments, scripts and entities of HTML as text. Words in brackets that
        are no tags, such as ``<version>``, are always text.
    min_df, max_df : int or float, default=2, 1.0
        Ignore terms in fewer, or in more, documents: a number of documents, or a fraction of them
        if it is a float.
    max_features : int or None, default=None
        Keep only this many of the most frequent terms.
    vocabulary : sequence of str or None, default=None
        Count only these terms of documents; ``min_df``, ``max_df`` and ``max_features`` do not
        apply.
    encoding : str, default="utf-8"
        The encoding of text files. Of several between commas, such as ``"utf-8,cp1252"``, each file
        is read in the first that can decode it; ``notes`` says which files are not in the first.
    keep_text : int or bool, default=False
        How many characters of each document to keep in ``documents``; ``True`` keeps all of them.
        HTML is left out unless ``keep_html``. Documents that are cut end in ``\u2026``.
    max_size : int or str, default=2**28
        A limit against damaged or malicious files, such as ``"2 GB"``. A file that claims to need
        more memory than this, and more than 200 times its own size, is refused.

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
    options = Options(
        transpose=transpose,
        sample_names=sample_names,
        feature_names=feature_names,
        layer=layer,
        text_column=text_column,
        name_column=name_column,
        drop_columns=_names(drop_columns),
        metadata=None if metadata is None else _names(metadata),
        sample_table=sample_table,
        header=header,
        stop_words=stop_words,
        ngrams=ngrams,
        token_pattern=token_pattern,
        lowercase=lowercase,
        keep_html=keep_html,
        min_df=min_df,
        max_df=max_df,
        max_features=max_features,
        vocabulary=vocabulary,
        encoding=encoding,
        keep_text=keep_text,
        max_size=max_size,
    )
    if sample_table is not None and not Path(sample_table).exists():
        raise FileNotFoundError(f"sample_table (--sample-table): there is no file {sample_table}")
    source, found = open_source(path, options, format)
    with errors_naming_file(Path(path)):
        data = as_count_data(source, found, options.metadata)
    return data if sample_table is None else _with_sample_table(data, sample_table, options)


def _with_sample_table(
    data: CountData, path: str | os.PathLike[str], options: Options
) -> CountData:
    """Return data with what a table knows of its samples."""
    own = data.metadata or {}
    with errors_naming_file(Path(path)):
        joined = read_sample_table(Path(path), data.sample_names, options)
    twice = next((name for name in joined if name in own), None)
    if twice is not None:
        raise ValueError(
            f"the data and the sample_table both have a column {twice!r}. Rename one, or name the "
            "columns to keep of the data with metadata= (--metadata)"
        )
    return replace(data, metadata=own | joined or None)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of columns; a single text is one name."""
    return (given,) if isinstance(given, str) else tuple(given)


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
    with errors_naming_file(file):
        check_encoding(options.encoding)
        if format is None:
            format, options = recognise(file, options), replace(options, is_guessed=True)
        known = BY_NAME.get(format)
        if known is None:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
        found = "folder" if file.is_dir() else "file"
        if found not in known.of:
            raise ValueError(f"{format} is the format of a {known.of}, but this is a {found}")
        if options.transpose and not known.can_transpose:
            others = ", ".join(name for name, other in BY_NAME.items() if other.can_transpose)
            raise ValueError(
                f"transpose applies only to {others}; the format {format} defines which axis holds "
                "the samples. Leave transpose out"
            )
        if options.layer is not None and format != "h5ad":
            raise ValueError(
                f"layer applies only to h5ad files, but this is {format}. Leave it out"
            )
        if options.name_column is not None and not known.has_columns:
            others = ", ".join(name for name, other in BY_NAME.items() if other.has_columns)
            raise ValueError(
                f"name_column applies only to {others}, but this is {format}. Leave it out"
            )
        if options.drop_columns and format != "wide":
            raise ValueError(
                f"drop_columns applies only to wide tables, but this is {format}. Leave it out"
            )
        _check_document_options(format, options)
        source = known.open(file, options)
        if isinstance(source, LoadedSource):
            source = replace(source, path=os.fspath(file))
        else:
            source = source.with_status()
        if options.transpose:
            source = transposed(source)
        samples, features = map(_given_names, (options.sample_names, options.feature_names))
        return named(source, samples, features, options.encoding), format


def _check_document_options(format: str, options: Options) -> None:
    """Raise if options that say how words are counted are given for a file of counts."""
    if format in TEXT_FORMATS:
        return
    defaults = Options()
    given = [name for name in _OF_DOCUMENTS if getattr(options, name) != getattr(defaults, name)]
    if given:
        raise ValueError(
            f"{', '.join(given)} would have no effect: the format {format} holds counts, and this "
            "applies only to documents, whose words are counted. Leave it out, or if the data are "
            f"documents, name the format: {', '.join(TEXT_FORMATS)}"
        )


def _given_names(given: Any) -> Names:
    """Return the path of a file of names, or the names themselves as an array."""
    if given is None:
        return None
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else as_names(given)


@contextmanager
def errors_naming_file(file: Path) -> Iterator[None]:
    """Turn any error of a damaged file into a ValueError that names the file."""
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such file or folder")
    try:
        yield
    except (ValueError, OverflowError) as error:
        # One traceback, which begins where the error was found.
        raise ValueError(f"{file}: {error}").with_traceback(error.__traceback__) from None
    except DAMAGED as error:
        raise ValueError(f"{file} is damaged or cut off: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise ValueError(f"{file} cannot be read: {error}") from error  # a part of the file


def recognise(path: Path, options: Options) -> str:
    """Return the name of the format; raise if none fits."""
    if path.is_dir():
        return _recognise_folder(path)
    head, suffix = head_of(path), bare(path).suffix.lower()
    if head.startswith(b"PK\x03\x04"):
        try:
            with open_seekable(path) as stream, ZipFile(stream) as archive:
                return "isotopic" if "manifest.json" in archive.namelist() else "npz"
        except (BadZipFile, NotImplementedError) as error:
            raise ValueError(f"the archive is damaged: {error}") from error
    if head.startswith(HDF5_MAGIC):
        return "h5ad" if suffix == ".h5ad" or has_annotations(path) else "hdf5"
    known = [name for name, it in BY_NAME.items() if it.magic and head.startswith(it.magic)]
    if known or suffix in _BY_SUFFIX:
        return known[0] if known else _BY_SUFFIX[suffix]
    if suffix in _TABLES or head.startswith(b"PAR1"):
        return recognise_table(open_table(path, options), options)
    return _recognise_lines(path, head, options)


def _recognise_folder(path: Path) -> str:
    if (path / COUNTS_IN_FOLDER).is_file():
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


def _recognise_lines(path: Path, head: bytes, options: Options) -> str:
    text = head.decode(encodings_of(options.encoding)[0], errors="replace")
    if "\0" in text:
        raise ValueError(
            "the content is binary and of no known format. Name the format= (--format), or if it "
            "is text, the encoding= (--encoding), such as utf-16"
        )
    lines = text.splitlines()
    whole = (
        lines[:-1] if len(lines) > 1 and len(head) == HEAD_BYTES else lines
    )  # the last may be cut
    lines = whole[:_LINES_READ]
    if looks_like_docword(lines):
        return "docword"
    if looks_like_ldac(lines):
        return "ldac"
    if looks_like_pairs(lines):
        return "svmlight"
    if lines and lines[0].startswith("{"):
        return "jsonl"
    if lines and "\t" in lines[0]:
        table = open_table(path, replace(options, header=options.header is not False))
        if looks_like_catalogue(table):
            return "catalogue"
    if bare(path).suffix.lower() == ".txt":
        check_lines(lines)
        return "text-lines"
    raise ValueError(
        "neither the name nor the content says which format this is; name it with format= "
        f"(--format): {', '.join(FORMATS)}"
    )

"""Sources: matrices of counts in files, read as a whole or a few rows at a time."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.csr_arrays import PARTS, CsrArrays
from isotopic.io.files import as_names, beside, read_names
from isotopic.io.limits import CHANGED, MAX_SIZE, Status, is_comparable, status_of

# Names of samples or features, or the path of a file with a name in each line.
Names: TypeAlias = str | Array | None


@dataclass(frozen=True)
class Options:
    """The settings of :func:`isotopic.read_counts` and :func:`isotopic.open_blocks`.

    Their docstrings describe each.
    """

    transpose: bool = False
    sample_names: Any = None
    feature_names: Any = None
    layer: str | None = None
    text_column: str | None = None
    name_column: str | None = None
    drop_columns: Sequence[str] = ()
    metadata: Sequence[str] | None = None
    sample_table: Any = None
    header: bool | None = None
    stop_words: str | Sequence[str] | None = "english"
    ngrams: int | Sequence[int] = 1
    token_pattern: str | None = None
    lowercase: bool = True
    keep_html: bool = False
    min_df: int | float = 2
    max_df: int | float = 1.0
    max_features: int | None = None
    vocabulary: Sequence[str] | None = None
    encoding: str = "utf-8"
    keep_text: int | bool = False
    max_size: int | str = MAX_SIZE
    key: str | None = None
    n_features: int | None = None
    has_names_beside: bool = True
    is_guessed: bool = False  # whether the format was recognised, not given


@dataclass(frozen=True, eq=False)
class Source:
    """A matrix of counts (samples x features) that is stored somewhere.

    A source is small, can be pickled and holds no open file. Formats subclass it and implement
    :meth:`rows`, unless they are plain CSR arrays; what a format does not know keeps the defaults.

    Parameters
    ----------
    path : str
        The file or folder; errors name it.
    shape : tuple of int
        The numbers of samples and features.
    entries : int
        The number of stored values.
    can_read_rows : bool, default=False
        Whether some rows can be read without reading all of them.
    csr_arrays : CsrArrays or None, default=None
        Where the arrays of the matrix are, if they are stored as plain CSR arrays.
    names : pair of ndarray of str objects, str or None, default=(None, None)
        The names of samples and features, or the path of a file with a name in each line. ``None``:
        those that are stored with the matrix.
    encoding : str, default="utf-8"
        Of files of text.
    status : tuple
        The sizes and times of the files when the source was opened; empty: not known.
    machine : str
        The name of the machine on which it was opened.
    """

    path: str
    shape: tuple[int, int]
    entries: int
    can_read_rows: bool = field(default=False, kw_only=True)
    csr_arrays: CsrArrays | None = field(default=None, kw_only=True)
    names: tuple[Names, Names] = field(default=(None, None), kw_only=True)
    encoding: str = field(default="utf-8", kw_only=True)
    status: Status = field(default=(), kw_only=True)
    machine: str = field(default="", kw_only=True)

    def files(self) -> Sequence[str]:
        """Return the files that hold the counts."""
        return (self.path,) if self.csr_arrays is None else self.csr_arrays.files()

    def with_status(self) -> "Source":
        """Return the source with the present status of its files, so that it notices changes."""
        return replace(self, status=status_of(*self.files()), machine=platform.node())

    @property
    def is_unchanged(self) -> bool:
        """Whether the files are as they were when the source was opened."""
        return not self.status or status_of(*self.files()) == self.status

    def checked_rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``; raise if the files have changed, also meanwhile."""
        self._check_status()
        rows = self.rows(start, stop)
        self._check_status()
        return rows

    def _check_status(self) -> None:
        now = status_of(*self.files()) if self.status else ()
        is_here = self.machine == platform.node()
        if now != self.status and not is_comparable(self.status, now, is_here=is_here):
            raise ValueError(CHANGED)

    @property
    def name(self) -> str:
        """What errors call the source."""
        return self.path

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop`` as an array or sparse matrix."""
        if self.csr_arrays is None:
            raise NotImplementedError
        return self.csr_arrays.rows(start, stop)

    def row_starts(self) -> Array | None:
        """Return where the entries of each row start, or ``None`` if every row has as many."""
        return None if self.csr_arrays is None else self.csr_arrays.row_starts()

    def sample_names(self, start: int = 0, stop: int | None = None) -> Array | None:
        """Return the names of the rows ``start:stop``, or ``None`` if they have none."""
        return self._names(0, start, stop)

    def feature_names(self) -> Array | None:
        """Return the names of the columns, or ``None`` if they have none."""
        return self._names(1, 0, None)

    def _names(self, axis: int, start: int, stop: int | None) -> Array | None:
        names = self.names[axis]
        if names is None:
            return self._stored_names(axis, start, stop)
        if isinstance(names, str):
            return read_names(Path(names), self.encoding, start, stop)
        return names[start:stop]

    def stored_metadata(self) -> dict[str, Array] | None:
        """Return what the file knows of the samples besides their counts: columns of text."""
        return None

    def _stored_names(self, axis: int, start: int, stop: int | None) -> Array | None:
        """Return the names ``start:stop`` of rows (axis 0) or columns that the file has."""
        return None

    def write_arrays(self, folder: Path) -> None:
        """Write the matrix to a folder as the arrays of a CSR matrix, which are read by rows."""
        rows = self.rows(0, self.shape[0])
        check_structure(rows)
        whole = sparse.csr_array(rows)
        for name in PARTS:
            np.save(folder / f"{name}.npy", getattr(whole, name))
        np.save(folder / "shape.npy", whole.shape)


@dataclass(frozen=True, eq=False)
class LoadedSource(Source):
    """A matrix in memory, read from a format that can only be read as a whole."""

    counts: Any = None
    documents: Array | None = None  # the beginning of each document, if text was kept
    n_terms: int | None = None  # of documents: all their terms, also those that are not counted
    metadata: dict[str, Array] | None = None  # other columns, as text
    notes: tuple[str, ...] = ()  # what was done to the text that nobody asked for

    def files(self) -> Sequence[str]:
        """Return nothing: the counts are in memory."""
        return ()

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        return self.counts if (start, stop) == (0, self.shape[0]) else self.counts[start:stop]

    def row_starts(self) -> Array | None:
        """Return where the entries of each row start."""
        return getattr(self.counts, "indptr", None)

    def stored_metadata(self) -> dict[str, Array] | None:
        """Return the other columns."""
        return self.metadata


def loaded(
    given: Any,
    samples: Iterable[str] | None = None,
    features: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
) -> LoadedSource:
    """Return a source for counts that are in memory; sparse ones become CSR."""
    check_structure(given)
    is_sparse = sparse.issparse(given)  # asked in place, it would narrow the type too much
    counts: Any = sparse.csr_array(given) if is_sparse else given
    return LoadedSource(
        "data in memory",
        counts.shape,
        int(counts.size),  # of a sparse matrix: the number of its entries
        counts,
        None if documents is None else as_names(documents),
        can_read_rows=True,
        names=(
            None if samples is None else as_names(samples),
            None if features is None else as_names(features),
        ),
    )


@dataclass(frozen=True, eq=False)
class TransposedSource(Source):
    """A source whose rows are the features of another: it can only be read as a whole."""

    inner: Source

    @property
    def name(self) -> str:
        """What errors call the source."""
        return self.inner.name

    def files(self) -> Sequence[str]:
        """Return the files of the other source."""
        return self.inner.files()

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop`` of the transposed matrix."""
        whole: Any = self.inner.rows(0, self.inner.shape[0])
        check_structure(whole)
        is_sparse = sparse.issparse(whole)
        turned: Any = whole.T.tocsr() if is_sparse else whole.T
        return turned if (start, stop) == (0, self.shape[0]) else turned[start:stop]

    def _stored_names(self, axis: int, start: int, stop: int | None) -> Array | None:
        return self.inner._names(1 - axis, start, stop)


def transposed(source: Source) -> Source:
    """Return a source whose samples are the columns of another one."""
    return TransposedSource(source.path, source.shape[::-1], source.entries, source)


def named(source: Source, samples: Names, features: Names, encoding: str = "utf-8") -> Source:
    """Return a source with other names; ``None`` keeps those of the source."""
    if samples is None and features is None:
        return source
    names = (
        source.names[0] if samples is None else samples,
        source.names[1] if features is None else features,
    )
    return replace(source, names=names, encoding=encoding)


def find_name_files(
    path: Path, shape: tuple[int, int], options: Options
) -> tuple[str | None, str | None]:
    """Return the files beside a matrix that name its rows and its columns.

    ``rows.txt`` names samples and ``vocab.txt`` features. They do not say which matrix they belong
    to, so that a file with another number of lines is ignored.
    """
    if not options.has_names_beside:
        return None, None
    names = ("vocab.txt", "rows.txt") if options.transpose else ("rows.txt", "vocab.txt")
    files: list[str | None] = []
    for name, count in zip(names, shape, strict=True):
        file = beside(path, name)
        fits = file is not None and len(read_names(file, options.encoding)) == count
        files.append(os.fspath(file) if file is not None and fits else None)
    return files[0], files[1]


def check_structure(matrix: Any) -> None:
    """Raise if a sparse matrix points outside itself: SciPy's conversions would follow it."""
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)

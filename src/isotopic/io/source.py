"""Sources: matrices of counts in files, read as a whole or a few rows at a time."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.csr_arrays import CsrArrays
from isotopic.io.names import as_names, read_names

# A header may promise any number of rows. Each of them takes memory, even if it is empty, so a file
# with few entries must not promise many more rows (or features) than this.
_EMPTY_ROWS = 10**6
_ROWS_PER_ENTRY = 1000


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
    """

    path: str
    shape: tuple[int, int]
    entries: int
    can_read_rows: bool = field(default=False, kw_only=True)
    csr_arrays: CsrArrays | None = field(default=None, kw_only=True)

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
        """Return the names of the rows ``start:stop``, or ``None`` if the file has none."""
        return None

    def feature_names(self) -> Array | None:
        """Return the names of the columns, or ``None`` if the file has none."""
        return None

    def write_arrays(self, folder: Path) -> None:
        """Write the matrix to a folder as the arrays of a CSR matrix, which are read by rows."""
        rows = self.rows(0, self.shape[0])
        check_structure(rows)
        whole = sparse.csr_array(rows)
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"{name}.npy", getattr(whole, name))
        np.save(folder / "shape.npy", whole.shape)


@dataclass(frozen=True, eq=False)
class LoadedSource(Source):
    """A matrix in memory, read from a format that can only be read as a whole.

    Parameters
    ----------
    counts : array or sparse matrix
    samples, features, documents : ndarray of str objects or None
    """

    counts: Any = None
    samples: Array | None = None
    features: Array | None = None
    documents: Array | None = None

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        return self.counts if (start, stop) == (0, self.shape[0]) else self.counts[start:stop]

    def row_starts(self) -> Array | None:
        """Return where the entries of each row start."""
        return getattr(self.counts, "indptr", None)

    def sample_names(self, start: int = 0, stop: int | None = None) -> Array | None:
        """Return the names of the rows ``start:stop``."""
        return None if self.samples is None else self.samples[start:stop]

    def feature_names(self) -> Array | None:
        """Return the names of the columns."""
        return self.features


def loaded(
    given: Any,
    samples: Iterable[str] | None = None,
    features: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
) -> LoadedSource:
    """Return a source for counts that are in memory; sparse ones become CSR."""
    is_sparse = sparse.issparse(given)
    check_structure(given)
    counts: Any = sparse.csr_array(given) if is_sparse else given
    names = [None if part is None else as_names(part) for part in (samples, features, documents)]
    size = int(counts.size)  # of a sparse matrix: the number of its entries
    return LoadedSource("data in memory", counts.shape, size, counts, *names, can_read_rows=True)


@dataclass(frozen=True, eq=False)
class WrappedSource(Source):
    """A source that is read from another one.

    Parameters
    ----------
    inner : Source
    """

    inner: Source

    @property
    def name(self) -> str:
        """What errors call the source."""
        return self.inner.name


@dataclass(frozen=True, eq=False)
class NamedSource(WrappedSource):
    """A source whose names were given, or are in files beside it.

    Parameters
    ----------
    samples, features : str, ndarray of str objects or None
        The names; a str is the path of a file with a name in each line. ``None``: those of the
        source.
    encoding : str
    """

    samples: str | Array | None
    features: str | Array | None
    encoding: str

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        return self.inner.rows(start, stop)

    def row_starts(self) -> Array | None:
        """Return where the entries of each row start."""
        return self.inner.row_starts()

    def write_arrays(self, folder: Path) -> None:
        """Write the matrix to a folder as the arrays of a CSR matrix."""
        self.inner.write_arrays(folder)

    def sample_names(self, start: int = 0, stop: int | None = None) -> Array | None:
        """Return the names of the rows ``start:stop``."""
        if self.samples is None:
            return self.inner.sample_names(start, stop)
        if isinstance(self.samples, str):
            return as_names(read_names(Path(self.samples), self.encoding, start, stop))
        return self.samples[start:stop]

    def feature_names(self) -> Array | None:
        """Return the names of the columns."""
        if isinstance(self.features, str):
            return as_names(read_names(Path(self.features), self.encoding))
        return self.inner.feature_names() if self.features is None else self.features


@dataclass(frozen=True, eq=False)
class TransposedSource(WrappedSource):
    """A source whose rows are the features: it can only be read as a whole."""

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop`` of the transposed matrix."""
        whole: Any = self.inner.rows(0, self.inner.shape[0])
        is_sparse = sparse.issparse(whole)
        check_structure(whole)
        turned: Any = whole.T.tocsr() if is_sparse else whole.T
        return turned if (start, stop) == (0, self.shape[0]) else turned[start:stop]

    def sample_names(self, start: int = 0, stop: int | None = None) -> Array | None:
        """Return the names of the columns of the file."""
        names = self.inner.feature_names()
        return None if names is None else names[start:stop]

    def feature_names(self) -> Array | None:
        """Return the names of the rows of the file."""
        return self.inner.sample_names()


def named(
    source: Source,
    samples: str | Array | None,
    features: str | Array | None,
    encoding: str = "utf-8",
) -> Source:
    """Return a source with other names; ``None`` keeps those of the source."""
    if samples is None and features is None:
        return source
    return NamedSource(
        source.path,
        source.shape,
        source.entries,
        source,
        samples,
        features,
        encoding,
        can_read_rows=source.can_read_rows,
        csr_arrays=source.csr_arrays,
    )


def transposed(source: Source) -> Source:
    """Return a source whose samples are the columns of another one."""
    return TransposedSource(source.path, source.shape[::-1], source.entries, source)


def check_structure(matrix: Any) -> None:
    """Raise if a sparse matrix points outside itself: SciPy's conversions would follow it."""
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)


def check_plausible(shape: tuple[int, int], entries: int) -> None:
    """Raise if a header promises far more rows or columns than its entries can fill."""
    most = _EMPTY_ROWS + _ROWS_PER_ENTRY * entries
    if max(shape) > most:
        raise ValueError(
            f"the file promises {shape[0]:,} x {shape[1]:,} counts but holds only {entries:,} "
            "entries; it is damaged, or its numbers are names rather than indices"
        )

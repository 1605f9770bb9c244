"""CountData: counts in memory with the names of their rows and columns."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.names import as_names
from isotopic.io.source import LoadedSource, Source, check_structure


@dataclass(frozen=True, eq=False)
class CountData:
    """Counts with their names.

    Attributes
    ----------
    counts : scipy.sparse.csr_array of shape (n_samples, n_features)
        Whole numbers as int32 if they fit, else int64; others as float64.
    sample_names, feature_names : ndarray of str objects
        The names of rows and columns. Without names in the file: ``"0"``, ``"1"``, ... for samples
        and ``"x0"``, ``"x1"``, ... for features.
    format : str
        The format that was read; one of :data:`isotopic.io.FORMATS`.
    documents : ndarray of str objects or None
        The beginning of each document, if ``keep_text`` was given.
    """

    counts: Any
    sample_names: Array
    feature_names: Array
    format: str
    documents: Array | None = None

    def fingerprint(self) -> str:
        """Return a digest of the counts, which does not depend on format and type."""
        digest = blake2b(str(self.counts.shape).encode(), digest_size=16)
        for part, dtype in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f8")):
            digest.update(np.ascontiguousarray(getattr(self.counts, part), dtype=dtype).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        samples, features = self.counts.shape
        return (
            f"CountData({samples:,} samples x {features:,} features, "
            f"{self.counts.nnz:,} nonzeros, format={self.format!r})"
        )


def as_count_data(source: Source, format: str) -> CountData:
    """Read a source as a whole, check its counts, and fill in the names that it does not have."""
    matrix = source.rows(0, source.shape[0])
    if sparse.issparse(matrix):
        check_structure(matrix)
    counts = narrow(_check_counts(sparse.csr_array(matrix)))
    documents = source.documents if isinstance(source, LoadedSource) else None
    return CountData(counts, sample_names(source), feature_names(source), format, documents)


def sample_names(source: Source, start: int = 0, stop: int | None = None) -> Array:
    """Return the names of the rows ``start:stop``; without names they are ``"0"``, ``"1"``, ..."""
    stop = source.shape[0] if stop is None else stop
    names = source.sample_names(start, stop)
    if names is None:
        return as_names(map(str, range(start, stop)))
    return _check_number(names, stop - start, "sample")


def feature_names(source: Source) -> Array:
    """Return the names of the columns; without names they are ``"x0"``, ``"x1"``, ..."""
    names = source.feature_names()
    if names is None:
        return as_names(map("x{}".format, range(source.shape[1])))
    return _check_number(names, source.shape[1], "feature")


def _check_number(names: Array, count: int, what: str) -> Array:
    if len(names) != count:
        raise ValueError(
            f"there are {len(names):,} {what} names for {count:,} {what}s; if the rows are the "
            "features, say so with transpose"
        )
    return names


def _check_counts(counts: Any) -> Any:
    """Return counts without duplicates; raise for an entry that is not a count."""
    if 0 in counts.shape:
        raise ValueError(f"there are no counts: the table is {counts.shape[0]} x {counts.shape[1]}")
    if counts.dtype.kind not in "biuf":
        raise ValueError(f"counts must be real numbers; these are {counts.dtype}")
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    bad = ~((counts.data >= 0) & (counts.data < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
        raise ValueError(
            f"sample {row}, feature {counts.indices[at]} has {counts.data[at]}: "
            "counts must be finite and at least 0"
        )
    return counts


def narrow(counts: Any) -> Any:
    """Return counts without explicit zeros, whole numbers as int32 or int64, others as float64."""
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    values = counts.data
    largest = float(values.max(initial=0))
    if values.dtype.kind == "f" and not (largest < 2**53 and np.all(values == np.rint(values))):
        return counts.astype(np.float64)
    return counts.astype(np.int32 if largest < 2**31 else np.int64)

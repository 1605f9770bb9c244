"""What every reader gives: counts, and what their rows and columns are called."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array


@dataclass(frozen=True, eq=False)
class CountData:
    """Counts with their names.

    Attributes
    ----------
    counts : scipy.sparse.csr_array of shape (n_samples, n_features)
        Whole numbers in the smallest of int32 and int64 that holds them, others in float64.
    sample_names, feature_names : ndarray of str objects
        Of the rows and of the columns. Where the file has none: ``"0"``, ``"1"``, ... for samples,
        ``"x0"``, ``"x1"``, ... for features.
    format : str
        The format that was read; one of :data:`isotopic.io.FORMATS`.
    documents : ndarray of str objects or None
        The beginning of each document, if that was asked for.
    """

    counts: Any
    sample_names: Array
    feature_names: Array
    format: str
    documents: Array | None = None

    def fingerprint(self) -> str:
        """Give a digest of the counts: the same for the same counts in any format and type."""
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


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds, before names are added that stand elsewhere; ``None`` has no names."""

    counts: Any
    sample_names: Iterable[str] | None = None
    feature_names: Iterable[str] | None = None
    documents: Iterable[str] | None = None

    def transposed(self) -> "Content":
        """Take rows for columns."""
        return Content(self.counts.T, self.feature_names, self.sample_names)


def as_names(names: Iterable[str]) -> Array:
    """Make an array of str objects: one long name does not make all of them long.

    Halves of surrogate pairs, which names of files and JSON can have, are no text; they are written
    out.
    """
    listed = [str(name).encode("utf-8", "backslashreplace").decode() for name in names]
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def finished(content: Content, format: str) -> CountData:
    """Check counts and names, and fill in the names that are not there."""
    if hasattr(content.counts, "check_format"):  # a file may hold indices that are outside
        content.counts.check_format(full_check=True)
    counts = narrowed(_checked(sparse.csr_array(content.counts)))
    samples, features = counts.shape
    return CountData(
        counts,
        _names(content.sample_names, samples, "sample", ""),
        _names(content.feature_names, features, "feature", "x"),
        format,
        None if content.documents is None else as_names(content.documents),
    )


def _names(given: Iterable[str] | None, count: int, what: str, prefix: str) -> Array:
    names = as_names((f"{prefix}{i}" for i in range(count)) if given is None else given)
    if len(names) != count:
        raise ValueError(
            f"there are {len(names):,} {what} names for {count:,} {what}s; if the rows are the "
            "features, say so with transpose"
        )
    return names


def _checked(counts: Any) -> Any:
    """Raise if there is an entry that is no count; sum what stands twice."""
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


def narrowed(counts: Any) -> Any:
    """Hold whole numbers in the smallest usual type, and no explicit zeros."""
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    values = counts.data
    largest = float(values.max(initial=0))
    if values.dtype.kind == "f" and not (largest < 2**53 and np.all(values == np.rint(values))):
        return counts.astype(np.float64)
    return counts.astype(np.int32 if largest < 2**31 else np.int64)

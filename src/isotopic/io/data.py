"""CountData: counts in memory with their names, and the file format that holds both."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic import archive
from isotopic.arrays import Array
from isotopic.containers import NamedMatrix
from isotopic.io.files import as_names
from isotopic.io.limits import check_shape
from isotopic.io.source import LoadedSource, Options, Source, check_structure, loaded
from isotopic.names import as_feature_names, as_sample_names

# The file of counts in the folder of a fit.
COUNTS_IN_FOLDER = "counts.isotopic"

_MEMBERS = {"counts", "sample_names", "feature_names", "documents", "metadata"}


class DeferredNames:
    """Names of samples (axis 0) or features of :class:`CountData`, made when they are needed.

    A file may have millions of features without names, of which nobody needs a list.
    """

    def __init__(self, axis: int) -> None:
        self.axis, self.kept = axis, f"_names_{axis}"

    def __get__(self, data: Any, owner: Any = None) -> Any:
        if data is None:
            return None  # the default
        names = data.__dict__[self.kept]
        if names is None:
            names = made_names(self.axis, 0, data.counts.shape[self.axis])
            data.__dict__[self.kept] = names
        return names

    def __set__(self, data: Any, names: Any) -> None:
        data.__dict__[self.kept] = names


# How many names of documents a note has.
_MOST_NAMES = 5

# The end of a document that was cut.
CUT = "\u2026"


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
        The documents, or the beginning of each, if ``keep_text`` was given.
    n_terms : int or None
        How many terms the documents have that are no stop words, also those that are not counted
        because they are rare or not in the ``vocabulary``.
    metadata : dict of ndarrays of str objects, or None
        What the file knows of the samples besides their counts, as text: the other columns of a
        table of documents, ``obs`` of AnnData, the folder of each document, or the columns of a
        table of counts that ``metadata`` names.
    notes : tuple of str
        How the documents were read, where it is not obvious: files in another encoding, documents
        in which there was HTML, and documents without a word that is counted.
    """

    counts: Any
    sample_names: DeferredNames = DeferredNames(0)
    feature_names: DeferredNames = DeferredNames(1)
    format: str = ""
    documents: Array | None = None
    n_terms: int | None = None
    metadata: dict[str, Array] | None = None
    notes: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a digest of the counts, which does not depend on format and type."""
        digest = blake2b(str(self.counts.shape).encode(), digest_size=16)
        for part, dtype in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f8")):
            digest.update(np.ascontiguousarray(getattr(self.counts, part), dtype=dtype).data)
        return digest.hexdigest()

    def named_matrix(self) -> NamedMatrix:
        """Return the counts with their names, but without names that were only made up."""
        is_made = all(name == f"x{i}" for i, name in enumerate(self.feature_names))
        features = None if is_made else as_feature_names(self.feature_names)
        return NamedMatrix(self.counts, features, as_sample_names(self.sample_names))

    def __repr__(self) -> str:
        samples, features = self.counts.shape
        line = (
            f"CountData({samples:,} samples x {features:,} features, "
            f"{self.counts.nnz:,} nonzeros, format={self.format!r})"
        )
        return "\n".join([line, *self.notes])


def _note_of_empty(counts: Any, names: Array | None) -> tuple[str, ...]:
    """Return a note of the documents without a counted word, whose shares say nothing."""
    rows = np.flatnonzero(np.diff(counts.indptr) == 0)
    if not len(rows):
        return ()
    shown = ", ".join(str(row if names is None else names[row]) for row in rows[:_MOST_NAMES])
    more = f" and {len(rows) - _MOST_NAMES:,} more" if len(rows) > _MOST_NAMES else ""
    return (
        f"documents without a counted word, {len(rows):,} of {counts.shape[0]:,}: {shown}{more}; "
        "their shares of topics are only the model's expectation",
    )


def as_count_data(source: Source, format: str, columns: Sequence[str] | None = None) -> CountData:
    """Read a source as a whole, check its counts, and fill in the names that it does not have.

    Duplicates are summed, explicit zeros left out, and the smallest type that fits is chosen. Of
    the metadata the given ``columns`` are kept, by default all.
    """
    matrix = source.rows(0, source.shape[0])
    check_structure(matrix)
    counts: Any = sparse.csr_array(matrix)
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
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    values, largest = counts.data, float(counts.data.max(initial=0))
    if values.dtype.kind == "f" and not (largest < 2**53 and np.all(values == np.rint(values))):
        counts = counts.astype(np.float64)
    else:
        counts = counts.astype(np.int32 if largest < 2**31 else np.int64)
    documents, n_terms = None, None
    notes: tuple[str, ...] = ()
    if isinstance(source, LoadedSource):
        documents, n_terms, notes = source.documents, source.n_terms, source.notes
    samples, features = stored_names(source, 0), stored_names(source, 1)
    if n_terms is not None:  # documents
        notes += _note_of_empty(counts, samples)
    metadata = _chosen(source.stored_metadata(), columns)
    return CountData(counts, samples, features, format, documents, n_terms, metadata, notes)


def _chosen(
    metadata: dict[str, Array] | None, columns: Sequence[str] | None
) -> dict[str, Array] | None:
    """Return some of the columns of metadata; raise ValueError if there is no such column."""
    if columns is None:
        return metadata
    known = metadata or {}
    for name in columns:
        if name not in known:
            raise ValueError(
                f"there is no metadata called {name!r}; the file has {', '.join(known) or 'none'}"
            )
    return {name: known[name] for name in columns} or None


def made_names(axis: int, start: int, stop: int) -> Array:
    """Return the names of samples (axis 0) or features without names: numbers, as text."""
    return as_names(map(("x{}" if axis else "{}").format, range(start, stop)))


def names_of(source: Source, axis: int, start: int = 0, stop: int | None = None) -> Array:
    """Return the names ``start:stop`` of the samples (axis 0), or those of the features (axis 1).

    Without names they are ``"0"``, ``"1"``, ... and ``"x0"``, ``"x1"``, ...
    """
    names: Array | None = stored_names(source, axis, start, stop)
    if names is not None:
        return names
    return made_names(axis, start, source.shape[axis] if stop is None else stop)


def stored_names(source: Source, axis: int, start: int = 0, stop: int | None = None) -> Any:
    """Return the names that a source has, or ``None``; raise if there are too many or too few."""
    what = "feature" if axis else "sample"
    names = source.feature_names() if axis else source.sample_names(start, stop)
    stop = source.shape[axis] if stop is None else stop
    if names is not None and len(names) != stop - start:
        raise ValueError(
            f"there are {len(names):,} {what} names for {stop - start:,} {what}s; if the rows are "
            "the features, say so with transpose"
        )
    return names


def write_counts(path: str | os.PathLike[str], data: CountData) -> None:
    """Write counts and names to a file that :func:`isotopic.read_counts` reads.

    Parameters
    ----------
    path : str or path-like
        Replaced once the new file is complete.
    data : CountData
    """
    tree = {
        "counts": sparse.csr_array(data.counts),
        "sample_names": as_names(data.sample_names),
        "feature_names": as_names(data.feature_names),
        "documents": None if data.documents is None else as_names(data.documents),
        "metadata": data.metadata and {k: as_names(v) for k, v in data.metadata.items()},
    }
    archive.write(path, "counts", tree)


def read_counts_file(path: Path, options: Options) -> LoadedSource:
    """Read such a file, or the one in the folder of a fit."""
    file = path / COUNTS_IN_FOLDER if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"the folder has no {COUNTS_IN_FOLDER}, so it is not the folder of a fit")
    tree: Any = archive.read(file, "counts", {})
    if isinstance(tree, dict):
        tree.setdefault("metadata", None)  # files of earlier versions have none
    if not isinstance(tree, dict) or set(tree) != _MEMBERS:
        raise ValueError("the file does not hold counts and their names")
    if not sparse.issparse(tree["counts"]):
        raise ValueError("the counts of the file are not a sparse table")
    for name in _MEMBERS - {"counts", "metadata"}:
        if not (_are_strings(tree[name]) or (tree[name] is None and name == "documents")):
            raise ValueError(f"the {name} of the file are not a list of str")
    metadata = tree["metadata"]
    n = len(tree["sample_names"])
    if metadata is not None and not (
        isinstance(metadata, dict)
        and all(_are_strings(column) and len(column) == n for column in metadata.values())
    ):
        raise ValueError("the metadata of the file are not columns of str, one for each sample")
    counts: Any = tree["counts"]
    check_shape(path, counts.shape, options.max_size)
    source = loaded(counts, tree["sample_names"], tree["feature_names"], tree["documents"])
    return replace(source, metadata=metadata)


def _are_strings(given: Any) -> bool:
    return isinstance(given, np.ndarray) and given.dtype.kind == "O" and given.ndim == 1

"""NumPy's ``.npz``: sparse as SciPy writes it, or one dense array."""

from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from isotopic.io.data import Content
from isotopic.io.names import read_names
from isotopic.io.opening import beside, open_seekable
from isotopic.io.options import Options


def read(path: Path, options: Options) -> Content:
    """Read counts, and names that stand in the archive or beside it."""
    with open_seekable(path) as stream:
        try:
            content = _content(stream)
        except (OSError, EOFError, KeyError, TypeError, NotImplementedError, BadZipFile) as error:
            raise ValueError(f"this is not an archive of NumPy, or is damaged: {error}") from error
    if options.transpose:
        content = content.transposed()
    return _with_names_beside(content, path, options.encoding)


def _content(stream: IO[bytes]) -> Content:
    if stream.read(2) != b"PK":
        raise ValueError("this is not an archive of NumPy (.npz)")
    stream.seek(0)
    stored = np.load(stream, allow_pickle=False)
    names = [_stored_names(stored, name) for name in ("sample_names", "feature_names")]
    stream.seek(0)
    return Content(_counts(stream, stored), *names)


def _stored_names(stored: Any, name: str) -> list[str] | None:
    if name not in stored.files:
        return None
    names = stored[name]
    if names.dtype.kind not in "US" or names.ndim != 1:
        raise ValueError(f"{name} must be a list of str; it is {names.dtype} of {names.shape}")
    return [str(item) for item in names.tolist()]


def _counts(stream: Any, stored: Any) -> Any:
    members = set(stored.files) - {"sample_names", "feature_names"}
    if {"format", "shape", "data"} <= members:
        return sparse.load_npz(stream)
    if {"data", "indices", "indptr", "shape"} <= members:  # CSR without saying so
        parts = tuple(stored[name] for name in ("data", "indices", "indptr"))
        return sparse.csr_array(parts, shape=tuple(stored["shape"].tolist()))
    if len(members) != 1:
        raise ValueError(
            "this is not a sparse matrix as scipy.sparse.save_npz writes it, nor one dense array; "
            f"it has {', '.join(sorted(members)) or 'nothing'}"
        )
    dense = stored[members.pop()]
    if dense.ndim != 2 or dense.dtype.kind not in "biuf":
        raise ValueError(
            f"the array is {dense.dtype} of shape {dense.shape}, not a table of counts"
        )
    return dense


def _with_names_beside(content: Content, path: Path, encoding: str) -> Content:
    """Take ``rows.txt`` and ``vocab.txt`` of the folder for names, if they have the right number.

    They say nothing of the file that they belong to, so others are left alone.
    """
    found: list[Any] = []
    kept = (content.sample_names, content.feature_names)
    for names, name, count in zip(
        kept, ("rows.txt", "vocab.txt"), content.counts.shape, strict=True
    ):
        file = beside(path, name) if names is None else None
        listed = None if file is None else read_names(file, encoding)
        found.append(listed if listed is not None and len(listed) == count else names)
    return Content(content.counts, *found)

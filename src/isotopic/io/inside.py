"""Nodes of HDF5 and zarr that lie inside the file: links and data that lead out are refused.

A file from somewhere else could otherwise show the content of any file on this machine as counts.
"""

import json
import os
from pathlib import Path
from typing import Any

from isotopic.io.files import extra

# Soft links may follow each other so many times.
_MOST_LINKS = 20

# Codecs of zarr that run stored code or read other files.
_UNSAFE_CODECS = ("pickle", "dill", "reference")
_ZARR_FILES = ("zarr.json", ".zarray", ".zmetadata")


class InsideHdf5:
    """A group of an open file of HDF5 whose members are found without leaving the file."""

    def __init__(self, group: Any) -> None:
        self._group = group

    @property
    def attrs(self) -> Any:
        """The attributes."""
        return self._group.attrs

    def __iter__(self) -> Any:
        return iter(self._group)

    def __contains__(self, key: str) -> bool:
        try:
            self[key]
        except KeyError:
            return False
        return True

    def __getitem__(self, key: str) -> Any:
        """Return a dataset, or a group of the same kind; raise if it is elsewhere."""
        return _checked_node(_walk(self._group, key, _MOST_LINKS), key)


def _walk(group: Any, key: str, links: int) -> Any:
    """Return what a path leads to, looking at each link before it is followed."""
    h5py = extra("h5py", "files")
    node = group.file["/"] if key.startswith("/") else group
    for part in filter(None, key.split("/")):
        if part == ".":
            continue
        link = node.get(part, getlink=True) if isinstance(node, h5py.Group) else None
        if link is None:
            raise KeyError(key)
        if isinstance(link, h5py.ExternalLink):
            raise ValueError(
                f"{key} is a link to another file ({link.filename!r:.100}). Only data inside the "
                "file is read: copy it into the file first"
            )
        if isinstance(link, h5py.SoftLink):
            if links == 0:
                raise ValueError(f"{key} has too many links that lead to each other")
            node = _walk(node, link.path, links - 1)
        else:
            node = node[part]
    return node


def _checked_node(node: Any, key: str) -> Any:
    if not hasattr(node, "shape"):
        return InsideHdf5(node)
    if getattr(node, "external", None) or getattr(node, "is_virtual", False):
        raise ValueError(
            f"{key} is stored in other files (as an external or virtual dataset). Only data inside "
            "the file is read: copy it into the file first"
        )
    return node


def check_zarr(folder: Path) -> None:
    """Raise if a zarr folder leads to files outside, or has codecs that run stored code."""
    inside = os.path.realpath(folder)
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            if os.path.islink(path):
                target = os.path.realpath(path)
                if os.path.commonpath([inside, target]) != inside:
                    raise ValueError(
                        f"{os.path.relpath(path, folder)} is a link to {target!r:.100}. Only data "
                        "inside the folder is read: copy it into the folder first"
                    )
            if name in _ZARR_FILES:
                _check_codecs(Path(path))


def _check_codecs(path: Path) -> None:
    try:
        metadata = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is not JSON: {error}") from error
    waiting = [metadata]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key in ("id", "name"):
                codec = str(value.get(key, "")).lower()
                if any(unsafe in codec for unsafe in _UNSAFE_CODECS):
                    raise ValueError(f"{path.name} has the codec {codec!r:.60}, which is not safe")
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value

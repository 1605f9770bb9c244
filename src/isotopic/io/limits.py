"""Limits: what a file may claim, compared with what it holds, and whether it has changed."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

# A file may claim this much memory whatever its size, and more only up to so many times its size:
# text and sparse counts shrink 5 to 50 times when they are compressed.
MAX_SIZE = 2**28
_MOST_TIMES = 200

# About what a claimed sample or feature takes: its place in arrays, its name, a few weights.
_BYTES_PER_NAME = 256

# The status of so many files is looked at before and after each reading; of more, that of their
# folders, which changes when a file is replaced.
_MOST_FILES = 64

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

# Of each file: its size, and when its content and its inode were last changed.
Status: TypeAlias = tuple[tuple[int, int, int], ...]

CHANGED = "it has changed since it was opened; open it again"


def parse_bytes(name: str, given: Any) -> int:
    """Return an amount of memory such as ``"2 GB"`` in bytes; errors name the parameter."""
    value = given
    if isinstance(given, str):
        digits = given.strip().rstrip(ascii_letters)
        unit = given.strip()[len(digits) :].upper()
        try:
            value = float(digits) * _UNITS[unit]
        except (KeyError, ValueError):
            raise ValueError(
                f"{name}={given!r} is not an amount of memory such as '2 GB'."
            ) from None
    is_number = isinstance(value, (int, float, np.integer)) and not isinstance(value, bool)
    if not (is_number and 0 < value < np.inf):
        raise ValueError(f"{name} must be a positive number of bytes, not {given!r}.")
    return int(value)


def check_shape(
    path: str | Path, shape: tuple[int, int], max_size: int | str, *, cell_bytes: int = 0
) -> None:
    """Raise if a file claims a table far larger than what it holds.

    Parameters
    ----------
    path : str or path-like
        A file or folder.
    shape : tuple of int
        The claimed numbers of samples and features.
    max_size : int or str
        The bytes that every file may claim.
    cell_bytes : int, default=0
        The bytes of each count of a dense table; 0 for sparse ones.
    """
    claimed = max(_BYTES_PER_NAME * max(shape), cell_bytes * shape[0] * shape[1])
    check_bytes(path, claimed, f"{shape[0]:,} x {shape[1]:,} counts", max_size)


def check_bytes(path: str | Path, claimed: int, what: str, max_size: int | str) -> None:
    """Raise if a file claims something that takes far more bytes than the file has."""
    if claimed <= parse_bytes("max_size", max_size):
        return
    held = _size(Path(path))
    if claimed > _MOST_TIMES * held:
        needed = _readable(claimed)
        raise ValueError(
            f"the file promises {what} but holds only {held:,} bytes; it is damaged, or its "
            "numbers are names rather than indices. If it is right, allow what it may take with "
            f"max_size='{needed}' (--max-size {needed.replace(' ', '')})"
        )


class LimitedReader(io.RawIOBase):
    """A stream of a compressed file that ends with an error if it becomes far too long."""

    def __init__(self, stream: Any, packed: int) -> None:
        self._stream, self._packed = stream, packed
        self._left = max(MAX_SIZE, _MOST_TIMES * packed)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return the number of bytes."""
        n: int = self._stream.readinto(buffer)
        self._left -= n
        if self._left < 0:
            raise ValueError(
                f"its {self._packed:,} bytes unpack to more than {_MOST_TIMES} times as many. If "
                "the file is right, unpack it first"
            )
        return n

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
        super().close()


def status_of(*paths: str | Path) -> Status:
    """Return the status of files, or of those in a folder; it changes when they do."""
    found: list[tuple[int, int, int]] = []
    for path in dict.fromkeys(map(Path, paths)):
        files = [path]
        if path.is_dir():
            files = list(_files_below(path))
            if len(files) > _MOST_FILES:
                files = sorted({file.parent for file in files})
        for status in map(os.stat, files):
            found.append((status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(found)


def is_comparable(before: Status, now: Status, *, is_here: bool) -> bool:
    """Return whether files may have the same content as before, so that it is worth comparing.

    On this machine a file may have been renamed or linked, or written by something that hides it.
    Other machines may have copies, with times of their own.
    """
    known = 2 if is_here else 1  # the size and the time, or the size alone
    return [status[:known] for status in before] == [status[:known] for status in now]


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names))


def _size(path: Path) -> int:
    files = _files_below(path) if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _readable(size: int) -> str:
    for unit in ("TB", "GB", "MB"):
        if size >= _UNITS[unit]:
            return f"{-(-size // _UNITS[unit])} {unit}"
    return f"{size} B"

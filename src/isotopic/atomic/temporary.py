"""Temporary files and folders, recognised when the process that made them is gone.

A process locks what it makes as long as it uses it, and the kernel releases the lock when the
process ends, in whatever way. So a temporary file that nobody has locked is a leftover. Where open
files cannot be renamed (``system.py``), leftovers stay.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

from isotopic.atomic import system

Descriptor = TypeVar("Descriptor", int, int | None)
_NAME = re.compile(r"\.isotopic-[0-9a-f]{16}\.tmp")


def is_at(descriptor: int, path: str) -> bool:
    """Return whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def create_file(folder: str) -> tuple[str, int]:
    """Create a locked temporary file; return its path and its descriptor."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | system.BINARY
    return _create(folder, lambda path: os.open(path, flags, 0o666))


def _create_folder(folder: str) -> tuple[str, int | None]:
    """Create a locked temporary folder; return its path and its descriptor, if it has one."""

    def create(path: str) -> int | None:
        os.mkdir(path, 0o700)
        return system.open_folder(path)

    return _create(folder, create)


def _create(folder: str, create: Callable[[str], Descriptor]) -> tuple[str, Descriptor]:
    while True:
        path = os.path.join(folder, f".isotopic-{token_hex(8)}.tmp")
        descriptor = create(path)
        if descriptor is None or not system.RENAMES_OPEN_FILES:  # nobody deletes leftovers
            return path, descriptor
        system.lock(descriptor)
        if is_at(descriptor, path):  # else another process removed it before it was locked
            return path, descriptor
        os.close(descriptor)


@contextmanager
def scratch_folder(parent: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that is deleted at the end of the block.

    If the process is killed, the next one that uses ``parent`` deletes it.
    """
    remove_leftovers(parent)
    path, descriptor = _create_folder(os.fspath(parent))
    try:
        yield Path(path)
    finally:
        try:
            shutil.rmtree(path, ignore_errors=True)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Delete the temporary files and folders of processes that were killed."""
    if not system.RENAMES_OPEN_FILES:
        return
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and not entry.is_symlink():
                _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | system.NO_LINKS | system.NO_WAITING)
        try:
            if system.lock(descriptor) and is_at(descriptor, path):
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)
        finally:
            os.close(descriptor)

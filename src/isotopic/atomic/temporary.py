"""Temporary files and folders, recognised when the process that made them is gone.

A process locks what it makes as long as it uses it, and the kernel releases the lock when the
process ends, in whatever way. So a temporary file that nobody has locked is a leftover.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

_NAME = re.compile(r"\.isotopic-[0-9a-f]{16}\.tmp")


def is_at(descriptor: int, path: str) -> bool:
    """Return whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def lock(descriptor: int) -> bool | None:
    """Lock an open file or folder unless another process has.

    Return whether it is locked now; ``None`` if the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def create_file(folder: str) -> tuple[str, int]:
    """Create a locked temporary file; return its path and its descriptor."""
    return _create(folder, lambda path: os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))


def _create_folder(folder: str) -> tuple[str, int]:
    """Create a locked temporary folder; return its path and its descriptor."""

    def create(path: str) -> int:
        os.mkdir(path, 0o700)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    return _create(folder, create)


def _create(folder: str, create: Callable[[str], int]) -> tuple[str, int]:
    while True:
        path = os.path.join(folder, f".isotopic-{token_hex(8)}.tmp")
        descriptor = create(path)
        lock(descriptor)
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
            os.close(descriptor)


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Delete the temporary files and folders of processes that were killed."""
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and not entry.is_symlink():
                _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if lock(descriptor) and is_at(descriptor, path):
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)
        finally:
            os.close(descriptor)

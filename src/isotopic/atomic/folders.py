"""Folders of files that are replaced together, by one process at a time."""

import errno
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from isotopic.atomic import system
from isotopic.atomic.files import atomic_file, check_replaceable, copy_permissions, sync_folder
from isotopic.atomic.temporary import is_at, remove_leftovers, scratch_folder

_CLAIM = ".isotopic-claim"  # locked by the process that writes to the folder
_COMPLETE = ".isotopic-complete"  # a folder of complete new files, which are yet to be moved
_DELETED = ".deleted"  # the suffix of an empty file there, which says that a file is deleted


@contextmanager
def claimed_folder(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Let no other process write to a folder during the block.

    First bring the folder in order: finish a replacement that was cut off, and delete what killed
    processes left. A claim ends with its process, in whatever way that ends. On a file system
    without locks there are no claims.

    Parameters
    ----------
    folder : Path
        It must exist.
    names : sequence of str
        The files of :func:`atomic_folder`.

    Raises
    ------
    BlockingIOError
        If another process writes to the folder. The message says which.
    """
    path = os.path.join(folder, _CLAIM)
    descriptor = _claim(path, folder)
    try:
        remove_leftovers(folder)
        _move_files(folder, names)
        yield
    finally:
        _end_claim(path, descriptor)


def _claim(path: str, folder: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | system.NO_LINKS | system.BINARY
    while True:
        descriptor = os.open(path, flags, 0o666)
        is_locked = system.lock(descriptor)
        if is_locked is None or (is_locked and is_at(descriptor, path)):
            break
        if not is_locked and (holder := os.read(descriptor, 1000)) and is_at(descriptor, path):
            os.close(descriptor)
            who = holder.decode(errors="replace")
            raise BlockingIOError(
                errno.EAGAIN, f"{who}. Wait until it ends, or choose another folder", str(folder)
            )
        os.close(descriptor)  # its owner is writing its name, or has just deleted the file
        time.sleep(0.01)
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    who = f"Process {os.getpid()} on {socket.gethostname()} has been writing to it since {now}"
    os.ftruncate(descriptor, 0)
    os.write(descriptor, who.encode())
    return descriptor


def _end_claim(path: str, descriptor: int) -> None:
    try:
        if system.RENAMES_OPEN_FILES:
            with suppress(FileNotFoundError):
                os.unlink(path)
    finally:
        os.close(descriptor)
    if not system.RENAMES_OPEN_FILES:
        with suppress(OSError):  # another process has opened it, and will delete it
            os.unlink(path)


@contextmanager
def atomic_folder(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder whose files replace those of ``folder`` at the end of the block.

    All files of these names are replaced at one moment, or none if the block raises: those that
    the block does not write are deleted. Other files of ``folder`` stay. If the process is killed
    in the short time in which the files are moved, the last of the names is missing until
    :func:`claimed_folder` or :func:`settle_folder` completes the move.

    Parameters
    ----------
    folder : Path
        It must be claimed.
    names : sequence of str
        Of the files, in the order in which they are moved. The last one must always be written.
    """
    for name in names:
        check_replaceable(folder / name)
    with scratch_folder(folder) as new:
        yield new
        for name in names:
            if (new / name).exists():
                copy_permissions(os.path.realpath(folder / name), str(new / name))
            else:
                (new / f"{name}{_DELETED}").touch()
        sync_folder(str(new))
        os.rename(new, folder / _COMPLETE)  # from now on, the new files are the result
    sync_folder(str(folder))
    _move_files(folder, names)


def settle_folder(folder: Path, names: Sequence[str]) -> None:
    """Complete a replacement that was cut off, if there is one, before the folder is read."""
    if (folder / _COMPLETE).exists():
        with claimed_folder(folder, names):
            pass


def _move_files(folder: Path, names: Sequence[str]) -> None:
    """Move complete new files into place; go on where an earlier move was cut off."""
    new = folder / _COMPLETE
    if not new.is_dir():
        return
    if (new / names[-1]).exists():  # as long as it is missing, readers know that files are moved
        Path(os.path.realpath(folder / names[-1])).unlink(missing_ok=True)
    for name in names:
        if (new / name).exists():
            _move(new / name, os.path.realpath(folder / name))
        elif (new / f"{name}{_DELETED}").exists():
            (folder / name).unlink(missing_ok=True)
            (new / f"{name}{_DELETED}").unlink()
    new.rmdir()
    sync_folder(str(folder))


def _move(source: Path, target: str) -> None:
    """Move a file to a path, which may be on another disk behind a symbolic link."""
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with open(source, "rb") as old, atomic_file(target) as file:
            shutil.copyfileobj(old, file)
        source.unlink()

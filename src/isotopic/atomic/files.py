"""Files that are replaced as a whole or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from isotopic.atomic import system
from isotopic.atomic.temporary import create_file, remove_leftovers

# What a write to a full disk raises; the error does not say which file was written.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Yield a new file that replaces the path at the end of the block, unless the block raises.

    The target of a symbolic link is replaced, not the link. The new file has the owner and the
    permissions of the old one.

    Parameters
    ----------
    path : str or path-like
    overwrite : bool, default=True
        Whether an existing file may be replaced.

    Raises
    ------
    OSError
        If the path is a folder, a device, a pipe or a socket, or cannot be written.
    """
    target = check_replaceable(path)
    check_folder_of(path)
    folder = os.path.dirname(target)
    remove_leftovers(folder)
    temporary, rename = "", os.replace if overwrite else _rename_to_free_path
    try:
        temporary, descriptor = create_file(folder)
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            copy_permissions(target, descriptor)
            os.fsync(descriptor)
            if system.RENAMES_OPEN_FILES:  # at once: others may delete what is not locked
                rename(temporary, target)
        if not system.RENAMES_OPEN_FILES:
            rename(temporary, target)
    except BaseException as error:
        if temporary:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            is_ours = error.filename is None and error.errno in _FULL
            if is_ours or str(error.filename).startswith(os.path.join(folder, ".isotopic-")):
                error.filename, error.filename2 = os.fspath(path), None
        raise
    sync_folder(folder)


def check_replaceable(path: str | os.PathLike[str]) -> str:
    """Return the real path of a file to write; raise OSError if something else is there."""
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "It is a folder, not a file", os.fspath(path))
    if not stat.S_ISREG(mode):
        what = "It is a device, a pipe or a socket. Pass the path of a file"
        raise OSError(errno.EINVAL, what, os.fspath(path))
    return target


def check_folder_of(path: str | os.PathLike[str]) -> None:
    """Raise FileNotFoundError if the folder of a file to write does not exist."""
    if not os.path.exists(os.path.dirname(os.path.realpath(path))):
        what = "There is no such folder. Create it first"
        raise FileNotFoundError(errno.ENOENT, what, os.path.dirname(os.fspath(path)))


def copy_permissions(source: str, target: int | str) -> None:
    """Set the owner and the permissions of a file to those of another one, if it exists."""
    if not hasattr(os, "chown"):  # Windows: a new file has the permissions of its folder
        return
    try:
        status = os.stat(source)
    except FileNotFoundError:
        return
    with suppress(OSError):  # only an administrator may give files away
        os.chown(target, status.st_uid, status.st_gid)
    with suppress(OSError):  # some file systems have no permissions
        os.chmod(target, status.st_mode & 0o777)


def sync_folder(folder: str) -> None:
    """Bring renamed files to the disk; some file systems cannot, and need not."""
    with suppress(OSError):
        descriptor = system.open_folder(folder)
        if descriptor is None:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _rename_to_free_path(source: str, target: str) -> None:
    """Rename a file; raise FileExistsError if there is one of the new name."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.replace(source, target)
    else:
        os.unlink(source)

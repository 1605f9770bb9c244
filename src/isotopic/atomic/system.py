"""What the systems do differently with open files, folders and locks.

Windows neither renames an open file nor opens a folder. There, temporary files are closed before
they are renamed, and what a killed process leaves is not deleted.
"""

import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

RENAMES_OPEN_FILES = sys.platform != "win32"
BINARY = getattr(os, "O_BINARY", 0)  # else Windows would change the ends of lines
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_LOCKED_BYTE = 1 << 30  # Windows lets no other process read a locked byte, so it is beyond the end


def lock(descriptor: int) -> bool | None:
    """Lock an open file or folder unless another process has.

    Return whether it is locked now; ``None`` if the file system has no locks.
    """
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):  # PermissionError: Windows
        return False
    except OSError:
        return None
    return True


def open_folder(path: str) -> int | None:
    """Return a descriptor of a folder; ``None`` if the system opens no folders."""
    if not RENAMES_OPEN_FILES:
        return None
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, at, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

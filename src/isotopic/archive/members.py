"""The members of an untrusted ZIP archive."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from isotopic.archive.arrays import Array, read_array


class Members:
    """The members of an archive; together they cannot be larger than the file.

    Parameters
    ----------
    archive : ZipFile
    size : int
        Bytes of the whole file.
    """

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        infos = archive.infolist()
        self.names = {info.filename for info in infos}
        if len(self.names) < len(infos):
            raise ValueError("Several members have the same name.")
        # The sum, so that members cannot share bytes either.
        if sum(info.compress_size for info in infos) > size:
            raise ValueError("The members claim to be larger than the file.")

    def text(self, name: str) -> str:
        """Return a member as text, decoded from UTF-8."""
        with self._open(name) as (stream, _):
            return stream.read().decode()

    def array(self, name: str) -> Array:
        """Return the array of this name."""
        member = f"{name}.npy"
        with self._open(member) as (stream, size):
            return read_array(stream, size, member)

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[IO[bytes], int]]:
        """Yield a stream of the member and its size; its checksum is verified at the end."""
        if name not in self.names:
            raise ValueError(f"The member {name} is missing.")
        info = self._archive.getinfo(name)
        encrypted = info.flag_bits & 1
        stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        if encrypted or not stored:
            raise ValueError(f"The member {name} is compressed or encrypted, which is not allowed.")
        try:
            with self._archive.open(info) as stream:
                yield stream, info.file_size
        except (zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"The member {name} is damaged: {error!r}") from error

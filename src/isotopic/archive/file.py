"""Write and read files: a manifest and its arrays."""

import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from typing import IO, Any

from numpy.lib import format as npy

from isotopic.archive.arrays import read_array
from isotopic.archive.nodes import checked, checked_object, distinct
from isotopic.archive.tree import Decoder, Encoder
from isotopic.arrays import Array
from isotopic.atomic import atomic_file

_FORMAT = "isotopic"
_FORMAT_VERSION = 2

_MANIFEST = "manifest.json"
_MANIFEST_KEYS = {"format", "format_version", "kind", "package_version", "tree", "strings"}


def write(
    path: str | os.PathLike[str], kind: str, tree: Any, types: Mapping[str, type] | None = None
) -> None:
    """Save a tree of values; the file appears complete or not at all.

    Parameters
    ----------
    path : str or path-like
        An existing file is replaced once the new one is complete and on the disk.
    kind : str
        What the file holds, such as ``"model"``. :func:`read` checks it.
    tree : object
        ``None``, bool, int, float, str; lists, tuples, dicts with str or int keys; NumPy scalars
        and arrays of numbers or strings; SciPy's CSR, CSC and COO; Generator and RandomState;
        dataclasses (their init fields), NamedTuples, and objects with ``__archive__() -> dict``
        whose class has the classmethod ``__from_archive__(dict)``. An array that occurs twice is
        stored once.
    types : mapping of str to type or None
        The classes that may occur, by name; others are rejected. ``None`` allows all.

    Raises
    ------
    TypeError
        If something in the tree cannot be saved. The message names its place.
    ValueError
        If the tree is nested too deeply, or a str in it is not valid Unicode.
    """
    encoder = Encoder(types)
    manifest = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "kind": kind,
        "package_version": metadata.version("isotopic"),
        "tree": encoder.encode(tree, (kind,)),
        "strings": encoder.strings,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        # A ZipInfo has a fixed date: the same tree gives the same bytes.
        archive.writestr(zipfile.ZipInfo(_MANIFEST), text)
        for name, array in encoder.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)


def check(kind: str, tree: Any, types: Mapping[str, type] | None = None) -> None:
    """Raise as :func:`write` would if something in a tree cannot be saved, without a file."""
    Encoder(types).encode(tree, (kind,))


def read(
    path: str | os.PathLike[str],
    kind: str,
    types: Mapping[str, type],
    upgrade: Callable[[Any, int], Any] | None = None,
) -> Any:
    """Load a tree of values that :func:`write` saved.

    Parameters
    ----------
    path : str or path-like
    kind : str
        What the file must hold, such as ``"model"``.
    types : mapping of str to type
        The classes that may be created, by the names that they have in the file.
    upgrade : callable or None
        Given the JSON tree of an older file and its version, it returns that of this version.

    Returns
    -------
    tree : object

    Raises
    ------
    ValueError
        If the file is damaged, is not an isotopic file, is of another kind, contains a class that
        is not in ``types``, or was written by a newer version of isotopic.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe waits for its writer
        raise ValueError(f"{os.fspath(path)}: This is a device, a pipe or a socket, not a file.")
    with open(path, "rb") as file:
        try:
            return _read(file, kind, types, upgrade)
        except MemoryError:  # sizes have been checked, so memory is really exhausted
            raise
        except Exception as error:  # zipfile, json and NumPy do not document all they raise
            reason = str(error) if isinstance(error, ValueError) else f"damaged file: {error!r}"
            raise ValueError(f"{os.fspath(path)}: {reason}") from error


class _Members:
    """The members of an untrusted archive; together they cannot be larger than the file."""

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


def _read(
    file: IO[bytes],
    kind: str,
    types: Mapping[str, type],
    upgrade: Callable[[Any, int], Any] | None,
) -> Any:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ValueError("This is not a ZIP archive, or it is truncated.") from error
    with archive:
        members = _Members(archive, os.fstat(file.fileno()).st_size)
        manifest = _read_manifest(members, kind)
        strings, node, version = manifest["strings"], manifest["tree"], manifest["format_version"]
        if upgrade is not None and version < _FORMAT_VERSION:
            node = upgrade(node, version)
        decoder = Decoder(types, members.array, strings)
        tree = decoder.decode(node)
        mentioned = {f"{name}.npy" for name in decoder.arrays.keys() - strings.keys()}
        surplus = members.names - mentioned - {_MANIFEST} | strings.keys() - decoder.arrays.keys()
        if surplus:
            raise ValueError(f"The manifest does not refer to {sorted(surplus)}.")
        return tree


def _read_manifest(members: _Members, kind: str) -> dict[str, Any]:
    """Return the manifest, with everything but the tree checked."""
    try:
        manifest = json.loads(members.text(_MANIFEST), object_pairs_hook=distinct)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{_MANIFEST} is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{_MANIFEST} is nested too deeply.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ValueError("This is not an isotopic file.")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"format_version must be a positive integer, not {version!r}.")
    if version > _FORMAT_VERSION:
        raise ValueError(
            f"The file was written by a newer isotopic (file format {version}). Upgrade isotopic "
            "to read it."
        )
    manifest = checked_object(manifest, _MANIFEST_KEYS)
    if manifest["kind"] != kind:
        raise ValueError(f"The file holds a {manifest['kind']!r}, but a {kind!r} was expected.")
    checked(manifest["package_version"], str)
    checked(manifest["strings"], dict)
    return manifest

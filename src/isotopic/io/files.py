"""Files: streams of those that may be compressed, names in lines, and libraries to read them."""

import bz2
import codecs
import gzip
import io
import lzma
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from isotopic.arrays import Array
from isotopic.io.limits import LimitedReader

# The errors of damaged or cut compressed files.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def extra(module: str, name: str) -> Any:
    """Import a library; the error says which extra installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this format needs {module.partition('.')[0]}: pip install 'isotopic[{name}]'"
        ) from error


def _zstd(path: Path) -> IO[bytes]:
    arrow = extra("pyarrow", "parquet")
    return io.BufferedReader(arrow.input_stream(str(path), compression="zstd"))


# Compressions by their first bytes, and the suffixes of their files.
_COMPRESSIONS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _zstd,
}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

# Bytes that are read to recognise a file, and that are unpacked at once.
HEAD_BYTES = 2**16
_BUFFER = 2**17


def is_plain_file(path: Path) -> bool:
    """Return whether a file is not compressed."""
    with path.open("rb") as file:
        return not file.read(6).startswith(tuple(_COMPRESSIONS))


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, decompressing it if its first bytes say so."""
    with path.open("rb") as file:
        start = file.read(6)
    for magic, opened in _COMPRESSIONS.items():
        if start.startswith(magic):
            limited = LimitedReader(opened(path), path.stat().st_size)
            return io.BufferedReader(limited, _BUFFER)
    return path.open("rb")


def check_encoding(encoding: str) -> None:
    """Raise if a name of an encoding, or one of several between commas, is unknown."""
    try:
        for name in encodings_of(encoding):
            io.TextIOWrapper(io.BytesIO(), encoding=name)
            codecs.lookup(name)  # None is that of the machine
    except (LookupError, ValueError, TypeError, AttributeError):
        raise ValueError(
            f"encoding={encoding!r} (--encoding) is not the name of a text encoding such as utf-8, "
            "latin-1 or cp1252"
        ) from None


def encodings_of(encoding: str) -> list[str]:
    """Return the encodings of a text such as ``"utf-8,cp1252"``, in the order to try them."""
    return [name.strip() for name in encoding.split(",")]


def fitting_encoding(path: Path, encoding: str) -> str | None:
    """Return the first of several encodings that can decode a whole file, ``None`` if none can."""
    for name in encodings_of(encoding):
        try:
            with _decoded(path, name) as stream:
                while stream.read(_BUFFER):
                    pass
        except UnicodeError:
            continue
        return name
    return None


def read_text(path: Path, encoding: str) -> tuple[str, str] | None:
    """Return the text of a file and its encoding, the first of several that fits, or ``None``."""
    with open_bytes(path) as binary:
        content = binary.read()
    for name in encodings_of(encoding):
        try:
            return content.decode(_without_mark(name)), name
        except UnicodeError:
            continue
    return None


def encoding_to_suggest(*paths: Path) -> str:
    """Return an encoding that can decode files which are not UTF-8."""
    is_utf16 = all(head_of(path).startswith(_UTF16_MARKS) for path in paths)
    known = ("utf-16",) if is_utf16 else ("cp1252", "latin-1")
    return next((n for n in known if all(fitting_encoding(p, n) for p in paths)), known[-1])


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """Open a text file with universal newlines; skip a byte order mark.

    Of several encodings between commas, the first that can decode the whole file is used.
    """
    check_encoding(encoding)
    names = encodings_of(encoding)
    if len(names) > 1:
        encoding = fitting_encoding(path, encoding) or names[0]
    with _decoded(path, encoding) as stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            other = encoding_to_suggest(path)
            raise ValueError(
                f"line {_undecodable_line(path, encoding)} is not {error.encoding} (byte "
                f"0x{error.object[error.start]:02x}: {error.reason}); name the encoding, such as "
                f"encoding={other!r} (--encoding {other})"
            ) from None


@contextmanager
def _decoded(path: Path, encoding: str) -> Iterator[IO[str]]:
    with (
        open_bytes(path) as binary,
        io.TextIOWrapper(binary, encoding=_without_mark(encoding), newline="") as stream,
    ):
        yield stream


def _without_mark(encoding: str) -> str:
    """Return the name of the encoding that skips a byte order mark."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _undecodable_line(path: Path, encoding: str) -> int:
    """Return the number of the first line that the encoding cannot decode."""
    number = 0
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                return number
    return number  # cut off in the middle of a character


@contextmanager
def open_seekable(path: Path) -> Iterator[IO[bytes]]:
    """Open a seekable stream of a file; a compressed one is unpacked into a temporary file."""
    with open_bytes(path) as stream:
        if isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO):
            yield stream
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(stream, unpacked)
            unpacked.seek(0)
            yield unpacked


def head_of(path: Path) -> bytes:
    """Return the first bytes of the (decompressed) file."""
    with open_bytes(path) as stream:
        return stream.read(HEAD_BYTES)


def bare(path: Path) -> Path:
    """Return the path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path


def beside(path: Path, *names: str) -> Path | None:
    """Find the first of these files, compressed or not, in the folder of another."""
    for name in names:
        for suffix in ("", *_SUFFIXES):
            found = path.parent / f"{name}{suffix}"
            if found.is_file() and found != path:
                return found
    return None


def as_names(names: Iterable[str]) -> Array:
    """Return names as an array of str objects, in which one long name does not widen the others.

    Lone surrogates, which file names and JSON can contain, are not valid text and are escaped.
    """
    listed = [str(name).encode("utf-8", "backslashreplace").decode() for name in names]
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def read_names(path: Path, encoding: str, start: int = 0, stop: int | None = None) -> Array:
    """Return the names in the lines ``start:stop``, up to the first tab."""
    with open_text(path, encoding) as stream:
        lines = islice(stream, start, stop)
        return as_names(line.rstrip("\r\n").partition("\t")[0] for line in lines)

"""NumPy's ``.npy`` format: headers and arrays, read without Python's parser.

NumPy reads a header as Python code. In CPython 3.11 two threads that parse at the same time can end
in a ``SystemError`` (python/cpython issue 106905), and a hostile header can exhaust the parser.
"""

import math
import os
import re
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as numpy_format

from isotopic.arrays import Array

#: NumPy refuses longer headers, and so do we.
LONGEST_HEADER = 10_000

# The length of a header takes two bytes in the first version and four in later ones, whose text may
# be UTF-8.
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}

_KEYS = {"descr", "fortran_order", "shape"}
_DEEPEST = 20
_ESCAPE = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_TOKEN = re.compile(
    rf"""\s*(?:'(?:[^'\\]|{_ESCAPE})*'|"(?:[^"\\]|{_ESCAPE})*"|-?[0-9]{{1,30}}L?"""
    r"""|True|False|[{}\[\](),:])"""
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}

# Bytes that are copied from a file into an array at a time.
_CHUNK = 2**20


class Header(NamedTuple):
    """What a file says of its array."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: Any) -> Header:
    """Read the header at the current position of a stream; raise ValueError if it is none."""
    version = numpy_format.read_magic(stream)
    if version not in _LENGTH_BYTES:
        raise ValueError(f"version {version} of the .npy format is not known")
    size = int.from_bytes(_read_exactly(stream, _LENGTH_BYTES[version]), "little")
    if size > LONGEST_HEADER:
        raise ValueError(f"the header of the array has {size:,} bytes; at most {LONGEST_HEADER:,}")
    text = _read_exactly(stream, size).decode("utf-8" if version == (3, 0) else "latin-1")
    tokens = _tokens(text)
    found = _value(tokens, next(tokens), 0)
    if next(tokens) != "" or not isinstance(found, dict) or found.keys() != _KEYS:
        raise ValueError(f"the header of the array is damaged: {text.strip()!r:.100}")
    shape, is_fortran = found["shape"], found["fortran_order"]
    if not (isinstance(shape, tuple) and all(type(n) is int for n in shape)):
        raise ValueError(f"the shape of the array is {shape!r:.60}, not a tuple of whole numbers")
    if min(shape, default=0) < 0:
        raise ValueError(f"the shape of the array, {shape!r:.60}, has a negative length")
    if not isinstance(is_fortran, bool):
        raise ValueError(f"fortran_order of the array is {is_fortran!r:.60}")
    try:
        dtype = numpy_format.descr_to_dtype(found["descr"])
    except (TypeError, ValueError, SyntaxError, IndexError, KeyError, OverflowError) as error:
        raise ValueError(f"the type of the array is {found['descr']!r:.60}") from error
    return Header(shape, is_fortran, dtype)


def read_array(stream: IO[bytes]) -> Array:
    """Read an array of numbers or strings; raise ValueError if it is cut off."""
    return read_values(stream, read_header(stream))


def read_values(stream: IO[bytes], header: Header) -> Array:
    """Read the values that follow a header."""
    if header.dtype.hasobject:
        raise ValueError("the array holds Python objects, which are never read")
    array = np.empty(header.shape, header.dtype, order="F" if header.is_fortran else "C")
    if header.nbytes == 0:
        return array
    memory = array.ravel(order="K").view(np.uint8).data
    for begin in range(0, len(memory), _CHUNK):
        part = memory[begin : begin + _CHUNK]
        part[:] = _read_exactly(stream, len(part))
    return array


def load(path: str | os.PathLike[str]) -> Array:
    """Read the array of a file; raise ValueError if the file is shorter than it says."""
    with open(path, "rb") as file:
        header = read_header(file)
        held = os.fstat(file.fileno()).st_size - file.tell()
        if header.nbytes > held:
            raise ValueError(f"{path} promises {header.nbytes:,} bytes; {held:,} follow")
        return read_values(file, header)


def _read_exactly(stream: Any, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = stream.read(size - len(found))
        if not more:
            raise ValueError(f"the array is cut off: {size - len(found):,} bytes are missing")
        found += more
    return found


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a header, and empty ones after its end."""
    place, end = 0, len(text.rstrip())
    while place < end:
        token = _TOKEN.match(text, place)
        if token is None:
            raise ValueError(f"the header of the array is damaged: {text.strip()!r:.100}")
        place = token.end()
        yield token[0].strip()
    while True:
        yield ""


def _value(tokens: Iterator[str], token: str, depth: int) -> Any:
    """Return the value that begins with a token: text, a number, or a collection of values."""
    if depth > _DEEPEST:
        raise ValueError("the header of the array is nested too deeply")
    if token in _CLOSING:
        return _collection(tokens, token, depth)
    if token in ("True", "False"):
        return token == "True"
    if token[:1] in ("'", '"'):
        text = token[1:-1]
        return _unescaped(text) if "\\" in text else text
    if token[:1].isdecimal() or token[:1] == "-":
        return int(token.rstrip("L"))
    raise ValueError(f"the header of the array has {token!r:.20} where a value was expected")


def _collection(tokens: Iterator[str], opening: str, depth: int) -> Any:
    closing, items, has_comma = _CLOSING[opening], [], False
    token = next(tokens)
    while token != closing:
        item = _value(tokens, token, depth + 1)
        token = next(tokens)
        if opening == "{":
            if token != ":":
                raise ValueError("the header of the array is damaged: a ':' is missing")
            item = (item, _value(tokens, next(tokens), depth + 1))
            token = next(tokens)
        items.append(item)
        if token == ",":
            has_comma, token = True, next(tokens)
        elif token != closing:
            raise ValueError(f"the header of the array is damaged: a {closing!r} is missing")
    if opening == "{":
        if not all(isinstance(key, str) for key, _ in items):
            raise ValueError("the header of the array has keys that are not text")
        return dict(items)
    if opening == "[":
        return items
    return tuple(items) if has_comma or not items else items[0]


def _unescaped(text: str) -> str:
    """Return text with the escapes of Python's ``repr`` replaced."""
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError as error:
        raise ValueError(f"the header of the array is damaged: {text!r:.60}") from error

"""Arrays: numbers as ``.npy`` members, str objects as JSON."""

import io
import math
import zipfile
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isotopic.archive.checks import checked, checked_object, checked_shape
from isotopic.archive.place import Place, show
from isotopic.archive.scalars import decode_text, encode_text

# NumPy rejects longer headers of .npy files, since parsing them is not safe.
_LONGEST_HEADER = 10_000

# Bytes that are copied from a file into an array at a time.
_CHUNK = 2**20

Array: TypeAlias = NDArray[Any]


def encode_strings(array: Array, place: Place) -> dict[str, Any]:
    """Return the JSON of an array of str objects."""
    order: Any = "F" if array.flags.fnc else "C"
    items = array.ravel(order).tolist()
    for item in items:
        if type(item) is not str:
            raise TypeError(
                f"{show(place)}: cannot save an object array unless all its entries are str."
            )
        encode_text(item, place)
    return {"shape": list(array.shape), "order": order, "items": items}


def decode_strings(content: Any) -> Array:
    """Return the array that ``encode_strings`` encoded."""
    content = checked_object(content, {"shape", "order", "items"})
    items = [decode_text(item) for item in checked(content["items"], list)]
    shape = checked_shape(content["shape"])
    if content["order"] not in ("C", "F") or math.prod(shape) != len(items):
        raise ValueError(f"The manifest has {len(items)} strings for an array of shape {shape}.")
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape, order=content["order"])


def check_storable(array: Array, place: Place) -> None:
    """Raise unless a .npy file can represent the array exactly."""
    dtype = array.dtype
    if not _is_storable(dtype):
        raise TypeError(f"{show(place)}: cannot save an array of dtype {dtype}.")
    if dtype.names is None:
        return
    header = io.BytesIO()
    try:
        same = npy.descr_to_dtype(npy.dtype_to_descr(dtype)) == dtype
        npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    except ValueError:  # overlapping fields, names beyond Latin-1, more fields than a header holds
        same = False
    if not same or header.tell() > _LONGEST_HEADER:
        raise TypeError(
            f"{show(place)}: cannot save dtype {dtype}, which the .npy format does not support."
        )


def _is_storable(dtype: np.dtype[Any]) -> bool:
    """Return whether it consists of numbers and strings of a fixed size (not long doubles)."""
    if dtype.subdtype is not None:
        return dtype.itemsize > 0 and _is_storable(dtype.base)
    if dtype.names is not None:
        return dtype.itemsize > 0 and all(_is_storable(dtype[name]) for name in dtype.names)
    return dtype.kind in "biufUS" and dtype.char != "g" and dtype.itemsize > 0


def read_array(stream: IO[bytes], size: int, name: str) -> Array:
    """Return the array of a .npy stream of this size; error messages contain the name."""
    shape, fortran, dtype = _read_header(stream, name)
    if not _is_storable(dtype):
        raise ValueError(f"The member {name} has the dtype {dtype}, which is not allowed.")
    if math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError(f"The size of the member {name} does not match its header.")
    array = np.empty(shape, dtype, order="F" if fortran else "C")
    memory = array.ravel(order="K").view(np.uint8).data
    for begin in range(0, len(memory), _CHUNK):
        part = memory[begin : begin + _CHUNK]
        part[:] = stream.read(len(part))  # raises ValueError if the lengths differ
    return array


def _read_header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype of a .npy stream of version 1.0."""
    try:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError("its version is not 1.0.")
        header = npy.read_array_header_1_0(stream, max_header_size=_LONGEST_HEADER)
    except (zipfile.BadZipFile, EOFError):  # a damaged member, reported as such
        raise
    except Exception as error:  # NumPy parses Python literals: also MemoryError, RecursionError
        raise ValueError(f"The member {name} is not an array: {error}") from error
    if any(length < 0 for length in header[0]):
        raise ValueError(f"The member {name} has a negative length.")
    return header

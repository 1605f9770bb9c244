"""Arrays: numbers as ``.npy`` members, str objects as JSON, sparse ones as their parts."""

import io
import math
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as numpy_format
from scipy import sparse

from isotopic import npy
from isotopic.archive.nodes import Decode, Encode, Place, checked, checked_object, show
from isotopic.archive.scalars import decode_text, encode_text
from isotopic.arrays import Array

# The arrays of each sparse layout, and the classes of SciPy.
PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
SPARSE: dict[str, type] = {
    f"{layout}_{flavour}": getattr(sparse, f"{layout}_{flavour}")
    for layout in PARTS
    for flavour in ("array", "matrix")
}


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
    shape = _checked_shape(content["shape"])
    if content["order"] not in ("C", "F") or math.prod(shape) != len(items):
        raise ValueError(f"The manifest has {len(items)} strings for an array of shape {shape}.")
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape, order=content["order"])


def _checked_shape(value: Any) -> tuple[int, ...]:
    """Return the value as a shape; raise unless it is a list of non-negative integers."""
    shape = tuple(checked(length, int) for length in checked(value, list))
    if any(length < 0 for length in shape):
        raise ValueError(f"The shape {shape} has a negative length.")
    return shape


def check_storable(array: Array, place: Place) -> None:
    """Raise unless a .npy file can represent the array exactly."""
    dtype = array.dtype
    if not _is_storable(dtype):
        raise TypeError(f"{show(place)}: cannot save an array of dtype {dtype}.")
    if dtype.names is None:
        return
    header = io.BytesIO()
    try:
        described = numpy_format.dtype_to_descr(dtype)
        same = numpy_format.descr_to_dtype(described) == dtype
        written = numpy_format.header_data_from_array_1_0(array)
        numpy_format.write_array_header_1_0(header, written)
    except ValueError:  # overlapping fields, names beyond Latin-1, more fields than a header holds
        same = False
    if not same or header.tell() > npy.LONGEST_HEADER:
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
    try:
        header = npy.read_header(stream)
    except (zipfile.BadZipFile, EOFError):  # a damaged member, reported as such
        raise
    except ValueError as error:
        raise ValueError(f"The member {name} is not an array: {error}") from error
    if not _is_storable(header.dtype):
        raise ValueError(f"The member {name} has the dtype {header.dtype}, which is not allowed.")
    if header.nbytes != size - stream.tell():
        raise ValueError(f"The size of the member {name} does not match its header.")
    return npy.read_values(stream, header)


def encode_sparse(matrix: Any, place: Place, encode: Encode) -> Any:
    """Return the class, the shape and the encoded arrays of a sparse matrix."""
    if matrix.ndim != 2:
        raise TypeError(
            f"{show(place)}: cannot save a sparse array of {matrix.ndim} dimensions, only of 2."
        )
    parts = {name: getattr(matrix, name) for name in PARTS[matrix.format]}
    head = {"class": type(matrix).__name__, "shape": list(map(int, matrix.shape))}
    return head | encode(parts, place)["dict"]


def decode_sparse(content: Any, depth: int, decode: Decode) -> Any:
    """Return a validated sparse array; invalid indices would read memory outside of the arrays."""
    name = checked(checked(content, dict).get("class"), str)
    if name not in SPARSE:
        raise ValueError(f"The sparse class {name!r} is not supported.")
    names = PARTS[name[:3]]
    content = checked_object(content, {"class", "shape", *names})
    parts = [decode(content[part], depth + 1) for part in names]
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ValueError(f"The arrays of a {name} must have one dimension.")
    shape = _checked_shape(content["shape"])
    if len(shape) != 2:
        raise ValueError(f"A sparse array must have two dimensions, but its shape is {shape}.")
    # The file may come from a machine with another byte order.
    parts = [part.astype(part.dtype.newbyteorder("="), copy=False) for part in parts]
    data, first, second = parts
    layout, cls = name[:3], SPARSE[name]
    if data.dtype.kind not in "biuf":
        raise ValueError(
            f"The data of a sparse array must be numbers, but its dtype is {data.dtype}."
        )
    if not {first.dtype, second.dtype} <= {np.dtype(np.int32), np.dtype(np.int64)}:
        raise ValueError("The indices of a sparse array must be int32 or int64.")
    if layout == "coo":
        made = cls((data, (first, second)), shape=shape)  # checks every index
    else:
        made = cls((data, first, second), shape=shape)
        made.check_format(full_check=True)
    # SciPy may choose smaller index types; restore those of the original.
    for part, array in zip(PARTS[layout], parts, strict=True):
        setattr(made, part, array)
    return made

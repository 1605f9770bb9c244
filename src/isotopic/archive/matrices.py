"""SciPy's sparse arrays and matrices."""

from typing import Any

import numpy as np
from scipy import sparse

from isotopic.archive.arrays import Array
from isotopic.archive.checks import checked, checked_object, checked_shape
from isotopic.archive.containers import encode_fields
from isotopic.archive.place import Decode, Encode, Place, show

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


def encode_sparse(matrix: Any, place: Place, encode: Encode) -> dict[str, Any]:
    """Return the class, the shape and the encoded arrays of a sparse matrix."""
    if matrix.ndim != 2:
        raise TypeError(
            f"{show(place)}: cannot save a sparse array of {matrix.ndim} dimensions, only of 2."
        )
    parts = {name: getattr(matrix, name) for name in PARTS[matrix.format]}
    head = {"class": type(matrix).__name__, "shape": list(map(int, matrix.shape))}
    return head | encode_fields(parts, place, encode)


def decode_sparse(content: Any, depth: int, decode: Decode) -> Any:
    """Return the matrix that ``encode_sparse`` encoded."""
    name = checked(checked(content, dict).get("class"), str)
    if name not in SPARSE:
        raise ValueError(f"The sparse class {name!r} is not supported.")
    names = PARTS[name[:3]]
    content = checked_object(content, {"class", "shape", *names})
    parts = [decode(content[part], depth + 1) for part in names]
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ValueError(f"The arrays of a {name} must have one dimension.")
    return _assemble(name, checked_shape(content["shape"]), parts)


def _assemble(name: str, shape: tuple[int, ...], parts: list[Array]) -> Any:
    """Return a validated sparse array; invalid indices would read memory outside of the arrays."""
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

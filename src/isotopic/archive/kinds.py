"""The table of kinds of values: the JSON tag of each, its encoder and its decoder."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from isotopic.archive import containers, generators, matrices, scalars
from isotopic.archive.arrays import Array
from isotopic.archive.checks import checked
from isotopic.archive.place import Decode, Encode, Place


class Kind(NamedTuple):
    """The encoder and the decoder of a kind of values."""

    encode: Callable[[Any, Place, Encode], Any]
    decode: Callable[[Any, int, Decode], Any]


def _encode_record(value: np.void, place: Place, encode: Encode) -> Any:
    return encode(np.asarray(value), place)["array"]


def _decode_record(content: Any, depth: int, decode: Decode) -> Any:
    array: Array = decode({"array": content}, depth)
    if array.dtype.names is None or array.ndim != 0:
        raise ValueError(f"The array {content} is not a single structured value.")
    return array[()]


# Arrays are not in this table: they are stored outside of the tree.
KINDS = {
    "int": Kind(lambda value, *_: hex(value), lambda content, *_: scalars.decode_int(content)),
    "float": Kind(
        lambda value, *_: scalars.encode_float(np.float64(value)),
        lambda content, *_: scalars.decode_float(content, np.float64).item(),
    ),
    "scalar": Kind(
        lambda value, place, _: scalars.encode_scalar(value, place),
        lambda content, *_: scalars.decode_scalar(content),
    ),
    "record": Kind(_encode_record, _decode_record),
    "tuple": Kind(
        lambda values, place, encode: encode(list(values), place),
        lambda content, depth, decode: tuple(decode(checked(content, list), depth)),
    ),
    "dict": Kind(containers.encode_fields, containers.decode_fields),
    "pairs": Kind(containers.encode_pairs, containers.decode_pairs),
    "sparse": Kind(matrices.encode_sparse, matrices.decode_sparse),
    "generator": Kind(generators.encode_generator, generators.decode_generator),
    "random_state": Kind(generators.encode_random_state, generators.decode_random_state),
}

_TAGS: dict[type, str] = {
    int: "int",
    float: "float",
    tuple: "tuple",
    np.random.Generator: "generator",
    np.random.RandomState: "random_state",
} | dict.fromkeys(matrices.SPARSE.values(), "sparse")


def tag_of(value: Any) -> str | None:
    """Return the tag of a value, or None if it is of none of these kinds."""
    if type(value) is dict:
        return "dict" if all(type(key) is str for key in value) else "pairs"
    if isinstance(value, np.generic):
        return "record" if type(value) is np.void else "scalar"  # a void is a row with fields
    return _TAGS.get(type(value))

"""Encode a tree of values as JSON and arrays, and decode it."""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from isotopic.archive import arrays, generators, scalars
from isotopic.archive.hints import check_fields
from isotopic.archive.nodes import (
    DEEPEST,
    Decode,
    Encode,
    Place,
    checked,
    checked_object,
    distinct,
    show,
    step,
)
from isotopic.archive.scalars import decode_text, encode_text
from isotopic.arrays import Array


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


def _encode_fields(fields: Mapping[str, Any], place: Place, encode: Encode) -> dict[str, Any]:
    """Return the JSON object of named values."""
    encoded = {}
    for name, value in fields.items():
        encoded[encode_text(name, place)] = encode(value, (*place, step(name)))
    return encoded


def _decode_fields(content: Any, depth: int, decode: Decode) -> dict[str, Any]:
    """Return the values that ``_encode_fields`` encoded."""
    return {
        decode_text(name): decode(node, depth + 1) for name, node in checked(content, dict).items()
    }


def _encode_pairs(values: dict[Any, Any], place: Place, encode: Encode) -> list[Any]:
    """Return the list of keys and values of a dict with keys that are not str."""
    for key in values:
        if type(key) not in (str, int):
            raise TypeError(
                f"{show(place)}: cannot save the key {key!r}, which is neither a str nor an int."
            )
    return [
        [encode(key, place), encode(value, (*place, step(key)))] for key, value in values.items()
    ]


def _decode_pairs(content: Any, depth: int, decode: Decode) -> dict[str | int, Any]:
    """Return the dict that ``_encode_pairs`` encoded."""
    pairs = []
    for pair in checked(content, list):
        if len(checked(pair, list)) != 2:
            raise ValueError(
                f"The manifest has {len(pair)} values where a key and a value were expected."
            )
        pairs.append((decode(pair[0], depth), decode(pair[1], depth + 1)))
    if not all(type(key) in (str, int) for key, _ in pairs):
        raise ValueError("The keys of a dict must be strings or integers.")
    return distinct(pairs)


# Arrays are not in this table: they are stored outside of the tree.
_KINDS = {
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
    "dict": Kind(_encode_fields, _decode_fields),
    "pairs": Kind(_encode_pairs, _decode_pairs),
    "sparse": Kind(arrays.encode_sparse, arrays.decode_sparse),
    "generator": Kind(generators.encode_generator, generators.decode_generator),
    "random_state": Kind(generators.encode_random_state, generators.decode_random_state),
}

_TAGS: dict[type, str] = {
    int: "int",
    float: "float",
    tuple: "tuple",
    np.random.Generator: "generator",
    np.random.RandomState: "random_state",
} | dict.fromkeys(arrays.SPARSE.values(), "sparse")


def _tag_of(value: Any) -> str | None:
    """Return the tag of a value, or None if it is of none of these kinds."""
    if type(value) is dict:
        return "dict" if all(type(key) is str for key in value) else "pairs"
    if isinstance(value, np.generic):
        return "record" if type(value) is np.void else "scalar"  # a void is a row with fields
    return _TAGS.get(type(value))


class Encoder:
    """Encode a tree of values as JSON; collect its arrays, and those of str as JSON, by name.

    ``types`` are the classes that may occur, by name; ``None`` allows all.
    """

    def __init__(self, types: Mapping[str, type] | None = None) -> None:
        self.types = types
        self.arrays: dict[str, Array] = {}
        self.strings: dict[str, Any] = {}
        # The array is kept with its name: as long as it exists, its id is unique.
        self._seen: dict[int, tuple[str, Array]] = {}

    def encode(self, value: Any, place: Place) -> Any:
        """Return the JSON of a value."""
        if len(place) > DEEPEST:
            raise ValueError(
                f"{show(place[:8])}... is nested deeper than {DEEPEST} levels or contains itself."
            )
        if scalars.is_json(value):
            return value
        if type(value) is str:
            return encode_text(value, place)
        if type(value) is list:
            return [self.encode(item, (*place, f"[{i}]")) for i, item in enumerate(value)]
        return self._tagged(value, place)

    def _tagged(self, value: Any, place: Place) -> dict[str, Any]:
        if type(value) in (np.ndarray, np.memmap):  # worker processes receive memory maps
            return {"array": self._name(value, place)}
        tag = _tag_of(value)
        if tag is not None:
            return {tag: _KINDS[tag].encode(value, place, self.encode)}
        fields = _fields(value)
        name = type(value).__name__
        known = self.types is None or self.types.get(name) is type(value)
        if fields is None:
            raise TypeError(f"{show(place)}: cannot save a {name}.")
        if not known:
            raise TypeError(
                f"{show(place)}: cannot save a {name}, because the class is not registered. Call "
                f"isotopic.register({name}) first."
            )
        return {"type": name, "fields": _encode_fields(fields, place, self.encode)}

    def _name(self, array: Array, place: Place) -> str:
        """Collect the array, once, and return its name."""
        if id(array) not in self._seen:
            # A name after the place of the array, valid in every file system.
            name = re.sub(r"[^\w.\[\]-]", "_", show(place), flags=re.ASCII)[:100]
            if name in self.arrays or name in self.strings:
                name = f"{name}~{len(self._seen)}"
            if array.dtype.kind == "O":
                self.strings[name] = arrays.encode_strings(array, place)
            else:
                arrays.check_storable(array, place)
                self.arrays[name] = array
            self._seen[id(array)] = name, array
        return self._seen[id(array)][0]


def _fields(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of an object, or None if it has no known ones."""
    if isinstance(value, type):
        return None
    if hasattr(value, "__archive__"):
        fields: Mapping[str, Any] = value.__archive__()
        return fields
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


class Decoder:
    """Decode a tree of values from JSON, and collect the arrays that it refers to.

    ``read_array`` returns an array of numbers by its name; ``strings`` are those of str, in JSON.
    """

    def __init__(
        self,
        types: Mapping[str, type],
        read_array: Callable[[str], Array],
        strings: Mapping[str, Any],
    ) -> None:
        self.arrays: dict[str, Array] = {}
        self._types, self._read_array, self._strings = types, read_array, strings

    def decode(self, node: Any, depth: int = 1) -> Any:
        """Return the value of a JSON node."""
        if depth > DEEPEST:
            raise ValueError(f"The tree is nested deeper than {DEEPEST} levels.")
        if isinstance(node, str):
            return decode_text(node)
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if isinstance(node, dict):
            return self._tagged(node, depth)
        if isinstance(node, float) and not math.isfinite(node):
            raise ValueError(f"{node} is not a valid JSON number.")
        return node

    def _tagged(self, node: dict[str, Any], depth: int) -> Any:
        if "type" in node:
            return self._registered(checked_object(node, {"type", "fields"}), depth)
        tag = next(iter(node)) if len(node) == 1 else None
        if tag == "array":
            return self._array(checked(node[tag], str))
        if tag not in _KINDS:
            raise ValueError(f"The manifest has an object with the unknown keys {sorted(node)}.")
        return _KINDS[tag].decode(node[tag], depth, self.decode)

    def _registered(self, node: dict[str, Any], depth: int) -> Any:
        name = checked(node["type"], str)
        if name not in self._types:
            raise ValueError(
                f"The class {name!r} is not registered. If it is your own, call isotopic.register "
                "with it before you read the file."
            )
        fields = _decode_fields(node["fields"], depth, self.decode)
        cls: Any = self._types[name]
        try:
            check_fields(cls, fields)
            if hasattr(cls, "__from_archive__"):
                return cls.__from_archive__(fields)
            return cls(**fields)
        except Exception as error:  # the class may raise anything for invalid values
            raise ValueError(f"{name} does not accept its fields: {error}") from error

    def _array(self, name: str) -> Array:
        if name not in self.arrays:
            if name in self._strings:
                self.arrays[name] = arrays.decode_strings(self._strings[name])
            else:
                self.arrays[name] = self._read_array(name)
        return self.arrays[name]

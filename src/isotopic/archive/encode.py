"""Encode a tree of values as JSON and arrays."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from isotopic.archive.arrays import Array, check_storable, encode_strings
from isotopic.archive.containers import encode_fields
from isotopic.archive.kinds import KINDS, tag_of
from isotopic.archive.place import DEEPEST, Place, show
from isotopic.archive.scalars import encode_text, is_json


class Encoder:
    """Encodes a tree of values as JSON and collects its arrays.

    Parameters
    ----------
    types : mapping of str to type or None
        The classes that may occur, by name; ``None`` allows all.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays that become members, by name.
    strings : dict of str to dict
        Arrays of str objects, by name, as JSON.
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
        if is_json(value):
            return value
        if type(value) is str:
            return encode_text(value, place)
        if type(value) is list:
            return [self.encode(item, (*place, f"[{i}]")) for i, item in enumerate(value)]
        return self._tagged(value, place)

    def _tagged(self, value: Any, place: Place) -> dict[str, Any]:
        if type(value) in (np.ndarray, np.memmap):  # worker processes receive memory maps
            return {"array": self._name(value, place)}
        tag = tag_of(value)
        if tag is not None:
            return {tag: KINDS[tag].encode(value, place, self.encode)}
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
        return {"type": name, "fields": encode_fields(fields, place, self.encode)}

    def _name(self, array: Array, place: Place) -> str:
        """Collect the array, once, and return its name."""
        if id(array) not in self._seen:
            # A name after the place of the array, valid in every file system.
            name = re.sub(r"[^\w.\[\]-]", "_", show(place), flags=re.ASCII)[:100]
            if name in self.arrays or name in self.strings:
                name = f"{name}~{len(self._seen)}"
            if array.dtype.kind == "O":
                self.strings[name] = encode_strings(array, place)
            else:
                check_storable(array, place)
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

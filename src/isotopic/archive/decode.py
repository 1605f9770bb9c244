"""Decode JSON and arrays to a tree of values."""

import math
from collections.abc import Mapping
from typing import Any

from isotopic.archive.arrays import Array, decode_strings
from isotopic.archive.checks import checked, checked_object
from isotopic.archive.containers import decode_fields
from isotopic.archive.kinds import KINDS
from isotopic.archive.members import Members
from isotopic.archive.place import DEEPEST
from isotopic.archive.scalars import decode_text


class Decoder:
    """Decodes a tree of values from JSON.

    Parameters
    ----------
    types : mapping of str to type
    members : Members
    strings : mapping of str to dict
        Arrays of str objects, in JSON.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays that the tree refers to.
    """

    def __init__(
        self, types: Mapping[str, type], members: Members, strings: Mapping[str, Any]
    ) -> None:
        self.arrays: dict[str, Array] = {}
        self._types, self._members, self._strings = types, members, strings

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
        if tag not in KINDS:
            raise ValueError(f"The manifest has an object with the unknown keys {sorted(node)}.")
        return KINDS[tag].decode(node[tag], depth, self.decode)

    def _registered(self, node: dict[str, Any], depth: int) -> Any:
        name = checked(node["type"], str)
        if name not in self._types:
            raise ValueError(
                f"The class {name!r} is not registered. If it is your own, call isotopic.register "
                "with it before you read the file."
            )
        fields = decode_fields(node["fields"], depth, self.decode)
        cls: Any = self._types[name]
        try:
            if hasattr(cls, "__from_archive__"):
                return cls.__from_archive__(fields)
            return cls(**fields)
        except Exception as error:  # the class may raise anything for invalid values
            raise ValueError(f"{name} does not accept its fields: {error}") from error

    def _array(self, name: str) -> Array:
        if name not in self.arrays:
            if name in self._strings:
                self.arrays[name] = decode_strings(self._strings[name])
            else:
                self.arrays[name] = self._members.array(name)
        return self.arrays[name]

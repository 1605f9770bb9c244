"""Dicts and the fields of objects."""

from collections.abc import Mapping
from typing import Any

from isotopic.archive.checks import checked, distinct
from isotopic.archive.place import Decode, Encode, Place, show, step
from isotopic.archive.scalars import decode_text, encode_text


def encode_fields(fields: Mapping[str, Any], place: Place, encode: Encode) -> dict[str, Any]:
    """Return the JSON object of named values."""
    encoded = {}
    for name, value in fields.items():
        encoded[encode_text(name, place)] = encode(value, (*place, step(name)))
    return encoded


def decode_fields(content: Any, depth: int, decode: Decode) -> dict[str, Any]:
    """Return the values that ``encode_fields`` encoded."""
    return {
        decode_text(name): decode(node, depth + 1) for name, node in checked(content, dict).items()
    }


def encode_pairs(values: dict[Any, Any], place: Place, encode: Encode) -> list[Any]:
    """Return the list of keys and values of a dict with keys that are not str."""
    for key in values:
        if type(key) not in (str, int):
            raise TypeError(
                f"{show(place)}: cannot save the key {key!r}, which is neither a str nor an int."
            )
    return [
        [encode(key, place), encode(value, (*place, step(key)))] for key, value in values.items()
    ]


def decode_pairs(content: Any, depth: int, decode: Decode) -> dict[str | int, Any]:
    """Return the dict that ``encode_pairs`` encoded."""
    pairs = [
        (decode(_pair(pair)[0], depth), decode(pair[1], depth + 1))
        for pair in checked(content, list)
    ]
    if not all(type(key) in (str, int) for key, _ in pairs):
        raise ValueError("The keys of a dict must be strings or integers.")
    return distinct(pairs)


def _pair(value: Any) -> list[Any]:
    pair: list[Any] = checked(value, list)
    if len(pair) != 2:
        raise ValueError(
            f"The manifest has {len(pair)} values where a key and a value were expected."
        )
    return pair

"""The place of a value in the tree, for error messages and names of arrays."""

from collections.abc import Callable
from typing import Any, TypeAlias

# One part for each level: ("model", ".callbacks", "[0]").
Place: TypeAlias = tuple[str, ...]

# The maximum depth of the tree. Each level needs a few nested calls; Python allows 1,000.
DEEPEST = 64

# How kinds encode and decode their parts: value and place to JSON; JSON and depth to value.
Encode: TypeAlias = Callable[[Any, Place], Any]
Decode: TypeAlias = Callable[[Any, int], Any]


def show(place: Place) -> str:
    """Return the place as a Python expression."""
    return "".join(place)


def step(key: str | int) -> str:
    """Return the part of the place for a field or a key."""
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"

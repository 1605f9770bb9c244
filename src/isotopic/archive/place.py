"""Where a value stands in the tree: messages and the names of arrays say it."""

from collections.abc import Callable
from typing import Any, TypeAlias

# One part for each level: ("model", ".callbacks", "[0]").
Place: TypeAlias = tuple[str, ...]

# Levels of the tree. A level takes a few calls of Python, which allows about a thousand in all.
DEEPEST = 64

# What kinds with parts are given for them: value and place to JSON, JSON and level to value.
Encode: TypeAlias = Callable[[Any, Place], Any]
Decode: TypeAlias = Callable[[Any, int], Any]


def show(place: Place) -> str:
    """Write the place as Python would."""
    return "".join(place)


def step(key: str | int) -> str:
    """Write the last part of the place of a field or an entry."""
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"

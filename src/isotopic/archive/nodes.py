"""The place of a value in the tree, and checks of JSON from untrusted files."""

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


def checked(value: Any, kind: type) -> Any:
    """Return the value; raise unless it is of this type."""
    if type(value) is not kind:
        raise ValueError(
            f"The manifest has a {type(value).__name__} where a {kind.__name__} was expected."
        )
    return value


def checked_object(value: Any, keys: set[str]) -> dict[str, Any]:
    """Return the value; raise unless it is a dict with exactly these keys."""
    found: dict[str, Any] = checked(value, dict)
    if found.keys() != keys:
        names = sorted(map(str, found))
        raise ValueError(f"The manifest has the keys {names} where {sorted(keys)} were expected.")
    return found


def distinct(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of the pairs; raise if a key occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("A key occurs twice in the same object of the manifest.")
    return made

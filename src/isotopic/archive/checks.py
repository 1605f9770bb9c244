"""Checks of JSON from untrusted files."""

from typing import Any


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


def checked_shape(value: Any) -> tuple[int, ...]:
    """Return the value as a shape; raise unless it is a list of non-negative integers."""
    shape = tuple(checked(length, int) for length in checked(value, list))
    if any(length < 0 for length in shape):
        raise ValueError(f"The shape {shape} has a negative length.")
    return shape


def distinct(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of the pairs; raise if a key occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("A key occurs twice in the same object of the manifest.")
    return made

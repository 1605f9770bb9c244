"""What JSON from a stranger must be."""

from typing import Any


def checked(value: Any, kind: type) -> Any:
    """Give the value, which must be of that kind."""
    if type(value) is not kind:
        raise ValueError(f"the manifest has {type(value).__name__} in the place of {kind.__name__}")
    return value


def checked_object(value: Any, keys: set[str]) -> dict[str, Any]:
    """Give the value, which must be a dict with exactly these keys."""
    found: dict[str, Any] = checked(value, dict)
    if found.keys() != keys:
        names = sorted(map(str, found))
        raise ValueError(f"the manifest has the names {names} in the place of {sorted(keys)}")
    return found


def checked_shape(value: Any) -> tuple[int, ...]:
    """Give the shape of an array that the value lists."""
    shape = tuple(checked(length, int) for length in checked(value, list))
    if any(length < 0 for length in shape):
        raise ValueError(f"the shape {shape} has a negative length")
    return shape


def distinct(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict of pairs, whose keys must be distinct."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name occurs twice in the same object")
    return made

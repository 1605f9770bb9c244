"""Check the fields of an object in a file against the type hints of its class."""

import types
from collections.abc import Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

# What may stand for the types of Python; a bool is no number here.
_SCALARS: dict[Any, tuple[type, ...]] = {
    float: (Real,),
    int: (Integral,),
    bool: (bool, np.bool_),
    str: (str,),
}


def check_fields(cls: type, content: Mapping[str, Any]) -> None:
    """Raise ValueError if a field is not of the type that its class declares.

    A class outside of the package may declare what it likes: it checks its fields itself.
    """
    for name, value in content.items():
        hint = _hints_of(cls).get(name, Any)
        if not _conforms(value, hint):
            raise ValueError(f"{name} must be {_describe(hint)}, not {type(value).__name__}.")


@cache
def _hints_of(cls: type) -> dict[str, Any]:
    return get_type_hints(cls) if cls.__module__.startswith("isotopic.") else {}


def _conforms(value: Any, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_conforms(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_conforms(item, parts[0]) for item in value)
    if origin is tuple and isinstance(value, tuple):
        hints = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return len(value) == len(hints) and all(map(_conforms, value, hints))
    if hint in _SCALARS:
        is_wrong_bool = isinstance(value, (bool, np.bool_)) and hint is not bool
        return isinstance(value, _SCALARS[hint]) and not is_wrong_bool
    return _is_instance(value, hint if origin is None else origin)


def _is_instance(value: Any, cls: Any) -> bool:
    if cls is Any or isinstance(cls, TypeVar):
        return True
    if getattr(cls, "_is_protocol", False):  # a part of ArrayLike
        return isinstance(value, (np.ndarray, np.generic, Real, list, tuple))
    if not isinstance(cls, type) or isinstance(value, cls):
        return True
    # Some classes of row blocks take the place of others, and a tuple that of one with less names.
    names = getattr(cls, "_fields", None)
    has_names = names is not None and set(names) <= set(getattr(value, "_fields", ()))
    return has_names or getattr(type(value), "stands_for", None) is cls


def _describe(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_describe, get_args(hint))))
    cls = get_origin(hint) or hint
    return {np.ndarray: "an array", types.NoneType: "null"}.get(cls, f"a {cls.__name__}")

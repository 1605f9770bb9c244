"""The classes that files may contain.

Reading a file builds objects of registered classes only, so a file cannot run code that nobody
chose. Every class that is saved with a model or a checkpoint registers itself once, next to its
definition.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_TYPES: dict[str, type] = {}


def register(cls: Class) -> Class:
    """Allow a class in saved models and checkpoints; usable as a decorator.

    Files store the name of the class and its fields. Call this before ``save`` and, in a new
    process, before ``load``. Registering a class again after it was redefined replaces it.

    Parameters
    ----------
    cls : type
        A dataclass, a NamedTuple, or a class with ``__archive__`` and ``__from_archive__``.

    Returns
    -------
    cls : type
        The same class.

    Raises
    ------
    TypeError
        If files cannot contain objects of the class.
    ValueError
        If another class is registered under the same name.

    Examples
    --------
    >>> import isotopic
    >>> from dataclasses import dataclass
    >>> @isotopic.register
    ... @dataclass(frozen=True, eq=False)
    ... class Unpenalized(isotopic.Free):
    ...     pass
    """
    if not isinstance(cls, type):
        raise TypeError(f"register expects a class, not {cls!r}.")
    if not (
        dataclasses.is_dataclass(cls)
        or hasattr(cls, "__archive__")
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    ):
        raise TypeError(
            f"Files cannot contain a {cls.__name__}: make it a dataclass, or give it the methods "
            "__archive__ and __from_archive__."
        )
    known = _TYPES.get(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"The name {cls.__name__!r} is already registered for {known.__module__}."
            f"{known.__qualname__}. Give your class another name."
        )
    _TYPES[cls.__name__] = cls
    return cls


def registered_types() -> Mapping[str, type]:
    """Return the registered classes by name: what reading and writing files accepts."""
    return MappingProxyType(_TYPES)

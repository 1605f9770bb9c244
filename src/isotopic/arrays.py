"""Arrays of numbers that users pass, with errors that name the parameter."""

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def as_numbers(name: str, given: Any, *, copy: bool = True) -> Array:
    """Return an array of real numbers in float64; without ``copy`` it may be the given one.

    Raises
    ------
    TypeError, ValueError
        For text, complex numbers, ragged lists and masked arrays; the message names the parameter.
    """
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and its mask would be lost. Pass {name}.filled(...)."
        )
    try:
        array = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} must be an array, but its rows differ in length.") from None
    if array.dtype.kind == "O":
        if any(isinstance(value, (str, bytes)) for value in array.flat):
            raise TypeError(f"{name} must contain numbers, not text.")
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"{name} must contain numbers, not {given!r:.100}.") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must contain numbers, but its dtype is {array.dtype}.")
    with np.errstate(over="ignore"):  # longdouble: callers look for infinity
        return array.astype(np.float64, copy=copy)


def as_unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the unsigned type of the same size and byte order as a type of whole numbers."""
    return np.dtype(dtype.str.replace("i", "u"))


def in_native_order(array: Array) -> Array:
    """Return an array with its bytes in the order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def first_not_finite(array: Array) -> tuple[int, ...] | None:
    """Return the index of the first entry that is negative, NaN or infinite, or ``None``."""
    bad = ~((array >= 0) & (array < np.inf))
    if not bad.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape))


def check_numbers(name: str, array: Any, least: float = 0.0) -> None:
    """Raise ValueError unless an array holds finite numbers of at least ``least``."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of numbers.")
    if array.size == 0 or _look_right(array, least):
        return
    bad = ~((array >= least) & np.isfinite(array))
    where = [int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape)]
    wanted = "finite" if least == -np.inf else f"finite and at least {least:g}"
    if bad.any():
        raise ValueError(f"{name}{where} must be {wanted}, not {array[tuple(where)]}.")


def check_level(level: Any) -> None:
    """Raise unless the level of an interval is a number between 0 and 1."""
    if not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"level must be between 0 and 1 (exclusive), not {level!r:.100}.")


def is_missing(value: Any) -> bool:
    """Return whether a value says that there is none: ``None``, NaN, NaT or the NA of pandas."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - NaN does not equal itself
    except TypeError:  # NA is neither equal to itself nor not
        return True


def _look_right(array: Array, least: float) -> bool:
    """Return whether all numbers are surely right, in one pass: files are checked when read."""
    if least == -np.inf:
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(array.sum()))
    if least == 0 and array.dtype in (np.float64, np.float32) and array.dtype.isnative:
        # The bits of negative, infinite and NaN floats are larger, as whole numbers.
        bits = array.view(np.uint64 if array.itemsize == 8 else np.uint32)
        return bool(bits.max() < np.array(np.inf, array.dtype).view(bits.dtype))
    return bool(array.min() >= least and array.max() < np.inf)

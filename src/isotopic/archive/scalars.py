"""Text, integers, floats and NumPy scalars: values without parts."""

import math
import re
from typing import Any

import numpy as np

from isotopic.archive.nodes import Place, checked, checked_object, show

# Integers in this range, which includes all 64-bit integers, are JSON numbers.
_SMALLEST_NUMBER, _LARGEST_NUMBER = -(2**63), 2**64 - 1

_SCALARS: dict[str, type[np.generic]] = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
} | {"str": np.str_, "bytes": np.bytes_}


def is_json(value: Any) -> bool:
    """Return whether JSON represents this None, bool or number directly."""
    if type(value) is int:
        return _SMALLEST_NUMBER <= value <= _LARGEST_NUMBER
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) is bool


def encode_text(text: Any, place: Place) -> str:
    """Return the text; raise unless it is a str of valid Unicode."""
    if type(text) is not str:
        raise TypeError(f"{show(place)}: the name of a field must be a str, not {text!r}.")
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which Python allows
        raise ValueError(
            f"{show(place)}: cannot save {text!r}, which is not valid Unicode."
        ) from None
    return text


def decode_text(text: Any) -> str:
    """Return the text; raise unless it is a str of valid Unicode."""
    decoded: str = checked(text, str)
    try:
        decoded.encode()
    except UnicodeEncodeError:  # lone surrogates, which JSON allows
        raise ValueError(f"{decoded!r} is not valid Unicode.") from None
    return decoded


def decode_int(content: Any) -> int:
    """Return the integer that ``hex`` encoded."""
    if not re.fullmatch(r"-?0x[0-9a-f]+", checked(content, str)):
        raise ValueError(f"{content!r} is not a hexadecimal integer.")
    return int(content, 16)


def encode_float(value: np.floating[Any]) -> float | str:
    """Return a number, "inf", "-inf", or "nan:" and the bits in hexadecimal."""
    if np.isfinite(value):
        return float(value)
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return "nan:" + np.asarray(value).astype(value.dtype.newbyteorder(">")).tobytes().hex()


def decode_float(content: Any, kind: type[np.generic]) -> np.generic:
    """Return the float that ``encode_float`` encoded."""
    if type(content) in (int, float):
        return _convert_exactly(content, kind)
    if content in ("inf", "-inf"):
        return _convert_exactly(float(content), kind)
    dtype = np.dtype(kind)
    if not re.fullmatch(rf"nan:[0-9a-f]{{{2 * dtype.itemsize}}}", checked(content, str)):
        raise ValueError(f"{content!r} is not a {dtype}.")
    value: np.generic = np.frombuffer(bytes.fromhex(content[4:]), dtype.newbyteorder(">"))[0]
    if not np.isnan(value):
        raise ValueError(f"{content!r} does not encode NaN.")
    return value


def encode_scalar(value: np.generic, place: Place) -> dict[str, Any]:
    """Return the dtype and the value of a NumPy scalar."""
    name = {"U": "str", "S": "bytes"}.get(value.dtype.kind, value.dtype.name)
    if name not in _SCALARS:
        raise TypeError(f"{show(place)}: cannot save a NumPy {type(value).__name__}.")
    content: Any = value.item()
    if isinstance(value, np.floating):
        content = encode_float(value)
    elif isinstance(value, np.str_):
        content = encode_text(content, place)
    elif isinstance(value, np.bytes_):
        content = content.hex()
    return {"dtype": name, "value": content}


def decode_scalar(content: Any) -> np.generic:
    """Return the scalar that ``encode_scalar`` encoded."""
    content = checked_object(content, {"dtype", "value"})
    name, value = checked(content["dtype"], str), content["value"]
    if name not in _SCALARS:
        raise ValueError(f"The dtype {name!r} of a scalar is not supported.")
    kind = _SCALARS[name]
    if issubclass(kind, np.floating):
        return decode_float(value, kind)
    if issubclass(kind, np.str_):
        return np.str_(decode_text(value))
    if issubclass(kind, np.bytes_):
        return np.bytes_(bytes.fromhex(checked(value, str)))
    return _convert_exactly(checked(value, bool if issubclass(kind, np.bool_) else int), kind)


def _convert_exactly(value: float, kind: type[np.generic]) -> np.generic:
    """Return the number as a NumPy scalar; raise if the type cannot represent it exactly."""
    make: Any = kind
    with np.errstate(all="ignore"):
        made: np.generic = make(value)
    if made.item() != value:
        raise ValueError(f"{value!r} is not a {np.dtype(kind)}.")
    return made

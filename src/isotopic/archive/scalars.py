"""Text, integers, floats and NumPy's scalars: what has no parts."""

import math
import re
from typing import Any

import numpy as np

from isotopic.archive.checks import checked, checked_object
from isotopic.archive.place import Place, show

# Integers up to these are JSON numbers; they include every 64-bit one.
_SMALLEST_NUMBER, _LARGEST_NUMBER = -(2**63), 2**64 - 1

_SCALARS: dict[str, type[np.generic]] = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
} | {"str": np.str_, "bytes": np.bytes_}


def is_json(value: Any) -> bool:
    """Whether JSON has this None, bool or number itself."""
    if type(value) is int:
        return _SMALLEST_NUMBER <= value <= _LARGEST_NUMBER
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) is bool


def encode_text(text: Any, place: Place) -> str:
    """Give the text, which must be a str of valid Unicode."""
    if type(text) is not str:
        raise TypeError(f"{show(place)}: the name {text!r} of a field is not a str")
    if not _is_unicode(text):
        raise ValueError(f"{show(place)}: {text!r} is not valid Unicode")
    return text


def decode_text(text: Any) -> str:
    """Give the text, which must be a str of valid Unicode."""
    decoded: str = checked(text, str)
    if not _is_unicode(decoded):
        raise ValueError(f"{decoded!r} is not valid Unicode")
    return decoded


def _is_unicode(text: str) -> bool:
    """Whether there is no half of a surrogate pair in it, which Python allows."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode_int(content: Any) -> int:
    """Undo ``hex``."""
    if not re.fullmatch(r"-?0x[0-9a-f]+", checked(content, str)):
        raise ValueError(f"{content!r} is not an integer in hexadecimal")
    return int(content, 16)


def encode_float(value: np.floating[Any]) -> float | str:
    """Give a number, "inf", "-inf", or "nan:" and the bits in hexadecimal."""
    if np.isfinite(value):
        return float(value)
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return "nan:" + np.asarray(value).astype(value.dtype.newbyteorder(">")).tobytes().hex()


def decode_float(content: Any, kind: type[np.generic]) -> np.generic:
    """Undo ``encode_float``."""
    if type(content) in (int, float):
        return _exactly(content, kind)
    if content in ("inf", "-inf"):
        return _exactly(float(content), kind)
    dtype = np.dtype(kind)
    if not re.fullmatch(rf"nan:[0-9a-f]{{{2 * dtype.itemsize}}}", checked(content, str)):
        raise ValueError(f"{content!r} is not a {dtype}")
    value: np.generic = np.frombuffer(bytes.fromhex(content[4:]), dtype.newbyteorder(">"))[0]
    if not np.isnan(value):
        raise ValueError(f"{content!r} is a number")
    return value


def encode_scalar(value: np.generic, place: Place) -> dict[str, Any]:
    """Give the dtype and the value of a NumPy scalar."""
    name = {"U": "str", "S": "bytes"}.get(value.dtype.kind, value.dtype.name)
    if name not in _SCALARS:
        raise TypeError(f"{show(place)}: a NumPy {type(value).__name__} cannot be saved")
    content: Any = value.item()
    if isinstance(value, np.floating):
        content = encode_float(value)
    elif isinstance(value, np.str_):
        content = encode_text(content, place)
    elif isinstance(value, np.bytes_):
        content = content.hex()
    return {"dtype": name, "value": content}


def decode_scalar(content: Any) -> np.generic:
    """Undo ``encode_scalar``."""
    content = checked_object(content, {"dtype", "value"})
    name, value = checked(content["dtype"], str), content["value"]
    if name not in _SCALARS:
        raise ValueError(f"the dtype {name!r} of a scalar is not known here")
    kind = _SCALARS[name]
    if issubclass(kind, np.floating):
        return decode_float(value, kind)
    if issubclass(kind, np.str_):
        return np.str_(decode_text(value))
    if issubclass(kind, np.bytes_):
        return np.bytes_(bytes.fromhex(checked(value, str)))
    return _exactly(checked(value, bool if issubclass(kind, np.bool_) else int), kind)


def _exactly(value: float, kind: type[np.generic]) -> np.generic:
    """Convert a number to a NumPy type that must be able to hold it."""
    make: Any = kind
    with np.errstate(all="ignore"):
        made: np.generic = make(value)
    if made.item() != value:
        raise ValueError(f"{value!r} is not a {np.dtype(kind)}")
    return made

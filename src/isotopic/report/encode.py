"""The payload as JSON that is safe inside HTML."""

import base64
import json
from typing import Any

import numpy as np

from isotopic.arrays import Array

_WHOLE: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32)

# These characters occur only in JSON strings, where escapes are equivalent; unescaped, they could
# end the script element.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a ``<script>`` element; arrays become base64."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_pack
    )
    return text.translate(_ESCAPES)


def _pack(value: Any) -> Any:
    """Return an array as base64 of the smallest type: unsigned integers if exact, else float32."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"A report cannot contain a {type(value).__name__}.")
    small = _smallest(value)
    data = base64.b64encode(small.astype(small.dtype.newbyteorder("<")).tobytes()).decode()
    return {"packed": small.dtype.name, "data": data}


def _smallest(values: Array) -> Array:
    if values.size == 0:
        return values.astype(np.uint8)
    if values.min() >= 0 and values.max() < 2**32 and np.all(values == np.floor(values)):
        return next(values.astype(kind) for kind in _WHOLE if values.max() <= np.iinfo(kind).max)
    return values.astype(np.float32)


def finite(number: float) -> float | None:
    """Return the number, or ``None`` if it is not finite, which JSON cannot express."""
    return float(number) if np.isfinite(number) else None

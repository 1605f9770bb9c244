"""What the page is told, as text that cannot be anything but data."""

import base64
import json
from typing import Any

import numpy as np

from isotopic.arrays import Array

_WHOLE: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32)

# In JSON these only stand in strings, where an escape says the same; in HTML they could end it all.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def as_json(value: Any) -> str:
    """Write JSON that is safe inside a ``<script>`` element; arrays become base64."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_packed
    )
    return text.translate(_ESCAPES)


def _packed(value: Any) -> Any:
    """Pack an array into the smallest type that holds it: whole numbers as they are, or float32."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} cannot be written into a report")
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
    """Give a number that JSON can say; ``None`` for the others."""
    return float(number) if np.isfinite(number) else None

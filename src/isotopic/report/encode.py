"""The payload as JSON that is safe inside HTML."""

import base64
import json
from typing import Any

import numpy as np

# These characters occur only in JSON strings, where escapes are equivalent; unescaped, they could
# end the script element.
_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


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
    kind: np.dtype[Any] = np.dtype(np.float32)
    if value.size == 0:
        kind = np.dtype(np.uint8)
    elif value.min() >= 0 and value.max() < 2**32 and np.all(value == np.floor(value)):
        kind = np.min_scalar_type(int(value.max()))
    data = value.astype(kind.newbyteorder("<")).tobytes()
    return {"packed": kind.name, "data": base64.b64encode(data).decode()}


def finite(values: Any) -> Any:
    """Return a number or a list of numbers; those that JSON cannot express become ``None``."""
    numbers = np.asarray(values, dtype=float)
    return np.where(np.isfinite(numbers), numbers, np.array(None)).tolist()

"""Fill the markup of a page: its style, its scripts and its data in one file."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from isotopic.report.chunks import smallest_type

# These characters occur only in JSON strings, where escapes are equivalent; unescaped, they could
# end the script element.
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def fill_page(
    markup: str,
    payload: Mapping[str, Any],
    style: str,
    script: str,
    chunks: str = "",
    connect: str = "",
) -> bytes:
    """Return the bytes of a page.

    Text from the data never becomes markup or script: all of it is in one JSON element, and the
    content security policy allows only the script and the style of this file.

    Parameters
    ----------
    markup : str
        ``%%data%%`` and the like stand for the parts, ``{samples}`` and the like for words.
    payload : mapping
        Its entry ``words`` has the words, ``title`` the title of the page.
    style, script, chunks : str
    connect : str
        Where the page may send requests, in the words of the policy; by default nowhere.
    """
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "title": html.escape(payload["title"]),
        "policy": f"{policy}; connect-src {connect}" if connect else policy,
        "style": style,
        "script": script,
        "data": as_json(payload),
        "chunks": chunks,
    }
    parts["size"] = f"{sum(map(len, parts.values())) / 1e6:.1f} MB"
    worded = re.sub(r"\{(\w+)\}", lambda found: payload["words"][found[1]], markup)
    pieces = worded.split("%%")  # markup, name, markup, ..., markup
    for i in range(1, len(pieces), 2):
        pieces[i] = parts[pieces[i]]
    return "".join(pieces).encode("utf-8", "replace")  # lone surrogates cannot be encoded


def _digest(text: str) -> str:
    """Return the digest by which the policy of the page recognises a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a ``<script>`` element; arrays become base64."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_pack
    )
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _pack(value: Any) -> Any:
    """Return an array as base64 of the smallest type that holds it."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"A report cannot contain a {type(value).__name__}.")
    kind = smallest_type(value)
    data = value.astype(kind.newbyteorder("<")).tobytes()
    return {"packed": kind.name, "data": base64.b64encode(data).decode()}

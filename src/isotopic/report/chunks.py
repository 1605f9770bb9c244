"""Compressed parts of the page that are read when they are needed: counts and texts of samples.

A chunk holds some consecutive samples. It is a tree of values, as in the payload, whose arrays
follow the JSON as plain bytes, compressed by zlib. Chunks lie in the page as base64, or in a file
beside it.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isotopic.arrays import Array

# Arrays in a chunk start at multiples of this many bytes, so that a browser can use them in place.
_ALIGNMENT = 8

# How the file beside a page begins.
_MAGIC = "isotopic report data 1"


def smallest_type(values: Array) -> "np.dtype[Any]":
    """Return the smallest type of a browser that holds an array: unsigned if exact, else float32.

    Numbers that are not whole lose digits beyond those of float32.
    """
    if values.size == 0:
        return np.dtype(np.uint8)
    is_whole = values.min() >= 0 and values.max() < 2**32 and np.all(values == np.floor(values))
    return np.min_scalar_type(int(values.max())) if is_whole else np.dtype(np.float32)


def compress_tree(tree: dict[str, Any], *, is_text: bool = False) -> bytes:
    """Return a tree of values and arrays as one chunk."""
    arrays: list[bytes] = []
    size = 0

    def place(value: Any) -> Any:
        nonlocal size
        if not isinstance(value, np.ndarray):
            raise TypeError(f"A report cannot contain a {type(value).__name__}.")
        kind = smallest_type(value)
        data = value.astype(kind.newbyteorder("<")).tobytes()
        arrays.append(data + bytes(-len(data) % _ALIGNMENT))
        start, size = size, size + len(arrays[-1])
        return {"packed": kind.name, "start": start, "length": value.size}

    # Lone surrogates, which UTF-8 cannot express, become question marks.
    head = json.dumps(tree, default=place, ensure_ascii=False).encode("utf-8", "replace")
    head += b" " * (-len(head) % _ALIGNMENT)
    length = len(head).to_bytes(_ALIGNMENT, "little")
    # Numbers hardly repeat, so that a search for repetitions costs time and gains nothing.
    strategy = zlib.Z_DEFAULT_STRATEGY if is_text else zlib.Z_HUFFMAN_ONLY
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    return packer.compress(b"".join([length, head, *arrays])) + packer.flush()


@dataclass(frozen=True)
class Archive:
    """Chunks of consecutive samples.

    Attributes
    ----------
    bounds : list of int
        Chunk ``i`` holds the samples ``bounds[i]`` to ``bounds[i + 1]``, as the page counts them.
    chunks : list of bytes
    """

    bounds: list[int]
    chunks: list[bytes]

    @property
    def size(self) -> int:
        """The number of bytes that the chunks take in the page."""
        return sum(4 * -(-len(chunk) // 3) for chunk in self.chunks)

    def elements(self, name: str) -> str:
        """Return the chunks as elements of the page, which are data and not run."""
        return "".join(
            f'<script type="application/octet-stream" id="{name}-{i}">'
            f"{base64.b64encode(chunk).decode()}</script>\n"
            for i, chunk in enumerate(self.chunks)
        )


class Sidecar:
    """A file beside the page with what is too large for it.

    Parameters
    ----------
    name : str
        Of the file, which the page tells the reader.
    archives : dict of str to Archive
    """

    def __init__(self, name: str, archives: dict[str, Archive]) -> None:
        chunks = [chunk for archive in archives.values() for chunk in archive.chunks]
        digest = hashlib.sha256(b"".join(chunks)).hexdigest()[:32]
        head = f"{_MAGIC} {digest}\n"  # tells the page whether it is the file that belongs to it
        self.content = b"".join([head.encode(), *chunks])
        self.about: dict[str, Any] = {"name": name, "head": head, "archives": {}}
        start = len(head)
        for kind, archive in archives.items():
            starts = [start]
            for chunk in archive.chunks:
                start += len(chunk)
                starts.append(start)
            self.about["archives"][kind] = {"bounds": archive.bounds, "starts": starts}


def split_evenly(sizes: Sequence[int] | Array, most: int) -> list[int]:
    """Return bounds of consecutive items such that each part has about ``most`` in size."""
    ends = np.cumsum(sizes)
    bounds, start = [0], 0
    while start < len(ends):
        limit = (ends[start - 1] if start else 0) + most
        start = max(start + 1, int(np.searchsorted(ends, limit, side="right")))
        bounds.append(start)
    return bounds

"""Digests of settings and data, by which a checkpoint knows the fit that it belongs to."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse


def digest(value: Any) -> str:
    """Return a digest of the whole content of a value: of every entry, however large it is."""
    state = blake2b(digest_size=16)
    _feed(state, value)
    return state.hexdigest()


def describe_random_state(random_state: Any) -> Any:
    """Return what a ``random_state`` is before the first number is drawn from it."""
    if isinstance(random_state, np.random.Generator):
        return random_state.bit_generator.state
    if isinstance(random_state, np.random.RandomState):
        return random_state.get_state(legacy=False)
    return None if random_state is None else int(random_state)


def _feed(state: Any, value: Any) -> None:
    """Add a value to a digest, by its content."""
    if isinstance(value, np.generic) and value.dtype.kind != "V":
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        state.update(f"{value!r} ".encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray):
        _feed_array(state, value)
    elif sparse.issparse(value):
        table: Any = value
        rows = sparse.csr_array(table, copy=True)
        rows.sum_duplicates()
        places = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        _feed(state, ["sparse", rows.shape, rows.data, *places])
    elif isinstance(value, (Sequence, AbstractSet)):
        items = sorted(value, key=digest) if isinstance(value, AbstractSet) else value
        state.update(f"{len(value)} [".encode())
        for item in items:
            _feed(state, item)
    elif isinstance(value, Mapping):
        _feed(state, sorted(value.items(), key=lambda item: digest(item[0])))
    elif hasattr(value, "columns"):  # a data frame
        _feed(state, [[str(name) for name in value.columns], np.asarray(value)])
    elif is_dataclass(value) and not isinstance(value, type):
        content = {item.name: getattr(value, item.name) for item in fields(value)}
        _feed(state, [type(value).__qualname__, content])
    elif hasattr(value, "__array__"):
        _feed_array(state, np.asarray(value))
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        _feed(state, [type(value).__qualname__, vars(value)])
    else:
        state.update(f"{value!r} ".encode("utf-8", "surrogatepass"))


def _feed_array(state: Any, array: Any) -> None:
    state.update(f"{array.dtype} {array.shape} ".encode())
    if array.dtype.hasobject:
        _feed(state, array.tolist() if array.ndim else [array.item()])
    else:
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

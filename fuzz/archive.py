"""Files that were valid once: reading them raises ValueError, or gives something that works."""

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from fuzz.loop import Property
from isotopic import LDA, archive, load


@dataclass(frozen=True)
class Leaf:
    """A registered dataclass."""

    size: float = 1.0
    parts: list[Any] = field(default_factory=list)


class Twig(NamedTuple):
    """A registered NamedTuple."""

    name: str
    values: Any


TYPES: dict[str, type] = {"Leaf": Leaf, "Twig": Twig}

COUNTS = np.arange(12.0).reshape(3, 4) % 5


def something_of_every_kind(path: Path) -> None:
    """Write everything that can be written."""
    rng = np.random.default_rng(0)
    history = np.zeros(2, [("iteration", np.int64), ("objective", np.float64)])
    tree = {
        "plain": [None, True, 1, -(2**70), 0.5, float("nan"), float("-inf"), "text \u00e9"],
        "mixed": {1: "one", "two": 2},
        "arrays": (COUNTS, np.asfortranarray(COUNTS, np.float32), np.array(["a", "bc"])),
        "objects": np.array(["a", "bcd"], object),
        "history": history,
        "row": history[0],
        "scalars": [np.float32(0.1), np.int8(-3), np.bool_(True), np.bytes_(b"ab"), np.str_("s")],
        "sparse": [f(COUNTS) for f in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array)],
        "random": [rng, np.random.RandomState(1), np.random.Generator(np.random.Philox(2))],
        "leaf": Leaf(2.0, [Twig("twig", COUNTS), COUNTS]),
    }
    archive.write(path, "fuzz", tree)


def a_model(path: Path) -> None:
    """Save a model with all it may have."""
    settings: dict[str, Any] = {"max_iter": 2, "tol": 0, "random_state": np.random.default_rng(0)}
    LDA(2, alpha=np.array([0.1, 0.2]), eta=0.1, **settings).fit(COUNTS).save(path)


@cache
def content(write: Callable[[Path], None]) -> bytes:
    """Give the bytes of the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "whole")
        write(path)
        return path.read_bytes()


def members(whole: bytes) -> dict[str, bytes]:
    """Take a file apart."""
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: dict[str, bytes]) -> bytes:
    """Put a file together, with good checksums."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for name, content in parts.items():
            target.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def damaged(rng: np.random.Generator, whole: bytes) -> bytes:
    """Flip, overwrite, insert, delete or cut off some bytes."""
    made = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(made) + 1))
        length = int(rng.choice([1, 2, 4, 8, 64]))
        some = rng.choice(
            [rng.bytes(length), b"\xff" * length, b"\0" * length, bytes(made[at : at + length])]
        )
        what = rng.choice(
            ["flip", "overwrite", "insert", "delete", "cut"], p=[0.3, 0.3, 0.2, 0.15, 0.05]
        )
        if what == "flip" and at < len(made):
            made[at] ^= 1 << int(rng.integers(8))
        elif what == "overwrite":
            made[at : at + length] = some[: len(made) - at]
        elif what == "insert":
            made[at:at] = some
        elif what == "delete":
            del made[at : at + length]
        elif what == "cut":
            del made[at:]
    return bytes(made)


def damage_zip_fields(rng: np.random.Generator, whole: bytes) -> bytes:
    """Put extreme numbers into the headers of the ZIP archive."""
    made = bytearray(whole)
    heads = {b"PK\x03\x04": 30, b"PK\x01\x02": 46, b"PK\x05\x06": 22}
    for _ in range(rng.integers(1, 4)):
        head = list(heads)[int(rng.integers(3))]
        places = [i for i in range(len(made) - 3) if made[i : i + 4] == head]
        if not places:
            continue
        at = int(rng.choice(places)) + int(rng.integers(4, heads[head] - 1))
        value = int(rng.choice([0, 1, 8, 255, 2**16 - 1, 2**31, 2**32 - 1]))
        made[at : at + 4] = value.to_bytes(4, "little")
    return bytes(made)


def damage_a_member(rng: np.random.Generator, whole: bytes) -> bytes:
    """Damage one member whose checksum is then made good again."""
    parts = members(whole)
    name = str(rng.choice(sorted(parts)))
    head = parts[name][:128]  # of an array: its header
    parts[name] = damaged(rng, head) + parts[name][128:]
    return zipped(parts)


def reshape_an_array(rng: np.random.Generator, whole: bytes) -> bytes:
    """Put an array of another shape or dtype in an array's place."""
    parts = members(whole)
    name = str(rng.choice([name for name in sorted(parts) if name.endswith(".npy")]))
    array = np.load(io.BytesIO(parts[name]))
    match rng.integers(5):
        case 0:
            array = array[..., : int(rng.integers(3))] if array.ndim else array[np.newaxis]
        case 1:
            array = array[: int(rng.integers(3))] if array.ndim else array[np.newaxis]
        case 2:
            array = np.repeat(array, 2, axis=-1) if array.ndim else array[np.newaxis]
        case 3:
            array = array.T
        case 4:
            array = np.zeros(array.shape, str(rng.choice(["f4", "f8", "i4", "i8", ">f8", "U3"])))
    file = io.BytesIO()
    np.save(file, array)
    return zipped({**parts, name: file.getvalue()})


def rearrange_members(rng: np.random.Generator, whole: bytes) -> bytes:
    """Leave a member out, add one, or give it another's content."""
    parts = members(whole)
    one, other = (str(name) for name in rng.choice(sorted(parts), 2))
    match rng.integers(3):
        case 0:
            del parts[one]
        case 1:
            parts[one] = parts[other]
        case 2:
            parts["more" + other] = parts[one]
    return zipped(parts)


def edit_manifest(rng: np.random.Generator, whole: bytes) -> bytes:
    """Change the manifest as a tree of values."""
    parts = members(whole)
    manifest = json.loads(parts["manifest.json"])
    for _ in range(rng.integers(1, 4)):
        places = list(_places(manifest))
        holder, key = places[int(rng.integers(len(places)))]
        match rng.integers(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[str(rng.choice(_words(manifest)))] = holder.pop(key)
            case 2:
                other, place = places[int(rng.integers(len(places)))]
                holder[key] = json.loads(json.dumps(other[place]))
            case 3:
                holder[key] = {str(rng.choice(_words(manifest))): holder[key]}
            case _:
                holder[key] = VALUES[int(rng.integers(len(VALUES)))]
        if not manifest:
            break
    parts["manifest.json"] = json.dumps(manifest).encode()
    return zipped(parts)


VALUES: list[Any] = [
    *(None, True, 0, 1, -1, 2**31, 2**63, 10**400, 0.5, 1e308, float("nan"), float("inf")),
    *("", "0x", "0xff", "nan:", "inf", "\ud800", "../x", [], {}, [[]], [-1, 2], [2**40, 2**40]),
]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Give every holder and key below a node."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from _places(node[key])


def _words(manifest: Any) -> list[str]:
    return sorted({str(key) for _, key in _places(manifest)})


CHANGES: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    f.__name__: f
    for f in (
        damaged,
        damage_zip_fields,
        damage_a_member,
        rearrange_members,
        reshape_an_array,
        edit_manifest,
    )
}


@dataclass(frozen=True)
class Change:
    """A way to change a file."""

    change: str
    seed: int

    def of(self, write: Callable[[Path], None], read: Callable[[Path], Any]) -> Any:
        """Read the changed file; ``None`` if that was refused."""
        changed = CHANGES[self.change](np.random.default_rng(self.seed), content(write))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "changed")
            path.write_bytes(changed)
            try:
                return read(path)
            except ValueError:
                return None


def a_changed_file_is_refused_or_works(case: Change) -> None:
    """Raise a ValueError on reading, or give something that can be used."""
    _use(case.of(something_of_every_kind, lambda path: archive.read(path, "fuzz", TYPES)))


def a_changed_model_is_refused_or_does_no_harm(case: Change) -> None:
    """Raise a ValueError on loading, or give a model that may be of no use, but does no harm."""
    model = case.of(a_model, load)
    with suppress(Exception):
        model.transform(sparse.csr_array(COUNTS))


def _use(value: Any) -> None:
    """Touch everything in a tree."""
    if isinstance(value, dict):
        _use(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _use(item)
    elif isinstance(value, Leaf):
        _use(value.parts)
    elif sparse.issparse(value):
        matrix: Any = value
        if max(matrix.shape) < 10**6:
            matrix.tocsr() @ np.ones(matrix.shape[1])
    elif isinstance(value, np.ndarray):
        value.copy()
    elif isinstance(value, (np.random.Generator, np.random.RandomState)):
        value.normal(size=10)
        value.integers(5) if isinstance(value, np.random.Generator) else value.randint(5)


changes = st.builds(Change, st.sampled_from(sorted(CHANGES)), st.integers(0, 2**32 - 1))

PROPERTIES = [
    Property(a_changed_file_is_refused_or_works, changes),
    Property(a_changed_model_is_refused_or_does_no_harm, changes),
]

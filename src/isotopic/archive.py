"""One file format for everything that is saved: arrays beside a readable manifest, and no code.

A file is a ZIP archive of ``manifest.json`` and one ``.npy`` member for each array, none of them
compressed, so :func:`numpy.load` opens it too. The manifest holds a tree of plain values in JSON;
``docs/model-file.md`` describes it to the last byte. Reading builds only values of the kinds known
here and of classes that the caller names, so a file from a stranger cannot run code.
"""

import dataclasses
import io
import json
import math
import os
import re
import secrets
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["read", "write"]

FORMAT = "isotopic"
FORMAT_VERSION = 1

_MANIFEST = "manifest.json"
_MANIFEST_KEYS = {"format", "format_version", "kind", "package_version", "tree", "strings"}

# Levels of the tree. A level takes a few calls of Python, which allows about a thousand in all.
_DEEPEST = 64

# NumPy refuses longer headers of .npy files, since parsing them is not safe.
_LONGEST_HEADER = 10_000

# Bytes that are copied at once from a file into an array.
_CHUNK = 2**20

# Integers up to these are JSON numbers; they include every 64-bit one.
_SMALLEST_NUMBER, _LARGEST_NUMBER = -(2**63), 2**64 - 1

_SCALARS: dict[str, type[np.generic]] = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
} | {"str": np.str_, "bytes": np.bytes_}

_SPARSE_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
_SPARSE: dict[str, type] = {
    f"{layout}_{flavour}": getattr(sparse, f"{layout}_{flavour}")
    for layout in _SPARSE_PARTS
    for flavour in ("array", "matrix")
}

_BIT_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    cls.__name__: cls
    for cls in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}
_SEED_PARTS = ("entropy", "spawn_key", "n_children_spawned")

Array: TypeAlias = NDArray[Any]

# A place in the tree, one part for each level: ("model", ".callbacks", "[0]").
_Place: TypeAlias = tuple[str, ...]


def write(path: str | os.PathLike[str], kind: str, tree: Any) -> None:
    """Save a tree of values; the file appears complete or not at all.

    Parameters
    ----------
    path : str or path-like
        An existing file is replaced, once the new one is complete and on the disk.
    kind : str
        What the file holds, such as ``"model"``. :func:`read` asks for the same.
    tree : object
        ``None``, bool, int, float, str; lists, tuples, dicts with str or int keys; NumPy scalars
        and arrays of numbers or strings; SciPy's CSR, CSC and COO; Generator and RandomState;
        dataclasses (their init fields), NamedTuples, and objects with ``__archive__() -> dict``
        whose class has the classmethod ``__from_archive__(dict)``. An array that occurs twice is
        stored once.

    Raises
    ------
    TypeError
        If something in the tree cannot be saved. The message names its place.
    ValueError
        If the tree is nested too deeply, or a str in it is not valid Unicode.
    """
    encoder = _Encoder()
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "package_version": metadata.version("isotopic"),
        "tree": encoder.encode(tree, (kind,)),
        "strings": encoder.strings,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    with _replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        # A ZipInfo has a fixed date: the same tree gives the same bytes.
        archive.writestr(zipfile.ZipInfo(_MANIFEST), text)
        for name, array in encoder.arrays.items():
            with archive.open(zipfile.ZipInfo(_member(name)), "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)


def read(path: str | os.PathLike[str], kind: str, types: Mapping[str, type]) -> Any:
    """Load a tree of values that :func:`write` saved.

    Parameters
    ----------
    path : str or path-like
    kind : str
        What the file must hold.
    types : mapping of str to type
        The classes that may be made, by the names that they have in the file.

    Returns
    -------
    tree : object

    Raises
    ------
    ValueError
        If the file is damaged, is no such file, holds something else or a class that is not in
        ``types``, or was written by a newer isotopic.
    """
    with open(path, "rb") as file:
        try:
            return _read(file, kind, types)
        except MemoryError:  # sizes are checked before: the memory is really used up
            raise
        except Exception as error:  # nobody lists what zipfile, json and NumPy raise on damage
            reason = str(error) if isinstance(error, ValueError) else f"damaged file: {error!r}"
            raise ValueError(f"{os.fspath(path)}: {reason}") from error


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a new file that takes the path's place when it is complete."""
    target = os.path.realpath(path)  # a link stays, and what it leads to is replaced
    temporary = os.path.join(os.path.dirname(target), f".isotopic-{secrets.token_hex(8)}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115  closed below, on every way out
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


class _Encoder:
    """Makes JSON of a tree and collects its arrays.

    Attributes
    ----------
    arrays : dict of str to ndarray
        What becomes a member, by name.
    strings : dict of str to dict
        Arrays of str objects, by name, in JSON.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.strings: dict[str, Any] = {}
        # The array is kept along with its name: while it lives, its id is its own.
        self._seen: dict[int, tuple[str, Array]] = {}
        self._encoders: dict[type, Callable[[Any, _Place], Any]] = {
            type(None): lambda value, place: value,
            bool: lambda value, place: value,
            int: lambda value, place: _encode_int(value),
            float: lambda value, place: _encode_float(value),
            str: _encode_text,
            list: self._list,
            tuple: lambda value, place: {"tuple": self._list(value, place)},
            dict: self._dict,
            np.ndarray: self._array,
            np.memmap: self._array,  # as worker processes are given
            np.random.Generator: self._generator,
            np.random.RandomState: self._random_state,
        }

    def encode(self, value: Any, place: _Place) -> Any:
        """Give the JSON of a value."""
        if len(place) > _DEEPEST:
            raise ValueError(
                f"{_show(place[:8])}... is nested deeper than {_DEEPEST} levels, or contains itself"
            )
        encoder = self._encoders.get(type(value))
        if encoder is not None:
            return encoder(value, place)
        if isinstance(value, np.generic):
            return self._scalar(value, place)
        if type(value) in _SPARSE.values():
            return self._sparse(value, place)
        fields = _fields(value)
        if fields is None:
            raise TypeError(f"{_show(place)}: a {type(value).__name__} cannot be saved")
        return {"type": type(value).__name__, "fields": self._named(fields, place)}

    def _named(self, fields: Mapping[str, Any], place: _Place) -> dict[str, Any]:
        return {
            _encode_text(name, place): self.encode(value, (*place, _step(name)))
            for name, value in fields.items()
        }

    def _list(self, values: Any, place: _Place) -> list[Any]:
        return [self.encode(value, (*place, f"[{i}]")) for i, value in enumerate(values)]

    def _dict(self, values: dict[Any, Any], place: _Place) -> dict[str, Any]:
        if all(type(key) is str for key in values):
            return {"dict": self._named(values, place)}
        for key in values:
            if type(key) not in (str, int):
                raise TypeError(f"{_show(place)}: the key {key!r} is neither a str nor an int")
        return {
            "pairs": [
                [self.encode(key, place), self.encode(value, (*place, _step(key)))]
                for key, value in values.items()
            ]
        }

    def _scalar(self, value: np.generic, place: _Place) -> dict[str, Any]:
        if type(value) is np.void:  # a row of a structured array
            return {"record": self._array(np.asarray(value), place)["array"]}
        name = {"U": "str", "S": "bytes"}.get(value.dtype.kind, value.dtype.name)
        if name not in _SCALARS:
            raise TypeError(f"{_show(place)}: a NumPy {type(value).__name__} cannot be saved")
        content: Any = value.item()
        if isinstance(value, np.floating):
            content = _float_content(value)
        elif isinstance(value, np.str_):
            content = _encode_text(content, place)
        elif isinstance(value, np.bytes_):
            content = content.hex()
        return {"scalar": {"dtype": name, "value": content}}

    def _array(self, array: Array, place: _Place) -> dict[str, Any]:
        if id(array) not in self._seen:
            name = self._new_name(place)
            if array.dtype.kind == "O":
                self.strings[name] = _encode_strings(array, place)
            else:
                _check_storable(array, place)
                self.arrays[name] = array
            self._seen[id(array)] = name, array
        return {"array": self._seen[id(array)][0]}

    def _new_name(self, place: _Place) -> str:
        """Name an array for its place, in letters that any file system takes."""
        name = re.sub(r"[^\w.\[\]-]", "_", _show(place), flags=re.ASCII)[:100]
        taken = name in self.arrays or name in self.strings
        return f"{name}~{len(self._seen)}" if taken else name

    def _sparse(self, matrix: Any, place: _Place) -> dict[str, Any]:
        if matrix.ndim != 2:
            raise TypeError(f"{_show(place)}: a sparse array of {matrix.ndim} dimensions, not 2")
        parts = {name: getattr(matrix, name) for name in _SPARSE_PARTS[matrix.format]}
        head = {"class": type(matrix).__name__, "shape": [int(n) for n in matrix.shape]}
        return {"sparse": head | self._named(parts, place)}

    def _generator(self, generator: np.random.Generator, place: _Place) -> dict[str, Any]:
        bits = generator.bit_generator
        seed = bits.seed_seq
        standard = np.random.SeedSequence(0).pool_size
        if type(seed) is not np.random.SeedSequence or seed.pool_size != standard:
            raise TypeError(
                f"{_show(place)}: a Generator can be saved if it was seeded by a plain "
                f"SeedSequence, from which it spawns; this one has {seed!r}"
            )
        parts = {name: seed.state[name] for name in _SEED_PARTS}  # type: ignore[literal-required]
        return {
            "generator": {
                "state": self._state(bits.state, place),
                "seed": self.encode(parts, (*place, ".seed")),
            }
        }

    def _random_state(self, generator: np.random.RandomState, place: _Place) -> dict[str, Any]:
        return {"random_state": self._state(generator.get_state(legacy=False), place)}

    def _state(self, state: Any, place: _Place) -> Any:
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise TypeError(f"{_show(place)}: the bit generator is not one of NumPy's own")
        return self.encode(state, (*place, ".state"))


def _fields(value: Any) -> Mapping[str, Any] | None:
    """Give what an object of a registered class is made of; None if that is unknown."""
    if isinstance(value, type):
        return None
    if hasattr(value, "__archive__"):
        fields: Mapping[str, Any] = value.__archive__()
        return fields
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def _show(place: _Place) -> str:
    return "".join(place)


def _step(key: str | int) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


def _encode_int(value: int) -> Any:
    return value if _SMALLEST_NUMBER <= value <= _LARGEST_NUMBER else {"int": hex(value)}


def _encode_float(value: float) -> Any:
    return value if math.isfinite(value) else {"float": _float_content(np.float64(value))}


def _float_content(value: np.floating[Any]) -> float | str:
    """Give a number, "inf", "-inf", or "nan:" and the bits in hexadecimal."""
    if np.isfinite(value):
        return float(value)
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return "nan:" + np.asarray(value).astype(value.dtype.newbyteorder(">")).tobytes().hex()


def _encode_text(text: Any, place: _Place) -> str:
    if type(text) is not str:
        raise TypeError(f"{_show(place)}: the name {text!r} of a field is not a str")
    if not _is_unicode(text):
        raise ValueError(f"{_show(place)}: {text!r} is not valid Unicode")
    return text


def _is_unicode(text: str) -> bool:
    """Whether there is no half of a surrogate pair in it, which Python allows."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encode_strings(array: Array, place: _Place) -> dict[str, Any]:
    """Write out an array of str objects."""
    order: Any = "F" if array.flags.fnc else "C"
    items = array.ravel(order).tolist()
    if not all(type(item) is str for item in items):
        raise TypeError(f"{_show(place)}: an object array can be saved if all its entries are str")
    return {
        "shape": list(array.shape),
        "order": order,
        "items": [_encode_text(item, place) for item in items],
    }


def _check_storable(array: Array, place: _Place) -> None:
    """Raise unless the array comes back from a .npy file as it was."""
    dtype = array.dtype
    if not _is_storable(dtype):
        raise TypeError(f"{_show(place)}: an array of dtype {dtype} cannot be saved")
    if dtype.names is None:
        return
    header = io.BytesIO()
    try:
        same = npy.descr_to_dtype(npy.dtype_to_descr(dtype)) == dtype
        npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    except ValueError:  # overlapping fields, names beyond Latin-1, more fields than a header holds
        same = False
    if not same or header.tell() > _LONGEST_HEADER:
        raise TypeError(f"{_show(place)}: the .npy format cannot describe the dtype {dtype}")


def _is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether it consists of numbers and strings of a known size; long doubles have none."""
    if dtype.subdtype is not None:
        return dtype.itemsize > 0 and _is_storable(dtype.base)
    if dtype.names is not None:
        return dtype.itemsize > 0 and all(_is_storable(dtype[name]) for name in dtype.names)
    return dtype.kind in "biufUS" and dtype.char != "g" and dtype.itemsize > 0


def _member(name: str) -> str:
    return f"{name}.npy"


def _read(file: IO[bytes], kind: str, types: Mapping[str, type]) -> Any:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ValueError("not a ZIP archive, or one that is cut short") from error
    with archive:
        members = _Members(archive, os.fstat(file.fileno()).st_size)
        manifest = _manifest(members, kind)
        strings = manifest["strings"]
        decoder = _Decoder(types, members, strings)
        tree = decoder.decode(manifest["tree"])
        mentioned = {_member(name) for name in decoder.arrays.keys() - strings.keys()}
        surplus = members.names - mentioned - {_MANIFEST} | strings.keys() - decoder.arrays.keys()
        if surplus:
            raise ValueError(f"the tree does not mention {sorted(surplus)}")
        return tree


class _Members:
    """The members of an archive, none of which can be larger than the file says and is.

    Parameters
    ----------
    archive : ZipFile
    size : int
        Bytes of the whole file.
    """

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        infos = archive.infolist()
        self.names = {info.filename for info in infos}
        if len(self.names) < len(infos):
            raise ValueError("several members have the same name")
        # All together, so that members cannot share bytes either.
        if sum(info.compress_size for info in infos) > size:
            raise ValueError("the members claim to be larger than the file")

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[IO[bytes], int]]:
        """Give a stream of the member and its size; its checksum is checked at the end."""
        if name not in self.names:
            raise ValueError(f"the member {name} is missing")
        info = self._archive.getinfo(name)
        encrypted = info.flag_bits & 1
        stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        if encrypted or not stored:
            raise ValueError(f"the member {name} is compressed or encrypted")
        try:
            with self._archive.open(info) as stream:
                yield stream, info.file_size
        except (zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"the member {name} is damaged: {error!r}") from error

    def text(self, name: str) -> str:
        """Read a member as UTF-8."""
        with self.open(name) as (stream, _):
            return stream.read().decode()

    def array(self, name: str) -> Array:
        """Read a member as an array."""
        with self.open(name) as (stream, size):
            shape, fortran, dtype = _header(stream, name)
            if not _is_storable(dtype):
                raise ValueError(f"the member {name} has the dtype {dtype}, which is not allowed")
            if math.prod(shape) * dtype.itemsize != size - stream.tell():
                raise ValueError(f"the member {name} has another size than its header says")
            array = np.empty(shape, dtype, order="F" if fortran else "C")
            memory = array.ravel(order="K").view(np.uint8).data
            for begin in range(0, len(memory), _CHUNK):
                part = memory[begin : begin + _CHUNK]
                part[:] = stream.read(len(part))  # of another length: ValueError
            return array


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of a .npy file of version 1.0."""
    try:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError("its version is not 1.0")
        header = npy.read_array_header_1_0(stream, max_header_size=_LONGEST_HEADER)
    except (zipfile.BadZipFile, EOFError):  # not the header's fault
        raise
    except Exception as error:  # NumPy parses Python literals: also MemoryError, RecursionError
        raise ValueError(f"the member {name} is not an array: {error}") from error
    if any(length < 0 for length in header[0]):
        raise ValueError(f"the member {name} has a negative length")
    return header


def _manifest(members: _Members, kind: str) -> dict[str, Any]:
    """Read and check everything in the manifest but the tree."""
    try:
        manifest = json.loads(members.text(_MANIFEST), object_pairs_hook=_distinct)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{_MANIFEST} is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{_MANIFEST} is nested too deeply") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError("not a file of isotopic")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"format_version must be a positive integer, not {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"written by a newer isotopic (file format {version}); upgrade isotopic to read it"
        )
    manifest = _object(manifest, _MANIFEST_KEYS)
    if manifest["kind"] != kind:
        raise ValueError(f"the file holds a {manifest['kind']!r}, not a {kind!r}")
    _checked(manifest["package_version"], str)
    _checked(manifest["strings"], dict)
    return manifest


class _Decoder:
    """Makes a tree of its JSON.

    Parameters
    ----------
    types : mapping of str to type
    members : _Members
    strings : mapping of str to dict
        Arrays of str objects, in JSON.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays that the tree has mentioned.
    """

    def __init__(
        self, types: Mapping[str, type], members: _Members, strings: Mapping[str, Any]
    ) -> None:
        self.arrays: dict[str, Array] = {}
        self._types, self._members, self._strings = types, members, strings
        self._decoders: dict[str, Callable[[Any, int], Any]] = {
            "int": lambda content, depth: _decode_int(content),
            "float": lambda content, depth: _decode_float(content, np.float64).item(),
            "tuple": lambda content, depth: tuple(self._list(content, depth)),
            "dict": self._named,
            "pairs": self._pairs,
            "array": lambda content, depth: self._array(content),
            "record": lambda content, depth: self._record(content),
            "scalar": lambda content, depth: _decode_scalar(content),
            "sparse": self._sparse,
            "generator": self._generator,
            "random_state": self._random_state,
        }

    def decode(self, node: Any, depth: int = 1) -> Any:
        """Give the value of a JSON node."""
        if depth > _DEEPEST:
            raise ValueError(f"the tree is nested deeper than {_DEEPEST} levels")
        if isinstance(node, str):
            return _decode_text(node)
        if isinstance(node, list):
            return self._list(node, depth)
        if isinstance(node, dict):
            return self._tagged(node, depth)
        if isinstance(node, float) and not math.isfinite(node):
            raise ValueError(f"{node} is not a number of JSON")
        return node

    def _tagged(self, node: dict[str, Any], depth: int) -> Any:
        if "type" in node:
            return self._registered(_object(node, {"type", "fields"}), depth)
        tag = next(iter(node)) if len(node) == 1 else None
        if tag not in self._decoders:
            raise ValueError(f"an object with the members {sorted(node)} means nothing")
        return self._decoders[tag](node[tag], depth)

    def _registered(self, node: dict[str, Any], depth: int) -> Any:
        name = _checked(node["type"], str)
        if name not in self._types:
            raise ValueError(f"the type {name!r} is not known here")
        fields = self._named(node["fields"], depth)
        cls: Any = self._types[name]
        try:
            if hasattr(cls, "__from_archive__"):
                return cls.__from_archive__(fields)
            return cls(**fields)
        except Exception as error:  # whatever the class says of values that it does not accept
            raise ValueError(f"{name} does not accept its fields: {error}") from error

    def _list(self, content: Any, depth: int) -> list[Any]:
        return [self.decode(node, depth + 1) for node in _checked(content, list)]

    def _named(self, content: Any, depth: int) -> dict[str, Any]:
        return {
            _decode_text(name): self.decode(node, depth + 1)
            for name, node in _checked(content, dict).items()
        }

    def _pairs(self, content: Any, depth: int) -> dict[str | int, Any]:
        pairs = [
            (self.decode(_pair(pair)[0], depth), self.decode(pair[1], depth + 1))
            for pair in _checked(content, list)
        ]
        if not all(type(key) in (str, int) for key, _ in pairs):
            raise ValueError("the keys of a dict must be strings or integers")
        return _distinct(pairs)

    def _array(self, content: Any) -> Array:
        name = _checked(content, str)
        if name not in self.arrays:
            if name in self._strings:
                self.arrays[name] = _decode_strings(self._strings[name])
            else:
                self.arrays[name] = self._members.array(_member(name))
        return self.arrays[name]

    def _record(self, content: Any) -> Any:
        array = self._array(content)
        if array.dtype.names is None or array.ndim != 0:
            raise ValueError(f"{content} is not a single structured value")
        return array[()]

    def _sparse(self, content: Any, depth: int) -> Any:
        name = _checked(_checked(content, dict).get("class"), str)
        if name not in _SPARSE:
            raise ValueError(f"the sparse class {name!r} is not known here")
        names = _SPARSE_PARTS[name[:3]]
        content = _object(content, {"class", "shape", *names})
        parts = [self.decode(content[part], depth + 1) for part in names]
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
            raise ValueError(f"the parts of a {name} must be arrays of one dimension")
        return _make_sparse(name, _shape(content["shape"]), parts)

    def _generator(self, content: Any, depth: int) -> np.random.Generator:
        content = _object(content, {"state", "seed"})
        seed = _object(self.decode(content["seed"], depth + 1), set(_SEED_PARTS))
        state = self.decode(content["state"], depth + 1)
        return np.random.Generator(_bit_generator(state, np.random.SeedSequence(**seed)))

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        state = self.decode(content, depth + 1)
        generator = np.random.RandomState(_bit_generator(state, np.random.SeedSequence(0)))
        generator.set_state(state)
        return generator


def _checked(value: Any, kind: type) -> Any:
    """Give the value, which must be of that kind."""
    if type(value) is not kind:
        raise ValueError(f"the manifest has {type(value).__name__} in the place of {kind.__name__}")
    return value


def _object(value: Any, keys: set[str]) -> dict[str, Any]:
    """Give the value, which must be a dict with exactly these keys."""
    found: dict[str, Any] = _checked(value, dict)
    if found.keys() != keys:
        names = sorted(map(str, found))
        raise ValueError(f"the manifest has the names {names} in the place of {sorted(keys)}")
    return found


def _pair(value: Any) -> list[Any]:
    pair: list[Any] = _checked(value, list)
    if len(pair) != 2:
        raise ValueError(f"the manifest has {len(pair)} things in the place of a key and a value")
    return pair


def _distinct(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict of pairs, whose keys must be distinct."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name occurs twice in the same object")
    return made


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(_checked(length, int) for length in _checked(value, list))
    if any(length < 0 for length in shape):
        raise ValueError(f"the shape {shape} has a negative length")
    return shape


def _decode_text(text: Any) -> str:
    checked: str = _checked(text, str)
    if not _is_unicode(checked):
        raise ValueError(f"{checked!r} is not valid Unicode")
    return checked


def _decode_int(content: Any) -> int:
    if not re.fullmatch(r"-?0x[0-9a-f]+", _checked(content, str)):
        raise ValueError(f"{content!r} is not an integer in hexadecimal")
    return int(content, 16)


def _decode_float(content: Any, kind: type[np.generic]) -> np.generic:
    """Undo ``_float_content``."""
    if type(content) in (int, float):
        return _exactly(content, kind)
    if content in ("inf", "-inf"):
        return _exactly(float(content), kind)
    dtype = np.dtype(kind)
    if not re.fullmatch(rf"nan:[0-9a-f]{{{2 * dtype.itemsize}}}", _checked(content, str)):
        raise ValueError(f"{content!r} is not a {dtype}")
    value = np.frombuffer(bytes.fromhex(content[4:]), dtype.newbyteorder(">")).astype(dtype)[0]
    if not np.isnan(value):
        raise ValueError(f"{content!r} is a number")
    made: np.generic = value
    return made


def _decode_scalar(content: Any) -> np.generic:
    content = _object(content, {"dtype", "value"})
    name, value = _checked(content["dtype"], str), content["value"]
    if name not in _SCALARS:
        raise ValueError(f"the dtype {name!r} of a scalar is not known here")
    kind = _SCALARS[name]
    if issubclass(kind, np.floating):
        return _decode_float(value, kind)
    if issubclass(kind, np.str_):
        return np.str_(_decode_text(value))
    if issubclass(kind, np.bytes_):
        return np.bytes_(bytes.fromhex(_checked(value, str)))
    return _exactly(_checked(value, bool if issubclass(kind, np.bool_) else int), kind)


def _exactly(value: float, kind: type[np.generic]) -> np.generic:
    """Convert a number to a NumPy type that must be able to hold it."""
    make: Any = kind
    with np.errstate(all="ignore"):
        made: np.generic = make(value)
    if made.item() != value:
        raise ValueError(f"{value!r} is not a {np.dtype(kind)}")
    return made


def _decode_strings(content: Any) -> Array:
    content = _object(content, {"shape", "order", "items"})
    items = [_decode_text(item) for item in _checked(content["items"], list)]
    shape = _shape(content["shape"])
    if content["order"] not in ("C", "F") or math.prod(shape) != len(items):
        raise ValueError(f"{len(items)} strings do not make an array of shape {shape}")
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape, order=content["order"])


def _make_sparse(name: str, shape: tuple[int, ...], parts: list[Array]) -> Any:
    """Put a sparse array together; indices that point outside would read foreign memory."""
    if len(shape) != 2:
        raise ValueError(f"a sparse array has two dimensions, not the shape {shape}")
    # Files of a machine with the other byte order are read too.
    parts = [part.astype(part.dtype.newbyteorder("="), copy=False) for part in parts]
    data, first, second = parts
    layout, cls = name[:3], _SPARSE[name]
    if not {first.dtype, second.dtype} <= {np.dtype(np.int32), np.dtype(np.int64)}:
        raise ValueError("the indices of a sparse array must be int32 or int64")
    if layout == "coo":
        made = cls((data, (first, second)), shape=shape)  # looks at every index
    else:
        made = cls((data, first, second), shape=shape)
        made.check_format(full_check=True)
    # SciPy takes smaller integers where they do; the array had these.
    for part, array in zip(_SPARSE_PARTS[layout], parts, strict=True):
        setattr(made, part, array)
    return made


def _bit_generator(state: Any, seed: np.random.SeedSequence) -> np.random.BitGenerator:
    """Make a bit generator with that state and the seed from which it spawns others."""
    name = _checked(state, dict).get("bit_generator")
    if name not in _BIT_GENERATORS:
        raise ValueError(f"the bit generator {name!r} is not one of NumPy's own")
    made: Any = _BIT_GENERATORS[name](seed)
    # NumPy believes these positions in its buffers, wherever they point.
    if name == "MT19937" and not 0 <= _checked(state["state"]["pos"], int) <= 624:
        raise ValueError("the position of an MT19937 is outside of its state")
    if name == "Philox" and not 0 <= _checked(state["buffer_pos"], int) <= 4:
        raise ValueError("the position of a Philox is outside of its buffer")
    made.state = state
    checked: np.random.BitGenerator = made
    return checked

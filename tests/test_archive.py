"""What is saved comes back bit for bit, and no file does more than that."""

import io
import json
import math
import os
import pickle
import stat
import struct
import sys
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from isotopic import archive
from isotopic.archive.arrays import PARTS, SPARSE
from isotopic.archive.tree import Encoder


@dataclass(frozen=True)
class Setting:
    strength: Any
    name: str = "lasso"
    derived: int = field(init=False, default=7)


@dataclass
class Positive:
    value: Any

    def __post_init__(self):
        if not self.value > 0:
            raise ValueError(f"value must be positive, not {self.value!r}")


class Pair(NamedTuple):
    first: Any
    second: Any


class Model:
    """Stands for an estimator."""

    def __init__(self, **parts):
        self.parts = parts

    def __archive__(self):
        return self.parts

    @classmethod
    def __from_archive__(cls, parts):
        return cls(**parts)


TYPES = {cls.__name__: cls for cls in (Setting, Positive, Pair, Model)}
DESCRIPTION = Path(__file__).parents[1] / "docs" / "model-file.md"
FINITE_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


# Equality to the bit -----------------------------------------------------------------------------


def float_bits(value):
    return struct.pack("<d", value)


def assert_same_array(a, b):
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.flags.fnc == b.flags.fnc
    assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes("A") == b.tobytes("A")


def assert_same_sparse(a, b):
    assert a.shape == b.shape
    for part in ("data", "row", "col") if a.format == "coo" else ("data", "indices", "indptr"):
        assert_same_array(getattr(a, part), getattr(b, part))


def state_of(value):
    """The state of a random generator, and of what it spawns from."""
    if isinstance(value, np.random.RandomState):
        return [value.get_state(legacy=False)]
    return [value.bit_generator.state, value.bit_generator.seed_seq.state]


def parts_of(value):
    """What a value consists of, as a list; None for a leaf."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return state_of(value)
    if isinstance(value, (Model, Setting, Positive)):
        value = vars(value)
    return [*value.keys(), *value.values()] if isinstance(value, dict) else None


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert_same_array(a, b)
    elif sparse.issparse(a):
        assert_same_sparse(a, b)
    elif isinstance(a, np.generic):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, float):
        assert float_bits(a) == float_bits(b)
    elif parts_of(a) is None:
        assert a == b
    else:
        assert len(parts_of(a)) == len(parts_of(b))
        for x, y in zip(parts_of(a), parts_of(b), strict=True):
            assert_same(x, y)


# Random trees ------------------------------------------------------------------------------------

TEXT = st.text(max_size=8)  # without halves of surrogate pairs
FLOATS = st.binary(min_size=8, max_size=8).map(lambda raw: struct.unpack("<d", raw)[0])
PLAIN_DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.unicode_string_dtypes(endianness="?", min_len=1, max_len=4),
    hnp.byte_string_dtypes(min_len=1, max_len=4),
)


def named_dtype(fields, align):
    return np.dtype([(f"field {i}", *rest) for i, rest in enumerate(fields)], align=align)


STRUCTURED_DTYPES = st.builds(
    named_dtype,
    st.lists(
        st.one_of(st.tuples(PLAIN_DTYPES), st.tuples(PLAIN_DTYPES, st.just((2,)))),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@st.composite
def arrays(draw):
    """Any bits of any dtype: C or Fortran order, or every other row."""
    shape, layout = draw(SHAPES), draw(st.sampled_from(["C", "F", "strided"]))
    dtype = draw(st.one_of(PLAIN_DTYPES, STRUCTURED_DTYPES))
    if layout == "strided" and shape:
        shape = (2 * shape[0], *shape[1:])
    size = math.prod(shape) * dtype.itemsize
    raw = np.random.default_rng(draw(st.integers(0, 2**32))).bytes(size)
    array = np.ndarray(shape, dtype, bytearray(raw), order="F" if layout == "F" else "C")
    return array[::2] if layout == "strided" and shape else array


@st.composite
def scalars(draw):
    dtype = draw(st.one_of(PLAIN_DTYPES.filter(lambda dtype: dtype.kind != "U"), STRUCTURED_DTYPES))
    raw = np.random.default_rng(draw(st.integers(0, 2**32))).bytes(dtype.itemsize)
    return np.frombuffer(b"\1" if dtype.kind == "b" else raw, dtype)[0]


@st.composite
def string_arrays(draw):
    shape = draw(SHAPES)
    items = draw(st.lists(TEXT, min_size=math.prod(shape), max_size=math.prod(shape)))
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape, order=draw(st.sampled_from("CF")))


@st.composite
def sparse_arrays(draw):
    dense = draw(hnp.arrays(np.int16, st.tuples(st.integers(1, 4), st.integers(1, 4))))
    made = getattr(sparse, draw(st.sampled_from(sorted(SPARSE))))(dense)
    if draw(st.booleans()):
        for part in ("row", "col") if made.format == "coo" else ("indices", "indptr"):
            setattr(made, part, getattr(made, part).astype(np.int64))
    return made


@st.composite
def generators(draw):
    names = ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"]
    seed = draw(st.one_of(st.integers(0, 2**200), st.lists(st.integers(0, 9), min_size=1)))
    bits = getattr(np.random, draw(st.sampled_from(names)))(seed)
    if draw(st.booleans()):
        made = np.random.RandomState(bits)
        made.normal()  # keeps its twin for later
        return made
    made = np.random.Generator(bits)
    made.integers(9, dtype=np.uint32)  # keeps half of its bits for later
    made.spawn(draw(st.integers(0, 2)))
    return made


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**300), 2**300),
    FLOATS,
    FINITE_FLOATS,
    TEXT,
    TEXT.map(np.str_),
    scalars(),
    arrays(),
    string_arrays(),
    sparse_arrays(),
    generators(),
)


def branches(children):
    keys = st.one_of(TEXT, st.integers())
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(keys, children, max_size=3),
        st.dictionaries(st.sampled_from(["type", "fields", "a"]), children, max_size=3),
        st.builds(Setting, children, TEXT),
        st.builds(Pair, children, children),
        st.dictionaries(st.sampled_from("abc"), children).map(lambda parts: Model(**parts)),
    )


TREES = st.recursive(LEAVES, branches, max_leaves=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archive")


def round_trip(folder, tree):
    path = folder / "tree.npz"
    archive.write(path, "tree", tree)
    return archive.read(path, "tree", TYPES)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(tree=TREES)
def test_any_tree_comes_back_bit_for_bit(folder, tree):
    assert_same(round_trip(folder, tree), tree)


def test_numbers_come_back_bit_for_bit(folder):
    payload = struct.unpack("<d", bytes.fromhex("0100000000f0f4ff"))[0]
    tree = [math.inf, -math.inf, math.nan, payload, -0.0, 5e-324, 2**64, -(2**63) - 1, 10**5000]
    tree += [np.array(bits, np.uint32).view(np.float32)[()] for bits in (0x7F800001, 0xFFC00007)]
    tree += [np.float16("nan"), np.float32("-inf"), np.bool_(True), np.uint64(2**64 - 1)]
    tree += [np.bytes_(b"a\0b"), np.str_(""), np.str_("é"), True, False, 1, 1.0]
    assert_same(round_trip(folder, tree), tree)


def test_keys_keep_their_kind_and_their_order(folder):
    tree = {"b": 0, 1: 1, "a": 2, "1": 3, -(2**70): 4}
    assert list(round_trip(folder, tree).items()) == list(tree.items())
    assert list(round_trip(folder, {"b": 0, "a": 1})) == ["b", "a"]


def test_an_array_that_occurs_twice_is_one_array(folder):
    numbers, names = np.arange(1000.0), np.array(["a", "b"], object)
    tree = round_trip(folder, [numbers, {"again": numbers}, names, (names,), numbers.copy()])
    assert tree[0] is tree[1]["again"]
    assert tree[2] is tree[3][0]
    assert tree[0] is not tree[4]
    assert (folder / "tree.npz").stat().st_size < 2.5 * numbers.nbytes


def test_what_comes_back_can_be_changed(folder):
    constant = np.broadcast_to(1.0, (3, 4))
    made = round_trip(folder, constant)
    made[:] = 2
    assert constant[0, 0] == 1


def test_generators_continue_and_spawn_as_the_saved_ones(folder):
    generator, legacy = np.random.default_rng(5), np.random.RandomState(5)
    generator.spawn(2)
    legacy.normal()
    read, read_legacy = round_trip(folder, (generator, legacy))
    assert read.random() == generator.random()
    assert read.spawn(1)[0].random() == generator.spawn(1)[0].random()
    assert read_legacy.normal(size=3).tolist() == legacy.normal(size=3).tolist()


def test_fields_that_init_does_not_take_are_made_anew(folder):
    setting = Setting(1.0)
    object.__setattr__(setting, "derived", 8)
    assert round_trip(folder, setting) == Setting(1.0)
    assert round_trip(folder, setting).derived == 7


def test_a_memory_map_is_saved_as_an_array(folder):
    mapped = np.memmap(folder / "mapped", np.int16, "w+", shape=(3,))
    assert_same(round_trip(folder, mapped), np.zeros(3, np.int16))


def test_the_same_tree_gives_the_same_bytes(folder):
    tree = {"a": np.arange(3), "names": np.array(["x"], object)}
    round_trip(folder, tree)
    first = (folder / "tree.npz").read_bytes()
    round_trip(folder, tree)
    assert (folder / "tree.npz").read_bytes() == first


def test_numpy_lists_the_arrays_by_their_place(folder):
    path = folder / "model.npz"
    topics = np.eye(3)
    archive.write(path, "model", Model(topics=topics, other=[{"a b/../é": topics + 1}]))
    with np.load(path) as file:
        assert set(file) == {"manifest.json", "model.topics", "model.other[0][_a_b_..___]"}
        np.testing.assert_array_equal(file["model.topics"], topics)
        manifest = json.loads(file["manifest.json"])
    assert (manifest["format"], manifest["format_version"]) == ("isotopic", 2)
    assert (manifest["kind"], manifest["tree"]["type"]) == ("model", "Model")


def test_arrays_whose_places_look_the_same_do_not_collide(folder):
    tree = {"a b": np.zeros(1), "a/b": np.ones(1), "a?b": np.array(["c"], object)}
    tree |= {"x" * 200 + end: np.full(1, len(end)) for end in ("", "y", "yy")}
    assert_same(round_trip(folder, tree), tree)


# What cannot be saved ----------------------------------------------------------------------------


class Text(str):
    __slots__ = ()


OVERLAPPING = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (len, "a builtin_function_or_method"),
        (lambda: 0, "a function"),
        (Setting, "a type"),
        (object(), "a object"),
        (1j, "a complex"),
        (b"bytes", "a bytes"),
        ({1, 2}, "a set"),
        (Text("a"), "a Text"),
        (np.complex128(1), "a NumPy complex128"),
        (np.longdouble(1), "a NumPy longdouble"),
        (np.timedelta64(1, "s"), "a NumPy timedelta64"),
        (np.zeros(2, complex), "dtype complex128"),
        (np.zeros(2, np.longdouble), "dtype "),
        (np.zeros(2, "M8[s]"), "dtype datetime64"),
        (np.zeros(2, "V3"), "dtype .V3"),
        (np.zeros(2, [("a", "O")]), "dtype "),
        (np.ndarray(2, "S0", b""), "dtype .S0"),
        (np.zeros(2, OVERLAPPING), "which the .npy format does not support"),
        (np.zeros(2, [("β", "f8")]), "which the .npy format does not support"),
        (np.zeros(2, [(f"a field named {i}", "f8") for i in range(999)]), "does not support"),
        (np.array(["a", None], object), "unless all its entries are str"),
        (np.ma.masked_array([1.0]), "a MaskedArray"),
        (sparse.lil_array((2, 2)), "a lil_array"),
        (sparse.coo_array(np.ones(3)), "of 1 dimensions"),
        ({1.5: 0}, "the key 1.5"),
        ({True: 0}, "the key True"),
        (Model(**{"a": {(1,): 0}}), "the key"),
        (np.random.Generator(np.random.MT19937(np.random.SeedSequence(1, pool_size=8))), "plain"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_saved_is_refused_with_its_place(tmp_path, value, message):
    tree = Model(callbacks=[value])
    with pytest.raises(TypeError, match=rf"model\.callbacks\[0\].*: .*{message}"):
        archive.write(tmp_path / "x", "model", tree)
    assert not any(tmp_path.iterdir())


def test_message_names_the_place():
    tree = {"callbacks": [0, lambda: 0]}
    with pytest.raises(TypeError, match=r"^model\.callbacks\[1\]: cannot save a function\.$"):
        archive.write("never-made", "model", tree)


def test_names_of_fields_are_str(tmp_path):
    model = Model()
    model.parts = {1: 2}
    with pytest.raises(TypeError, match="model: the name of a field must be a str, not 1"):
        archive.write(tmp_path / "x", "model", model)


@pytest.mark.parametrize("text", ["\ud800", "\ud83d\ude00"], ids=["half", "two halves"])
def test_a_str_that_is_not_unicode_is_refused(tmp_path, text):
    for tree in (text, {text: 0}, np.array([text], object)):
        with pytest.raises(ValueError, match="not valid Unicode"):
            archive.write(tmp_path / "x", "model", tree)


def test_a_tree_that_contains_itself_is_refused(tmp_path):
    tree = []
    tree.append(tree)
    with pytest.raises(ValueError, match="contains itself"):
        archive.write(tmp_path / "x", "model", tree)


def nested(levels):
    tree = 0
    for _ in range(levels - 1):
        tree = {1: tree}
    return tree


def test_what_is_deep_enough_to_be_refused_is_refused_when_written(folder):
    deepest = nested(64)
    assert round_trip(folder, deepest) == deepest
    with pytest.raises(ValueError, match="deeper than 64"):
        round_trip(folder, nested(65))


# A file is whole or is not there -----------------------------------------------------------------


class Failing:
    """Stops the writing of an array in its middle."""

    def __init__(self, error):
        self.error = error

    def __call__(self, file, array, **options):
        file.write(b"half of an array")
        raise self.error


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "model"
    archive.write(path, "model", "old")
    monkeypatch.setattr(np.lib.format, "write_array", Failing(error))
    with pytest.raises(type(error)):
        archive.write(path, "model", np.zeros(3))
    assert list(tmp_path.iterdir()) == [path]
    assert archive.read(path, "model", {}) == "old"


def test_a_failure_to_put_it_in_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        archive.write(tmp_path / "folder", "model", 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_missing_folder_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        archive.write(tmp_path / "no" / "model", "model", 1)
    assert not any(tmp_path.iterdir())


def test_the_new_file_is_on_the_disk_before_it_replaces_the_old_one(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, name=name, real=real: (calls.append(name), real(*args))
        )
    archive.write(tmp_path / "model", "model", 1)
    assert calls == ["fsync", "replace", "fsync"]  # the last for the folder


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_a_file_has_the_usual_mode_and_a_link_stays_a_link(tmp_path):
    (tmp_path / "plain").touch()
    (tmp_path / "link").symlink_to("target")
    archive.write(tmp_path / "link", "model", 1)
    assert (tmp_path / "link").is_symlink()
    mode = stat.S_IMODE((tmp_path / "target").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_readers_see_the_old_or_the_new_while_it_is_replaced(tmp_path):
    path = tmp_path / "model"
    archive.write(path, "model", np.full(1000, 0))

    def read(_):
        array = archive.read(path, "model", {})
        assert (array == array[0]).all()
        return array[0]

    with ThreadPoolExecutor(4) as pool:
        seen = pool.map(read, range(200))
        for i in range(1, 20):
            archive.write(path, "model", np.full(1000, i))
        assert set(seen) <= set(range(20))


# What is not a good file -------------------------------------------------------------------------


def npy(array, **header):
    """A .npy file, some things in its header being replaced."""
    file = io.BytesIO()
    described = np.lib.format.header_data_from_array_1_0(array) | header
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue() + array.tobytes("A")


def manifest(tree, **changes):
    made = {
        "format": "isotopic",
        "format_version": 1,
        "kind": "model",
        "package_version": "0.1.0",
        "tree": tree,
        "strings": {},
    } | changes
    return json.dumps({name: value for name, value in made.items() if value is not ...})


def put(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


def read(path):
    return archive.read(path, "model", TYPES)


def assert_refused(path, message=None):
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "bad"


def test_the_hand_made_files_of_these_tests_are_good_before_they_are_spoiled(path):
    put(path, {"manifest.json": manifest({"array": "a"}), "a.npy": npy(np.arange(4))})
    assert_same(read(path), np.arange(4))


@pytest.mark.skipif(not DESCRIPTION.exists(), reason="needs the source tree")
def test_the_example_of_the_description_is_read(path):
    text = DESCRIPTION.read_text(encoding="utf-8")
    example = text.partition("```json\n")[2].partition("```")[0]
    put(path, {"manifest.json": example, "model.components_.npy": npy(np.eye(2, 3))})
    model = archive.read(path, "model", {"LDA": Model, "Dirichlet": Model})
    assert_same(model.parts["components_"], np.eye(2, 3))
    assert_same(model.parts["feature_names_in_"], np.array(["cat", "dog", "eel"], object))
    assert_same(model.parts["n_iter_"], np.int64(7))
    assert (model.parts["tol"], model.parts["init"]) == (math.inf, (None, "random"))
    assert model.parts["prior"].parts == {"concentration": 0.5}


def test_missing_and_forbidden_files_say_so(path):
    with pytest.raises(FileNotFoundError):
        read(path)
    with pytest.raises(OSError, match=r"(?i)directory|permission"):
        read(path.parent)


@pytest.mark.parametrize("content", [b"", b"PK\5\6", b"no archive" * 99, pickle.dumps([1])])
def test_what_is_not_a_zip_is_refused(path, content):
    path.write_bytes(content)
    assert_refused(path, "not a ZIP archive")


def test_a_truncated_file_is_refused_wherever_it_ends(path):
    archive.write(path, "model", [1, np.arange(4)])
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert_refused(path)


def test_a_wrong_checksum_is_refused(path):
    archive.write(path, "model", [np.arange(4.0), "marked"])
    whole = path.read_bytes()
    for old, new in ((np.arange(4.0).tobytes(), np.arange(4.0)[::-1].tobytes()), (b"rk", b"RK")):
        assert whole.count(old) == 1
        path.write_bytes(whole.replace(old, new))
        assert_refused(path, "damaged.*CRC")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff", "not JSON"),
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "not an isotopic file"),
        (manifest(0, format="other"), "not an isotopic file"),
        (manifest(0, format_version=3), "written by a newer isotopic .*Upgrade"),
        (manifest(0, format_version=3, strings=..., new=1), "written by a newer isotopic"),
        (manifest(0, format_version=0), "format_version must be"),
        (manifest(0, format_version=True), "format_version must be"),
        (manifest(0, format_version="1"), "format_version must be"),
        (manifest(0, kind="checkpoint"), "holds a 'checkpoint', but a 'model' was expected"),
        (manifest(0, kind=None), "holds a None"),
        (manifest(0, package_version=1), "where a str was expected"),
        (manifest(0, strings=[]), "where a dict was expected"),
        (manifest(...), "expected"),
        (manifest(0, more=1), "expected"),
        (manifest(0)[:-1] + ', "tree": 0}', "twice"),
        (manifest(0).replace('"tree": 0', '"tree": ' + "9" * 5000), "(?i)digits"),
    ],
)
def test_a_bad_manifest_is_refused(path, text, message):
    put(path, {"manifest.json": text})
    assert_refused(path, message)


def test_an_archive_without_a_manifest_is_refused(path):
    with path.open("wb") as file:
        np.savez(file, a=np.arange(3))
    assert_refused(path, "manifest.json is missing")


def seeded(name, **changes):
    """The node of a generator whose state was changed."""
    made = Encoder().encode(np.random.Generator(getattr(np.random, name)(1)), ("g",))
    made["generator"]["state"]["dict"] |= changes
    return made


STRINGS = {"shape": [2], "order": "C", "items": ["a", "b"]}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (float("nan"), "not a valid JSON number"),
        (float("inf"), "not a valid JSON number"),
        ("\ud800", "Unicode"),
        ({}, "unknown keys"),
        ({"list": []}, "unknown keys"),
        ({"tuple": [], "dict": {}}, "unknown keys"),
        ({"type": "Model"}, "expected"),
        ({"type": "Model", "fields": {}, "more": 0}, "expected"),
        ({"type": "Unknown", "fields": {}}, "The class 'Unknown' is not registered"),
        ({"type": "__builtins__", "fields": {}}, "is not registered"),
        ({"type": ["Model"], "fields": {}}, "where a str was expected"),
        ({"type": "Model", "fields": []}, "where a dict was expected"),
        ({"type": "Positive", "fields": {"value": -1}}, "Positive does not accept.*be positive"),
        ({"type": "Positive", "fields": {"value": "a"}}, "Positive does not accept"),
        ({"type": "Positive", "fields": {}}, "Positive does not accept"),
        ({"type": "Pair", "fields": {"first": 1, "third": 2}}, "Pair does not accept"),
        ({"type": "Setting", "fields": {"strength": 1, "derived": 2}}, "does not accept"),
        ({"int": 3}, "where a str was expected"),
        ({"int": "12"}, "hexadecimal"),
        ({"int": "0x_1"}, "hexadecimal"),
        ({"float": "1.5"}, "not a float64"),
        ({"float": "nan"}, "not a float64"),
        ({"float": "nan:7ff8"}, "not a float64"),
        ({"float": "nan:3ff0000000000000"}, "does not encode NaN"),
        ({"tuple": "abc"}, "where a list was expected"),
        ({"dict": [1]}, "where a dict was expected"),
        ({"pairs": {}}, "where a list was expected"),
        ({"pairs": [[1]]}, "a key and a value"),
        ({"pairs": [[[], 1]]}, "strings or integers"),
        ({"pairs": [[True, 1]]}, "strings or integers"),
        ({"pairs": [[1, 1], [1, 2]]}, "twice"),
        ({"scalar": 1}, "where a dict was expected"),
        ({"scalar": {"dtype": "float128", "value": 1}}, "not supported"),
        ({"scalar": {"dtype": "object", "value": 1}}, "not supported"),
        ({"scalar": {"dtype": "int8", "value": 128}}, None),
        ({"scalar": {"dtype": "int8", "value": 1.0}}, "where a int was expected"),
        ({"scalar": {"dtype": "bool", "value": 1}}, "where a bool was expected"),
        ({"scalar": {"dtype": "float32", "value": 0.1}}, "0.1 is not a float32"),
        ({"scalar": {"dtype": "float32", "value": 1e300}}, "is not a float32"),
        ({"scalar": {"dtype": "float32", "value": "nan:7ff8000000000000"}}, "not a float32"),
        ({"scalar": {"dtype": "str", "value": 1}}, "where a str was expected"),
        ({"scalar": {"dtype": "bytes", "value": "abc"}}, "hexadecimal"),
        ({"array": "none"}, r"none\.npy is missing"),
        ({"array": ["a"]}, "where a str was expected"),
        ({"array": "../manifest.json"}, "missing"),
        ({"generator": {"state": {"dict": {}}, "seed": 0}}, "where a dict was expected"),
        (seeded("PCG64", bit_generator="Evil"), "not one of NumPy's own"),
        (seeded("PCG64", bit_generator="SFC64"), None),
        (seeded("PCG64", state=1), None),
        (seeded("PCG64", uinteger="a"), None),
        ({"random_state": 5}, "where a dict was expected"),
        ({"random_state": {"dict": {"bit_generator": "PCG64"}}}, None),
    ],
    ids=str,
)
def test_a_bad_tree_is_refused(path, tree, message):
    put(path, {"manifest.json": manifest(tree)})
    assert_refused(path, message)


@pytest.mark.parametrize("tag", ["tuple", "dict", "pairs", "fields", "list"])
def test_a_tree_that_is_too_deep_is_refused(path, tag):
    wrap = {
        "tuple": lambda tree: {"tuple": [tree]},
        "dict": lambda tree: {"dict": {"a": tree}},
        "pairs": lambda tree: {"pairs": [[1, tree]]},
        "fields": lambda tree: {"type": "Model", "fields": {"a": tree}},
        "list": lambda tree: [tree],
    }[tag]
    tree = 0
    for _ in range(64):
        tree = wrap(tree)
    put(path, {"manifest.json": manifest(tree)})
    assert_refused(path, "deeper than 64")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": [3]}, "strings for an array"),
        ({"shape": [-1, -2]}, "negative"),
        ({"shape": [2.0]}, "where a int was expected"),
        ({"shape": [2**70, 0]}, "strings for an array"),
        ({"items": [], "shape": [2**70, 0]}, None),
        ({"order": "A"}, "strings for an array"),
        ({"items": ["a", 1]}, "where a str was expected"),
        ({"items": "ab"}, "where a list was expected"),
        ({"more": 1}, "expected"),
    ],
    ids=str,
)
def test_bad_arrays_of_strings_are_refused(path, changes, message):
    put(path, {"manifest.json": manifest({"array": "a"}, strings={"a": STRINGS | changes})})
    assert_refused(path, message)


@pytest.mark.parametrize("position", [-1, 625, 2**31, 2**70, 1.5, "a"])
@pytest.mark.parametrize("name", ["MT19937", "Philox"])
def test_a_generator_that_would_read_foreign_memory_is_refused(tmp_path, name, position):
    path = tmp_path / "bad"
    archive.write(path, "model", np.random.Generator(getattr(np.random, name)(1)))
    with zipfile.ZipFile(path) as file:
        members = {member: file.read(member) for member in file.namelist()}
    made = json.loads(members["manifest.json"])
    state = made["tree"]["generator"]["state"]["dict"]
    if name == "Philox":
        state["buffer_pos"] = position
    else:
        state["state"]["dict"]["pos"] = position
    put(path, members | {"manifest.json": json.dumps(made)})
    assert_refused(path, "position" if isinstance(position, int) else "where a int was expected")


HUGE = 2**60


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an array"),
        (b"\x93NUMPY", "not an array"),
        (b"\x93NUMPY\1\0\xff\xff{", "not an array"),
        (npy(np.arange(4)).replace(b"NUMPY\1", b"NUMPY\2"), "is not an array"),
        (npy(np.arange(4)).replace(b"shape", b"shap_"), "not an array"),
        (npy(np.arange(4), shape=(5,)), "does not match its header"),
        (npy(np.arange(4), shape=(3,)), "does not match its header"),
        (npy(np.arange(4), shape=(HUGE,)), "does not match its header"),
        (npy(np.arange(4), shape=(HUGE, HUGE, HUGE)), "does not match its header"),
        (npy(np.arange(4), shape=(-2, -2)), "negative"),
        (npy(np.arange(4), descr="<i4"), "does not match its header"),
        (npy(np.arange(4), descr="|O"), "dtype object, which is not allowed"),
        (npy(np.arange(4), descr=[("a", "|O")]), "not allowed"),
        (npy(np.arange(4), descr="<c16", shape=(2,)), "not allowed"),
        (npy(np.arange(4), descr="<m8[s]"), "not allowed"),
        (npy(np.arange(4), descr="|S0", shape=(HUGE,)), "not allowed"),
        (npy(np.zeros(0), descr=[], shape=(HUGE,)), "not allowed"),
        (npy(np.zeros(0), descr=("<f8", (0,)), shape=(HUGE,)), None),
        (npy(np.arange(4), descr="nonsense"), "not an array"),
        (npy(np.arange(4)) + b"\0", "does not match its header"),
        (npy(np.arange(4))[:-1], "does not match its header"),
        (pickle.dumps(np.arange(4)), "not an array"),
    ],
)
def test_a_bad_array_is_refused_without_memory_for_what_it_claims(path, content, message):
    put(path, {"manifest.json": manifest({"array": "a"}), "a.npy": content})
    assert_refused(path, message)


@pytest.mark.parametrize("literal", [b"(" * 5000, b"-" * 9000 + b"1", b"[" * 4000 + b"]" * 4000])
def test_a_header_that_overflows_the_parser_is_refused(path, literal):
    content = b"\x93NUMPY\1\0" + struct.pack("<H", len(literal)) + literal
    put(path, {"manifest.json": manifest({"array": "a"}), "a.npy": content})
    assert_refused(path, "not an array")


class Trap:
    """Leaves a mark when it is unpickled."""

    sprung: list = []  # noqa: RUF012

    def __reduce__(self):
        return self.sprung.append, (1,)


def test_a_pickle_is_refused_and_not_run(path):
    objects = io.BytesIO()
    np.lib.format.write_array(objects, np.array([Trap()], object), allow_pickle=True)
    trap = pickle.dumps(Trap())
    good = {"manifest.json": manifest({"array": "a"}), "a.npy": npy(np.arange(4))}
    for members in (
        good | {"a.npy": objects.getvalue()},
        good | {"a.npy": trap},
        good | {"b.npy": objects.getvalue()},
        good | {"data.pkl": trap},
        good | {"manifest.json": trap},
    ):
        put(path, members)
        assert_refused(path)
    assert not Trap.sprung


@pytest.mark.parametrize("extra", ["b.npy", "folder/", "a.npy.npy", "../../evil"])
def test_what_the_tree_does_not_mention_is_refused(path, extra):
    good = {"manifest.json": manifest({"array": "a"}), "a.npy": npy(np.arange(4))}
    put(path, good | {extra: b""})
    assert_refused(path, "does not refer to")
    put(path, {"manifest.json": manifest(0, strings={"a": STRINGS})})
    assert_refused(path, "does not refer to")
    put(path, good | {"manifest.json": manifest({"array": "a"}, strings={"a": STRINGS})})
    assert_refused(path, "does not refer to")


def test_two_members_of_one_name_are_refused(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", manifest(0))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("manifest.json", manifest(1))
    assert_refused(path, "same name")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_bomb_is_refused_before_it_goes_off(path, compression):
    bomb = npy(np.zeros(10**6))
    put(path, {"manifest.json": manifest({"array": "a"}), "a.npy": bomb}, compression)
    assert_refused(path, "compressed")


def test_a_size_that_lies_takes_no_memory(path):
    put(path, {"manifest.json": manifest({"array": "a"}), "a.npy": npy(np.arange(4))})
    whole = bytearray(path.read_bytes())
    size = struct.pack("<II", *[len(npy(np.arange(4)))] * 2)
    lie = struct.pack("<II", *[0x7FFFFFF0] * 2)
    path.write_bytes(whole.replace(size, lie))
    tracemalloc.start()
    try:
        assert_refused(path, "larger than the file")
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_reading_takes_little_more_memory_than_the_arrays(path):
    archive.write(path, "model", [np.zeros((1000, 1000)), np.zeros((1000, 1000), order="F")])
    tracemalloc.start()
    try:
        read(path)
        assert tracemalloc.get_traced_memory()[1] < 1.3 * path.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "bad", ["beyond", "far beyond", "negative", "shape", "dtype", "2d", "parts"]
)
def test_a_sparse_array_that_would_read_foreign_memory_is_refused(path, layout, bad):
    array = sparse.coo_array(np.eye(3)).asformat(layout)
    parts = {name: getattr(array, name) for name in PARTS[layout]}
    index = "row" if layout == "coo" else "indices"
    wide = parts[index].astype(np.int64)
    wrong = {"beyond": [0, 1, 3], "far beyond": [0, 1, 2**32], "negative": [0, 1, -1]}
    if bad in wrong:
        parts[index] = np.array(wrong[bad])
    elif bad == "dtype":
        parts[index] = wide.astype(float)
    elif bad == "2d":
        parts["data"] = np.eye(3)
    elif bad == "parts":
        parts["data"] = np.ones(2)
    shape = [2, 2] if bad == "shape" else [3, 3]
    node = {"class": f"{layout}_array", "shape": shape} | {n: {"array": n} for n in parts}
    members = {f"{name}.npy": npy(part) for name, part in parts.items()}
    put(path, {"manifest.json": manifest({"sparse": node})} | members)
    assert_refused(path)


@pytest.mark.parametrize(
    "indptr", [[0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2], [-1, 0, 1, 3]], ids=str
)
def test_row_starts_that_point_outside_are_refused(path, indptr):
    parts = {"data": np.ones(3), "indices": np.arange(3), "indptr": np.array(indptr)}
    node = {"class": "csr_array", "shape": [3, 3]} | {n: {"array": n} for n in parts}
    members = {f"{name}.npy": npy(part) for name, part in parts.items()}
    put(path, {"manifest.json": manifest({"sparse": node})} | members)
    assert_refused(path)


def test_a_huge_sparse_shape_takes_no_memory(path):
    parts = {"data": np.ones(0), "row": np.zeros(0, np.int32), "col": np.zeros(0, np.int32)}
    for shape in ([2**60, 2**60], [2**70, 1], [1], [1, 1, 1], [-1, 1]):
        node = {"class": "csr_array", "shape": shape, "data": {"array": "data"}}
        node |= {"indices": {"array": "row"}, "indptr": {"array": "col"}}
        members = {f"{name}.npy": npy(part) for name, part in parts.items()}
        put(path, {"manifest.json": manifest({"sparse": node})} | members)
        assert_refused(path)


# Random damage -----------------------------------------------------------------------------------

EXAMPLE = Model(
    weights=np.arange(6.0).reshape(2, 3),
    names=np.array(["ab", "c"], object),
    history=np.zeros(2, [("iteration", "i8"), ("seconds", "f4")]),
    counts=sparse.csr_array(np.eye(3)),
    prior=Setting(np.float32("nan"), "λ"),
    pair=Pair((1, 2**80), {1: None, "a": -0.5}),
    streams=[np.random.Generator(np.random.Philox(3)), np.random.RandomState(3)],
)


def edited(content, edits):
    content = bytearray(content)
    for action, where, what in edits:
        at = int(where * len(content))
        if action == "flip" and content:
            content[min(at, len(content) - 1)] ^= what[0] or 1
        elif action == "insert":
            content[at:at] = what
        elif action == "delete":
            del content[at : at + len(what)]
        elif action == "overwrite":
            content[at : at + len(what)] = what
        elif action == "truncate":
            del content[at:]
    return bytes(content)


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["flip", "flip", "overwrite", "insert", "delete", "truncate"]),
        st.floats(0, 1),
        st.binary(min_size=1, max_size=9),
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="module")
def example(folder):
    """The bytes of a good file."""
    archive.write(folder / "example", "model", EXAMPLE)
    return (folder / "example").read_bytes()


@settings(max_examples=500)
@given(edits=EDITS)
def test_a_damaged_file_is_refused_or_reads_as_before(folder, example, edits):
    path = folder / "damaged"
    path.write_bytes(edited(example, edits))
    try:
        tree = read(path)
    except ValueError:
        return
    assert_same(tree, EXAMPLE)


@settings(max_examples=500)
@given(which=st.integers(0, 99), edits=EDITS)
def test_damage_with_a_good_checksum_raises_nothing_but_valueerror(folder, example, which, edits):
    path = folder / "forged"
    with zipfile.ZipFile(io.BytesIO(example)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = sorted(members)[which % len(members)]
    put(path, members | {name: edited(members[name], edits)})
    try:
        tree = read(path)
    except ValueError:
        return
    # A position outside of a buffer would show here.
    for generator in tree.parts.get("streams", []):
        generator.normal(size=2000)


TAGS = """int float tuple dict pairs array record scalar sparse generator random_state type fields
dtype value class shape data row col state seed bit_generator"""

NODES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 9), FINITE_FLOATS, st.sampled_from("a1")),
    lambda nodes: st.one_of(
        st.lists(nodes, max_size=3),
        st.dictionaries(st.sampled_from(TAGS.split()), nodes, max_size=3),
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(tree=NODES)
def test_a_manifest_of_any_json_raises_nothing_but_valueerror(folder, tree):
    path = folder / "json"
    put(path, {"manifest.json": manifest(tree, strings={"a": STRINGS})})
    with suppress(ValueError):
        read(path)

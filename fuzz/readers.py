"""Files of every format, damaged: reading raises ValueError, or gives counts that are valid."""

import io
import json
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import zarr
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import io as scipy_io
from scipy import sparse

from fuzz.archive import damage_a_member, damage_zip_fields, damaged
from fuzz.loop import Property
from isotopic import open_blocks, read_counts
from isotopic.blocks import BlockedCounts
from isotopic.io import FORMATS, TEXT_FORMATS, CountData, Options, write_counts
from isotopic.io.read import recognise

COUNTS = np.arange(24).reshape(6, 4) % 5
SAMPLES, FEATURES = [f"s{i}" for i in range(6)], ["ann", "bob", "cat", "dog"]
TEXTS = ["the cat and the dog", "ann has a cat", "bob has a dog", "ann, bob: 1999!"]

# No small file may take longer than this to be read, whatever it claims.
_SECONDS = 30


def _lines(*rows: object) -> str:
    return "".join(f"{row}\n" for row in rows)


def _table(mark: str) -> str:
    rows = [["name", *FEATURES], *([s, *row] for s, row in zip(SAMPLES, COUNTS, strict=True))]
    return _lines(*(mark.join(map(str, row)) for row in rows))


def _entries(first: int) -> Iterator[tuple[int, int, int]]:
    for row, column in zip(*np.nonzero(COUNTS), strict=True):
        yield int(row) + first, int(column) + first, int(COUNTS[row, column])


def _pairs(first: int) -> list[str]:
    return [" ".join(f"{i + first}:{n}" for i, n in enumerate(row) if n) for row in COUNTS.tolist()]


def _write_texts(folder: Path) -> None:
    """Write the formats that are text."""
    long = [f"{SAMPLES[i]},{FEATURES[j]},{n}" for i, j, n in _entries(0)]
    triples = [f"{i} {j} {n}" for i, j, n in _entries(1)]
    mtx = "%%MatrixMarket matrix coordinate integer"
    rows = [line.split() for line in _pairs(0)]
    texts = {
        "wide.csv": _table(","),
        "wide.tsv": _table("\t"),
        "semicolons.csv": _table(";"),
        "long.csv": _lines("sample,feature,count", *long),
        "catalogue.tsv": _lines("Type\tT1\tT2", "A[C>A]A\t3\t0", "T[T>G]C\t1\t2"),
        "text.csv": _lines("id,text,year", *(f'{i},"{t}",1999' for i, t in enumerate(TEXTS))),
        "lines.txt": _lines(*TEXTS),
        "documents.jsonl": _lines(*(json.dumps({"id": i, "text": t}) for i, t in enumerate(TEXTS))),
        "x.mtx": _lines(f"{mtx} general", f"6 4 {len(triples)}", *triples),
        "symmetric.mtx": _lines(f"{mtx} symmetric", "3 3 3", "1 1 2", "2 1 3", "2 3 1"),
        "docword.txt": _lines(6, 4, len(triples), *triples),
        "x.svm": _lines(*(f"1 {pairs}" for pairs in _pairs(1))),
        "x.ldac": _lines(*(f"{len(row)} {' '.join(row)}" for row in rows)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _write_arrays(folder: Path) -> None:
    """Write the formats of NumPy, SciPy and this package."""
    np.save(folder / "x.npy", COUNTS)
    np.savez(folder / "dense.npz", COUNTS, sample_names=SAMPLES, feature_names=FEATURES)
    for form in ("csr", "csc", "coo", "bsr", "dia"):
        matrix = sparse.coo_array(COUNTS).asformat(form)
        sparse.save_npz(folder / f"{form}.npz", matrix, compressed=form != "csr")
    names = np.array(SAMPLES), np.array(FEATURES)
    write_counts(folder / "x.isotopic", CountData(sparse.csr_array(COUNTS), *names, ""))


def _write_containers(folder: Path) -> None:
    """Write the formats of other libraries."""
    table = pa.table(dict(zip(FEATURES, COUNTS.T, strict=True)))
    parquet.write_table(table, folder / "wide.parquet")
    triples = dict(zip(("row", "col", "value"), zip(*_entries(0), strict=True), strict=True))
    parquet.write_table(pa.table(triples), folder / "triplets.parquet", row_group_size=5)
    parquet.write_table(pa.table({"text": TEXTS}), folder / "text.parquet")
    with h5py.File(folder / "x.h5", "w") as file:
        file["X"] = COUNTS
    with h5py.File(folder / "x.h5ad", "w") as file:
        rows = sparse.csr_array(COUNTS)
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", COUNTS.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(rows, name)
        for frame, names in (("obs", SAMPLES), ("var", FEATURES)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[f"{frame}/_index"] = [name.encode() for name in names]


def _write_folders(folder: Path) -> None:
    """Write the formats that are folders."""
    rows = sparse.csr_array(COUNTS)
    for name in ("csr", "cells", "texts"):
        (folder / name).mkdir()
    for part in ("data", "indices", "indptr"):
        np.save(folder / "csr" / f"{part}.npy", getattr(rows, part))
    np.save(folder / "csr" / "shape.npy", rows.shape)
    scipy_io.mmwrite(folder / "cells" / "matrix.mtx", sparse.coo_array(COUNTS.T))
    (folder / "cells" / "features.tsv").write_text(_lines(*FEATURES))
    (folder / "cells" / "barcodes.tsv").write_text(_lines(*SAMPLES))
    for i, text in enumerate(TEXTS):
        (folder / "texts" / f"{i}.txt").write_text(text)
    zarr.create_array(folder / "x.zarr", data=COUNTS, chunks=(3, 4))


@cache
def whole_files() -> dict[str, dict[str, bytes]]:
    """Return the files of each format, by their paths in it; the path of a plain file is empty."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        for write in (_write_texts, _write_arrays, _write_containers, _write_folders):
            write(folder)
        found = {}
        for path in sorted(folder.iterdir()):
            files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
            parts = {str(f.relative_to(path)) if f != path else "": f.read_bytes() for f in files}
            found[path.name] = parts
        return found


_CELLS = ["", "-1", "1e9", "1e18", "nan", "inf", "1_000", "0x1F", "99999999999999999999", "O", '"']
_CELLS += ["\0", "\u0661", "1,5", "the cat sat on the mat", "2020-01-02", ":", "1:1", "\t", "%"]


def change_text(rng: np.random.Generator, whole: bytes) -> bytes:
    """Replace cells, and leave out, repeat or exchange lines."""
    lines = whole.decode("latin-1").splitlines()
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(lines))) if lines else 0
        match rng.integers(4):
            case 0 if lines:
                del lines[at]
            case 1 if lines:
                lines.insert(at, lines[int(rng.integers(len(lines)))])
            case _ if lines:
                marks = [m for m in ",\t; :" if m in lines[at]] or [" "]
                mark = str(rng.choice(marks))
                cells = lines[at].split(mark)
                cells[int(rng.integers(len(cells)))] = str(rng.choice(_CELLS))
                lines[at] = mark.join(cells)
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    return end.join(lines).encode("utf-8") + b"\n"


def change_archive(rng: np.random.Generator, whole: bytes) -> bytes:
    """Change fields or members of a ZIP archive."""
    if not zipfile.is_zipfile(io.BytesIO(whole)):
        return damaged(rng, whole)
    change = damage_zip_fields if rng.integers(2) else damage_a_member
    return change(rng, whole)


CHANGES: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    f.__name__: f for f in (damaged, change_text, change_archive)
}


@dataclass(frozen=True)
class ChangedFile:
    """A file of a format, a way to change it, and the format that it is read as."""

    name: str
    change: str
    seed: int
    format: str | None = None

    @contextmanager
    def written(self) -> Iterator[Path]:
        """Write it for the length of a with statement."""
        rng, parts = np.random.default_rng(self.seed), dict(whole_files()[self.name])
        which = str(rng.choice(sorted(parts)))
        parts[which] = CHANGES[self.change](rng, parts[which])
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, self.name)
            for part, content in parts.items():
                file = path / part if part else path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            yield path


def read_all_terms(path: Path, format: str | None = None) -> CountData:
    """Read a file; of documents, also terms that occur only once."""
    options: dict[str, Any] = {}
    if format in TEXT_FORMATS or (format is None and _recognised(path) in TEXT_FORMATS):
        options["min_df"] = 1
    return read_counts(path, format=format, **options)


def _recognised(path: Path) -> str | None:
    try:
        return recognise(path, Options())
    except Exception:
        return None


def a_changed_file_is_refused_or_read(case: ChangedFile) -> None:
    """Raise a ValueError that names the file, or return valid counts; whole and by rows."""
    with case.written() as path, _in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that read
        try:
            data = read_all_terms(path, case.format)
        except (ValueError, FileNotFoundError) as error:
            message = str(error)
        else:
            message = path.name
            _check(data)
        assert path.name in message, message


def changed_blocks_are_refused_or_read(case: ChangedFile) -> None:
    """Raise a ValueError, or check and read every block twice with the same counts."""
    with case.written() as path, _in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            blocks = open_blocks(path, format=case.format, block_entries=5)
            if 0 in blocks.shape:
                return
            counts = BlockedCounts(blocks)
        except ValueError:
            return
        for piece in counts.pieces:
            again = piece.load()
            np.testing.assert_array_equal(again.sample_totals, counts.sample_totals[piece.rows])


def _check(data: CountData) -> None:
    values = data.counts.data
    assert data.counts.shape == (len(data.sample_names), len(data.feature_names))
    assert np.all((values > 0) & (values < np.inf))
    data.counts.check_format(full_check=True)


@contextmanager
def _in_time() -> Iterator[None]:
    began = time.process_time()
    yield
    seconds = time.process_time() - began
    assert seconds < _SECONDS, f"{seconds:.0f} seconds"


def _cases(formats: Any) -> Any:
    names = st.sampled_from(sorted(whole_files()))
    changes = st.sampled_from(sorted(CHANGES))
    return st.builds(ChangedFile, names, changes, st.integers(0, 2**32 - 1), formats)


PROPERTIES = [
    Property(a_changed_file_is_refused_or_read, _cases(st.none() | st.sampled_from(FORMATS))),
    Property(changed_blocks_are_refused_or_read, _cases(st.none())),
]

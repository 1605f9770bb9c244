"""Files that lead the readers to new places, found by atheris: optional, as atheris is.

``python -m fuzz.guided FOLDER [options of libFuzzer]`` keeps its corpus in the folder. The first
byte of an input says what the rest is: a whole archive (``w``), the manifest of one (``m``), or a
file of counts, whose format is one of a list.
"""

import sys
import warnings
from contextlib import suppress
from pathlib import Path

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

with atheris.instrument_imports(include=["isotopic.archive", "isotopic.io", "isotopic.npy"]):
    from isotopic import (
        archive,
        io,  # noqa: F401 - watched, and used by the other fuzzers
    )

from fuzz.archive import TYPES, content, members, something_of_every_kind, zipped
from fuzz.readers import read_all_terms, whole_files

# Files of counts; those of HDF5 and Parquet are left to their libraries, which are not watched.
NAMES = [
    name
    for name, parts in whole_files().items()
    if "" in parts and not name.endswith((".h5", ".h5ad", ".parquet"))
]


def main(folder: Path) -> None:
    """Read what atheris makes until it has enough."""
    corpus = folder / "corpus"
    whole = content(something_of_every_kind)
    parts = members(whole)
    corpus.mkdir(exist_ok=True)
    (corpus / "whole").write_bytes(b"w" + whole)
    (corpus / "manifest").write_bytes(b"m" + parts["manifest.json"])
    for number, name in enumerate(NAMES):
        (corpus / name).write_bytes(bytes([number]) + whole_files()[name][""])

    def read(made: bytes) -> None:
        kind, rest = made[:1], made[1:]
        if kind in (b"w", b"m"):
            path = folder / "changed"
            path.write_bytes(rest if kind == b"w" else zipped({**parts, "manifest.json": rest}))
            with suppress(ValueError):
                archive.read(path, "fuzz", TYPES)
            return
        path = folder / NAMES[(kind[0] if kind else 0) % len(NAMES)]
        path.write_bytes(rest)
        with suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read_all_terms(path)

    options = [f"-max_len={2 * len(whole)}", f"-artifact_prefix={folder}/", *sys.argv[2:]]
    atheris.Setup([sys.argv[0], *options, str(corpus)], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

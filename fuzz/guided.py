"""Files that lead the reader to new places, found by atheris: optional, as atheris is.

``python -m fuzz.guided FOLDER [options of libFuzzer]`` keeps its corpus in the folder. The input is
a whole file after a ``w``, and a manifest after anything else.
"""

import sys
from contextlib import suppress
from pathlib import Path

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["isotopic.archive", "zipfile"]):
    from isotopic import archive

from fuzz.archive import TYPES, content, members, something_of_every_kind, zipped


def main(folder: Path) -> None:
    """Read what atheris makes until it has enough."""
    corpus, changed = folder / "corpus", folder / "changed"
    whole = content(something_of_every_kind)
    parts = members(whole)
    corpus.mkdir(exist_ok=True)
    (corpus / "whole").write_bytes(b"w" + whole)
    (corpus / "manifest").write_bytes(b"m" + parts["manifest.json"])

    def read(made: bytes) -> None:
        kind, rest = made[:1], made[1:]
        changed.write_bytes(rest if kind == b"w" else zipped({**parts, "manifest.json": rest}))
        with suppress(ValueError):
            archive.read(changed, "fuzz", TYPES)

    options = [f"-max_len={2 * len(whole)}", f"-artifact_prefix={folder}/", *sys.argv[2:]]
    atheris.Setup([sys.argv[0], *options, str(corpus)], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

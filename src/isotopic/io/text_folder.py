"""Raw text: a folder of files."""

from pathlib import Path

from isotopic.io.opening import bare_suffix, open_text
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource
from isotopic.io.words import count_words


def text_files(folder: Path) -> list[Path]:
    """Find the ``.txt`` files of a folder and of those in it, compressed ones too, in order."""
    return sorted(p for p in folder.rglob("*.txt*") if bare_suffix(p) == ".txt" and p.is_file())


def read(path: Path, options: Options) -> LoadedSource:
    """Read a folder, a document for each file."""
    files = text_files(path)
    if not files:
        raise ValueError("there are no .txt files in the folder")
    names = [file.relative_to(path).as_posix() for file in files]
    return count_words((_whole(file, options) for file in files), options, names)


def _whole(file: Path, options: Options) -> str:
    try:
        with open_text(file, options.encoding) as stream:
            return stream.read()
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error

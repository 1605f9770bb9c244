"""Raw text: a document a line."""

from dataclasses import replace
from pathlib import Path

from isotopic.io.names import as_names
from isotopic.io.opening import open_text
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource
from isotopic.io.words import count_words


def read(path: Path, options: Options) -> LoadedSource:
    """Read a document a line; an empty line is a document without words."""
    with open_text(path, options.encoding) as stream:
        source = count_words(stream, options, None)
    names = as_names(f"line {i}" for i in range(1, source.shape[0] + 1))
    return replace(source, samples=names)

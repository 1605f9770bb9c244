"""Raw text: a document a line."""

from dataclasses import replace
from pathlib import Path

from isotopic.io.data import Content
from isotopic.io.opening import open_text
from isotopic.io.options import Options
from isotopic.io.words import count_words


def read(path: Path, options: Options) -> Content:
    """Read a document a line; an empty line is a document without words."""
    with open_text(path, options.encoding) as stream:
        content = count_words(stream, options, None)
    names = [f"line {i}" for i in range(1, content.counts.shape[0] + 1)]
    return replace(content, sample_names=names)

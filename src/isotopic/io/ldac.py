"""The format of LDA-C: the number of different words, and pairs a line."""

from pathlib import Path

from isotopic.io.options import Options
from isotopic.io.pairs import join_pairs, read_pairs, read_vocabulary
from isotopic.io.source import LoadedSource


def read(path: Path, options: Options) -> LoadedSource:
    """Read Blei's format: the number of different words, then pairs; words are numbered from 0."""
    parts = list(read_pairs(path, options.encoding, comments=False))
    line = 0
    for part in parts:
        for head, length in zip(part.heads, part.lengths, strict=True):
            line += 1
            if head != str(length):
                raise ValueError(f"line {line} promises {head[:50]} pairs; {length} follow")
    return join_pairs(parts, 0, read_vocabulary(path, options.encoding))

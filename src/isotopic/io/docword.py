"""Bags of words of the UCI repository: ``docword.x.txt`` and ``vocab.x.txt``."""

from pathlib import Path
from typing import IO

from isotopic.io.entries import read_entries
from isotopic.io.names import read_names
from isotopic.io.opening import bare, beside, open_text
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, loaded

_HEADER = ("documents", "words in the vocabulary", "entries")


def looks_like_docword(lines: list[str]) -> bool:
    """Whether there are three lines of one number and then three numbers a line."""
    cells = [line.split() for line in lines[:4]]
    widths = [len(row) for row in cells]
    return widths == [1, 1, 1, 3] and all(cell.isdecimal() for row in cells for cell in row)


def read(path: Path, options: Options) -> LoadedSource:
    """Read documents x words; the vocabulary is in a file beside it."""
    with open_text(path, options.encoding) as stream:
        documents, words, promised = (_header(stream, i) for i in range(3))
        counts, found = read_entries(stream, 4, (documents, words), ("document", "word", "count"))
    if found != promised:
        raise ValueError(f"line 3 promises {promised:,} entries; {found:,} follow")
    vocabulary = _vocabulary(path)
    names = None if vocabulary is None else read_names(vocabulary, options.encoding)
    return loaded(counts, None, names)


def _header(stream: IO[str], place: int) -> int:
    text = stream.readline().strip()
    if not (text.isascii() and text.isdecimal()):
        what = _HEADER[place]
        raise ValueError(f"line {place + 1} must be the number of {what}, not {text!r:.60}")
    return int(text)


def _vocabulary(path: Path) -> Path | None:
    """Find ``vocab.x.txt`` for ``docword.x.txt``, or ``x.vocab`` (gensim), or ``vocab.txt``."""
    whole = bare(path).name
    return beside(
        path,
        whole.replace("docword", "vocab"),
        f"{whole}.vocab",
        f"{bare(path).stem}.vocab",
        "vocab.txt",
    )

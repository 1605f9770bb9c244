"""Raw text: a table with a column of documents."""

from collections.abc import Iterator
from pathlib import Path

from isotopic.io.options import Options
from isotopic.io.source import LoadedSource
from isotopic.io.tables import open_table, text_columns
from isotopic.io.words import count_words


def read(path: Path, options: Options) -> LoadedSource:
    """Read a table with a column of documents."""
    table = open_table(path, options)
    text, name = text_columns(table, options)
    if text is None:
        known = ", ".join(repr(known) for known in table.names[:20])
        raise ValueError(f"which column holds the text? Name it (text_column); there are {known}")
    names: list[str] = []

    def documents() -> Iterator[str]:
        for chunk in table.chunks():
            if name is not None:
                names.extend(chunk.text(name))
            yield from chunk.text(text)

    return count_words(documents(), options, None if name is None else names)

"""Documents: folders of files, lines, columns of tables and JSON, whose words are counted."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from isotopic.io.files import as_names, bare, open_text
from isotopic.io.source import LoadedSource, Options, Source, loaded, named
from isotopic.io.tables import NAME_COLUMNS, TEXT_COLUMNS, open_table, text_columns


def count_words(
    documents: Iterable[str], options: Options, names: list[str] | None
) -> LoadedSource:
    """Return the counts of the words of documents, which are read one by one."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - slow to load

    limits: dict[str, Any] = {}
    if options.vocabulary is None:  # it replaces the limits on the terms that are counted
        words = options.stop_words
        limits = {
            "stop_words": words if words is None or isinstance(words, str) else list(words),
            "min_df": options.min_df,
            "max_df": options.max_df,
            "max_features": options.max_features,
        }
    vectorizer = CountVectorizer(vocabulary=options.vocabulary, **limits)
    kept: list[str] = []

    def keep_beginnings() -> Iterator[str]:
        for document in documents:
            kept.append(document[: options.keep_text])
            yield document

    counts = vectorizer.fit_transform(keep_beginnings() if options.keep_text else documents)
    features = vectorizer.get_feature_names_out()
    return loaded(counts, names, features, kept if options.keep_text else None)


def text_files(folder: Path) -> list[Path]:
    """Find the ``.txt`` files of a folder and of those in it, compressed ones too, in order."""
    return sorted(
        p for p in folder.rglob("*.txt*") if bare(p).suffix.lower() == ".txt" and p.is_file()
    )


def read_text_folder(path: Path, options: Options) -> LoadedSource:
    """Read a folder, a document for each file."""
    files = text_files(path)
    if not files:
        raise ValueError("there are no .txt files in the folder")
    names = [file.relative_to(path).as_posix() for file in files]

    def documents() -> Iterator[str]:
        for file in files:
            try:
                with open_text(file, options.encoding) as stream:
                    text = stream.read()
            except ValueError as error:
                raise ValueError(f"{file.name}: {error}") from error
            yield text

    return count_words(documents(), options, names)


def read_text_lines(path: Path, options: Options) -> Source:
    """Read a document a line; an empty line is a document without words."""
    with open_text(path, options.encoding) as stream:
        source = count_words(stream, options, None)
    names = as_names(f"line {i}" for i in range(1, source.shape[0] + 1))
    return named(source, names, None)


def read_text_table(path: Path, options: Options) -> LoadedSource:
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


def read_jsonl(path: Path, options: Options) -> LoadedSource:
    """Read a JSON object (or string) a line."""
    names: list[str] = []
    with open_text(path, options.encoding) as stream:
        return count_words(_objects(stream, options, names), options, names)


def _objects(stream: Iterable[str], options: Options, names: list[str]) -> Iterator[str]:
    """Yield the text of each line, and append its name to ``names``."""
    given_text, given_name = options.text_column, options.name_column
    text_keys = TEXT_COLUMNS if given_text is None else (given_text,)
    name_keys = NAME_COLUMNS if given_name is None else (given_name,)
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from error
        if isinstance(found, str):
            found = {"text": found}
        if not isinstance(found, dict):
            raise ValueError(f"line {number} is neither an object nor a string")
        text = next((found[key] for key in text_keys if key in found), None)
        if not isinstance(text, str):
            wanted = " or ".join(map(repr, text_keys))
            known = ", ".join(repr(key) for key in list(found)[:20])
            raise ValueError(f"line {number} has no text in {wanted}; it has {known}")
        yield text
        name = next((found[key] for key in name_keys if key in found), None)
        if name is None and given_name is not None:
            raise ValueError(f"line {number} has no {given_name!r}")
        names.append(f"line {number}" if name is None else str(name))

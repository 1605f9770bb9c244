"""Documents: folders of files, lines, columns of tables and JSON, whose words are counted."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic.io.names import as_names
from isotopic.io.opening import bare_suffix, open_text
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, loaded
from isotopic.io.tables import NAME_COLUMNS, TEXT_COLUMNS, open_table, text_columns


def count_words(
    documents: Iterable[str], options: Options, names: list[str] | None
) -> LoadedSource:
    """Return the counts of the words of documents, which are read one by one."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - slow to load

    words = options.stop_words
    vectorizer = CountVectorizer(
        stop_words=words if words is None or isinstance(words, str) else list(words),
        min_df=options.min_df,
        max_df=options.max_df,
        max_features=options.max_features,
        vocabulary=options.vocabulary,
    )
    kept: list[str] = []
    if options.keep_text:
        documents = _keep_beginnings(documents, options.keep_text, kept)
    counts = vectorizer.fit_transform(documents)
    features = vectorizer.get_feature_names_out()
    return loaded(counts, names, features, kept if options.keep_text else None)


def _keep_beginnings(documents: Iterable[str], length: int, kept: list[str]) -> Iterator[str]:
    """Yield the documents, and append the beginning of each to ``kept``."""
    for document in documents:
        kept.append(document[:length])
        yield document


def text_files(folder: Path) -> list[Path]:
    """Find the ``.txt`` files of a folder and of those in it, compressed ones too, in order."""
    return sorted(p for p in folder.rglob("*.txt*") if bare_suffix(p) == ".txt" and p.is_file())


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


def read_text_lines(path: Path, options: Options) -> LoadedSource:
    """Read a document a line; an empty line is a document without words."""
    with open_text(path, options.encoding) as stream:
        source = count_words(stream, options, None)
    names = as_names(f"line {i}" for i in range(1, source.shape[0] + 1))
    return replace(source, samples=names)


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
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from error
        if isinstance(found, str):
            found = {"text": found}
        yield _field(found, options.text_column, TEXT_COLUMNS, number)
        names.append(_name(found, options.name_column, number))


def _field(found: Any, given: str | None, usual: Sequence[str], number: int) -> str:
    if not isinstance(found, dict):
        raise ValueError(f"line {number} is neither an object nor a string")
    wanted = usual if given is None else (given,)
    text = next((found[name] for name in wanted if name in found), None)
    if not isinstance(text, str):
        known = ", ".join(repr(name) for name in list(found)[:20])
        raise ValueError(
            f"line {number} has no text in {' or '.join(map(repr, wanted))}; it has {known}"
        )
    return text


def _name(found: dict[str, Any], given: str | None, number: int) -> str:
    wanted = NAME_COLUMNS if given is None else (given,)
    name = next((found[name] for name in wanted if name in found), None)
    if name is None and given is not None:
        raise ValueError(f"line {number} has no {given!r}")
    return f"line {number}" if name is None else str(name)

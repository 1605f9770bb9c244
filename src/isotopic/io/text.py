"""Raw text: documents become counts of their words."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic.io.data import Content
from isotopic.io.opening import bare_suffix, open_text
from isotopic.io.options import Options
from isotopic.io.tables import open_table, text_columns

_TEXT = ("text", "document", "content", "body", "abstract")
_NAME = ("id", "name", "sample", "doc_id", "title", "file")


def text_files(folder: Path) -> list[Path]:
    """Find the ``.txt`` files of a folder and of those in it, compressed ones too, in order."""
    return sorted(p for p in folder.rglob("*.txt*") if bare_suffix(p) == ".txt" and p.is_file())


def read_folder(path: Path, options: Options) -> Content:
    """Read a folder, a document for each file."""
    files = text_files(path)
    if not files:
        raise ValueError("there are no .txt files in the folder")
    names = [file.relative_to(path).as_posix() for file in files]
    return _counted((_whole(file, options) for file in files), options, names)


def read_lines(path: Path, options: Options) -> Content:
    """Read a document a line; an empty line is a document without words."""
    with open_text(path, options.encoding) as stream:
        content = _counted(stream, options, None)
    names = [f"line {i}" for i in range(1, content.counts.shape[0] + 1)]
    return replace(content, sample_names=names)


def read_jsonl(path: Path, options: Options) -> Content:
    """Read a JSON object (or string) a line."""
    names: list[str] = []
    with open_text(path, options.encoding) as stream:
        return _counted(_objects(stream, options, names), options, names)


def read_table(path: Path, options: Options) -> Content:
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

    return _counted(documents(), options, None if name is None else names)


def _whole(file: Path, options: Options) -> str:
    try:
        with open_text(file, options.encoding) as stream:
            return stream.read()
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error


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
        yield _field(found, options.text_column, _TEXT, number)
        names.append(_name(found, options.name_column, number))


def _field(found: Any, given: str | None, usual: tuple[str, ...], number: int) -> str:
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
    wanted = _NAME if given is None else (given,)
    name = next((found[name] for name in wanted if name in found), None)
    if name is None and given is not None:
        raise ValueError(f"line {number} has no {given!r}")
    return f"line {number}" if name is None else str(name)


def _counted(documents: Iterable[str], options: Options, names: list[str] | None) -> Content:
    """Count the words of documents that are looked at one by one."""
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
        documents = _noted(documents, options.keep_text, kept)
    counts = vectorizer.fit_transform(documents)
    features = vectorizer.get_feature_names_out()
    return Content(counts, names, features, kept if options.keep_text else None)


def _noted(documents: Iterable[str], length: int, kept: list[str]) -> Iterator[str]:
    """Note the beginning of each document that passes."""
    for document in documents:
        kept.append(document[:length])
        yield document

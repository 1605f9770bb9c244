"""Documents: folders of files, lines, columns of tables and JSON, whose words are counted."""

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

from isotopic.io.data import CUT
from isotopic.io.files import (
    as_names,
    bare,
    encoding_to_suggest,
    encodings_of,
    fitting_encoding,
    open_text,
    read_text,
)
from isotopic.io.markup import readable_text
from isotopic.io.source import LoadedSource, Options, Source, loaded, named
from isotopic.io.tables import NAME_COLUMNS, TEXT_COLUMNS, open_table, text_columns
from isotopic.io.words import Analyzer
from isotopic.names import stacklevel_of_caller

_NO_TERMS = (
    "no term can occur in at least min_df={} and at most max_df={} documents (--min-df, --max-df)"
)


def count_words(
    documents: Iterable[str], options: Options, names: list[str] | None
) -> LoadedSource:
    """Return the counts of the words of documents, which are read one by one."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - slow to load

    limits = _limits(options) if options.vocabulary is None else {}
    analyzer = Analyzer(options)
    vectorizer = CountVectorizer(
        analyzer=analyzer,
        lowercase=options.lowercase,  # only for its warning about the vocabulary
        vocabulary=options.vocabulary,
        **limits,
    )
    kept: list[str] = []

    def keep_beginnings() -> Iterator[str]:
        for document in documents:
            text = document if options.keep_html else readable_text(document)
            kept.append(_beginning(text, options.keep_text))
            yield document

    try:
        counts = vectorizer.fit_transform(keep_beginnings() if options.keep_text else documents)
    except UnicodeDecodeError:  # of a document; the file says in which line
        raise
    except ValueError as error:
        analyzer.check()  # says it better
        meaning = _translate_error(str(error), options)
        if meaning == str(error):
            raise
        raise ValueError(meaning) from None
    analyzer.check()
    _warn_of_small_max_df(options, counts.shape[0])
    features = vectorizer.get_feature_names_out()
    source = loaded(counts, names, features, kept if options.keep_text else None)
    notes: tuple[str, ...] = ()
    if analyzer.n_stripped:
        notes = (
            f"HTML was left out of {analyzer.n_stripped:,} of {source.shape[0]:,} documents; "
            "keep_html=True (--keep-html) keeps it",
        )
    return replace(source, n_terms=analyzer.n_terms, notes=notes)


def _beginning(text: str, keep: int | bool) -> str:
    """Return the first characters of a text, all of it if ``keep`` is True."""
    return text if keep is True or len(text) <= keep else text[:keep] + CUT


def _limits(options: Options) -> dict[str, Any]:
    """Return the limits on the terms that are counted; raise if they make no sense."""
    for name, value in (("min_df", options.min_df), ("max_df", options.max_df)):
        is_count = isinstance(value, Integral) and not isinstance(value, bool) and value >= 1
        if not (is_count or (isinstance(value, float) and 0 <= value <= 1)):
            raise ValueError(
                f"{name}={value!r} is neither a number of documents (1, 2, ...) nor a fraction "
                "from 0.0 to 1.0"
            )
    is_same_kind = isinstance(options.min_df, float) == isinstance(options.max_df, float)
    if is_same_kind and options.max_df < options.min_df:
        raise ValueError(_NO_TERMS.format(options.min_df, options.max_df))
    most = options.max_features
    if most is not None and not (isinstance(most, Integral) and most >= 1):
        raise ValueError(f"max_features={most!r} is not a positive whole number")
    return {
        "min_df": options.min_df,
        "max_df": options.max_df,
        "max_features": most,
    }


def _warn_of_small_max_df(options: Options, n_documents: int) -> None:
    """Warn if a number of documents may have been meant as a percentage."""
    most = options.max_df
    if options.vocabulary is None and isinstance(most, Integral) and most < 100 < n_documents:
        warnings.warn(
            f"max_df={most} leaves out all words that are in more than {most} of the "
            f"{n_documents:,} documents. For {most} % of them, use max_df={most / 100} (--max-df).",
            UserWarning,
            stacklevel=stacklevel_of_caller(),
        )


def _translate_error(message: str, options: Options) -> str:
    """Return what an error of scikit-learn about the terms means."""
    if message.startswith("max_df corresponds to"):
        return _NO_TERMS.format(options.min_df, options.max_df)
    if message.startswith("empty vocabulary"):
        return (
            "the documents have no words of two or more letters or digits besides stop words; "
            "use stop_words=None (--stop-words none) to count these too"
        )
    if message.startswith("After pruning"):
        return (
            f"no terms remain that occur in at least min_df={options.min_df} and at most "
            f"max_df={options.max_df} documents (--min-df, --max-df). Lower the first or raise the "
            "second; for new documents of a fitted model, pass vocabulary=model.feature_names_in_"
        )
    return message


def text_files(folder: Path) -> list[Path]:
    """Return the ``.txt`` files of a folder and its subfolders, compressed or not, in order."""
    return sorted(
        p for p in folder.rglob("*.txt*") if bare(p).suffix.lower() == ".txt" and p.is_file()
    )


def read_text_folder(path: Path, options: Options) -> LoadedSource:
    """Read a folder with one document per file."""
    files = text_files(path)
    if not files:
        raise ValueError("there are no .txt files in the folder")
    names = [file.relative_to(path).as_posix() for file in files]
    usual, others = encodings_of(options.encoding)[0], []

    def documents() -> Iterator[str]:
        for file, name in zip(files, names, strict=True):
            try:
                found = read_text(file, options.encoding)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            if found is None:
                raise ValueError(_undecodable(files, names, options.encoding))
            text, encoding = found
            if encoding != usual:
                others.append(f"{name} ({encoding})")
            yield text

    source = count_words(documents(), options, names)
    if others:
        note = f"files that are not {usual}, {len(others):,} of {len(files):,}: {_listed(others)}"
        source = replace(source, notes=(note, *source.notes))
    folders = [file.parent.relative_to(path).as_posix() for file in files]
    if len(set(folders)) < 2:
        return source
    return replace(source, metadata={"folder": as_names(folders)})


def _undecodable(files: list[Path], names: list[str], encoding: str) -> str:
    """Return what to say about a folder that has files in other encodings."""
    wrong = [i for i, file in enumerate(files) if fitting_encoding(file, encoding) is None]
    other = encoding_to_suggest(*(files[i] for i in wrong))
    tried = " or ".join(encodings_of(encoding))
    several = f"{encoding},{other}"
    return (
        f"{len(wrong):,} of {len(files):,} files cannot be read as {tried}: "
        f"{_listed([names[i] for i in wrong])}. To read only these as {other}, write "
        f"encoding={several!r} (--encoding {several})"
    )


def _listed(names: list[str], most: int = 20) -> str:
    """Return names in a row, the first of many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def read_text_lines(path: Path, options: Options) -> Source:
    """Read one document per line; an empty line is a document without words."""
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
        raise ValueError(
            "text_column is missing: name the column that holds the documents (--text-column); "
            f"the columns are {known}"
        )
    names: list[str] = []
    others = [i for i in range(len(table.names)) if i not in (text, name)]
    kept: dict[str, list[str]] = {table.names[i]: [] for i in others}

    def documents() -> Iterator[str]:
        for chunk in table.chunks():
            if name is not None:
                names.extend(chunk.text(name))
            for i in others:
                kept[table.names[i]].extend(chunk.text(i))
            yield from chunk.text(text)

    source = count_words(documents(), options, None if name is None else names)
    return replace(source, metadata=_as_metadata(kept, source.shape[0]))


def _as_metadata(columns: dict[str, list[str]], n: int) -> dict[str, Any] | None:
    """Return columns with a value for each document; those with others are left out."""
    whole = {name: as_names(values) for name, values in columns.items() if len(values) == n}
    return whole or None


def read_jsonl(path: Path, options: Options) -> LoadedSource:
    """Read one JSON object (or string) per line."""
    names: list[str] = []
    kept: dict[str, list[str]] = {}
    with open_text(path, options.encoding) as stream:
        source = count_words(_objects(stream, options, names, kept), options, names)
    return replace(source, metadata=_as_metadata(kept, source.shape[0]))


def _objects(
    stream: Iterable[str], options: Options, names: list[str], kept: dict[str, list[str]]
) -> Iterator[str]:
    """Yield the text of each line; append its name to ``names``, and its other values to ``kept``.

    A key that a line does not have is empty there.
    """
    given_text, given_name = options.text_column, options.name_column
    text_keys = TEXT_COLUMNS if given_text is None else (given_text,)
    name_keys = NAME_COLUMNS if given_name is None else (given_name,)
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except RecursionError:
            raise ValueError(f"line {number} is JSON that is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from error
        if isinstance(found, str):
            found = {"text": found}
        if not isinstance(found, dict):
            raise ValueError(f"line {number} is neither an object nor a string")
        several = [key for key in text_keys if isinstance(found.get(key), str)]
        if len(several) > 1:
            raise ValueError(
                f"line {number} has text in {' and '.join(map(repr, several))}. Say which to count "
                f"with text_column={several[0]!r} (--text-column {several[0]})"
            )
        text = next((found[key] for key in text_keys if key in found), None)
        if not isinstance(text, str):
            wanted = " or ".join(map(repr, text_keys))
            known = ", ".join(repr(key) for key in list(found)[:20])
            raise ValueError(f"line {number} has no text in {wanted}; it has {known}")
        yield text
        name = next((found[key] for key in name_keys if key in found), None)
        if name is None and given_name is not None:
            raise ValueError(f"line {number} has no {given_name!r}")
        _keep_values(kept, found, {*text_keys, *name_keys}, len(names))
        names.append(f"line {number}" if name is None else str(name))


def _keep_values(
    kept: dict[str, list[str]], found: dict[str, Any], without: set[str], n_before: int
) -> None:
    """Append the plain values of a line to their columns."""
    for key, value in found.items():
        if key not in without and isinstance(value, (str, int, float)):
            kept.setdefault(key, [""] * n_before).append(str(value))
    for column in kept.values():
        column.extend([""] * (n_before + 1 - len(column)))

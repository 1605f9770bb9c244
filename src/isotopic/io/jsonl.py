"""Raw text: a JSON object a line."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from isotopic.io.opening import open_text
from isotopic.io.options import Options
from isotopic.io.source import LoadedSource
from isotopic.io.tables import NAME_COLUMNS, TEXT_COLUMNS
from isotopic.io.words import count_words


def read(path: Path, options: Options) -> LoadedSource:
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

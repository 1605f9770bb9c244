"""Catalogues of mutations: a row for each type (SBS, DBS or ID), a column for each tumour."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy import sparse

from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, loaded
from isotopic.io.tables import Chunk, Table, open_table, read_chunk_counts

# As SigProfiler writes them, with or without the strand: A[C>A]G, T:AC[C>A]GT, AC>CA, 1:Del:C:0;
# and as the PCAWG consortium does: DEL_C_1_0, INS_repeats_5+_0.
_STRAND = r"([A-Z]:)?"
_TYPE = re.compile(
    rf"{_STRAND}[ACGT]+\[[ACGT]{{1,2}}>[ACGT]{{1,2}}\][ACGT]+"
    rf"|{_STRAND}[ACGT]{{2}}>[ACGT]{{2}}"
    rf"|{_STRAND}\d\+?:(Del|Ins):(C|T|R|M):\d\+?"
    r"|(DEL|INS)_(C|T|repeats|MH)_\d\+?_\d\+?"
)
_CHANGE, _CONTEXT, _PAIR = (
    re.compile("[CT]>[ACGT]"),
    re.compile("[ACGT]{3}"),
    re.compile("[ACGT]{2}"),
)


def looks_like_catalogue(table: Table) -> bool:
    """Whether the first column, or the first two, hold types of mutations."""
    return bool(table.head) and _label_columns(table.head) is not None


def read(path: Path, options: Options) -> LoadedSource:
    """Read a catalogue; its columns become the samples."""
    table = open_table(path, options)
    labels = _label_columns(table.head)
    if labels is None:
        raise ValueError(
            "the first column must hold types of mutations, such as A[C>A]G, AC>CA or 1:Del:C:0; "
            f"it begins with {table.head[0][0][:50]!r}"
            if table.head
            else "the table has no rows below its header"
        )
    columns = list(range(labels, len(table.names)))
    if not columns:
        raise ValueError("the table has no column of counts")
    parts: list[Any] = []
    types: list[str] = []
    for chunk in table.chunks():
        parts.append(sparse.csr_array(read_chunk_counts(chunk, columns)))
        types += _types(chunk, labels)
    counts = sparse.vstack(parts, format="csr").T
    return loaded(counts, [table.names[i] for i in columns], types)


def _types(chunk: Chunk, labels: int) -> list[str]:
    rows = list(zip(*(chunk.text(column) for column in range(labels)), strict=True))
    found = [_type(row) for row in rows]
    for number, name in enumerate(found):
        if name is None:
            where = chunk.where(number, 0)
            raise ValueError(f"{where}: {' '.join(rows[number])[:50]!r} is not a type of mutation")
    return [name for name in found if name is not None]


def _label_columns(head: Sequence[Sequence[str]]) -> int | None:
    """Return how many columns name the type, or ``None`` if they do not."""
    for labels in (1, 2):
        if all(len(row) >= labels and _type(row[:labels]) is not None for row in head):
            return labels if head else None
    return None


def _type(cells: Sequence[str]) -> str | None:
    """Return the type of mutation that cells name, or ``None`` if they do not."""
    if len(cells) == 1:
        return cells[0] if _TYPE.fullmatch(cells[0]) else None
    first, second = cells
    if _CHANGE.fullmatch(first) and _CONTEXT.fullmatch(second):
        return f"{second[0]}[{first}]{second[2]}"
    if _PAIR.fullmatch(first) and _PAIR.fullmatch(second):
        return f"{first}>{second}"
    return None

"""The kind of a table: documents, long or wide counts. What can be read in two ways is refused."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

from isotopic.io.count_tables import (
    find_long_columns,
    is_called_long,
    looks_like_catalogue,
)
from isotopic.io.source import Options
from isotopic.io.tables import TEXT_COLUMNS, Table, label_column, other_columns, text_columns

# A table with more columns of numbers than this holds counts, even if it has other columns too.
_FEW_COLUMNS = 20

# Columns of numbers that are rarely counts. Words of documents can have these names too, so that
# their values must look like it.
_IDENTIFIERS = {"id", "ids", "_id", "idx", "no", "nr", "number", "row", "key", "pmid", "rowid"}
_TIMES = {"year", "yr", "date", "time", "datetime", "timestamp", "created", "created_at"}
_LABELS = {"label", "labels", "class", "target", "y", "split", "fold", "cluster", "group", "batch"}

# Names of a first column whose rows are features, not samples.
_FEATURE_ROWS = {"gene", "genes", "gene_id", "gene_name", "symbol", "gene_symbol", "feature"}
_FEATURE_ROWS |= {"feature_id", "term", "word", "token", "taxon", "otu", "otu id", "#otu id"}

_THOUSANDS = re.compile(r"[1-9]\d{0,2}(\.\d{3})+")

WIDE = "format='wide' (--format wide)"
LONG = "format='long' (--format long)"
LINES = "format='text-lines' (--format text-lines)"


def recognise_table(table: Table, options: Options) -> str:
    """Return the format of a table; raise if it can be read in two ways."""
    if options.text_column is not None:
        return "text-table"
    if looks_like_catalogue(table):
        return "catalogue"
    if _is_text_table(table, options):
        return "text-table"
    if is_called_long(table):
        return "long"
    _check_long(table)
    if [table.kinds[i] for i in range(len(table.names))] == ["name", "name", "number"]:
        return "long"
    _check_wide(table, options)
    return "wide"


def _is_text_table(table: Table, options: Options) -> bool:
    """Return whether a column holds documents; raise ValueError if that is not certain.

    It is not if several columns may hold documents, or if the column's name does not say so.
    """
    prose = [i for i, kind in enumerate(table.kinds) if kind == "prose"]
    if table.kinds.count("number") > _FEW_COLUMNS:
        return False
    called = [i for i, name in enumerate(table.names) if name.lower() in TEXT_COLUMNS]
    called = [i for i in called if table.kinds[i] not in ("number", "boolean")]
    both = [i for i in called if i in prose]
    if len(both) > 1:
        raise ValueError(
            f"the columns {_listed(table, both)} hold text; say which to count: "
            f"{_option('text_column', table.names[both[0]])}"
        )
    if both:
        return True
    if prose:
        first = prose[0]
        raise ValueError(
            f"column {table.names[first]!r} looks like text: {_shown(table, first)}. To count its "
            f"words, say {_option('text_column', table.names[first])}; if the table holds counts, "
            f"{WIDE} or {LONG}"
        )
    text, _ = text_columns(table, options)
    if text is None or text not in called:
        return False
    others = [kind for i, kind in enumerate(table.kinds) if i != text]
    has_spaces = any(" " in cell.strip() for cell in table.cells(text))
    if not has_spaces and text == 0 and others and set(others) == {"number"}:
        return False  # a wide table whose samples are called documents
    if has_spaces and not (text == 0 and len(others) > 1 and set(others) == {"number"}):
        return True
    raise ValueError(
        f"column {table.names[text]!r} may hold documents or names: {_shown(table, text)}. To "
        f"count its words, say {_option('text_column', table.names[text])}; if the table holds "
        f"counts, {WIDE} or {LONG}"
    )


def _check_long(table: Table) -> None:
    """Raise if a table may be a long one, or one with a mistake."""
    if len(table.names) != 3:
        if len(table.names) > 3 and find_long_columns(table) is not None:
            places = find_long_columns(table) or ()
            raise ValueError(
                f"the table has the columns of a long one, {_listed(table, places)}, and others. "
                f"To read these three, say {LONG}; if every column holds counts, {WIDE}"
            )
        return
    kinds = list(table.kinds)
    if kinds[0] == "name" and kinds[1] in ("mixed", "date", "other") and kinds[2] == "number":
        odd = next(cell for cell in table.cells(1) if not _is_plain(cell))
        raise ValueError(
            f"column {table.names[1]!r} holds {_shown(table, 1)}. If {odd[:50]!r} is a mistake, "
            f"correct it; if the column holds names of features, say {LONG}; if counts, {WIDE}"
        )
    if kinds in (["number", "name", "number"], ["mixed", "name", "number"]):
        raise ValueError(
            f"the columns hold numbers, names ({_shown(table, 1)}) and numbers. If they are "
            f"sample, feature and count, say {LONG}"
        )
    if kinds == ["number"] * 3 and _is_like_triplets(table):
        raise ValueError(
            "the three columns may be sample, feature and count, or three features: "
            f"{_shown_rows(table)}. Say {LONG} or {WIDE}"
        )


def _is_like_triplets(table: Table) -> bool:
    """Return whether whole numbers in the first column repeat and ascend."""
    if len(table.head) < 3 or not all(_is_whole(c) for i in (0, 1) for c in table.cells(i)):
        return False
    samples = [float(cell) for cell in table.cells(0)]
    pairs = list(zip(samples, table.cells(1), strict=True))
    ascends = all(a <= b for a, b in itertools.pairwise(samples))
    return ascends and len(set(samples)) < len(samples) and len(set(pairs)) == len(pairs)


def _check_wide(table: Table, options: Options) -> None:
    """Raise ValueError if a column of a wide table does not hold counts, or rows seem features."""
    label = label_column(table, options)
    dropped = set(other_columns(options))
    columns = [i for i, name in enumerate(table.names) if i != label and name not in dropped]
    if label is not None and options.name_column is None:
        _check_label(table, label, columns, options)
    for i in columns:
        kind, name = table.kinds[i], table.names[i]
        if kind in ("name", "prose", "date", "other"):
            what = {"date": "dates or times", "other": "no numbers"}.get(kind, "text")
            raise ValueError(
                f"column {name!r} holds {what}, not counts: {_shown(table, i)}. Leave it out with "
                f"{_drop(name)}; if it names the rows, say {_option('name_column', name)}; to "
                f"count its words, {_option('text_column', name)}"
            )
    kinds = {table.kinds[i] for i in columns}
    if "boolean" in kinds and len(kinds) > 1:
        name = next(table.names[i] for i in columns if table.kinds[i] == "boolean")
        raise ValueError(
            f"column {name!r} holds true and false among columns of numbers. Leave it out with "
            f"{_drop(name)}; if it holds counts of 1 and 0, say {WIDE}"
        )
    for i in columns:
        _check_is_count(table, i, len(columns))
    _check_thousands(table, columns)


def _check_label(table: Table, label: int, columns: Sequence[int], options: Options) -> None:
    name = table.names[label]
    if table.kinds[label] == "mixed":
        odd = next(cell for cell in table.cells(label) if not _is_plain(cell))
        raise ValueError(
            f"column {name!r} holds numbers and {odd[:50]!r}. If that is a mistake, correct it; if "
            f"the column names the rows, say {_option('name_column', name)}"
        )
    is_feature = name.strip().lower() in _FEATURE_ROWS and table.kinds[label] == "name"
    if is_feature and not options.transpose and len(columns) > 1:
        raise ValueError(
            f"the first column is called {name!r}, so that the rows seem to be features. If they "
            f"are, say transpose=True (--transpose); if they are samples, {WIDE}"
        )


def _check_is_count(table: Table, column: int, n_columns: int) -> None:
    """Raise if a column of numbers is an identifier, a time or a label, by its name and values."""
    name = table.names[column].strip().lower()
    is_identifier = name in _IDENTIFIERS or name.endswith(("_id", " id"))
    if not (is_identifier or name in _TIMES or name in _LABELS or column == 0):
        return
    cells = [cell for cell in table.cells(column) if cell.strip()]
    if table.kinds[column] != "number" or len(cells) < 2:
        return
    values = [float(cell) for cell in cells]
    is_whole = all(value == int(value) for value in values if abs(value) < 1e15)
    is_distinct = is_whole and len(set(values)) == len(values)
    steps = {b - a for a, b in itertools.pairwise(values)}
    is_numbering = column == 0 and len(values) >= 5 and values[0] in (0, 1) and steps == {1}
    what = ""
    if is_numbering or (is_identifier and is_distinct):
        what = "numbers of rows or identifiers"
    elif name in _TIMES and is_whole and min(values) >= 1000:
        what = "years or times"
    elif name in _LABELS and is_whole and n_columns <= _FEW_COLUMNS:
        what = "labels"
    if what:
        original = table.names[column]
        raise ValueError(
            f"column {original!r} seems to hold {what}, not counts: {_shown(table, column)}. If it "
            f"names the rows, say {_option('name_column', original)}; leave it out with "
            f"{_drop(original)}; if every column holds counts, {WIDE}"
        )


def _check_thousands(table: Table, columns: Sequence[int]) -> None:
    """Raise if a point may separate thousands, as where semicolons separate cells."""
    if getattr(table, "delimiter", ",") != ";":
        return
    cells = [cell for i in columns for cell in table.cells(i)]
    pointed = [cell for cell in cells if "." in cell]
    if pointed and len(pointed) < len(cells) and all(map(_THOUSANDS.fullmatch, pointed)):
        raise ValueError(
            f"{pointed[0]!r} may be a thousand or a fraction. Write thousands without points; if "
            f"it is a fraction, say {WIDE}"
        )


def check_lines(lines: Sequence[str]) -> None:
    """Raise if lines of text may be the rows of a table."""
    rows = [line for line in lines if line.strip()]
    if not rows:
        return
    for mark, called in (("\t", "tabs"), (";", "semicolons"), (",", "commas")):
        cells = [line.split(mark) for line in rows]
        widths = {len(row) for row in cells}
        if len(widths) != 1 or widths == {1}:
            continue
        columns = list(zip(*cells, strict=True))
        has_numbers = any(len(rows) > 1 and all(map(_is_plain, c[1:])) for c in columns)
        if mark == "\t" or has_numbers:
            shown = ", ".join(repr(cell.strip()[:20]) for cell in cells[-1][:5])
            raise ValueError(
                f"every line has {widths.pop()} cells separated by {called}, such as {shown}. If "
                "it is a table of documents, say format='text-table' with text_column= (--format "
                "text-table --text-column NAME), and header=False (--header no) if its first line "
                f"names no columns; if it holds counts, {WIDE} or {LONG}; if each line is a "
                f"document, {LINES}"
            )
    if len(rows) > 1 and all(_is_plain(cell) for row in rows for cell in row.split()):
        raise ValueError(
            f"the lines hold numbers alone, such as {rows[0].strip()[:50]!r}. Write a table of "
            f"counts with commas or tabs; if each line is a document, say {LINES}"
        )


def _is_plain(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_whole(cell: str) -> bool:
    return _is_plain(cell) and float(cell) == float(cell) // 1


def _option(name: str, value: str) -> str:
    return f"{name}={value!r} (--{name.replace('_', '-')} {value})"


def _drop(name: str) -> str:
    return f"drop_columns=[{name!r}] (--drop-columns {name})"


def _listed(table: Table, columns: Sequence[int]) -> str:
    return ", ".join(repr(table.names[i]) for i in columns)


def _shown(table: Table, column: int) -> str:
    cells: list[Any] = list(dict.fromkeys(cell.strip() for cell in table.cells(column)))
    return ", ".join(repr(cell[:40]) for cell in cells[:3])


def _shown_rows(table: Table) -> str:
    return ", ".join("(" + ", ".join(row) + ")" for row in table.head[:3])

"""A table about samples, in a file beside their counts: years, groups, authors."""

from collections import Counter
from pathlib import Path

from isotopic.arrays import Array
from isotopic.io.files import as_names, bare
from isotopic.io.source import Options
from isotopic.io.tables import open_table


def read_sample_table(path: Path, sample_names: Array, options: Options) -> dict[str, Array]:
    """Return the columns of a table, as text, with the row of each sample in its order.

    The column that has the names of all samples says which row is whose; for files, the ending may
    be left out. Rows of other samples are left out.

    Parameters
    ----------
    path : Path
        A CSV, TSV or Parquet file whose first line names the columns.
    sample_names : ndarray of str objects, shape (samples,)
    options : Options
        How text is encoded.

    Raises
    ------
    ValueError
        If no column has the names of all samples, or a name occurs twice in it.
    """
    table = open_table(path, Options(header=True, encoding=options.encoding))
    columns: dict[str, list[str]] = {name: [] for name in table.names}
    for chunk in table.chunks():
        for number, cells in enumerate(columns.values()):
            cells.extend(chunk.text(number))
    names = [str(name) for name in sample_names]
    key, rows = _find_rows(names, columns)
    return {
        name: as_names(cells[row] for row in rows) for name, cells in columns.items() if name != key
    }


def _find_rows(names: list[str], columns: dict[str, list[str]]) -> tuple[str, list[int]]:
    """Return the column that names the samples, and the row of each sample."""
    short = [_without_ending(name) for name in names]
    kinds = [(column, keys) for column in columns for keys in (names, short)]
    column, keys = max(kinds, key=lambda kind: len(set(columns[kind[0]]).intersection(kind[1])))
    row_of = {cell: row for row, cell in enumerate(columns[column])}
    absent = [name for name, key in zip(names, keys, strict=True) if key not in row_of]
    if len(absent) == len(names):
        found = [f"{name!r} with {cells[0][:50]!r}" for name, cells in columns.items() if cells]
        raise ValueError(
            f"no column of this table holds the names of the samples, such as {names[0]!r}. Its "
            f"columns are {', '.join(found) or 'empty'}"
        )
    if absent:
        raise ValueError(
            f"{len(absent):,} of {len(names):,} samples, such as {absent[0]!r}, have no row in "
            f"this table, by its column {column!r}. One column must hold the names of all samples"
        )
    used, several = set(keys), Counter(columns[column])
    for key in used:
        if several[key] > 1:
            raise ValueError(f"the table has {several[key]} rows for the sample {key!r}")
    return column, [row_of[key] for key in keys]


def _without_ending(name: str) -> str:
    """Return the name of a sample; that of a file of text without its ending."""
    path = bare(Path(name))
    return path.with_suffix("").as_posix() if path.suffix.lower() == ".txt" else name

"""Wide tables: a row for each sample, a column for each feature."""

from pathlib import Path
from typing import Any

from scipy import sparse

from isotopic.io.data import Content
from isotopic.io.options import Options
from isotopic.io.tables import counts_of, label_column, open_table


def read(path: Path, options: Options) -> Content:
    """Read a table whose first column may name the rows."""
    table = open_table(path, options)
    label = label_column(table, options)
    columns = [i for i in range(len(table.names)) if i != label]
    if not columns:
        raise ValueError("the table has no column of counts")
    parts: list[Any] = []
    labels: list[str] = []
    for chunk in table.chunks():
        parts.append(sparse.csr_array(counts_of(chunk, columns)))
        if label is not None:
            labels += chunk.text(label)
    if not parts:
        raise ValueError("the table has no rows below its header")
    content = Content(
        sparse.vstack(parts, format="csr"),
        None if label is None else labels,
        [table.names[i] for i in columns] if table.has_header else None,
    )
    return content.transposed() if options.transpose else content

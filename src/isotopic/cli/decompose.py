"""``isotopic decompose``."""

from argparse import Namespace
from pathlib import Path

from isotopic.atomic import atomic_file
from isotopic.cli import options
from isotopic.cli.command import Option, command
from isotopic.cli.folder import LABELS, check_free, claimed_fit, read_folder, read_reference
from isotopic.cli.output import (
    as_json,
    library_errors_as_messages,
    printable,
    warnings_as_messages,
)
from isotopic.cli.tables import check_table_file, write_tables
from isotopic.decompose import decompose as decompose_topics

_LABEL = Option(
    "--label",
    f"Keep the names in {LABELS} of the folder: topics, tables and the report then show them.",
    is_flag=True,
)


@command(
    options.FOLDER,
    options.REFERENCE,
    options.TABLE_FILE,
    _LABEL,
    options.FORCE,
    options.JSON,
    examples="""
    isotopic decompose out COSMIC_v3.4_SBS_GRCh37.txt
    isotopic decompose consensus signatures.csv --label -o names.csv
    """,
)
def decompose(given: Namespace) -> int:
    """Say for each topic of the fit in FOLDER whether the table REFERENCE knows it.

    A topic is known, a mix of a few known topics, or new. The table has their names and shares, and
    the cosine similarity.
    """
    output: Path | None = given.output
    labels = given.folder / LABELS
    if output is not None:
        check_table_file(output)
    files = [path for path in (output, labels if given.label else None) if path is not None]
    check_free(files, given.force)
    fit = read_folder(given.folder)
    with library_errors_as_messages(), warnings_as_messages():
        found = decompose_topics(fit.model, read_reference(given.reference))
        if output is not None:
            write_tables([dict(found.table)], output)
        if given.label:
            with claimed_fit(given.folder), atomic_file(labels, overwrite=given.force) as file:
                file.write(f"{as_json(list(found.table['names']))}\n".encode())
    written = [str(path) for path in files]
    if given.json:
        columns = {name: column.tolist() for name, column in found.table.items()}
        print(as_json({"table": columns, "files": written}))
        return 0
    print(found.table)
    for path in written:
        print(printable(f"Wrote {path}"))
    return 0

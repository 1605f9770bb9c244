"""``isotopic refit``."""

from argparse import Namespace
from pathlib import Path

from isotopic.cli import options, reading
from isotopic.cli.command import Option, command
from isotopic.cli.folder import check_free, read_reference
from isotopic.cli.output import (
    as_json,
    library_errors_as_messages,
    printable,
    warnings_as_messages,
)
from isotopic.cli.tables import check_table_file, write_tables
from isotopic.refit import refit as refit_samples

_CERTAINTY = Option(
    "--certainty",
    "Least probability of a topic that is kept.",
    "P",
    options.number(below=1),
    default=0.95,
)


@command(
    options.DATA,
    options.REFERENCE,
    options.TABLE_FILE,
    _CERTAINTY,
    options.MAX_TOTAL,
    options.THREADS,
    options.FORCE,
    options.JSON,
    *options.READING_OPTIONS,
    examples="""
    isotopic refit tumours.SBS96.all COSMIC_v3.4_SBS_GRCh37.txt -o exposures.csv
    isotopic refit tumours.csv signatures.csv --max-total 10000 -o exposures.csv
    """,
)
def refit(given: Namespace) -> int:
    """Find which topics of the table REFERENCE each sample of DATA contains, and how much of each.

    The output has a row for each topic that a sample contains: its weight and share, an interval, a
    p-value and a probability. All other weights are exactly zero.
    """
    output: Path | None = given.output
    if output is not None:
        check_table_file(output)
        check_free([output], given.force)
    data = reading.load_data(given.data, options.reading_settings(given))
    with library_errors_as_messages(), warnings_as_messages():
        found = refit_samples(
            data,
            read_reference(given.reference),
            certainty=given.certainty,
            max_total=given.max_total,
            n_jobs=given.threads,
        )
        if output is not None:
            write_tables([dict(found.table)], output)
    if given.json:
        columns = {name: column.tolist() for name, column in found.table.items()}
        print(as_json({"table": columns, "output": output}))
        return 0
    if output is None:
        print(found.table)
    print(found)
    if output is not None:
        print(printable(f"Wrote {output}: {len(found.table):,} rows"))
    return 0

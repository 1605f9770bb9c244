"""``isotopic verify``."""

from typing import Any

import click

from isotopic.cli import options, reading
from isotopic.cli.output import as_json, library_errors_as_messages
from isotopic.verify import VerificationTable
from isotopic.verify import verify as verify_claims
from isotopic.verify.evidence import prepare_counts


@click.command(
    cls=options.CommandWithExamples,
    short_help="Check the claims of the paper on data.",
    epilog="""
    isotopic verify                     on the bundled corpus
    isotopic verify counts.npz --json   on your counts, as JSON
    """,
)
@click.argument("data", required=False, type=click.Path(exists=True))
@options.components_option(
    default=5, help="Number of components of the fits that check the claims."
)
@options.json_option
@reading.reading_options
def verify(data: str | None, **given: Any) -> int:
    """Check the algorithms, lemmas, corollaries and theorems of the paper on DATA.

    Without DATA, the bundled corpus is used.

    The exit code is 0 if all claims hold and 1 otherwise.
    """
    X = None if data is None else reading.read_data(data, reading.reading_settings(given)).counts
    with library_errors_as_messages():
        X = None if X is None else prepare_counts(X)
    table = verify_claims(X, given["components"])
    click.echo(as_json(_facts(table)) if given["json_"] else str(table))
    return 0 if table.passed else 1


def _facts(table: VerificationTable) -> dict[str, Any]:
    names = ("where", "claim", "deviation", "tolerance", "passed")
    claims = [{name: getattr(claim, name) for name in names} for claim in table]
    return {"passed": table.passed, "claims": claims}

"""``isotopic verify``."""

from typing import Any

import click

from isotopic.cli.help import Examples
from isotopic.cli.options import json_option, read_data, reading_options, reading_settings
from isotopic.cli.output import as_json
from isotopic.cli.problems import in_one_line
from isotopic.verify import VerificationTable
from isotopic.verify import verify as verify_claims
from isotopic.verify.evidence import read_counts as read_evidence


@click.command(
    cls=Examples,
    short_help="Check the paper's claims on data.",
    examples="""
    isotopic verify                     on the bundled corpus
    isotopic verify counts.npz --json   on your counts, for a machine
    """,
)
@click.argument("data", required=False, type=click.Path(exists=True))
@click.option("-k", "--components", type=click.IntRange(1), default=5, show_default=True)
@json_option
@reading_options
def verify(data: str | None, **given: Any) -> int:
    """Check every algorithm, lemma, corollary and theorem of the paper on DATA.

    The exit code is 0 if all of them hold and 1 otherwise.
    """
    X = None if data is None else read_data(data, reading_settings(given)).counts
    with in_one_line():
        X = None if X is None else read_evidence(X)
    table = verify_claims(X, given["components"])
    click.echo(as_json(_facts(table)) if given["json_"] else str(table))
    return 0 if table.passed else 1


def _facts(table: VerificationTable) -> dict[str, Any]:
    names = ("where", "claim", "deviation", "tolerance", "passed")
    claims = [{name: getattr(claim, name) for name in names} for claim in table]
    return {"passed": table.passed, "claims": claims}

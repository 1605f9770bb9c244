"""``isotopic verify``."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

from isotopic.cli import options, reading
from isotopic.cli.command import command
from isotopic.cli.output import as_json, library_errors_as_messages
from isotopic.verify import VerificationTable
from isotopic.verify import verify as verify_claims
from isotopic.verify.evidence import prepare_counts

_COMPONENTS = replace(
    options.COMPONENTS,
    help="Number of components of the fits that check the claims.",
    default=5,
    group="Options",
)


@command(
    options.OPTIONAL_DATA,
    _COMPONENTS,
    options.JSON,
    *options.READING_OPTIONS,
    examples="""
    isotopic verify                     on the bundled corpus
    isotopic verify counts.npz --json   on your counts, as JSON
    """,
)
def verify(given: Namespace) -> int:
    """Check the algorithms, lemmas, corollaries and theorems of the paper on DATA.

    Without DATA, the bundled corpus is used.

    The exit code is 0 if all claims hold and 1 otherwise.
    """
    X = None
    if given.data is not None:
        X = reading.load_data(given.data, options.reading_settings(given)).counts
    with library_errors_as_messages():
        X = None if X is None else prepare_counts(X)
        table = verify_claims(X, given.components)
    print(as_json(_facts(table)) if given.json else str(table))
    return 0 if table.passed else 1


def _facts(table: VerificationTable) -> dict[str, Any]:
    names = ("where", "claim", "deviation", "tolerance", "passed")
    claims = [{name: getattr(claim, name) for name in names} for claim in table]
    return {"passed": table.passed, "claims": claims}

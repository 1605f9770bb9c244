"""``isotopic topics``."""

from argparse import Namespace

from isotopic.cli import options
from isotopic.cli.command import Option, command
from isotopic.cli.folder import read_folder
from isotopic.cli.output import as_json
from isotopic.cli.topic_summary import TERMS, topic_facts, topic_lines

_TERMS = Option("--terms", "Number of terms of each topic.", "N", options.integer(1), default=TERMS)


@command(
    options.FOLDER,
    _TERMS,
    options.LABELS,
    options.JSON,
    examples="""
    isotopic topics out                    the table that isotopic fit prints
    isotopic topics out --terms 20 --json  more terms, for other programs
    """,
)
def topics(given: Namespace) -> int:
    """Print the topics of the fit in FOLDER: shares, distinctive terms and main samples.

    Terms are distinctive if they are frequent in the topic and rare in the others. The topics are
    in the order of their shares; --json keeps the order of the model.
    """
    fit = read_folder(given.folder, given.labels)
    if given.json:
        facts = topic_facts(fit.model, fit.data.feature_names, given.terms)
        print(as_json({"folder": str(given.folder), "topics": facts}))
    else:
        names = fit.data.feature_names, fit.data.sample_names
        print("\n".join(topic_lines(fit.model, *names, given.terms)))
    return 0

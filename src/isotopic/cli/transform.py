"""``isotopic transform``."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.cli.errors import InputError, library_errors_as_messages, warnings_as_messages
from isotopic.cli.folder import check_free, read_folder, topic_table, write_table
from isotopic.cli.help import CommandWithExamples
from isotopic.cli.options import (
    force_option,
    json_option,
    read_data,
    reading_options,
    reading_settings,
    threads_option,
)
from isotopic.cli.output import as_json, print_message, printable
from isotopic.io import CountData


@click.command(
    cls=CommandWithExamples,
    short_help="Infer the weights of new samples.",
    examples="""
    isotopic transform out new_texts/ -o weights.csv
    isotopic transform out new.h5ad --layer counts -o weights.parquet
    """,
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write: .csv or .parquet.",
)
@threads_option
@force_option
@json_option
@reading_options
def transform(folder: Path, data: str, output: Path, **given: Any) -> int:
    """Infer the weights of the samples in DATA under the topics of the fit in FOLDER.

    Features are matched by name. Of documents, only words that the fit has seen are counted.
    """
    check_free([output], given["force"])
    if output.suffix not in (".csv", ".parquet"):
        raise InputError(f"The name of the output must end with .csv or .parquet: {output.name}")
    fit = read_folder(folder)
    known = fit.data.feature_names
    counts = read_data(data, {**reading_settings(given), "vocabulary": list(known)})
    aligned, left_out = align_features(counts, known)
    if left_out:
        print_message(
            f"warning: ignored {left_out:,} counts of features that the fit does not have"
        )
    fit.model.n_jobs = given["threads"]
    with library_errors_as_messages(), warnings_as_messages():
        weights = fit.model.transform(aligned)
    with library_errors_as_messages():
        write_table(topic_table("sample", counts.sample_names, weights), output)
    if given["json_"]:
        shape = {"samples": weights.shape[0], "components": weights.shape[1]}
        click.echo(as_json({"output": str(output), **shape, "counts_left_out": left_out}))
    else:
        click.echo(printable(f"Wrote {output}: weights of {len(weights):,} samples"))
    return 0


def align_features(data: CountData, known: Array) -> tuple[Any, float]:
    """Return the counts of the known features in their order, and the sum of all other counts."""
    names = data.feature_names
    if np.array_equal(names, known):
        return data.counts, 0
    nameless = [f"x{i}" for i in range(len(names))]
    if len(names) == len(known) and nameless in (names.tolist(), known.tolist()):
        return data.counts, 0
    places = {name: i for i, name in enumerate(known.tolist())}
    if len(places) < len(known) or len(set(names.tolist())) < len(names):
        raise InputError("Features cannot be matched by name: some names occur more than once.")
    found = [(i, places[name]) for i, name in enumerate(names.tolist()) if name in places]
    if not found:
        raise InputError(
            f"None of the {len(names):,} features is among the {len(known):,} of the fit, such as "
            f"{known[0]!r:.50}. Does the data have feature names, and are its rows samples?"
        )
    ours, theirs = np.array(found).T
    chosen = sparse.csr_array(
        (np.ones(len(found), data.counts.dtype), (ours, theirs)), shape=(len(names), len(known))
    )
    aligned = sparse.csr_array(data.counts @ chosen)
    return aligned, (data.counts.sum() - aligned.sum()).item()

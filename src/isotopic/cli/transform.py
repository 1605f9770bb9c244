"""``isotopic transform``."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.cli.folder import check_free, named_table, read_folder, write_table
from isotopic.cli.help import Examples
from isotopic.cli.options import (
    force_option,
    json_option,
    read_data,
    reading_options,
    reading_settings,
    threads_option,
)
from isotopic.cli.output import as_json, printable, say
from isotopic.cli.problems import Unusable, in_one_line, warnings_as_lines
from isotopic.io import CountData


@click.command(
    cls=Examples,
    short_help="Infer the weights of new samples.",
    examples="""
    isotopic transform out new_texts/ -o weights.csv
    isotopic transform out new.h5ad --layer counts -o weights.parquet
    """,
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV or Parquet."
)
@threads_option
@force_option
@json_option
@reading_options
def transform(folder: Path, data: str, output: Path, **given: Any) -> int:
    """Infer the weights of new DATA under the topics of a fit's FOLDER.

    Features are found by their names; words of documents are counted if the fit knows them.
    """
    check_free([output], given["force"])
    if output.suffix not in (".csv", ".parquet"):
        raise Unusable(f"{output.name} must end with .csv or .parquet")
    fit = read_folder(folder)
    known = fit.data.feature_names
    counts = read_data(data, {**reading_settings(given), "vocabulary": list(known)})
    aligned, left_out = align_features(counts, known)
    if left_out:
        say(f"warning: {left_out:,} counts are of features that the fit does not know; left out")
    fit.model.n_jobs = given["threads"]
    with in_one_line(), warnings_as_lines():
        weights = fit.model.transform(aligned)
    with in_one_line():
        write_table(named_table("sample", counts.sample_names, weights), output)
    if given["json_"]:
        shape = {"samples": weights.shape[0], "components": weights.shape[1]}
        click.echo(as_json({"output": str(output), **shape, "counts_left_out": left_out}))
    else:
        click.echo(printable(f"wrote {output}: the weights of {len(weights):,} samples"))
    return 0


def align_features(data: CountData, known: Array) -> tuple[Any, float]:
    """Give the counts of the known features in their order, and how many counts others have."""
    names = data.feature_names
    if np.array_equal(names, known):
        return data.counts, 0
    nameless = [f"x{i}" for i in range(len(names))]
    if len(names) == len(known) and nameless in (names.tolist(), known.tolist()):
        return data.counts, 0
    places = {name: i for i, name in enumerate(known.tolist())}
    if len(places) < len(known) or len(set(names.tolist())) < len(names):
        raise Unusable("features cannot be found by name: a name stands for several")
    found = [(i, places[name]) for i, name in enumerate(names.tolist()) if name in places]
    if not found:
        raise Unusable(
            f"none of the {len(names):,} features is among the {len(known):,} of the fit, such as "
            f"{known[0]!r:.50}; does the data have names, and are its rows samples?"
        )
    ours, theirs = np.array(found).T
    chosen = sparse.csr_array(
        (np.ones(len(found), data.counts.dtype), (ours, theirs)), shape=(len(names), len(known))
    )
    aligned = sparse.csr_array(data.counts @ chosen)
    return aligned, (data.counts.sum() - aligned.sum()).item()

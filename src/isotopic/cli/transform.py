"""``isotopic transform``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks import BlockError, Blocks
from isotopic.blocks.block import load_raw
from isotopic.cli.errors import InputError, library_errors_as_messages, warnings_as_messages
from isotopic.cli.folder import check_free, read_folder, topic_table, write_table, write_tables
from isotopic.cli.help import CommandWithExamples
from isotopic.cli.large import LargeData, memory_limit_option, opened_data
from isotopic.cli.options import (
    force_option,
    json_option,
    read_data,
    reading_options,
    reading_settings,
    threads_option,
)
from isotopic.cli.output import as_json, print_message, printable


@click.command(
    cls=CommandWithExamples,
    short_help="Infer the weights of new samples.",
    examples="""
    isotopic transform out new_texts/ -o weights.csv
    isotopic transform out new.h5ad --layer counts -o weights.parquet
    isotopic transform out big.h5ad --memory-limit 2GB -o weights.parquet
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
@memory_limit_option
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
    fit.model.n_jobs = given["threads"]
    known = fit.data.feature_names
    settings = {**reading_settings(given), "vocabulary": list(known)}
    result = _Transformed(fit.model, known)
    if given["memory_limit"] is None:
        counts = read_data(data, settings)
        part = counts.counts, counts.feature_names, counts.sample_names
        with library_errors_as_messages(), warnings_as_messages():
            write_table(result.add(*part), output)
    else:
        limit = given["memory_limit"]
        with (
            opened_data(data, settings, limit, output.parent) as (blocks, large),
            library_errors_as_messages(),
            warnings_as_messages(),
        ):
            write_tables(result.add_blocks(blocks, large), output)
    if result.left_out:
        print_message(
            f"warning: ignored {result.left_out:,} counts of features that the fit does not have"
        )
    if given["json_"]:
        shape = {"samples": result.n_samples, "components": len(fit.model.components_)}
        click.echo(as_json({"output": str(output), **shape, "counts_left_out": result.left_out}))
    else:
        click.echo(printable(f"Wrote {output}: weights of {result.n_samples:,} samples"))
    return 0


class _Transformed:
    """The weights of new samples as tables, some samples after the others."""

    def __init__(self, model: Any, known: Array) -> None:
        self.model, self.known = model, known
        self.n_samples, self.left_out = 0, 0.0

    def add(self, counts: Any, feature_names: Array, sample_names: Array) -> Any:
        """Return a table of the weights of some samples."""
        aligned, left_out = align_features(counts, feature_names, self.known)
        self.left_out += left_out
        self.n_samples += counts.shape[0]
        return topic_table("sample", sample_names, self.model.transform(aligned))

    def add_blocks(self, blocks: Blocks, large: LargeData) -> Iterator[Any]:
        """Yield a table of the weights of each block."""
        start = 0
        for block in blocks.blocks:
            rows = sparse.csr_array(load_raw(block))
            names = large.sample_names[start : start + rows.shape[0]]
            try:
                yield self.add(rows, large.feature_names, names)
            except ValueError as error:
                raise BlockError(f"The block {block.name} cannot be used: {error}") from error
            start += rows.shape[0]


def align_features(counts: Any, names: Array, known: Array) -> tuple[Any, float]:
    """Return the counts of the known features in their order, and the sum of all other counts."""
    if np.array_equal(names, known):
        return counts, 0
    nameless = [f"x{i}" for i in range(len(names))]
    if len(names) == len(known) and nameless in (names.tolist(), known.tolist()):
        return counts, 0
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
        (np.ones(len(found), counts.dtype), (ours, theirs)), shape=(len(names), len(known))
    )
    aligned = sparse.csr_array(counts @ chosen)
    return aligned, (counts.sum() - aligned.sum()).item()

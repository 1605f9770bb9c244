"""``isotopic transform``."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks import BlockError, Blocks
from isotopic.blocks.block import load_raw
from isotopic.cli import options, reading
from isotopic.cli.command import command
from isotopic.cli.covariates import covariates_of_new
from isotopic.cli.folder import StoredFit, check_free, read_folder
from isotopic.cli.output import (
    library_errors_as_messages,
    print_message,
    print_result,
    warnings_as_messages,
)
from isotopic.cli.tables import Columns, check_table_file, topic_table, write_tables
from isotopic.containers import NamedMatrix
from isotopic.io import CountData
from isotopic.names import find_by_name

_OUTPUT = replace(options.TABLE_FILE, is_required=True)


@command(
    options.FOLDER,
    options.DATA,
    _OUTPUT,
    options.FORCE,
    options.JSON,
    options.MEMORY_LIMIT,
    options.THREADS,
    *options.READING_OPTIONS,
    examples="""
    isotopic transform out new_texts/ -o weights.csv
    isotopic transform out new.h5ad --layer counts -o weights.parquet
    isotopic transform out big.h5ad --memory-limit 2GB -o weights.parquet
    """,
)
def transform(given: Namespace) -> int:
    """Infer the weights of the samples in DATA under the topics of the fit in FOLDER.

    Features are matched by name. In documents, only words that occur in the fit are counted.
    """
    output: Path = given.output
    check_free([output], given.force)
    check_table_file(output)
    fit = read_folder(given.folder)
    fit.model.n_jobs = given.threads
    settings = options.reading_settings(given)
    of_documents = options.document_settings(settings, fit.facts)
    of_documents["vocabulary"] = list(fit.data.feature_names)
    coverage = Coverage()
    with (
        reading.open_data(
            given.data, settings, of_documents, given.memory_limit, output.parent
        ) as (X, new),
        library_errors_as_messages(),
        warnings_as_messages(),
    ):
        write_tables(_weight_tables(fit, X, new, coverage), output)
    if new.n_terms is not None:  # in documents, only terms that occur in the fit are counted
        coverage.unknown += new.n_terms - coverage.known
    for message in coverage.messages("words" if new.n_terms is not None else "counts"):
        print_message(message)
    n_samples = coverage.n_samples
    facts = {"output": str(output), "samples": n_samples, "components": len(fit.model.components_)}
    line = f"Wrote {output}: weights of {n_samples:,} samples"
    print_result(facts | coverage.facts(), line, json_=given.json)
    return 0


@dataclass
class Coverage:
    """The coverage of new samples: counts of known and of unknown features, and empty samples."""

    known: float = 0
    unknown: float = 0
    n_samples: int = 0
    n_empty: int = 0

    def add(self, known_counts: Any, unknown: float) -> None:
        """Add the known counts of some samples, and the sum of the unknown ones."""
        totals = known_counts.sum(axis=1)
        self.known += totals.sum().item()
        self.unknown += unknown
        self.n_samples += len(totals)
        self.n_empty += int(np.count_nonzero(totals == 0))

    def share(self) -> float:
        """Return the share of the counts that belong to features of the fit."""
        return self.known / max(self.known + self.unknown, 1e-300)

    def messages(self, unit: str) -> Iterator[str]:
        """Yield a message for unknown counts and a warning for empty samples."""
        if self.unknown:
            yield (
                f"{self.share():.1%} of the {self.known + self.unknown:,} {unit} belong to "
                f"features of the fit; the other {self.unknown:,} were ignored."
            )
        if self.n_empty:
            yield (
                f"warning: {self.n_empty:,} of {self.n_samples:,} samples have no feature of the "
                "fit. They have the weights of an empty sample (zero, or those of the prior)."
            )

    def facts(self) -> dict[str, Any]:
        """Return the same for JSON."""
        return {
            "counts_left_out": self.unknown,
            "known_share": self.share(),
            "empty_samples": self.n_empty,
        }


def _weight_tables(
    fit: StoredFit, X: Any, new: CountData | reading.LargeData, coverage: Coverage
) -> Iterator[Columns]:
    """Yield the weights of each block of samples, and add up its coverage."""
    model, known, start = fit.model, fit.data.feature_names, 0
    table = covariates_of_new(model, new)
    names = getattr(model, "feature_names_in_", None)
    for block in X.blocks if isinstance(X, Blocks) else [None]:
        counts = X.counts if block is None else sparse.csr_array(load_raw(block))
        aligned, left_out = select_known_features(counts, new.feature_names, known)
        coverage.add(aligned, left_out)
        stop = start + counts.shape[0]
        try:
            weights = model.transform(NamedMatrix(aligned, names), covariates=table)
        except ValueError as error:
            if block is not None:
                raise BlockError(f"The block {block.name} cannot be used: {error}") from error
            raise
        yield topic_table("sample", new.sample_names[start:stop], weights)
        start = stop


def select_known_features(counts: Any, names: Array, known: Array) -> tuple[Any, float]:
    """Return the counts of the known features in their order, and the sum of all other counts."""
    places = find_by_name(_given(names), _given(known), what="the data", than="the fit")
    if places is None:
        return counts, 0
    found = np.flatnonzero(places >= 0)
    chosen = sparse.csr_array(
        (np.ones(len(found), counts.dtype), (places[found], found)), shape=(len(names), len(known))
    )
    aligned = sparse.csr_array(counts @ chosen)
    return aligned, (counts.sum() - aligned.sum()).item()


def _given(names: Array) -> Array | None:
    """Return names, or ``None`` if they are those that stand for no names."""
    return None if names.tolist() == [f"x{i}" for i in range(len(names))] else names

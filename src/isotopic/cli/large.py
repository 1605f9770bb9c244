"""Data larger than memory: opened in row blocks instead of being read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from isotopic.arrays import Array
from isotopic.blocks import Blocks, open_blocks
from isotopic.cli.errors import InputError, library_errors_as_messages
from isotopic.cli.progress import waiting
from isotopic.io import Source, make_options, open_source
from isotopic.io.data import feature_names, sample_names

memory_limit_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Read DATA in row blocks and use at most this much memory, such as 2GB.",
)


class SampleNames:
    """The names of the samples of a source, read where they are needed."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getitem__(self, which: slice | Array) -> Array:
        if isinstance(which, slice):
            return sample_names(self.source, which.start or 0, which.stop)
        return np.concatenate([sample_names(self.source, int(i), int(i) + 1) for i in which])


@dataclass(frozen=True, eq=False)
class LargeData:
    """What is known of data that is not copied to the folder of a fit.

    Attributes
    ----------
    feature_names : ndarray of str objects
    sample_names : SampleNames or ndarray of str objects
    facts : dict
        For the manifest: samples, features, nonzeros, format.
    """

    feature_names: Array
    sample_names: SampleNames | Array
    facts: dict[str, Any]


@contextmanager
def opened_data(
    path: str, settings: dict[str, Any], limit: str, scratch_parent: Path
) -> Iterator[tuple[Blocks, LargeData]]:
    """Yield data in row blocks; a scratch folder exists as long as they are used."""
    reading = dict(settings)
    format = reading.pop("format", None)
    with TemporaryDirectory(prefix="isotopic-", dir=scratch_parent) as scratch:
        with library_errors_as_messages(), waiting(f"opening {path}"):
            source, format = open_source(path, make_options(**reading), format)
            names = feature_names(source)
            if 0 in source.shape:
                raise InputError(f"{path} has no counts: it is {source.shape}.")
            blocks = open_blocks(source, memory_limit=limit, scratch=scratch)
            # As for data in memory, names are in the files of the fit, not in the model.
            blocks = replace(blocks, feature_names=None)
        facts = {
            "samples": source.shape[0],
            "features": source.shape[1],
            "nonzeros": source.entries,
            "format": format,
        }
        yield blocks, LargeData(names, SampleNames(source), facts)

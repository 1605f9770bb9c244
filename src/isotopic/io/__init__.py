"""Counts from files: one reader for each format, which reads everything or some rows."""

from isotopic.io.counts_file import write_counts
from isotopic.io.data import CountData
from isotopic.io.read import FORMATS, TEXT_FORMATS, make_options, open_source, read_counts
from isotopic.io.source import Source

__all__ = [
    "FORMATS",
    "TEXT_FORMATS",
    "CountData",
    "Source",
    "make_options",
    "open_source",
    "read_counts",
    "write_counts",
]

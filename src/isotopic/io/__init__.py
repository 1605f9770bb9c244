"""Counts from files: one reader for each format, which reads everything or some rows."""

from isotopic.io.data import CUT, CountData, write_counts
from isotopic.io.formats import FORMATS, TEXT_FORMATS
from isotopic.io.read import open_source, read_counts
from isotopic.io.source import Options, Source

__all__ = [
    "CUT",
    "FORMATS",
    "TEXT_FORMATS",
    "CountData",
    "Options",
    "Source",
    "open_source",
    "read_counts",
    "write_counts",
]

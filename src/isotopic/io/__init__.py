"""Counts from files: a file here for each format."""

from isotopic.io.counts_file import write_counts
from isotopic.io.data import CountData
from isotopic.io.read import FORMATS, TEXT_FORMATS, read_counts

__all__ = ["FORMATS", "TEXT_FORMATS", "CountData", "read_counts", "write_counts"]

"""The report, served to a browser on this machine: topics are merged, split, dropped and named."""

from isotopic.serve.explorer import Explorer
from isotopic.serve.server import PageServer
from isotopic.serve.session import Session

__all__ = ["Explorer", "PageServer", "Session"]

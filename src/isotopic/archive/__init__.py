"""One file format for everything that is saved: arrays beside a readable manifest, and no code.

A file is a ZIP archive of ``manifest.json`` and one ``.npy`` member for each array, none of them
compressed, so :func:`numpy.load` opens it too. The manifest holds a tree of plain values in JSON;
``docs/model-file.md`` describes it to the last byte. Reading builds only values of the kinds known
here and of classes that the caller names, so a file from a stranger cannot run code.
"""

from isotopic.archive.file import read, write

__all__ = ["read", "write"]

"""The file format of everything that is saved: arrays and a readable manifest, without pickle.

A file is a ZIP archive of ``manifest.json`` and one ``.npy`` member for each array, none of them
compressed, so :func:`numpy.load` opens it too. The manifest holds a tree of plain values in JSON;
``docs/model-file.md`` specifies it completely. Reading creates only values of the kinds known here
and of classes that the caller names, so an untrusted file cannot run code.
"""

from isotopic.archive.file import check, read, write

__all__ = ["check", "read", "write"]

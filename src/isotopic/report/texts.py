"""The documents of a report: in the page, or shortened there and whole in a file beside it."""

from itertools import pairwise
from typing import Any

from isotopic.report.chunks import Archive, compress_tree, split_evenly
from isotopic.report.samples import shorten

# Characters of a chunk.
_CHARACTERS = 400_000

# Texts are compressed to about this share of their characters in the page (base64 of zlib).
_COMPRESSED = 0.5

# Characters of a document that are always in the page.
_FEWEST = 80


def text_archive(documents: Any) -> Archive:
    """Return documents as chunks."""
    bounds = split_evenly([len(text) + 100 for text in documents], _CHARACTERS)
    chunks = []
    for start, stop in pairwise(bounds):
        chunks.append(compress_tree({"texts": list(documents[start:stop])}, is_text=True))
    return Archive(bounds, chunks)


def shortened_archive(documents: Any, most: int) -> tuple[Archive, int]:
    """Return the beginnings of documents in at most ``most`` bytes, and their longest length."""
    length = max(_FEWEST, int(most / _COMPRESSED / max(1, len(documents))))
    archive = text_archive(shorten(documents, length))
    while archive.size > most and length > _FEWEST:
        length = max(_FEWEST, length * 2 // 3)
        archive = text_archive(shorten(documents, length))
    return archive, length

"""What samples, features and topics are called in the field that the data comes from."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isotopic.containers import is_anndata
from isotopic.mutation_types import arrange


@dataclass(frozen=True)
class Field:
    """The words of a field, each in the singular and in the plural."""

    sample: str
    samples: str
    term: str
    terms: str
    topic: str = "topic"
    topics: str = "topics"

    def words(self) -> dict[str, str]:
        """Return the words by their meaning; capitalised meanings have capitalised words."""
        words = asdict(self)
        return words | {key.capitalize(): word.capitalize() for key, word in words.items()}


#: The fields whose words the report knows.
FIELDS = {
    "counts": Field("sample", "samples", "term", "terms"),
    "text": Field("document", "documents", "word", "words"),
    "cells": Field("cell", "cells", "gene", "genes", "program", "programs"),
    "tumours": Field(
        "tumour", "tumours", "mutation type", "mutation types", "signature", "signatures"
    ),
}


def find_field(given: str | None, X: Any, names: Sequence[str], documents: Any) -> str:
    """Return the field that was given, or the one that the data seems to come from."""
    if given is not None:
        if given not in FIELDS:
            raise ValueError(f"field must be one of {', '.join(FIELDS)}, not {given!r}.")
        return given
    if documents is not None:
        return "text"
    if is_anndata(X):
        return "cells"
    return "tumours" if describe_spectrum(names) is not None else "counts"


def describe_spectrum(names: Sequence[str]) -> dict[str, Any] | None:
    """Return how mutation types are drawn: their order, labels and classes. None: they are none."""
    bars = arrange(names, "")
    if not bars[0].kind:
        return None
    return {
        "features": [bar.feature for bar in bars],
        "labels": [bar.label for bar in bars],
        "colours": [bar.colour for bar in bars],
        "classes": [bar.title for bar in bars],
        "strips": [bar.strip for bar in bars],
        "groups": [bar.group for bar in bars],
    }

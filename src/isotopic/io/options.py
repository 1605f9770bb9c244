"""Options: the settings for reading a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """The settings of :func:`isotopic.read_counts` and :func:`isotopic.open_blocks`.

    Their docstrings describe each.
    """

    transpose: bool = False
    sample_names: Any = None
    feature_names: Any = None
    layer: str | None = None
    text_column: str | None = None
    name_column: str | None = None
    stop_words: str | Sequence[str] | None = "english"
    min_df: int | float = 2
    max_df: int | float = 1.0
    max_features: int | None = None
    vocabulary: Sequence[str] | None = None
    encoding: str = "utf-8"
    keep_text: int = 0
    key: str | None = None
    n_features: int | None = None
    has_names_beside: bool = True

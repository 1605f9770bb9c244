"""The format of svmlight: a label and pairs a line."""

from pathlib import Path

import numpy as np

from isotopic.io.data import Content
from isotopic.io.options import Options
from isotopic.io.pairs import as_content, read_pairs, words_beside


def read(path: Path, options: Options) -> Content:
    """Read what follows the labels; features are numbered from 1, or from 0 if there is a 0."""
    parts = list(read_pairs(path, options.encoding, comments=True))
    features = np.concatenate([part.features for part in parts] or [np.empty(0)])
    first = 0 if features.size == 0 or features.min() == 0 else 1
    return as_content(parts, first, words_beside(path, options.encoding))

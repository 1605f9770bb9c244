"""The format of svmlight: a label and pairs a line."""

from pathlib import Path

import numpy as np

from isotopic.io.options import Options
from isotopic.io.pairs import join_pairs, read_pairs, read_vocabulary
from isotopic.io.source import LoadedSource


def read(path: Path, options: Options) -> LoadedSource:
    """Read what follows the labels; features are numbered from 1, or from 0 if there is a 0."""
    parts = list(read_pairs(path, options.encoding, comments=True))
    features = np.concatenate([part.features for part in parts] or [np.empty(0)])
    first = 0 if features.size == 0 or features.min() == 0 else 1
    return join_pairs(parts, first, read_vocabulary(path, options.encoding))

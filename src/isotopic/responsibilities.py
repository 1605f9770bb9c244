"""The probability of each component for each count."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix


class Explained(NamedTuple):
    """The counts of one sample, and the components that explain them.

    Attributes
    ----------
    features : ndarray of int of shape (n_entries,)
        The features that occur in the sample.
    counts : ndarray of shape (n_entries,)
    probabilities : ndarray of shape (n_entries, n_components)
        The probability that a count of the feature comes from each component; rows sum to one. A
        row of zeros is a count that no component can explain.
    """

    features: Array
    counts: Array
    probabilities: Array


class Responsibilities(Sequence[Explained]):
    r"""The posterior of the components for each nonzero entry, a sample at a time.

    .. math:: \phi_{dkv} = w_{dk} t_{kv} \big/ \sum_j w_{dj} t_{jv}

    with (effective) weights and topics: equation (6) of the paper. They are computed on access; the
    whole tensor is never stored.

    Parameters
    ----------
    X : CountMatrix of shape (samples, features)
    weights : ndarray of shape (samples, components)
    topics : ndarray of shape (components, features)
    """

    def __init__(self, X: CountMatrix, weights: Array, topics: Array) -> None:
        self._X, self._weights, self._topics = X.as_sparse(), weights, topics

    def __len__(self) -> int:
        return self._X.shape[0]

    @overload
    def __getitem__(self, sample: int) -> Explained: ...
    @overload
    def __getitem__(self, sample: slice) -> list[Explained]: ...
    def __getitem__(self, sample: int | slice) -> Explained | list[Explained]:
        if isinstance(sample, slice):
            return [self[row] for row in range(*sample.indices(len(self)))]
        if not -len(self) <= sample < len(self):
            raise IndexError(f"There is no sample {sample}: X has {len(self)} samples.")
        row = range(len(self))[sample]
        entries = slice(self._X.row_starts[row], self._X.row_starts[row + 1])
        features = self._X.features[entries]
        joint = self._weights[row] * self._topics[:, features].T
        sums = joint.sum(axis=1, keepdims=True)
        probabilities = joint / np.where(sums > 0, sums, 1)
        return Explained(features.copy(), self._X.values[entries].copy(), probabilities)

    def __iter__(self) -> Iterator[Explained]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        samples, features = self._X.shape
        return (
            f"<Responsibilities of {self._weights.shape[1]} components for {samples} samples x "
            f"{features} features>"
        )

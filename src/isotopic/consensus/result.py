"""What a consensus found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.consensus.clusters import Clusters
from isotopic.table import Table


@dataclass(frozen=True, eq=False)
class Consensus:
    """The result of :func:`consensus`.

    Attributes
    ----------
    n_components : int
        The number that was chosen.
    reason : str
        Why it was chosen, in a sentence.
    model : estimator
        Fitted, with the consensus topics and the weights of the samples given them.
    table : Table
        A row for each number: the mean and the lowest stability of its components, the held-out
        score with its standard error, the perplexity (unless entries are held out), and the
        objective of the best run.
    clusters : dict of int to Clusters
        The components of all runs in clusters, for each number.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, consensus
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> found = consensus(NMF(tol=1e-2), X, [1, 2], n_runs=3, choose=2, random_state=0)
    >>> found.n_components, found.stability.shape, found.model.components_.shape
    (2, (2,), (2, 8))
    """

    n_components: int
    reason: str
    model: Any
    table: Table
    clusters: Mapping[int, Clusters] = field(repr=False)
    _fit: Callable[[int], Any] = field(repr=False)

    @property
    def stability(self) -> Array:
        """The stability (mean silhouette) of each component of the chosen number."""
        return self.clusters[self.n_components].stability

    @property
    def components(self) -> Table:
        """A row for each component: its stability, the runs that found it, and its spread."""
        found = self.clusters[self.n_components]
        return Table(
            component=np.arange(self.n_components),
            stability=found.stability,
            found=found.found,
            runs=np.full(self.n_components, len(found.order)),
            spread=found.spread,
            outliers=found.is_outlier.sum(axis=0),
        )

    def at(self, n_components: int) -> "Consensus":
        """Return the same runs with another number of components chosen."""
        if n_components not in self.clusters:
            raise ValueError(
                f"n_components={n_components!r} was not tried; there are {list(self.clusters)}."
            )
        return replace(
            self,
            n_components=int(n_components),
            reason=f"{n_components} was asked for.",
            model=self._fit(int(n_components)),
        )

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.reason}"

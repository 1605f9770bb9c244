"""What a user knows of each sample beforehand: its size, and weights that are given."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.priors import Posterior, Prior, WithFixedWeights, WithSizeFactors


@dataclass(frozen=True)
class Offsets:
    """The sizes of samples and the weights that are given.

    Parameters
    ----------
    size_factors : ndarray of shape (samples,) or None
    fixed_weights : ndarray of shape (samples, given components) or None
        Of a sample of size one.
    """

    size_factors: Array | None = None
    fixed_weights: Array | None = None

    def rows(self, which: Array | slice) -> "Offsets":
        """Select samples."""
        return Offsets(
            *(
                None if part is None else part[which]
                for part in (self.size_factors, self.fixed_weights)
            )
        )

    def around(self, prior: Prior) -> Prior:
        """Give the prior of the weights that knows of them."""
        if self.fixed_weights is not None:
            prior = WithFixedWeights(prior, self.fixed_weights)
        return prior if self.size_factors is None else WithSizeFactors(prior, self.size_factors)

    def inside(self, prior: Any) -> Prior:
        """Give the prior of the weights that :meth:`around` was put around."""
        for part in (self.size_factors, self.fixed_weights):
            prior = prior if part is None else prior.prior
        inner: Prior = prior
        return inner

    def unsized(self, prior: Prior, posterior: Posterior) -> Posterior:
        """Give the weights for size one."""
        if self.size_factors is None:
            return posterior
        return WithSizeFactors(prior, self.size_factors).unsized(posterior)

    @property
    def n_fixed_weights(self) -> int:
        """For how many components the weights are given."""
        return 0 if self.fixed_weights is None else self.fixed_weights.shape[1]


NOTHING_KNOWN = Offsets()


def read_offsets(
    size_factors: Any,
    fixed_weights: Any,
    X: Any,
    prior: Prior,
    n_components: int,
) -> Offsets:
    """Check what is known of samples.

    Parameters
    ----------
    size_factors : float, array-like of shape (samples,) or None
    fixed_weights : array-like of shape (samples, given components) or None
    X : CountMatrix or BlockedCounts
    prior : Prior
        Of the weights.
    n_components : int
    """
    for name, given in (("size_factors", size_factors), ("fixed_weights", fixed_weights)):
        if given is not None and prior.is_normalized:
            raise ValueError(
                f"{name} are for Poisson models, whose weights have a scale (NMF, GammaPoisson, "
                "PoissonFactorization): here the weights are proportions of each sample, whatever "
                "its size"
            )
    return Offsets(
        None if size_factors is None else _sizes(size_factors, X),
        None if fixed_weights is None else _fixed(fixed_weights, X, n_components),
    )


def _sizes(given: Any, X: Any) -> Array:
    sizes = as_numbers("size_factors", given)
    if sizes.ndim == 0:
        sizes = np.full(X.shape[0], sizes)
    if sizes.shape != X.shape[:1]:
        raise ValueError(
            f"size_factors has shape {sizes.shape}; X has {X.shape[0]} samples, so it must be "
            f"({X.shape[0]},)"
        )
    good = (sizes > 0) & (sizes < np.inf)
    if not good.all():
        first = int(np.argmin(good))
        raise ValueError(
            f"size_factors must be positive and finite; sample {first} has {sizes[first]}. Leave "
            "samples without a size out"
        )
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore"):
        largest = X.sample_totals / sizes
    bad = (sizes < limits.tiny) | (sizes > limits.max) | (largest > limits.max)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"size_factors: {sizes[first]} of sample {first} is too extreme for {X.dtype}; divide "
            "them all by their mean"
        )
    return sizes


def _fixed(given: Any, X: Any, n_components: int) -> Array:
    fixed = as_numbers("fixed_weights", given)
    if fixed.ndim == 1:
        fixed = fixed[:, np.newaxis]
    if fixed.ndim != 2 or len(fixed) != X.shape[0] or not 0 < fixed.shape[1] <= n_components:
        raise ValueError(
            f"fixed_weights has shape {np.shape(given)}; it must have {X.shape[0]} rows, as X has "
            f"samples, and between 1 and n_components={n_components} columns"
        )
    bad = first_not_finite(fixed)
    if bad is not None:
        raise ValueError(
            f"fixed_weights must be finite and at least 0; sample {bad[0]} has {fixed[bad]}"
        )
    if not np.all(fixed <= np.finfo(X.dtype).max):
        raise ValueError(f"fixed_weights are too large for {X.dtype}")
    return fixed.astype(X.dtype)

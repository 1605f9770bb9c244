"""Size factors, fixed weights and covariates of samples."""

from dataclasses import dataclass
from typing import Any

from isotopic.arrays import Array
from isotopic.containers import sample_names_of
from isotopic.covariates import Covariates, read_covariates
from isotopic.priors import (
    Free,
    Posterior,
    Prior,
    WithCovariates,
    WithFixedWeights,
    WithSizeFactors,
    with_covariates,
)
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class Offsets:
    """The size factors, fixed weights and covariates of samples, where a user gave them.

    Parameters
    ----------
    size_factors : ndarray of shape (samples,) or None
    fixed_weights : ndarray of shape (samples, fixed components) or None
        Of a sample of size one.
    covariates : Covariates or None
    """

    size_factors: Array | None = None
    fixed_weights: Array | None = None
    covariates: Covariates | None = None

    @property
    def is_empty(self) -> bool:
        """Whether neither size factors nor fixed weights were given."""
        return self.size_factors is None and self.fixed_weights is None

    @property
    def n_fixed_weights(self) -> int:
        """The number of components whose weights are fixed."""
        return 0 if self.fixed_weights is None else self.fixed_weights.shape[1]

    def rows(self, rows: Array | slice) -> "Offsets":
        """Select samples."""
        sizes, fixed, covariates = self.size_factors, self.fixed_weights, self.covariates
        return Offsets(
            None if sizes is None else sizes[rows],
            None if fixed is None else fixed[rows],
            None if covariates is None else covariates.rows(rows),
        )

    def given_covariates(self, prior: Prior) -> Prior:
        """Return the prior of the weights of samples with these covariates."""
        covariates = self.covariates
        return prior if covariates is None else with_covariates(prior, covariates.matrix)

    def prior_of_rows(self, prior: Prior, rows: Array | None) -> Prior:
        """Return the prior of samples of a fitted model: of new ones, or of some of its rows."""
        if self.covariates is not None:
            return self.wrap(self.given_covariates(prior))
        if isinstance(prior, WithCovariates):
            raise ValueError(
                "This model was fitted with covariates. Pass the covariates of these samples, too."
            )
        return self.wrap(prior if rows is None else prior.rows(rows))

    def wrap(self, prior: Prior) -> Prior:
        """Return the prior of the weights of samples with these sizes and fixed weights."""
        if self.fixed_weights is not None:
            prior = WithFixedWeights(prior, self.fixed_weights)
        return prior if self.size_factors is None else WithSizeFactors(prior, self.size_factors)

    def for_own_size(self, weights: Posterior) -> Posterior:
        """Return weights of size one for samples of these sizes."""
        if self.size_factors is None:
            return weights
        return WithSizeFactors(Free(), self.size_factors).sized(weights)

    def for_size_one(self, weights: Posterior, rows: slice = slice(None)) -> Posterior:
        """Return the weights of some of these samples for size one."""
        if self.size_factors is None:
            return weights
        return WithSizeFactors(Free(), self.size_factors[rows]).unsized(weights)


def check_covariates(fitted: Offsets, given: Offsets) -> None:
    """Raise ValueError if only one of a fitted model and its new samples has covariates."""
    if fitted.covariates is not None and given.covariates is None:
        names = ", ".join(fitted.covariates.design.table)
        raise ValueError(
            f"This model was fitted with covariates ({names}). Pass the covariates of these "
            "samples, too."
        )
    if fitted.covariates is None and given.covariates is not None:
        raise ValueError("This model was fitted without covariates. Leave them out.")


def read_new_covariates(fitted: Offsets, covariates: Any, X: Any, n_samples: int) -> Offsets:
    """Return the covariates of new samples of a fitted model as offsets, aligned by name."""
    known = None if fitted.covariates is None else fitted.covariates.design
    given = read_covariates(
        covariates,
        None,
        X,
        n_samples=n_samples,
        sample_names=lambda: sample_names_of(X),
        known=known,
    )
    offsets = Offsets(covariates=given)
    check_covariates(fitted, offsets)
    return offsets


NO_OFFSETS = Offsets()

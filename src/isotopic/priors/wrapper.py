"""Wrapper: a prior that changes one thing about another prior."""

from dataclasses import fields
from typing import Any, ClassVar, Self

from isotopic.arrays import Array
from isotopic.priors.base import Prior, Totals
from isotopic.priors.hyperparameters import CountHistogram, Evidence
from isotopic.row_inference import RowRule


class Wrapper(Prior):
    """A prior that changes one thing about another prior, and delegates the rest to it.

    A subclass is a dataclass with the field ``prior`` and overrides only what it changes. Its
    other fields are arrays with one row for each row of the factor.
    """

    prior: Any  # a Prior
    linear_penalty: ClassVar[float | None] = None

    def __getattr__(self, name: str) -> Any:
        """Return what only the inner prior has; private names are never delegated."""
        if name.startswith("_") or name == "prior":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.prior, name)

    def around(self, prior: Prior) -> Self:
        """Return this wrapper with another inner prior."""
        return self._with({"prior": prior})

    def row_rule(self, n_components: int, totals: Totals) -> RowRule | None:
        """Return ``None``: the core knows hardly any wrapper."""
        return None

    # --- Members that return a prior: the result is wrapped again -----------------------------

    def rows(self, which: Array) -> Self:
        """Return the prior of some rows."""
        own: Any = self
        arrays = {f.name: getattr(self, f.name)[which] for f in fields(own) if f.name != "prior"}
        return self._with({"prior": self.prior.rows(which), **arrays})

    def reordered(self, order: Array) -> Self:
        """Return the prior of reordered components."""
        return self.select_components(order, len(order))

    def select_components(self, which: Array, n_components: int) -> Self:
        """Return the prior of some components."""
        return self.around(self.prior.select_components(which, n_components))

    def split(self, parents: Array, n_components: int) -> Prior:
        """Return the prior of split components."""
        return self.around(self.prior.split(parents, n_components))

    def merged(self, groups: Array) -> Prior:
        """Return the prior of merged components."""
        return self.around(self.prior.merged(groups))

    def with_posterior_means(self) -> Prior:
        """Return a prior that uses posterior means."""
        return self.around(self.prior.with_posterior_means())

    def next_to(self, scale_derivative: Totals) -> Prior:
        """Return the prior of topics of unit norm, given the weights; see UnitNorm."""
        return self.around(self.prior.next_to(scale_derivative))

    # --- Learning: the inner prior learns from evidence as it sees it -------------------------

    def inner_evidence(self, evidence: Evidence) -> Evidence:
        """Return the evidence as the inner prior sees it."""
        return evidence

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Return the prior with hyperparameters that fit the expected counts better."""
        evidence = self.inner_evidence(evidence)
        return self.around(self.prior.with_updated_hyperparameters(evidence))

    def with_learned(self, learned: Any) -> Self:
        """Return this prior with the hyperparameters of ``learned``, a wrapper of the same kind."""
        return self.around(self.prior.with_learned(learned.prior))

    def continuing(self, learned: Any) -> Self:
        """Return this prior with the hyperparameters of ``learned``, a prior without wrappers."""
        return self.around(self.prior.continuing(learned))

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Return the sums over rows that an update of the hyperparameters needs."""
        statistics: Array = self.prior.sufficient_statistics(self.inner_evidence(evidence))
        return statistics

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with hyperparameters updated from the statistics of all rows."""
        return self.around(self.prior.with_statistics(statistics))

    def uses_histogram(self, columns: int) -> bool:
        """Return whether all updates can use one histogram of the counts, by number of columns."""
        return bool(self.prior.uses_histogram(columns))

    def histogram(self, evidence: Evidence) -> CountHistogram:
        """Return the histogram of the expected counts that the inner prior sees."""
        histogram: CountHistogram = self.prior.histogram(self.inner_evidence(evidence))
        return histogram

    def with_histogram(self, histogram: CountHistogram) -> Self:
        """Return the prior with hyperparameters that fit the counts of a histogram better."""
        return self.around(self.prior.with_histogram(histogram))

    def calibrated(self, factor: float) -> Self:
        """Return the prior with a learned concentration times a factor, for new samples."""
        return self.around(self.prior.calibrated(factor))

    def changed_since(self, before: Any) -> bool:
        """Return whether another update from the same counts would still change something."""
        return bool(self.prior.changed_since(before.prior))

    def self_contribution_of(self, evidence: Evidence) -> Any:
        """Return the self-contribution of each entry; see CollapsedDirichlet."""
        return self.prior.self_contribution_of(self.inner_evidence(evidence))

    def with_self_contribution(self, entries: Any) -> Self:
        """Return the prior with this self-contribution; see CollapsedDirichlet."""
        return self.around(self.prior.with_self_contribution(entries))


def innermost(prior: Prior) -> Prior:
    """Return the prior inside all wrappers."""
    while isinstance(prior, Wrapper):
        prior = prior.prior
    return prior


class Delegated:
    """Delegate a member of Prior to the inner prior, or to another field of the wrapper."""

    def __init__(self, name: str, field: str = "prior") -> None:
        self.name, self.field = name, field

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        return self if wrapper is None else getattr(getattr(wrapper, self.field), self.name)


# Wrapper inherits defaults from Prior, so __getattr__ is not asked for them: replace them all.
for _name in vars(Prior):
    if not _name.startswith("_") and _name not in vars(Wrapper):
        setattr(Wrapper, _name, Delegated(_name))

"""LearnsHyperparameters: the ability of a prior to learn its own settings during the fit."""

from collections.abc import Callable
from operator import methodcaller
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Prior, Totals

# The most updates from the same expected counts, and the relative change that ends them earlier.
_MOST_UPDATES = 20
_SMALL_CHANGE = 1e-3

AnyPrior = TypeVar("AnyPrior", bound=Any)


class Evidence(NamedTuple):
    """What a prior learns its hyperparameters from.

    Attributes
    ----------
    counts : ndarray
        The expected counts of its factor.
    squares : ndarray or None
        The sums of squared responsibilities, if the prior needs them.
    totals : Totals
        The sums of the other factor.
    copies : ndarray or None
        How often each row counts.
    """

    counts: Array
    squares: Array | None
    totals: Totals
    copies: Array | None = None


class LearnsHyperparameters(Prior):
    """A prior that learns hyperparameters from expected counts.

    A subclass defines :meth:`sufficient_statistics`, :meth:`with_statistics` and
    :meth:`with_learned`. Statistics are sums over rows, so those of row blocks can be added.
    """

    learn: str | None = "always"  # None: the hyperparameters are fixed
    learned_setting: ClassVar[str] = ""  # updates are repeated until it changes little

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether hyperparameters are learned during the fit."""
        return self.learn is not None

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Return the sums over rows that an update of the hyperparameters needs."""
        raise NotImplementedError

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with hyperparameters updated from the statistics of all rows."""
        raise NotImplementedError

    def changed_since(self, before: Any) -> bool:
        """Tell whether another update from the same counts would still change something."""
        if not self.learned_setting:
            return False
        now = np.asarray(getattr(self, self.learned_setting))
        change = np.abs(now - np.asarray(getattr(before, self.learned_setting)))
        return bool(np.any(change > _SMALL_CHANGE * now))

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Return the prior with hyperparameters that fit the expected counts better."""
        if self.learn is None:
            return self
        return update_repeatedly(self, methodcaller("sufficient_statistics", evidence))


def update_repeatedly(
    prior: AnyPrior, sufficient_statistics: Callable[[AnyPrior], Array]
) -> AnyPrior:
    """Return the prior after updates of its hyperparameters, until these change little."""
    for _ in range(_MOST_UPDATES):
        before, prior = prior, prior.with_statistics(sufficient_statistics(prior))
        if not prior.changed_since(before):
            break
    return prior

"""Priors around priors: what a user knows of some samples, topics or features beforehand."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import row_sums
from isotopic.priors.base import Evidence, Posterior, Prior, Side, Totals, as_column
from isotopic.priors.bayesian import Bayesian


@dataclass(frozen=True, eq=False)
class Fixed(Side):
    """A side that is known: it absorbs nothing. Used to infer the weights of new samples."""

    posterior: Posterior = field(repr=False)
    is_normalized: bool  # type: ignore[misc]
    learned: ClassVar[bool] = False

    def check(self, shape: tuple[int, int]) -> None:
        """Check that it is of that shape."""
        if self.posterior.mean.shape != shape:
            raise ValueError(f"a fixed side of shape {self.posterior.mean.shape} is not {shape}")

    def rows(self, which: Array) -> "Fixed":
        """Give some of what is known."""
        mean = np.asfortranarray(self.posterior.mean[which])
        point = self.posterior.effective is self.posterior.mean
        effective = mean if point else np.asfortranarray(self.posterior.effective[which])
        return Fixed(Posterior(mean, effective), self.is_normalized)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Give what is known."""
        return self.posterior

    absorb = at

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Nothing is left to do."""
        return 0.0

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Any counts will do."""
        return np.asarray(posterior.mean * as_column(mass))


class Wrapper(Side):
    """A prior that changes one thing about another, and is like it in the rest."""

    prior: Prior

    @property
    def is_normalized(self) -> bool:  # type: ignore[override]
        """Whether rows sum to one."""
        return self.prior.is_normalized

    @property
    def norm(self) -> float | None:
        """The ``p`` for which rows have unit l_p norm."""
        return self.prior.norm

    @property
    def is_bayesian(self) -> bool:  # type: ignore[override]
        """Whether this side is a distribution."""
        return self.prior.is_bayesian

    @property
    def learned(self) -> bool:  # type: ignore[override]
        """Whether this side moves."""
        return self.prior.learned

    @property
    def scale(self) -> str:  # type: ignore[override]
        """What this side thinks of its scale."""
        return self.prior.scale

    @property
    def sizes(self) -> Array | None:  # type: ignore[override]
        """What each row was multiplied with."""
        return self.prior.sizes

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the prior learns."""
        return self.prior.learns

    @property
    def needs_squares(self) -> bool:  # type: ignore[override]
        """Whether the prior wants squares."""
        return self.prior.needs_squares

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Let the prior learn."""
        return self.around(self.prior.with_updated_hyperparameters(self.inside(evidence)))

    def inside(self, evidence: Evidence) -> Evidence:
        """Give what the prior learns from."""
        return evidence

    @property
    def learns_from_statistics(self) -> bool:  # type: ignore[override]
        """Whether the prior learns from sums over rows."""
        return self.prior.learns_from_statistics

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Let the prior add up."""
        return self.prior.sufficient_statistics(self.inside(evidence))

    def with_statistics(self, tally: Array) -> Self:
        """Let the prior update its settings."""
        return self.around(self.prior.with_statistics(tally))

    def changed_since(self, before: Any) -> bool:
        """Tell whether the prior's settings changed."""
        return self.prior.changed_since(before.prior)

    def self_contribution_of(self, evidence: Evidence) -> Array | None:
        """Give what the prior learns of each entry."""
        return self.prior.self_contribution_of(self.inside(evidence))

    def with_self_contribution(self, entries: Any) -> Self:
        """Let the prior take it."""
        return self.around(self.prior.with_self_contribution(entries))

    def hyperprior_term(self, columns: int) -> float:
        """Give the prior's."""
        return self.prior.hyperprior_term(columns)

    def kept(self, learned: Any) -> Self:
        """Take what the prior has learned."""
        return self.around(self.prior.kept(learned.prior))

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Show what the prior shows."""
        return self.prior.predictive_factor(posterior)

    def around(self, prior: Prior) -> Self:
        """Change the same thing about another prior."""
        around: Any = self
        changed: Self = replace(around, prior=prior)
        return changed

    def check(self, shape: tuple[int, int]) -> None:
        """Check the settings of the prior."""
        self.prior.check(shape)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take what the prior takes."""
        return self.prior.at(values, totals)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure what the prior measures."""
        return self.prior.gap(posterior, counts, totals, copies)

    def slope(self, factor: Array) -> Totals:
        """Give the slope of the prior."""
        return self.prior.slope(factor)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Find the prior's counts."""
        return self.prior.implied_counts(posterior, mass, totals)

    def initial_totals(self, counts: Array) -> Totals:
        """Give the prior's."""
        return self.prior.initial_totals(counts)

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Pull as the prior does."""
        return self.prior.scale_derivative(posterior, copies)

    def next_to(self, pull: Totals) -> Any:
        """Give the same around the prior beside what pulls."""
        return replace(self, prior=self.prior.next_to(pull))  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class SampleWeighted(Wrapper):
    """Samples that count more or less than once.

    A sample that counts twice has the weights of one that counts once, and gives the topics twice
    its counts: as if it stood in the data twice.

    Parameters
    ----------
    prior : Prior
        Of the weights of a sample that counts once.
    copies : ndarray of shape (samples,)
        How often each sample counts; positive.
    """

    prior: Prior
    copies: Array = field(repr=False)  # type: ignore[misc]

    @property
    def linear_penalty(self) -> float | None:  # type: ignore[override]
        """The prior's."""
        return self.prior.linear_penalty

    def rows(self, which: Array) -> Self:
        """Give the prior of some samples only."""
        return replace(self, prior=self.prior.rows(which), copies=self.copies[which])

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the weights of each sample, counted once."""
        return self.repeated(self.prior.at(values, totals))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Absorb the counts of all copies of each sample."""
        each = counts / as_column(self.copies.astype(counts.dtype))
        return self.repeated(self.prior.absorb(each, totals))

    def inside(self, evidence: Evidence) -> Evidence:
        """Let each sample speak as often as it counts."""
        copies = as_column(self.copies.astype(evidence.counts.dtype))
        squares = None if evidence.squares is None else evidence.squares / copies
        return Evidence(evidence.counts / copies, squares, evidence.totals, self.copies)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure over all copies."""
        return self.prior.gap(posterior, counts, totals, self.copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Find the counts of all copies."""
        each = self.prior.implied_counts(posterior, mass / self.copies, totals)
        return np.asarray(each * as_column(self.copies))

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Pull with all copies."""
        return self.prior.scale_derivative(posterior, self.copies)

    def repeated(self, posterior: Posterior) -> Posterior:
        """Count what each sample adds to the objective as often as the sample counts."""
        if posterior.terms is None:
            return posterior
        return replace(posterior, terms=posterior.terms * self.copies)


@dataclass(frozen=True, eq=False)
class WithFixedTopics(Wrapper):
    """Topics of which the first ones are given and held, and the others learned.

    Parameters
    ----------
    prior : Prior
        Of the topics that are learned.
    held : ndarray of shape (held topics, features)
    """

    prior: Prior
    held: Array = field(repr=False)

    @property
    def held_rows(self) -> int:  # type: ignore[override]
        """Those that are given."""
        return len(self.held)

    def check(self, shape: tuple[int, int]) -> None:
        """Check the settings of the prior."""
        self.prior.check((shape[0] - len(self.held), shape[1]))

    def rows(self, which: Array) -> Self:
        """Give the prior of some topics only, those that are held in front."""
        held = which < len(self.held)
        if np.any(np.diff(held.astype(int)) > 0):
            raise ValueError("topics that are held stand before those that are learned")
        learned = self.prior.rows(which[~held] - len(self.held))
        return replace(self, prior=learned, held=self.held[which[held]])

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the topics that are learned."""
        return self._joined(self.prior.at(self._learned(values), self._learned(totals)), values)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Let the topics that are learned absorb theirs."""
        learned = self.prior.absorb(self._learned(counts), self._learned(totals))
        return self._joined(learned, counts)

    def inside(self, evidence: Evidence) -> Evidence:
        """Let the topics that are learned speak."""
        counts, squares, totals, copies = evidence
        squares = None if squares is None else self._learned(squares)
        return Evidence(self._learned(counts), squares, self._learned(totals), copies)

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Show the topics that are held as they are."""
        learned = self.prior.predictive_factor(self._learned_part(posterior))
        return np.asfortranarray(np.concatenate([self.held.astype(learned.dtype), learned]))

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure the topics that are learned."""
        learned = self._learned_part(posterior)
        return self.prior.gap(learned, self._learned(counts), self._learned(totals))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Share the mass of the topics that are held out as they are."""
        counts = posterior.mean * as_column(mass)
        learned = self._learned_part(posterior)
        counts[len(self.held) :] = self.prior.implied_counts(
            learned, self._learned(mass), self._learned(totals)
        )
        return np.asarray(counts)

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Give the quantiles of what is learned; what is held is certain."""
        prior: Any = self.prior
        learned = prior.quantile(self._learned_part(posterior), probability)
        return np.concatenate([self.held, learned])

    def initial_totals(self, counts: Array) -> Totals:
        """Topics that are held have the sums that they have."""
        if self.is_normalized:
            return 1.0
        learned = self._learned(counts)
        totals = np.broadcast_to(self.prior.initial_totals(learned), len(learned))
        return np.append(self.held.sum(axis=1), totals)

    def next_to(self, pull: Totals) -> "WithFixedTopics":
        """Let the topics that are learned know of their own components."""
        return replace(self, prior=self.prior.next_to(self._learned(pull)))

    def _learned(self, side: Any) -> Any:
        """Give the part of what there is for each topic, in the layout of the kernels."""
        return side if np.ndim(side) == 0 else np.asfortranarray(side[len(self.held) :])

    def _learned_part(self, posterior: Posterior) -> Posterior:
        names = ("mean", "effective", "parameters", "rates", "explained")
        parts = {name: getattr(posterior, name) for name in names}
        learned: dict[str, Any] = {
            name: None if part is None else self._learned(part) for name, part in parts.items()
        }
        return Posterior(**learned)

    def _joined(self, learned: Posterior, counts: Array) -> Posterior:
        """Put the given topics before those learned; only these have a posterior."""

        def joined(held: Any, part: Array | None) -> Array | None:
            if part is None:
                return None
            whole = np.empty((len(self.held) + len(part), part.shape[1]), part.dtype, "F")
            whole[: len(self.held)], whole[len(self.held) :] = held, part
            return whole

        mean = joined(self.held, learned.mean)
        point = learned.effective is learned.mean
        effective = mean if point else joined(self.held, learned.effective)
        assert mean is not None
        assert effective is not None
        return Posterior(
            mean,
            effective,
            learned.terms,
            joined(np.nan, learned.parameters),
            joined(np.nan, learned.rates),
            joined(counts[: len(self.held)], learned.explained),
            None if learned.scale is None else np.append(np.ones(len(self.held)), learned.scale),
        )


@dataclass(frozen=True, eq=False)
class Seeded(Wrapper):
    r"""A point that expects some counts beforehand.

    .. math:: \text{term} = -\sum \text{pseudo-counts} \cdot \log(\text{factor})

    which is what so many counts, all explained by their own component, would add.

    Parameters
    ----------
    prior : Prior
    pseudo_counts : ndarray
        Of the shape of the side, non-negative.
    """

    prior: Prior
    pseudo_counts: Array = field(repr=False)

    @property
    def scale(self) -> str:  # type: ignore[override]
        """Seeds push up what carries a scale."""
        return "pushed" if self.prior.norm is None else "held"

    def rows(self, which: Array) -> Self:
        """Give the prior of some rows only."""
        some = self.pseudo_counts[which]
        return replace(self, prior=self.prior.rows(which), pseudo_counts=some)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take what the prior takes."""
        return self._with_term(self.prior.at(values, totals))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Absorb these counts and those expected beforehand."""
        return self._with_term(self.prior.absorb(self._all(counts), totals))

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure with the counts that were expected beforehand."""
        return self.prior.gap(posterior, self._all(counts), totals)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Take away what was expected beforehand."""
        whole = self.prior.implied_counts(posterior, mass + self.pseudo_counts.sum(axis=1), totals)
        return np.asarray(np.maximum(whole - self.pseudo_counts, 0))  # below zero by rounding only

    def next_to(self, pull: Totals) -> "Seeded":
        """Let the seeds pull too: at unit norm they do not gain by a larger scale."""
        return replace(self, prior=self.prior.next_to(pull + self.pseudo_counts.sum(axis=1)))

    def _all(self, counts: Array) -> Array:
        return np.asarray(counts + self.pseudo_counts.astype(counts.dtype))

    def _with_term(self, posterior: Posterior) -> Posterior:
        some = self.pseudo_counts > 0
        with np.errstate(divide="ignore"):  # an impossible seed: infinitely bad, and said so
            logs = np.log(posterior.effective[some], dtype=np.float64)
        own = np.array([-float(self.pseudo_counts[some] @ logs)])
        terms = own if posterior.terms is None else np.append(posterior.terms, own)
        return replace(posterior, terms=terms)


@dataclass(frozen=True, eq=False)
class Forbidden(Wrapper):
    """A point some entries of which are zero for certain.

    Parameters
    ----------
    prior : Prior
    forbidden : ndarray of bool
        Of the shape of the side.
    """

    prior: Prior
    forbidden: Array = field(repr=False)

    def rows(self, which: Array) -> Self:
        """Give the prior of some rows only."""
        return replace(self, prior=self.prior.rows(which), forbidden=self.forbidden[which])

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take what the prior takes, of the other entries."""
        return self.prior.at(self._allowed(values.copy("K")), totals)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Absorb the counts of the other entries."""
        return self.prior.absorb(self._allowed(counts), totals)

    def _allowed(self, values: Array) -> Array:
        values[self.forbidden] = 0
        if self.norm is not None:  # a row without any says nothing: uniform where it may be
            empty = row_sums(values) == 0
            values[empty] = ~self.forbidden[empty]
        return values


def seeded(prior: Prior, pseudo_counts: Array) -> Prior:
    """Give the prior that expects these counts beforehand."""
    if isinstance(prior, Bayesian):
        return prior.seeded(pseudo_counts)
    return Seeded(prior, pseudo_counts)


def forbidding(prior: Prior, forbidden: Array) -> Prior:
    """Give the prior that keeps these entries at zero."""
    if isinstance(prior, Bayesian):
        return prior.forbidding(forbidden)
    return Forbidden(prior, forbidden)

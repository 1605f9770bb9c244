r"""Priors: what each factor may be, and what it makes of its expected counts.

A model is a pair of priors: one for the weights (samples x components), one for the topics
(components x features). After each E step, a prior absorbs the expected counts of its factor and
the totals: for each component, the sum of the other factor. In the table, sums and norms run over
rows. The effective factor is what the next E step multiplies::

    ================================= ================================== ==========================
    prior                             what absorb returns (h or b)       effective factor
    ================================= ================================== ==========================
    Free()                            h = counts / totals                h
    Lasso(strength)                   h = counts / (totals + strength)   h
    LogPenalty(strength, offset)      h (totals + slope) = counts with   h
                                      slope = strength / (offset + h)
    PowerPenalty(strength, power)     h (totals + slope) = counts with   h
                                      slope = strength power h^(power-1)
    Relevance(shape, scale_share)     h = counts / (totals + s) with a   h
                                      learned s for each component
    Simplex()                         h = counts / sum(counts)           h
    UnitNorm(p)                       h (totals + m h^(p-1)) = counts,   h
                                      then scaled to unit l_p norm
    Dirichlet(concentration)          b = concentration + counts         exp(psi(b) - psi(sum(b)))
    DirichletMean(concentration)      b = concentration + counts         b / sum(b), the mean
    DirichletMode(concentration)      b = concentration + counts         max(b - 1, 0), normalised
    CollapsedDirichlet(concentration) b = concentration + counts         (b - self counts) / sum(b)
    Gamma(shape, rate)                b = shape + counts,                exp(psi(b)) / r
                                      r = rate + totals
    Fixed(posterior)                  the known factor, always           the known one
    ================================= ================================== ==========================

``psi`` is the digamma function, ``self`` the self-contribution (CVB0), and ``m`` the derivative of
the weights' penalty with respect to a component's scale. Wrappers change one thing about another
prior and delegate the rest to it::

    ==================================== =============================================
    wrapper                              what it changes
    ==================================== =============================================
    SampleWeighted(prior, copies)        samples have sample weights
    WithSizeFactors(prior, size_factors) a sample of known size sees totals * size
    WithFixedWeights(prior, given)       the weights of the first components are given
    WithCovariates(kind, covariates)     concentrations are log-linear in covariates
    WithFixedTopics(prior, held)         the first topics are given
    Seeded(prior, pseudo_counts)         pseudo-counts are added to the counts
    Forbidden(prior, forbidden)          some entries are always zero
    ==================================== =============================================

If the topics are normalised, their totals are always one, and they do not depend on the totals of
the weights. So both factors can be updated from the same expected counts: that is the
paper's joint update. Topics of another unit norm also need the derivative of the weights' penalty.

A new prior is one file with a subclass of :class:`Prior`: ``docs/extending-priors.md`` writes one.
"""

from isotopic.priors.base import Posterior, Prior, Totals
from isotopic.priors.bayesian import Bayesian
from isotopic.priors.collapsed import ESTIMATES, CollapsedDirichlet
from isotopic.priors.covariates import WithCovariates, with_covariates
from isotopic.priors.dirichlet import Dirichlet, DirichletMean, DirichletMode
from isotopic.priors.gamma import Gamma
from isotopic.priors.hyperparameters import Evidence, LearnsHyperparameters
from isotopic.priors.norms import UnitNorm, row_norms
from isotopic.priors.offsets import WithFixedWeights, WithSizeFactors
from isotopic.priors.penalties import LogPenalty, PowerPenalty
from isotopic.priors.points import Fixed, Free, Lasso, Simplex
from isotopic.priors.relevance import Relevance
from isotopic.priors.wrapper import Wrapper, innermost
from isotopic.priors.wrappers import (
    Forbidden,
    SampleWeighted,
    Seeded,
    WithFixedTopics,
    forbidding,
    seeded,
)

__all__ = [
    "ESTIMATES",
    "Bayesian",
    "CollapsedDirichlet",
    "Dirichlet",
    "DirichletMean",
    "DirichletMode",
    "Evidence",
    "Fixed",
    "Forbidden",
    "Free",
    "Gamma",
    "Lasso",
    "LearnsHyperparameters",
    "LogPenalty",
    "Posterior",
    "PowerPenalty",
    "Prior",
    "Relevance",
    "SampleWeighted",
    "Seeded",
    "Simplex",
    "Totals",
    "UnitNorm",
    "WithCovariates",
    "WithFixedTopics",
    "WithFixedWeights",
    "WithSizeFactors",
    "Wrapper",
    "forbidding",
    "innermost",
    "row_norms",
    "seeded",
    "with_covariates",
]

r"""What each side of a factorization may be, and what it makes of its expected counts.

A model is a pair of these: one for the weights (samples x components), one for the topics
(components x features). A prior that normalises does so along the rows it is given: the weights of
a sample, the topics of a component.

===================== ======================================================== =========
``totals`` are the other side's sums for each component. When the topics are normalised, the
weights see totals of one whatever the topics are, and the topics do not ask for theirs: so both
sides can take their step from the same expected counts. That is the paper's joint update. Topics
of another unit norm (:class:`UnitNorm`) ask how much the penalty of the weights pulls.
"""

from isotopic.priors.base import Evidence, Posterior, Prior, Totals
from isotopic.priors.bayesian import Dirichlet, Gamma
from isotopic.priors.estimates import (
    ESTIMATES,
    CollapsedDirichlet,
    DirichletMean,
    DirichletMode,
    smoothed,
)
from isotopic.priors.norms import UnitNorm, row_norms
from isotopic.priors.offsets import WithFixedWeights, WithSizeFactors
from isotopic.priors.penalties import LogPenalty, PowerPenalty
from isotopic.priors.points import Free, Lasso, Simplex
from isotopic.priors.relevance import Relevance
from isotopic.priors.wrappers import (
    Fixed,
    Forbidden,
    SampleWeighted,
    Seeded,
    WithFixedTopics,
    forbidding,
    seeded,
)

__all__ = [
    "ESTIMATES",
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
    "WithFixedTopics",
    "WithFixedWeights",
    "WithSizeFactors",
    "forbidding",
    "row_norms",
    "seeded",
    "smoothed",
]

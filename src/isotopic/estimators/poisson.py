"""Bayesian Poisson factorization: Gamma priors on both sides."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from isotopic.arrays import Array
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.documentation import documented
from isotopic.priors import Gamma, Prior


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PoissonFactorization(BaseTopicModel):
    r"""Bayesian Poisson factorization, inferred variationally.

    .. math:: h_{dk} \sim \Gamma(a, b), \qquad t_{kv} \sim \Gamma(c, e), \qquad
        x_{dv} \sim \operatorname{Poisson}\Big(\sum_k h_{dk} t_{kv}\Big)

    with weights :math:`h` and topics :math:`t`, both with a scale. The mean-field posteriors are
    Gamma, and coordinate ascent is that of Cemgil (2009) and of Gopalan, Hofman and Blei (2015),
    *Scalable Recommendation with Hierarchical Poisson Factorization*: ``solver="alternating"``
    updates one side after the other as they do. Small shapes make sparse factors.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    shape, rate : float or array-like, default=0.3
        The prior's shape :math:`a` and rate :math:`b` of the weights: common, for each topic, or
        samples x components.
    topic_shape, topic_rate : float or array-like, default=0.3
        The prior's shape :math:`c` and rate :math:`e` of the topics: common, for each feature, or
        components x features.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import PoissonFactorization, datasets
    >>> X = datasets.load_kjv().data
    >>> model = PoissonFactorization(5, max_iter=20, tol=0, random_state=0).fit(X)
    >>> lower, upper = model.credible_interval("components", level=0.9)
    >>> bool((lower <= upper).all())
    True
    """

    shape: float | Array = 0.3
    rate: float | Array = 0.3
    topic_shape: float | Array = 0.3
    topic_rate: float | Array = 0.3

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "shape": ["array-like", Real],
        "rate": ["array-like", Real],
        "topic_shape": ["array-like", Real],
        "topic_rate": ["array-like", Real],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        return Gamma(self.shape, self.rate), Gamma(self.topic_shape, self.topic_rate)

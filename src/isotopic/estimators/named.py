"""The named models: each is a pair of priors."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from isotopic.arrays import Array
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.documentation import documented
from isotopic.priors import Dirichlet, Free, Gamma, Prior, Simplex


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class NMF(BaseTopicModel):
    r"""Non-negative matrix factorization under the Kullback-Leibler divergence.

    .. math:: \min_{H, W \ge 0} \sum_{dv} x_{dv} \log\frac{x_{dv}}{(HW)_{dv}} - x_{dv} + (HW)_{dv}

    with the weights :math:`H` (samples x components) and the topics :math:`W` (components x
    features). With ``normalize`` the topics are distributions, which loses nothing (Lemma 4.1) and
    lets both sides be updated jointly (Algorithm 4); without it the updates are those of Lee and
    Seung (Algorithm 1).

    Parameters
    ----------
    n_components : int, default=10
        How many topics.
    normalize : bool, default=True
        Whether each topic sums to one.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import NMF, datasets
    >>> X = datasets.load_kjv().data
    >>> model = NMF(5, max_iter=20, tol=0, random_state=0)
    >>> model.fit_transform(X).shape
    (1189, 5)
    """

    normalize: bool = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "normalize": ["boolean"],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        return Free(), Simplex() if self.normalize else Free()


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PLSA(BaseTopicModel):
    r"""Probabilistic latent semantic analysis.

    .. math:: \max_{H, W} \sum_{dv} x_{dv} \log (HW)_{dv}, \qquad
        \textstyle\sum_k h_{dk} = 1, \quad \sum_v w_{kv} = 1

    Hofmann's EM (Algorithm 2), which is NMF with both factors normalised and its joint update
    (Algorithm 6). The weights are each sample's proportions.

    Parameters
    ----------
    n_components : int, default=10
        How many topics.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import PLSA, datasets
    >>> X = datasets.load_kjv().data
    >>> model = PLSA(5, max_iter=20, tol=0, random_state=0).fit(X)
    >>> bool(abs(model.weights_.sum(axis=1) - 1).max() < 1e-12)
    True
    """

    def _priors(self) -> tuple[Prior, Prior]:
        return Simplex(), Simplex()


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class LDA(BaseTopicModel):
    r"""Latent Dirichlet allocation, inferred variationally.

    Each sample's proportions have a Dirichlet prior :math:`h_d \sim \mathrm{Dir}(\alpha)`, each
    count is a draw from :math:`\sum_k h_{dk} w_k`, and the mean-field bound is maximised (Blei et
    al.; Algorithm 3). That is also NMF with normalised topics and Dirichlet weights (Algorithm 5).

    Parameters
    ----------
    n_components : int, default=10
        How many topics.
    alpha : float, array-like of shape (n_components,) or None, default=None
        Concentration of the proportions; ``None`` is ``1 / n_components``.
    eta : float, array-like or None, default=None
        Concentration of the topics (one number, one for each feature, or components x features),
        which are then Bayesian too. ``None`` leaves the topics without a prior, as in the paper.
        Below 0.0014 (0.0115 in float32) ``exp(digamma)`` underflows and rare features can be lost.
    estimate : {"variational"}, default="variational"
        What a Dirichlet side makes of its counts.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import LDA, datasets
    >>> X = datasets.load_kjv().data
    >>> model = LDA(5, alpha=0.1, max_iter=20, tol=0, random_state=0).fit(X)
    >>> model.weights_posterior_.shape
    (1189, 5)
    """

    alpha: float | Array | None = None
    eta: float | Array | None = None
    estimate: str = "variational"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "alpha": ["array-like", Real, None],
        "eta": ["array-like", Real, None],
        "estimate": [StrOptions({"variational"})],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        alpha = 1 / self.n_components if self.alpha is None else self.alpha
        return Dirichlet(alpha), Simplex() if self.eta is None else Dirichlet(self.eta)


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class GammaPoisson(BaseTopicModel):
    r"""Gamma-Poisson factorization, inferred variationally.

    .. math:: h_{dk} \sim \Gamma(\alpha_k, a_k), \qquad
        x_{dv} \sim \operatorname{Poisson}\Big(\sum_k h_{dk} w_{kv}\Big)

    with normalised topics (Algorithm 7). With a common rate its iterates are those of LDA.

    Parameters
    ----------
    n_components : int, default=10
        How many topics.
    shape, rate : float or array-like of shape (n_components,), default=1.0
        The prior's shape :math:`\alpha` and rate :math:`a`, common or for each topic.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import GammaPoisson, datasets
    >>> X = datasets.load_kjv().data
    >>> model = GammaPoisson(5, shape=0.3, rate=0.01, max_iter=20, tol=0, random_state=0).fit(X)
    >>> model.weights_.shape
    (1189, 5)
    """

    shape: float | Array = 1.0
    rate: float | Array = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "shape": ["array-like", Real],
        "rate": ["array-like", Real],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        return Gamma(self.shape, self.rate), Simplex()

"""The named models: each is a pair of priors."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from isotopic.arrays import Array
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import ESTIMATES, Free, Gamma, Prior, Simplex

_LEARNED = {"auto", "symmetric", "asymmetric"}


@dataclass(eq=False, repr=False, kw_only=True)
class NMF(BaseTopicModel):
    r"""Non-negative matrix factorization under the Kullback-Leibler divergence.

    .. math:: \min_{H, W \ge 0} \sum_{dv} x_{dv} \log\frac{x_{dv}}{(HW)_{dv}} - x_{dv} + (HW)_{dv}

    with the weights :math:`H` (samples x components) and the topics :math:`W` (components x
    features). With ``normalize`` the topics are distributions, which is no restriction (Lemma 4.1)
    and allows both sides to be updated jointly (Algorithm 4); without it the updates are those of
    Lee and Seung (Algorithm 1).

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
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
        The number of topics.
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


@dataclass(eq=False, repr=False, kw_only=True)
class LDA(BaseTopicModel):
    r"""Latent Dirichlet allocation.

    Each sample's proportions have a Dirichlet prior :math:`h_d \sim \mathrm{Dir}(\alpha)`, each
    topic one with :math:`\eta`, and each count is a draw from :math:`\sum_k h_{dk} w_k`. The
    default gives the best predictions for new samples. ``LDA(estimate="variational", alpha=0.1,
    eta=None, init="random")`` is that of the paper: the mean-field bound is maximised (Blei et al.;
    Algorithm 3), which is also NMF with normalised topics and Dirichlet weights (Algorithm 5).

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    alpha : "auto", "symmetric", "asymmetric", float, array-like or None, default="auto"
        Concentration of the proportions: one number, or one for each component; ``None`` is
        ``1 / n_components``. ``"symmetric"`` learns one number, ``"asymmetric"`` and ``"auto"`` one
        for each component.
    eta : "auto", "symmetric", "asymmetric", float, array-like or None, default="auto"
        Concentration of the topics: one number, one for each feature, or components x features.
        ``"symmetric"`` and ``"auto"`` learn one number, ``"asymmetric"`` one for each feature.
        ``None`` leaves the topics without a prior, as in the paper. Under the variational estimate
        ``exp(digamma)`` underflows below 0.0014 (0.0115 in float32), and rare features can be lost.
    estimate : {"cvb0", "smoothed", "variational", "map"}, default="cvb0"
        The effective factor of a Dirichlet side. ``"cvb0"``: the posterior's mean, with each
        token's own contribution left out when its topic is inferred; ``"smoothed"``: the
        posterior's mean; ``"variational"``: the paper's ``exp(E[log])``; ``"map"``: the posterior's
        mode, which needs given ``alpha`` and ``eta``.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s
    alpha_ : ndarray of shape (n_components,)
        The concentration of the proportions, as given or learned.
    eta_ : ndarray or None
        The concentration of the topics, as given or learned.

    Notes
    -----
    Concentrations are learned after at most 20 passes (5 with more than 32 topics), and then at
    least every 10: sooner when passes change little. With them changes what is minimised: only
    under the variational estimate ``objective_`` is a bound that includes them, and never rises.
    Under ``"smoothed"`` a learned ``alpha_`` is calibrated after the fit, on samples that are taken
    out of the topics' counts. Under ``"cvb0"``, some sweeps of Gibbs sampling learn it instead, if
    ``X`` holds whole counts in memory, and it is calibrated if these are few.

    With learned ``alpha`` and ``eta``, ``"cvb0"`` and less than two counts for each weight and
    topic's entry, a fit in memory ends with collapsed Gibbs sampling instead of an optimum: the
    mean of samples predicts better there. Not with ``tol=0`` or ``max_iter`` up to 60.

    References
    ----------
    A. Asuncion, M. Welling, P. Smyth & Y. W. Teh (2009). On smoothing and inference for topic
    models. UAI. T. P. Minka (2000). Estimating a Dirichlet distribution.

    Examples
    --------
    >>> from isotopic import LDA, datasets
    >>> X = datasets.load_kjv().data
    >>> model = LDA(5, max_iter=20, tol=0, random_state=0).fit(X)
    >>> model.alpha_.shape
    (5,)
    """

    alpha: float | Array | str | None = "auto"
    eta: float | Array | str | None = "auto"
    estimate: str = "cvb0"
    tol: float = 3e-3

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "alpha": ["array-like", Real, StrOptions(_LEARNED), None],
        "eta": ["array-like", Real, StrOptions(_LEARNED), None],
        "estimate": [StrOptions(set(ESTIMATES))],
    }
    _prior_settings: ClassVar[dict[str, tuple[int, str]]] = {
        "alpha": (0, "concentration"),
        "eta": (1, "concentration"),
    }

    @property
    def alpha_(self) -> Array:
        """The concentration of the proportions, one for each component, as given or learned."""
        prior: Any = self.fitted_.weights_prior
        if np.ndim(prior.concentration) == 2 and len(prior.concentration) > 1:
            return np.asarray(prior.concentration)  # one for each sample, too
        return np.array(np.broadcast_to(np.ravel(prior.concentration), len(self.components_)))

    @property
    def eta_(self) -> Array | None:
        """The concentration of the topics, as given or learned; ``None`` without a prior."""
        prior = self.fitted_.topics_prior
        eta = getattr(getattr(prior, "prior", prior), "concentration", None)
        return None if eta is None else np.squeeze(np.asarray(eta))

    def _priors(self) -> tuple[Prior, Prior]:
        prior = ESTIMATES[self.estimate]
        given = 1 / self.n_components if self.alpha is None else self.alpha
        alpha = _concentration("alpha", given, 2 / self.n_components, "asymmetric")
        if self.eta is None:
            return prior(*alpha), Simplex()
        return prior(*alpha), prior(*_concentration("eta", self.eta, 0.05, "symmetric"))


def _concentration(name: str, given: Any, start: float, auto: str) -> tuple[Any, str | None]:
    """Return the concentration, or its starting value, and how it is learned."""
    if not isinstance(given, str):
        return given, None
    if given not in _LEARNED:
        raise ValueError(f"{name} must be positive, or one of {sorted(_LEARNED)}, not {given!r}.")
    return start, auto if given == "auto" else given


@dataclass(eq=False, repr=False, kw_only=True)
class GammaPoisson(BaseTopicModel):
    r"""Gamma-Poisson factorization, inferred variationally.

    .. math:: h_{dk} \sim \Gamma(\alpha_k, a_k), \qquad
        x_{dv} \sim \operatorname{Poisson}\Big(\sum_k h_{dk} w_{kv}\Big)

    with normalised topics (Algorithm 7). With a common rate its iterates are those of LDA.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    shape, rate : float or array-like of shape (n_components,), default=1.0
        The prior's shape :math:`\alpha` and rate :math:`a`, common or for each topic.
    learn : {"symmetric", "asymmetric"} or None, default=None
        Whether they are learned, common or for each topic; the given ones are the starting values.
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
    learn: str | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "shape": ["array-like", Real],
        "rate": ["array-like", Real],
        "learn": [StrOptions({"symmetric", "asymmetric"}), None],
    }
    _prior_settings: ClassVar[dict[str, tuple[int, str]]] = {
        "shape": (0, "shape"),
        "rate": (0, "rate"),
    }

    def _priors(self) -> tuple[Prior, Prior]:
        return Gamma(self.shape, self.rate, self.learn), Simplex()


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
        weights = Gamma(self.shape, self.rate)
        try:
            return weights, Gamma(self.topic_shape, self.topic_rate)
        except (TypeError, ValueError) as error:  # which begins with the name of the setting
            raise type(error)(f"topic_{error}") from None

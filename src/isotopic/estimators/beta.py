"""NMF under a beta divergence."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from isotopic.divergences import BETA_NAMES, Beta, Divergence, KullbackLeibler
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Free, Lasso, LogPenalty, Prior, Simplex

_PENALTIES = {"lasso": Lasso, "log": LogPenalty}


@dataclass(eq=False, repr=False, kw_only=True)
class BetaNMF(BaseTopicModel):
    r"""Non-negative matrix factorization under a beta divergence.

    .. math:: \min_{H, W \ge 0} \sum_{dv} d_\beta(x_{dv}, (HW)_{dv}) + R(H), \qquad
        d_\beta(x, v) = \frac{x^\beta + (\beta - 1) v^\beta - \beta x v^{\beta-1}}
        {\beta (\beta - 1)}

    with the weights :math:`H` (samples x components), the topics :math:`W` (components x
    features), and a penalty :math:`R` if one is asked for. Beta is 0 for the Itakura-Saito
    divergence, which ignores the scale and suits spectrograms; 1 for Kullback-Leibler, where this
    is :class:`~isotopic.NMF`; 2 for squared distances; and any other real number. The smaller it
    is, the more small entries matter next to large ones.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    beta : float or {"itakura-saito", "kullback-leibler", "frobenius"}, default=2.0
        The divergence. With ``beta <= 0`` the data must have no zeros.
    normalize : bool, default=True
        Whether each topic sums to one. Without a penalty this is no restriction.
    penalty : {"lasso", "log"}, Lasso, LogPenalty or None, default=None
        Of the weights; it needs normalised topics.
    strength : float, default=1.0
        The factor of a penalty that is given by name.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s
    beta_ : float
        The beta that was fitted.

    Notes
    -----
    For any beta but 1 ``solver="joint"`` is the joint majorization-minimization of Marmin, Goulart
    and Févotte, ``"alternating"`` the sequential one of Févotte and Idier, and ``"accelerated"``
    extrapolates the joint one. With 2, unless entries are missing, ``"coordinate"`` solves least
    squares for one component at a time; this is ``"auto"`` for 2, and ``"accelerated"`` is for
    other betas. ``seeds``, ``perplexity``, ``posterior``, ``sample`` and ``partial_fit`` need
    ``beta=1``. ``score`` is minus the mean divergence of an entry, which compares models of one
    size and one beta. ``tol`` bounds the share of :math:`\sum x (HW)^{\beta-1}` that the gradient
    would move.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import BetaNMF
    >>> X = np.random.default_rng(0).gamma(2.0, size=(30, 20))
    >>> model = BetaNMF(3, beta="itakura-saito", random_state=0).fit(X)
    >>> model.components_.shape
    (3, 20)
    """

    beta: str | float = 2.0
    normalize: bool = True
    penalty: Any = None
    strength: float = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "beta": [StrOptions(set(BETA_NAMES)), Real],
        "normalize": ["boolean"],
        "penalty": [StrOptions(set(_PENALTIES)), Lasso, LogPenalty, None],
        "strength": [Interval(Real, 0, None, closed="left")],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        weights: Prior = Free() if self.penalty is None else self.penalty
        if isinstance(self.penalty, str):
            weights = _PENALTIES[self.penalty](self.strength)
        return weights, Simplex() if self.normalize else Free()

    @property
    def beta_(self) -> float:
        """The beta that was fitted."""
        divergence = self.fitted_.divergence
        return divergence.beta if isinstance(divergence, Beta) else 1.0

    @property
    def _divergence(self) -> Divergence:  # type: ignore[override]
        divergence = Beta.parse(self.beta)
        return KullbackLeibler() if divergence.beta == 1 else divergence

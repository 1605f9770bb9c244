"""Sparse NMF: a penalty on the weights, and a norm of the topics that makes it effective."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from isotopic.estimators.base import BaseTopicModel
from isotopic.fitted.fitting import Data, Fit
from isotopic.names import stacklevel_of_caller
from isotopic.priors import (
    Lasso,
    LogPenalty,
    PowerPenalty,
    Prior,
    SampleWeighted,
    Simplex,
    UnitNorm,
)

_NORMS = {"l1": 1.0, "l2": 2.0}
_PENALTIES: dict[str, Callable[["SparseNMF"], Prior]] = {
    "l1": lambda model: Lasso(model.strength),
    "log": lambda model: LogPenalty(model.strength, model.offset),
    "power": lambda model: PowerPenalty(model.strength, model.power),
}


class SparsityWarning(UserWarning):
    """Warns of a penalty that cannot make the weights sparse.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from isotopic import SparseNMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = SparseNMF(2, norm="l1", penalty="l1", tol=1e-2, random_state=0).fit(X)
    >>> caught[0].category.__name__
    'SparsityWarning'
    """


@dataclass(eq=False, repr=False, kw_only=True)
class SparseNMF(BaseTopicModel):
    r"""Non-negative matrix factorization in which each sample uses few topics.

    .. math:: \min_{H, W \ge 0} D_{KL}(X \| HW) + \lambda \sum_{dk} \rho(h_{dk}), \qquad
        \|w_k\|_p = 1

    The effect depends on the pair of norm and penalty (Section 6 and Appendix F):

    - ``norm="l2"``, or any :math:`p > 1`, with the Lasso :math:`\rho(h) = h`: topics whose counts
      are spread over many features cost less, and samples use few others.
    - ``norm="l1"`` with a concave penalty, ``"log"``: :math:`\log(1 + h / \delta)`, or
      ``"power"``: :math:`h^q`: the first count of a topic costs the most.
    - ``norm="l1"`` with the Lasso: only the scale of the weights changes (Lemma 6.1), with a
      warning.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    strength : float, default=1.0
        The factor :math:`\lambda` of the penalty. With 0 this is :class:`~isotopic.NMF`.
    norm : {"l1", "l2"} or float, default="l2"
        The norm that is one for each topic; a number is the :math:`p \ge 1` of an :math:`l_p` norm.
    penalty : {"l1", "log", "power"}, default="l1"
        The :math:`\rho` of the weights.
    power : float, default=0.5
        The :math:`q` of ``penalty="power"``, between 0 and 1.
    offset : float, default=1.0
        The :math:`\delta` of ``penalty="log"``: weights far below it are pulled to zero, those far
        above it are hardly changed.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import NMF, SparseNMF, datasets
    >>> X = datasets.load_kjv().data
    >>> settings = {"max_iter": 100, "tol": 0, "random_state": 0}
    >>> sparse = SparseNMF(10, strength=20.0, **settings).fit(X)
    >>> dense = NMF(10, **settings).fit(X)
    >>> used = [(m.weights_ > 0.01 * m.weights_.sum(axis=1, keepdims=True)).sum(axis=1).mean()
    ...         for m in (sparse, dense)]
    >>> bool(used[0] < used[1])
    True
    """

    strength: float = field(default=1.0, kw_only=False)
    norm: str | float = "l2"
    penalty: str = "l1"
    power: float = 0.5
    offset: float = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "strength": [Interval(Real, 0, None, closed="left")],
        "norm": [StrOptions(set(_NORMS)), Interval(Real, 1, None, closed="left")],
        "penalty": [StrOptions(set(_PENALTIES))],
        "power": [Interval(Real, 0, 1, closed="neither")],
        "offset": [Interval(Real, 0, None, closed="neither")],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        p = _NORMS[self.norm] if isinstance(self.norm, str) else self.norm
        return _PENALTIES[self.penalty](self), Simplex() if p == 1 else UnitNorm(p)

    def _pose(self, data: Data) -> Fit:
        fit = super()._pose(data)
        weights, topics, X = fit.problem.weights, fit.problem.topics, fit.problem.X
        inner = weights.prior if isinstance(weights, SampleWeighted) else weights
        # The lemma needs complete data without size factors and fixed weights.
        is_lasso = isinstance(inner, Lasso) and self.strength > 0
        if is_lasso and topics.is_normalized and X.missing is None:
            warnings.warn(
                "A Lasso on the weights induces no sparsity if topics have unit l1 norm (Lemma "
                f"6.1). This is NMF({self.n_components}) with the same topics, weights times "
                f"1 / (1 + strength) = {1 / (1 + self.strength):.4g}, and its objective plus "
                "log(1 + strength) times the total of X; convert(model, to=NMF) gives that model. "
                "For sparse weights use norm='l2' (or any p > 1), or penalty='log' or 'power'.",
                SparsityWarning,
                stacklevel=stacklevel_of_caller(),
            )
        return fit

"""NMF under a beta divergence."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array
from isotopic.blocks import make_problem
from isotopic.counts import CountMatrix
from isotopic.divergences import BETA_NAMES, Beta, Divergence, KullbackLeibler
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.data import read_sample_weight
from isotopic.estimators.documentation import documented
from isotopic.estimators.offsets import NOTHING_KNOWN, Offsets
from isotopic.priors import Free, Lasso, LogPenalty, Posterior, Prior, Simplex
from isotopic.problem import Problem, State
from isotopic.random import Seed
from isotopic.responsibilities import Responsibilities
from isotopic.threads import use_threads

_PENALTIES = {"lasso": Lasso, "log": LogPenalty}


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BetaNMF(BaseTopicModel):
    r"""Non-negative matrix factorization under a beta divergence.

    .. math:: \min_{H, W \ge 0} \sum_{dv} d_\beta(x_{dv}, (HW)_{dv}) + R(H), \qquad
        d_\beta(x, v) = \frac{x^\beta + (\beta - 1) v^\beta - \beta x v^{\beta-1}}
        {\beta (\beta - 1)}

    with the weights :math:`H` (samples x components), the topics :math:`W` (components x
    features), and a penalty :math:`R` if one is asked for. Beta is 0 for the Itakura-Saito
    divergence, free of scale and fit for spectrograms; 1 for Kullback-Leibler, where this is
    :class:`~isotopic.NMF` in all it does; 2 for squared distances; and any number between or
    beyond. The smaller it is, the more small entries matter next to large ones.

    Parameters
    ----------
    n_components : int, default=10
        How many topics.
    beta : float or {"itakura-saito", "kullback-leibler", "frobenius"}, default=2.0
        Which divergence. With ``beta <= 0`` the data must have no zeros.
    normalize : bool, default=True
        Whether each topic sums to one. Without a penalty that loses nothing.
    penalty : {"lasso", "log"}, Lasso, LogPenalty or None, default=None
        On the weights; it needs normalised topics.
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
    takes the joint one further. With 2, unless entries are missing, ``"coordinate"`` solves least
    squares for one component at a time. That is ``"auto"`` there; elsewhere it is
    ``"accelerated"``. There are no ``seeds``. The residual, of which
    ``tol`` is the bound, is the share of :math:`\sum x (HW)^{\beta-1}` that the gradient would
    move.

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
        "strength": [Real],
    }

    def _priors(self) -> tuple[Prior, Prior]:
        weights: Prior = Free() if self.penalty is None else self.penalty
        if isinstance(self.penalty, str):
            weights = _PENALTIES[self.penalty](self.strength)
        return weights, Simplex() if self.normalize else Free()

    @property
    def _divergence(self) -> Divergence:
        """The divergence that was fitted, or is to be."""
        divergence = Beta.parse(self.__dict__.get("beta_", self.beta))
        return KullbackLeibler() if divergence.beta == 1 else divergence

    def _pose(self, weights: Prior, topics: Prior, X: Any) -> Problem:
        if self.seeds is not None and not Beta.parse(self.beta).beta == 1:
            raise ValueError(
                "seeds are counts that topics have before the fit, and only beta=1 is a model of "
                "counts. Use fixed_topics, forbidden, or init=(weights, topics)."
            )
        divergence = Beta.parse(self.beta)
        chosen = KullbackLeibler() if divergence.beta == 1 else divergence
        return make_problem(weights, topics, X, self.n_components, chosen)

    def _fitted(self, state: State, **of_the_fit: Any) -> dict[str, Any]:
        return {**super()._fitted(state, **of_the_fit), "beta_": Beta.parse(self.beta).beta}

    def _problem(
        self, X: CountMatrix, copies: Array | None, offsets: Offsets
    ) -> tuple[Problem, Array | None]:
        self._check_offsets(offsets)
        return super()._problem(X, copies, offsets)

    def _check_offsets(self, offsets: Offsets) -> None:
        known = offsets.size_factors is not None or offsets.n_fixed_weights
        if known and not self._divergence.is_likelihood:
            raise ValueError(
                f"size_factors and fixed_weights belong to models of counts; this one has "
                f"beta={self._beta:g}. Fit NMF, or BetaNMF with beta=1."
            )

    def _infer(
        self, counts: CountMatrix, offsets: Offsets = NOTHING_KNOWN, which: Array | None = None
    ) -> Posterior:
        self._check_offsets(offsets)
        return super()._infer(counts, offsets, which)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> float:
        """Minus the mean divergence of an entry; with ``beta=1`` the score of NMF.

        Each sample's weights are inferred from what is scored, and divergences of different betas
        have different units: so this compares models of one size and one beta.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each sample counts.
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing.
        size_factors, fixed_weights : array-like or None, default=None
            With ``beta=1``, as for :meth:`fit`.

        Returns
        -------
        score : float
            Higher is better.
        """
        check_is_fitted(self)
        if self._beta == 1:
            known = {"size_factors": size_factors, "fixed_weights": fixed_weights}
            return super().score(X, y, sample_weight, missing_mask=missing_mask, **known)
        counts = self._read_new(X, missing_mask)
        self._check_offsets(self._offsets(counts, size_factors, fixed_weights))
        copies = read_sample_weight(sample_weight, counts.shape[0])
        times = np.ones(counts.shape[0]) if copies is None else copies
        weights = self._infer(counts).mean
        with use_threads(self.n_jobs):
            problem = Problem(
                self._fitted_priors[0],
                self._fitted_priors[1],
                counts,
                len(self.components_),
                self._divergence,
            )
            values, seen = self._divergence.score(
                problem, weights, self.components_.astype(weights.dtype)
            )
        some = times * seen > 0
        if not some.any():
            raise ValueError("X has no counts to score")
        return float(values[some] @ times[some]) / float(seen @ times)

    def perplexity(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> float:
        """``exp(-score)``, with ``beta=1`` only: other divergences are of no probabilities."""
        self._check_counts("perplexity")
        return super().perplexity(
            X,
            y,
            sample_weight,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
        )

    def posterior(
        self,
        X: Any,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
    ) -> Responsibilities:
        """Tell which component explains each count, with ``beta=1`` only."""
        self._check_counts("posterior")
        return super().posterior(
            X,
            missing_mask=missing_mask,
            size_factors=size_factors,
            fixed_weights=fixed_weights,
        )

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> Any:
        """Draw new samples from the model, with ``beta=1`` only."""
        self._check_counts("sample")
        return super().sample(n_samples, random_state=random_state)

    @property
    def _beta(self) -> float:
        """Which one was fitted, or is to be."""
        return Beta.parse(self.__dict__.get("beta_", self.beta)).beta

    def _check_counts(self, name: str) -> None:
        """Raise unless the model is one of counts."""
        check_is_fitted(self)
        if self._beta != 1:
            raise ValueError(
                f"{name} belongs to models of counts, and beta={self._beta:g} is "
                "none: fit NMF, or BetaNMF with beta=1. score, transform and inverse_transform are "
                "there for any beta"
            )

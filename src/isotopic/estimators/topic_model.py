"""The general estimator."""

from dataclasses import dataclass
from typing import Any, ClassVar

from isotopic.divergences import Beta, Divergence, KullbackLeibler
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Free, Prior, Simplex


@dataclass(eq=False, repr=False, kw_only=True)
class TopicModel(BaseTopicModel):
    r"""Factorize counts with any prior for the weights and any prior for the topics.

    Minimises the divergence of ``X`` from ``weights @ topics`` plus the terms of both priors. The
    named models (:class:`NMF`, :class:`PLSA`, :class:`LDA`, ...) are special cases of it.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    weights : prior or None, default=None
        Of the weights (samples x components); ``None`` is :class:`~isotopic.priors.Free`.
    topics : prior or None, default=None
        Of the topics (components x features); ``None`` is :class:`~isotopic.priors.Simplex`.
    divergence : Divergence or None, default=None
        Between ``X`` and ``weights @ topics``; ``None`` is the Kullback-Leibler divergence.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> from isotopic import TopicModel, Dirichlet, datasets
    >>> X = datasets.load_kjv().data
    >>> smoothed = TopicModel(5, weights=Dirichlet(0.1), topics=Dirichlet(0.05), max_iter=20, tol=0)
    >>> smoothed.fit(X).components_.shape
    (5, 4346)
    """

    weights: Prior | None = None
    topics: Prior | None = None
    divergence: Divergence | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "weights": "no_validation",  # checked when the problem is made
        "topics": "no_validation",
        "divergence": [Divergence, None],
    }
    _prior_settings: ClassVar[dict[str, tuple[int, str]]] = {
        "weights": (0, ""),
        "topics": (1, ""),
    }

    @property
    def _divergence(self) -> Divergence:  # type: ignore[override]
        if self.divergence is None or self.divergence == Beta(1):
            return KullbackLeibler()
        return self.divergence

    def _priors(self) -> tuple[Prior, Prior]:
        return (
            Free() if self.weights is None else self.weights,
            Simplex() if self.topics is None else self.topics,
        )

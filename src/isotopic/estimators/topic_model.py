"""The general estimator."""

from typing import Any, ClassVar

from isotopic.estimators.base import BaseTopicModel, documented
from isotopic.priors import Free, Prior, Simplex


@documented
class TopicModel(BaseTopicModel):
    r"""Parts of count data, with any prior on either side.

    Minimises the divergence of ``X`` from ``weights @ topics``; what each factor may be is up to
    its prior. The named models are corners of this one.

    Parameters
    ----------
    n_components : int, default=10
        How many parts.
    weights : prior or None, default=None
        Of the weights (samples x components); ``None`` is :class:`~isotopic.priors.Free`.
    topics : prior or None, default=None
        Of the topics (components x features); ``None`` is :class:`~isotopic.priors.Simplex`.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTopicModel._parameter_constraints,
        "weights": [object],
        "topics": [object],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        weights: Prior | None = None,
        topics: Prior | None = None,
        solver: Any = "auto",
        init: Any = "random",
        max_iter: int = 1000,
        tol: float = 1e-4,
        n_init: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.topics = topics
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _priors(self) -> tuple[Prior, Prior]:
        return (
            Free() if self.weights is None else self.weights,
            Simplex() if self.topics is None else self.topics,
        )

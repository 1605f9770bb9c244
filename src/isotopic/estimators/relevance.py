"""NMF that learns the number of components."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from isotopic.arrays import Array
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Prior, Relevance, Simplex

# A component that explains less than this share of what the largest explains is pruned.
_PRUNED = 1e-3


@dataclass(eq=False, repr=False, kw_only=True)
class ARDNMF(BaseTopicModel):
    r"""NMF with automatic relevance determination (Tan & Févotte, 2013).

    The weights of each component have an exponential prior with a mean :math:`\lambda_k` of its
    own, which is learned:

    .. math:: \min \mathrm{KL}(X \,\|\, HW) + (n + a + 1) \sum_k \log\Big(\sum_d h_{dk} + b\Big),
        \qquad \textstyle\sum_v w_{kv} = 1

    Components that explain less than about a count in a sample shrink to nothing, so
    ``n_components`` is an upper limit.

    The number that is left follows the depth of the data, not its structure alone: shallow data
    loses components that are there, and deep data that varies more than Poisson counts keeps
    components that follow its noise. Choose the number by :func:`~isotopic.consensus`; for
    overdispersed counts by that of :class:`~isotopic.NegativeBinomialNMF`.

    Parameters
    ----------
    n_components : int, default=10
        The largest number of components.
    shape : float, default=2.0
        Shape :math:`a > 1` of the inverse-Gamma prior of the means.
    scale : float, default=1.0
        Its scale :math:`b`, relative to ``(shape - 1) * mean_sample_total / n_components``, for
        which the prior mean matches the data.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s
    relevance_ : ndarray of shape (n_components,)
        The mean :math:`\lambda_k` that was learned for each component.
    n_relevant_ : int
        The number of components that were not pruned: they explain at least a thousandth of the
        counts that the largest explains.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import ARDNMF
    >>> rng = np.random.default_rng(0)
    >>> weights = rng.gamma(1.0, 60.0, (300, 4))
    >>> X = rng.poisson(weights @ rng.dirichlet(np.full(40, 0.1), 4))
    >>> ARDNMF(12, random_state=0).fit(X).n_relevant_
    4
    """

    shape: float = 2.0
    scale: float = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "shape": [Interval(Real, 1, None, closed="neither")],
        "scale": [Interval(Real, 0, None, closed="neither")],
    }

    @property
    def relevance_(self) -> Array:
        """The mean that was learned for the weights of each component."""
        prior: Any = self.fitted_.weights_prior
        with np.errstate(divide="ignore"):  # fits that are too short to learn it
            return 1 / np.array(np.broadcast_to(prior.strength, len(self.components_)), float)

    @property
    def n_relevant_(self) -> int:
        """The number of components that were not pruned."""
        explained = self.weights_.sum(axis=0)
        return int(np.count_nonzero(explained > _PRUNED * explained.max()))

    def _priors(self) -> tuple[Prior, Prior]:
        return Relevance(self.shape, self.scale), Simplex()

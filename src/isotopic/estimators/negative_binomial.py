"""NMF of counts that vary more than Poisson counts do."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from isotopic.divergences import Divergence, NegativeBinomial
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Free, Prior, Simplex


@dataclass(eq=False, repr=False, kw_only=True)
class NegativeBinomialNMF(BaseTopicModel):
    r"""Non-negative matrix factorization of overdispersed counts.

    .. math:: x_{dv} \sim \operatorname{NB}\big((HW)_{dv}, \varphi\big), \qquad
        \operatorname{var}(x_{dv}) = (HW)_{dv} + \varphi (HW)_{dv}^2

    with the weights :math:`H` (samples x components) and the topics :math:`W` (components x
    features): a Poisson model whose means are multiplied by Gamma-distributed exposures, one for
    each entry, with mean one and variance :math:`\varphi`. Mutation catalogues and UMI counts vary
    more than Poisson counts, and :class:`~isotopic.NMF` then spends components on noise. With a
    dispersion of zero this is :class:`~isotopic.NMF`.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    dispersion : float or None, default=None
        :math:`\varphi`, common to all entries; ``None`` learns it by maximum likelihood, and finds
        zero where counts vary no more than Poisson counts.
    normalize : bool, default=True
        Whether each topic sums to one, which is no restriction.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s
    dispersion_ : float
        The dispersion, as given or learned.

    Notes
    -----
    Updates are those of Gouvert, Oberlin & Févotte (2018) and of Pelizzola, Laursen & Hobolth
    (2023), for both sides at once; the dispersion is updated after at most 20 passes, and then at
    least every 10. The objective, minus the log-likelihood up to a constant, never rises. A learned
    dispersion is a little too small, because weights and topics follow the noise in part: with
    ``p`` of ``N`` entries' degrees of freedom in them by about ``p / N``.

    Every pass looks at all entries, zero or not. Sparse data is accepted, and takes the time of
    dense data. ``score`` is minus the mean divergence of an entry; compare the model with
    :class:`~isotopic.NMF` by :func:`isotopic.evaluate.held_out_likelihood`.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NegativeBinomialNMF
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.gamma(1.0, 100.0, (200, 3)) @ rng.dirichlet(np.full(40, 0.2), 3)
    >>> X = rng.poisson(mean * rng.gamma(5.0, 1 / 5.0, mean.shape))  # a dispersion of 0.2
    >>> model = NegativeBinomialNMF(3, random_state=0).fit(X)
    >>> 0.15 < model.dispersion_ < 0.22
    True
    """

    dispersion: float | None = None
    normalize: bool = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTopicModel._parameter_constraints,
        "dispersion": [Interval(Real, 0, None, closed="left"), None],
        "normalize": ["boolean"],
    }

    @property
    def dispersion_(self) -> float:
        """The dispersion, as given or learned."""
        divergence: Any = self.fitted_.divergence
        return float(divergence.dispersion)

    @property
    def _divergence(self) -> Divergence:  # type: ignore[override]
        if self.dispersion is None:
            return NegativeBinomial(learn=True)
        return NegativeBinomial(self.dispersion)

    def _priors(self) -> tuple[Prior, Prior]:
        return Free(), Simplex() if self.normalize else Free()

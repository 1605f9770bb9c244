"""Held-out entries: fit without some entries, and score them by the likelihood of the model."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from isotopic.arrays import Array
from isotopic.containers import NamedMatrix, read_container
from isotopic.counts import CountMatrix
from isotopic.random import Seed, generator

# The share of the prediction that ignores the topics: a point estimate of zero would make a hidden
# count impossible, and one such count would decide everything.
_SMOOTHING = 0.01

# What is added to the totals of samples and features that this part is made of.
_PSEUDOCOUNT = 0.5


def held_out_likelihood(
    model: Any, X: Any, *, held_out: float = 0.1, random_state: Seed = 0
) -> float:
    r"""Fit a model without some entries of the data, and return their mean log-likelihood.

    Each hidden count is scored by the distribution that the model gives it: Poisson, or negative
    binomial with its dispersion. So this chooses between :class:`~isotopic.NMF` and
    :class:`~isotopic.NegativeBinomialNMF`, and between numbers of components. Document completion
    (:func:`completion_perplexity`) splits the counts of each entry in two instead. If counts vary
    more than Poisson counts, both halves share this noise, and the score of Poisson models grows
    with every component that follows it.

    Parameters
    ----------
    model : estimator
        Its clone is fitted; it is not changed itself. Models of proportions predict with the total
        of what a sample shows.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Counts.
    held_out : float, default=0.1
        The share of entries that is hidden.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the choice of entries. The default hides the same ones every time, so that models
        can be compared.

    Returns
    -------
    score : float
        Higher is better. One hundredth of each prediction is the product of the sample's and the
        feature's share, so that a topic's zero does not make a count impossible.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, NegativeBinomialNMF, evaluate
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.gamma(1.0, 100.0, (100, 3)) @ rng.dirichlet(np.full(40, 0.2), 3)
    >>> X = rng.poisson(mean * rng.gamma(5.0, 1 / 5.0, mean.shape))
    >>> poisson, negative_binomial = (
    ...     evaluate.held_out_likelihood(each(3, random_state=0), X)
    ...     for each in (NMF, NegativeBinomialNMF)
    ... )
    >>> negative_binomial > poisson
    True
    """
    if not (isinstance(held_out, Real) and 0 < held_out < 1):
        raise ValueError(f"held_out must be between 0 and 1 (exclusive), but is {held_out!r}.")
    given = read_container(X)
    counts = CountMatrix.of(given.matrix).as_sparse()
    entries = (counts.values, counts.features, counts.row_starts)
    whole = sparse.csr_array(entries, shape=counts.shape)
    hidden = hide_entries(counts.shape, float(held_out), generator(random_state))
    return score_entries(clone(model), whole, hidden, given.feature_names)


def hide_entries(shape: tuple[int, int], share: float, rng: np.random.Generator) -> Any:
    """Return a sparse array of bool that is true for a random share of the entries."""
    n_entries = shape[0] * shape[1]
    n_hidden = int(np.ceil(share * n_entries))
    which = np.sort(rng.choice(n_entries, n_hidden, replace=False))
    rows, features = np.divmod(which, shape[1])
    return sparse.csr_array((np.ones(n_hidden, bool), (rows, features)), shape=shape)


def score_entries(model: Any, counts: Any, hidden: Any, feature_names: Array | None) -> float:
    """Fit the model without the hidden entries; return the mean log-likelihood of these."""
    model.fit(NamedMatrix(counts, feature_names), missing_mask=hidden)
    rows, features = hidden.nonzero()
    mean = np.einsum("ik,ki->i", model.weights_[rows], model.components_[:, features])
    seen = sparse.csr_array(counts - counts.multiply(hidden))
    totals, feature_totals = seen.sum(axis=1), seen.sum(axis=0) + _PSEUDOCOUNT
    if model.fitted_.weights_prior.is_normalized:
        unseen = np.bincount(rows, mean, minlength=len(totals))
        mean = mean * (totals / np.maximum(1 - unseen, np.finfo(np.float64).eps))[rows]
    shares = feature_totals / feature_totals.sum()
    smooth = (totals + _PSEUDOCOUNT)[rows] * shares[features]
    mean = (1 - _SMOOTHING) * mean + _SMOOTHING * smooth
    values = _values_at(sparse.csr_array(counts.multiply(hidden)), rows, features)
    return float(model.fitted_.divergence.log_likelihoods(values, mean).mean())


def _values_at(counts: Any, rows: Array, features: Array) -> Array:
    """Return entries of a sparse array, all others of which are zero, by ascending position."""
    values, n_features = np.zeros(len(rows)), counts.shape[1]
    some = counts.tocoo()
    at = np.searchsorted(rows * n_features + features, some.row * n_features + some.col)
    values[at] = some.data
    return values

"""Held-out counts: hide a part of each sample, infer its weights from the rest, score the part."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.evaluate.topics import proportions
from isotopic.kernels import normalized, row_pass
from isotopic.random import Seed, generator


def completion_perplexity(
    model: Any, X: Any, *, held_out: float = 0.5, random_state: Seed = 0
) -> float:
    r"""Perplexity of a hidden part of each sample, given the rest of it.

    .. math:: \exp\Big(-\frac{\sum_{dv} x^{(2)}_{dv} \log p_{dv}}{\sum_{dv} x^{(2)}_{dv}}\Big)

    with :math:`p_d \propto \text{weights}_d \, \text{topics}`, the weights being inferred from the
    part :math:`x^{(1)}` that was seen. Unlike the model's own ``perplexity`` it never infers from
    what it scores, so it can compare numbers of components and kinds of models.

    Parameters
    ----------
    model : fitted model
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whole counts, of samples that the model was not fitted to.
    held_out : float, default=0.5
        The share of each sample's counts that is hidden.
    random_state : int, Generator, RandomState or None, default=0
        Of the split. The default is the same split every time, so that models compare.

    Returns
    -------
    perplexity : float
        Lower is better. Infinite if a hidden count is of a feature that no topic has.
    """
    seen, hidden = split_counts(X, held_out=held_out, random_state=random_state)
    return float(np.exp(-completion_score(model, seen, hidden)))


def completion_score(model: Any, seen: Any, hidden: Any) -> float:
    """Mean log-likelihood of a hidden count, given the seen ones of its sample.

    Parameters
    ----------
    model : fitted model
        With ``transform`` and ``components_``.
    seen, hidden : array-like or sparse matrix of shape (n_samples, n_features)
        Two parts of the same samples; see :func:`split_counts`.

    Returns
    -------
    score : float
        Minus infinity if a hidden count is of a feature that no topic has.
    """
    check_is_fitted(model, "components_")
    counts = CountMatrix.of(hidden, np.float64).as_sparse()
    if counts.shape != np.shape(seen):
        raise ValueError(f"seen has shape {np.shape(seen)} and hidden {counts.shape}")
    if counts.total == 0:
        raise ValueError("hidden has no counts to score")
    topics = np.asarray(model.components_, np.float64)
    shares = proportions(model.transform(seen), topics)
    by_sample = row_pass(counts, shares, normalized(topics), proportions=True)[1]
    return float(by_sample.sum()) / counts.total


def split_counts(X: Any, *, held_out: float = 0.5, random_state: Seed = None) -> tuple[Any, Any]:
    """Split each count at random into a part that is seen and a part that is hidden.

    Every single count goes its own way, so the two parts of Poisson counts are independent.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whole counts.
    held_out : float, default=0.5
        The probability of each count to be hidden.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    seen, hidden : csr_array
        They sum to ``X``.
    """
    if not (isinstance(held_out, Real) and 0 < held_out < 1):
        raise ValueError(f"held_out must lie between 0 and 1, not {held_out!r}")
    counts = CountMatrix.of(X).as_sparse()
    whole = np.rint(counts.values)
    if not np.array_equal(whole, counts.values):
        odd = int(np.argmax(whole != counts.values))
        row = int(np.searchsorted(counts.row_starts, odd, side="right")) - 1
        raise ValueError(
            f"only whole counts can be split; row {row}, column {counts.features[odd]} of X is "
            f"{counts.values[odd]}"
        )
    seen = generator(random_state).binomial(whole.astype(np.int64), 1 - float(held_out))
    return _like(counts, seen), _like(counts, whole - seen)


def _like(counts: CountMatrix, values: Array) -> Any:
    part = sparse.csr_array(
        (values.astype(counts.dtype), counts.features.copy(), counts.row_starts.copy()),
        shape=counts.shape,
    )
    part.eliminate_zeros()
    return part

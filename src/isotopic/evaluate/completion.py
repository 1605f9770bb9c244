"""Document completion: infer weights from a part of each sample and score the hidden rest."""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array
from isotopic.containers import NamedMatrix, read_container, sample_names_of
from isotopic.counts import CountMatrix
from isotopic.covariates import read_table
from isotopic.elementwise import normalized
from isotopic.evaluate.topics import named_topics, proportions
from isotopic.kernels import row_pass
from isotopic.names import EmptySampleWarning
from isotopic.random import Seed, generator


def completion_perplexity(
    model: Any,
    X: Any,
    *,
    held_out: float = 0.5,
    random_state: Seed = 0,
    covariates: Any = None,
) -> float:
    r"""Return the perplexity of the hidden part of each sample, given the rest of it.

    .. math:: \exp\Big(-\frac{\sum_{dv} x^{(2)}_{dv} \log p_{dv}}{\sum_{dv} x^{(2)}_{dv}}\Big)

    with :math:`p_d \propto \text{weights}_d \, \text{topics}`, where the weights are inferred from
    the observed part :math:`x^{(1)}`. Unlike the ``perplexity`` method of a model, it never infers
    weights from the counts it scores, so it can compare numbers of components and models.

    Parameters
    ----------
    model : fitted model
    X : array-like, sparse matrix, data frame or AnnData of shape (n_samples, n_features)
        Integer counts of samples that the model was not fitted to.
    held_out : float, default=0.5
        The fraction of each sample's counts that is hidden.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the split. The default splits the same way every time, so that models can be
        compared.
    covariates : data frame, dict of columns, array-like, names of columns, or None, default=None
        Of the samples, if the model was fitted with covariates.

    Returns
    -------
    perplexity : float
        Lower is better. Infinite if a hidden feature has probability zero in all topics.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import LDA, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = LDA(2, tol=1e-2, random_state=0).fit(X)
    >>> 1 < evaluate.completion_perplexity(model, X, random_state=0) < 12
    True
    """
    check_is_fitted(model, "components_")
    names = named_topics(model).feature_names
    counts = CountMatrix.of(X, feature_names=names)
    parts = split_counts(counts, held_out=held_out, random_state=random_state)
    # The parts have no names, but the order of the model.
    samples = sample_names_of(X)
    seen, hidden = (NamedMatrix(part, names, samples) for part in parts)
    if isinstance(covariates, (str, list, tuple)):  # names of columns, which only X has
        n_samples = counts.shape[0]
        covariates = read_table(covariates, X, n_samples=n_samples, sample_names=lambda: samples)
    return float(np.exp(-completion_score(model, seen, hidden, covariates=covariates)))


def completion_score(model: Any, seen: Any, hidden: Any, *, covariates: Any = None) -> float:
    """Return the mean log-likelihood of a hidden count, given the observed counts of its sample.

    Parameters
    ----------
    model : fitted model
        With ``transform`` and ``components_``.
    seen, hidden : array-like, sparse matrix, data frame or AnnData (n_samples x n_features)
        Two parts of the same samples; see :func:`split_counts`.
    covariates : data frame, dict of columns, array-like, names of columns, or None, default=None
        Of the samples, if the model was fitted with covariates.

    Returns
    -------
    score : float
        Minus infinity if a hidden feature has probability zero in all topics.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import LDA, evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = LDA(2, tol=1e-2, random_state=0).fit(X)
    >>> seen, hidden = evaluate.split_counts(X, random_state=0)
    >>> evaluate.completion_score(model, seen, hidden) < 0
    True
    """
    check_is_fitted(model, "components_")
    names, seen = named_topics(model).feature_names, read_container(seen, "seen")
    counts = CountMatrix.of(hidden, np.float64, feature_names=names, what="hidden").as_sparse()
    if counts.shape != seen.shape:
        raise ValueError(
            f"seen and hidden must have the same shape, but have {seen.shape} and {counts.shape}."
        )
    if counts.total == 0:
        raise ValueError("hidden has no counts to score: all its entries are zero.")
    topics = np.asarray(model.components_, np.float64)
    with warnings.catch_warnings():
        # Samples of which every count is hidden are part of the exercise.
        warnings.simplefilter("ignore", EmptySampleWarning)
        weights = model.transform(
            seen, **({} if covariates is None else {"covariates": covariates})
        )
    shares = proportions(weights, topics)
    by_sample = row_pass(counts, shares, normalized(topics), proportions=True)[1]
    return float(by_sample.sum()) / counts.total


def split_counts(X: Any, *, held_out: float = 0.5, random_state: Seed = None) -> tuple[Any, Any]:
    """Return two random parts of the counts: one to observe and one to hide.

    Each token is assigned independently, so the two parts of Poisson counts are independent.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (n_samples, n_features)
        Integer counts.
    held_out : float, default=0.5
        The probability that a token is hidden.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    seen, hidden : csr_array
        They sum to ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import evaluate
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> seen, hidden = evaluate.split_counts(X, random_state=0)
    >>> bool(seen.sum() + hidden.sum() == X.sum())
    True
    """
    if not (isinstance(held_out, Real) and 0 < held_out < 1):
        raise ValueError(f"held_out must be between 0 and 1 (exclusive), not {held_out!r}.")
    counts = CountMatrix.of(X).as_sparse()
    whole = np.rint(counts.values)
    if not np.array_equal(whole, counts.values):
        odd = int(np.argmax(whole != counts.values))
        row = int(np.searchsorted(counts.row_starts, odd, side="right")) - 1
        raise ValueError(
            f"Only integer counts can be split, but row {row}, column {counts.features[odd]} of X "
            f"is {counts.values[odd]}."
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

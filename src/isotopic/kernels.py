"""Expected counts: the one kernel, for sparse and dense data.

Arrays keep the components of a sample or of a feature next to each other in memory: ``weights``
(samples x components) is C-contiguous, ``topics`` (components x features) Fortran-contiguous.
Other layouts are copied into these.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.containers import align_table, read_container
from isotopic.counts import CountMatrix, RowView
from isotopic.missing import fill_in
from isotopic.registry import register
from isotopic.threads import current_threads, one_blas_thread

# Stands for zero where one divides by it.
_TINY = float(np.finfo(np.float32).tiny)

# Dense data is worked on in row blocks of about this many bytes.
_DENSE_BLOCK_BYTES = 2**21

Found = TypeVar("Found")


@register
class Counts(NamedTuple):
    """The three sums over responsibilities that a model needs.

    Over row blocks: stack ``weights``, add the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import expected_counts
    >>> counts = expected_counts(np.ones((2, 3)), np.ones((2, 1)), np.full((1, 3), 1 / 3))
    >>> counts.weights.tolist(), counts.topics.tolist()
    ([[3.0], [3.0]], [[2.0, 2.0, 2.0]])
    """

    weights: Array
    topics: Array
    log_likelihood: float


def expected_counts(X: Any, weights: Any, topics: Any) -> Counts:
    r"""Share each count out over the components (the E step of every model here).

    With the responsibilities :math:`\phi_{dkv} \propto w_{dk} t_{kv}`, normalised over :math:`k`,

    .. math::

        \sum_v x_{dv} \phi_{dkv}, \qquad \sum_d x_{dv} \phi_{dkv}, \qquad
        \sum_{dv} x_{dv} \log \sum_k w_{dk} t_{kv}

    in one pass over the counts. Neither the responsibilities nor the product of the factors is
    stored.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, AnnData or CountMatrix of shape (samples, features)
        Non-negative counts.
    weights : array-like of shape (samples, components)
        Non-negative (effective) weights.
    topics : array-like of shape (components, features)
        Non-negative (effective) topics. A data frame with the columns of ``X`` in another order is
        aligned.

    Returns
    -------
    counts : Counts
        ``weights`` (samples x components), ``topics`` (components x features) and
        ``log_likelihood``. In float32 if both factors are, else in float64; the log-likelihood is
        summed in float64 always.

    Notes
    -----
    The update of every algorithm of the paper: equation (6) and the sums over it in Algorithms 1
    to 7. A count that no component can explain makes the log-likelihood minus infinity and is
    not distributed.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import expected_counts
    >>> X = np.array([[4.0, 0.0], [1.0, 1.0]])
    >>> counts = expected_counts(X, np.ones((2, 2)), np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> counts.weights.tolist()
    [[3.0, 1.0], [1.0, 1.0]]
    """
    X, weights, topics = read_factors(X, weights, topics)
    if weights.ndim != 2 or topics.ndim != 2 or weights.shape[1] == 0:
        raise ValueError(
            "weights and topics must have two dimensions and at least one component, but have the "
            f"shapes {weights.shape} and {topics.shape}."
        )
    single = weights.dtype == np.float32 and topics.dtype == np.float32
    dtype = np.float32 if single else np.float64
    X = CountMatrix.of(X, dtype)
    expected = (X.shape[0], weights.shape[-1]), (weights.shape[-1], X.shape[1])
    if (weights.shape, topics.shape) != expected:
        raise ValueError(
            f"The shapes of X {X.shape}, weights {weights.shape} and topics {topics.shape} do not "
            "match: weights must be samples x components, topics components x features."
        )
    for name, factor in (("weights", weights), ("topics", topics)):
        if not (np.all(factor >= 0) and np.all(np.isfinite(factor))):
            raise ValueError(f"{name} must be finite and non-negative.")
    return one_pass(X, weights.astype(dtype, copy=False), topics.astype(dtype, copy=False))


def read_factors(X: Any, weights: Any, topics: Any) -> tuple[Any, Array, Array]:
    """Return data and its factors as arrays, aligned by the names of samples and features."""
    named = X if isinstance(X, CountMatrix) else read_container(X)
    features, samples = named.feature_names, getattr(named, "sample_names", None)
    weights = align_table("weights", weights, samples=samples)
    topics = align_table("topics", topics, features=features)
    return named, np.asarray(weights), np.asarray(topics)


def one_pass(
    X: CountMatrix,
    weights: Array,
    topics: Array,
    *,
    weights_only: bool = False,
    proportions: bool = False,
) -> Counts:
    """Compute :func:`expected_counts` without validating the factors.

    With ``weights_only`` the topics' counts are left out (empty), at about half the cost. Whether
    the weights are ``proportions`` matters to missing entries only: these are filled in then.
    """
    by_feature = np.ascontiguousarray(topics.T)
    topic_counts = None if weights_only else np.empty_like(by_feature)
    weight_counts, log_likelihoods = _pass(X, weights, by_feature, topic_counts, proportions)
    found = by_feature[:0] if topic_counts is None else topic_counts
    return Counts(weight_counts, found.T, float(log_likelihoods.sum()))


class ReadyTopics(NamedTuple):
    """Topics for many row passes: as they are, and as the core reads them."""

    topics: Array
    padded: Array


def ready(topics: Array) -> ReadyTopics:
    """Return topics in the form that row passes read, to convert them only once."""
    by_feature = np.ascontiguousarray(topics.T)
    return ReadyTopics(by_feature.T, native.pad_topics(by_feature, current_threads()))


def row_pass(
    X: CountMatrix, weights: Array, topics: Array, *, proportions: bool = False
) -> tuple[Array, Array]:
    """Compute the weights' expected counts and the log-likelihood of each row on its own."""
    if X.is_sparse:
        return rows_pass(X.view(), weights, ready(topics), proportions=proportions)
    return _pass(X, weights, np.ascontiguousarray(topics.T), None, proportions)


def rows_pass(
    X: RowView, weights: Array, topics: ReadyTopics, *, proportions: bool = False
) -> tuple[Array, Array]:
    """Compute :func:`row_pass` of some rows of sparse data, with topics that are ready."""
    return _pass(X, weights, topics.topics.T, None, proportions, topics.padded)


def _pass(
    X: CountMatrix | RowView,
    weights: Array,
    by_feature: Array,
    topic_counts: Array | None,
    proportions: bool,
    padded: Array | None = None,
) -> tuple[Array, Array]:
    """Return the weights' counts and the log-likelihood of each row, and fill ``topic_counts``.

    A :class:`RowView` needs ``padded`` topics, and cannot fill ``topic_counts``.
    """
    n_features = X.n_features if isinstance(X, RowView) else X.shape[1]
    if n_features != len(by_feature):  # the core does not check feature indices
        raise ValueError(f"The topics have {len(by_feature)} features, but X has {n_features}.")
    weights = np.ascontiguousarray(weights)
    weight_counts, log_likelihoods = np.empty_like(weights), np.empty(len(weights))
    scale = None
    if X.has_tiny_samples:  # how a sample's counts are shared does not depend on its scale
        # By a power of two, which changes no digit.
        scale = np.ldexp(weights.dtype.type(1), np.frexp(weights.max(axis=1))[1])
        weights = weights / scale[:, np.newaxis]
    if isinstance(X, RowView):
        assert padded is not None
        rows = X.starts, X.ends, X.features, X.values
        native.row_pass(*rows, weights, padded, weight_counts, log_likelihoods, current_threads())
    elif X.is_sparse:
        index = None if topic_counts is None else X.by_feature
        entries = X.row_starts, X.features, X.values, X.block_rows, index
        to = weight_counts, topic_counts, log_likelihoods, X.workspace
        native.expected_counts(*entries, weights, by_feature, *to, current_threads())
    else:
        _dense_pass(X, by_feature, topic_counts, weights, weight_counts, log_likelihoods)
    if scale is not None:
        log_likelihoods += X.sample_totals * np.log(scale, dtype=np.float64)
    if proportions and X.missing is not None:
        sums = weight_counts, None if topic_counts is None else topic_counts.T, log_likelihoods
        fill_in(X.missing, X.sample_totals, weights, by_feature.T, *sums)
    return weight_counts, log_likelihoods


def _dense_pass(
    X: CountMatrix,
    by_feature: Array,
    topic_counts: Array | None,
    weights: Array,
    weight_counts: Array,
    log_likelihoods: Array,
) -> None:
    """Compute a pass over dense data: three matrix products and one sweep for each row block.

    The blocks are always the same ones, each is computed by one thread, and their sums are added
    in order: so the bits do not depend on the number of threads here either.
    """
    n_samples, n_features = X.shape
    rows = max(1, _DENSE_BLOCK_BYTES // max(1, n_features * X.dtype.itemsize))
    blocks = [slice(at, min(at + rows, n_samples)) for at in range(0, n_samples, rows)]

    def compute(block: slice) -> Array | None:
        ratios = weights[block] @ by_feature.T
        native.divide(X.dense[block], ratios, log_likelihoods[block], 1)
        np.multiply(weights[block], ratios @ by_feature, out=weight_counts[block])
        return None if topic_counts is None else ratios.T @ weights[block]

    sums = np.zeros_like(by_feature)
    with one_blas_thread:
        for part in in_waves(compute, blocks):
            if part is not None:
                sums += part
    if topic_counts is not None:
        np.multiply(by_feature, sums, out=topic_counts)


def in_waves(compute: Callable[[slice], Found], blocks: list[slice]) -> Iterator[Found]:
    """Yield the results in order; as many blocks are computed at a time as there are threads."""
    threads = min(current_threads(), len(blocks))
    if threads <= 1:
        yield from map(compute, blocks)
        return
    with ThreadPoolExecutor(threads) as executor:
        for begin in range(0, len(blocks), threads):
            yield from executor.map(compute, blocks[begin : begin + threads])


def squared_counts(X: CountMatrix, weights: Array, topics: Array) -> tuple[Array, Array]:
    r"""Return the sums of squared responsibilities, for weights and topics.

    .. math:: \sum_v x_{dv} u_{dv} \phi_{dkv}^2, \qquad \sum_d x_{dv} u_{dv} \phi_{dkv}^2,
        \qquad u_{dv} = \min(x_{dv}, 1)

    A count is so many draws of one, or one draw of less: the self-contribution of a draw to the
    counts of its sample and component is :math:`u \phi`.

    The same kernel computes them: the squared shares of a count, divided by their sum, are the
    responsibilities of the squared factors.
    """
    weights, by_feature = np.ascontiguousarray(weights), np.ascontiguousarray(topics.T)
    X = X.as_sparse()
    values = np.empty_like(X.values)
    native.squared_shares(
        X.row_starts, X.features, X.values, weights, by_feature, values, current_threads()
    )
    if X.copies is None:
        values *= np.minimum(X.values, 1)
    else:  # a sample that counts several times draws as often; one that counts less, less
        copies = np.repeat(X.copies, np.diff(X.row_starts)).astype(X.dtype)
        values *= np.minimum(X.values, copies) / np.maximum(copies, 1)
    squares = by_feature / by_feature.max(axis=1, keepdims=True, initial=_TINY)  # or underflow
    weight_squares, topic_squares = np.empty_like(weights), np.empty_like(by_feature)
    native.expected_counts(
        X.row_starts,
        X.features,
        values,
        X.block_rows,
        X.by_feature,
        np.square(weights / weights.max(axis=1, keepdims=True, initial=_TINY)),
        np.square(squares),
        weight_squares,
        topic_squares,
        np.empty(X.shape[0]),
        X.workspace,
        current_threads(),
    )
    return weight_squares, topic_squares.T


def descended(
    X: CountMatrix,
    factors: Array,
    others: Array,
    slopes: Array,
    *,
    sweeps: int,
    repeats: Array | None = None,
    padded: Array | None = None,
) -> Array:
    r"""Return factors after sweeps of coordinate descent over the entries of each row.

    For row :math:`d` of sparse data, with :math:`t` the other side's factors,

    .. math:: \min_{h \ge 0} \; \text{repeats}_d \sum_k \text{slopes}_k h_k
        - \sum_v x_{dv} \log \sum_k h_k t_{vk}

    by one safeguarded Newton step for each :math:`h_k` in turn, ``sweeps`` times over, beginning
    with ``factors`` (rows x components). No step makes the objective of its row larger. ``others``
    are columns x components; ``padded`` are the same as the core reads them, if they are at hand
    (:class:`ReadyTopics`).
    """
    if len(others) != X.shape[1]:  # the core believes the features of X
        raise ValueError(f"factors of {len(others)} columns do not fit X, which has {X.shape[1]}")
    factors = np.ascontiguousarray(factors)
    if padded is None:
        padded = native.pad_topics(np.ascontiguousarray(others), current_threads())
    slopes = np.ascontiguousarray(np.broadcast_to(slopes, factors.shape[1]), np.float64)
    to = np.empty_like(factors)
    native.descend(
        X.row_starts,
        X.features,
        X.values,
        padded,
        slopes,
        None if repeats is None else np.ascontiguousarray(repeats, np.float64),
        sweeps,
        factors,
        to,
        current_threads(),
    )
    return to


def descended_topics(
    X: CountMatrix, topics: Array, weights: Array, slopes: Array, *, sweeps: int
) -> Array:
    """Return topics after sweeps of coordinate descent over the entries of each feature.

    This is :func:`descended` of the transposed counts, without a copy of them. ``topics`` are
    components x features.
    """
    if topics.shape[1] != X.shape[1]:
        raise ValueError(
            f"topics of {topics.shape[1]} features do not fit X, which has {X.shape[1]}"
        )
    by_feature, values = np.ascontiguousarray(topics.T), X.values_by_feature
    is_whole = values.dtype == np.uint16
    to = np.empty_like(by_feature)
    native.descend_features(
        X.row_starts,
        X.features,
        X.values,
        X.block_rows,
        X.by_feature,
        values if is_whole else None,
        None if is_whole else values,
        native.pad_topics(np.ascontiguousarray(weights), current_threads()),
        np.ascontiguousarray(slopes, np.float64),
        sweeps,
        by_feature,
        to,
        current_threads(),
    )
    return to.T

"""Weights of single samples, inferred in the core with the topics fixed."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.counts import RowView
from isotopic.kernels import ReadyTopics
from isotopic.threads import current_threads


@dataclass(frozen=True)
class RowRule:
    r"""How a prior makes the effective weights of a sample from its expected counts.

    .. math:: \text{parameters} = \text{counts} \cdot (1 - \text{self}) + \text{prior}

    The effective weights are the parameters, or :math:`\exp(\psi(\text{parameters}))` under a
    variational prior, times a scale. Without a scale the rows are distributions.

    Attributes
    ----------
    prior : ndarray of shape (1 or samples, components)
    self_contribution : ndarray of shape (samples, components) or None
        See :class:`~isotopic.priors.CollapsedDirichlet`.
    scale : ndarray of shape (components,) or None
    is_variational : bool
    """

    prior: Array
    self_contribution: Array | None = None
    scale: Array | None = None
    is_variational: bool = False


class Steps(NamedTuple):
    """How steps are extrapolated: see :class:`~isotopic.solvers.accelerated.Schedule`."""

    first_momentum: float = 0.0
    least_momentum: float = 0.0
    most_momentum: float = 0.0
    growth: float = 1.0
    first_floor: float = 0.0
    shrinkage: float = 1.0
    floor_to_residual: float = 0.0


class InferredRows(NamedTuple):
    """What was inferred of each sample.

    ``squares`` are the sums of squared responsibilities; see
    :func:`~isotopic.kernels.squared_counts`. The residual is the share of its total that the last
    update moved.
    """

    counts: Array
    squares: Array | None
    log_likelihoods: Array
    residuals: Array
    updates: Array


def infer_rows(
    X: RowView,
    topics: ReadyTopics,
    rule: RowRule,
    *,
    max_updates: int,
    tol: float = 0.0,
    steps: Steps | None = None,
    with_squares: bool = False,
) -> InferredRows:
    """Return the expected counts of samples at the weights that fit them best.

    Each sample starts from equal shares of its total, and is updated on its own until an update
    moves at most ``tol`` of its total. By default the steps are those of plain EM.
    """
    n_features, n_components = topics.topics.shape[::-1]
    if X.n_features != n_features:  # the core believes the features of the counts
        raise ValueError(f"topics of {n_features} features do not fit X, which has {X.n_features}")
    n_samples, dtype = len(X.starts), X.values.dtype
    counts = np.empty((n_samples, n_components), dtype)
    squares = np.zeros_like(counts) if with_squares else None
    others = None
    if rule.self_contribution is not None:
        others = np.ascontiguousarray(1 - rule.self_contribution, dtype)
    found = np.empty(n_samples), np.empty(n_samples), np.empty(n_samples, np.int64)
    native.infer(
        np.ascontiguousarray(X.starts),
        np.ascontiguousarray(X.ends),
        X.features,
        X.values,
        topics.padded,
        np.ascontiguousarray(rule.prior, np.float64),
        others,
        rule.scale,
        rule.is_variational,
        tol,
        max_updates,
        np.array(steps or Steps()),
        counts,
        squares,
        *found,
        current_threads(),
    )
    return InferredRows(counts, squares, *found)

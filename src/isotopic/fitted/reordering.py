"""Put components or features of a fitted model into another order; add up merged components."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate import prevalence
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.value import Fitted, map_arrays
from isotopic.names import order_by_name
from isotopic.priors import Posterior


def reorder(fitted: Fitted, order: Array) -> Fitted:
    """Return the same model with component ``order[i]`` as component ``i``."""
    offsets, online = fitted.offsets, fitted.online
    if offsets.fixed_weights is not None:
        first = order[: offsets.n_fixed_weights]
        offsets = replace(offsets, fixed_weights=offsets.fixed_weights[:, first])
    if online is not None:
        topics = online.topics and map_arrays(online.topics, lambda a: _reorder_rows(a, order))
        average, sums = _reorder_rows(online.average, order), online.statistics
        sums = None if sums is None else sums[:, order]
        online = replace(online, average=average, topics=topics, statistics=sums)
    return replace(
        fitted,
        weights_prior=fitted.weights_prior.reordered(order),
        topics_prior=fitted.topics_prior.rows(order),
        weights=map_arrays(fitted.weights, lambda a: np.ascontiguousarray(a[:, order])),
        topics=map_arrays(fitted.topics, lambda a: _reorder_rows(a, order)),
        offsets=offsets,
        online=online,
        topic_names=None if fitted.topic_names is None else fitted.topic_names[order],
    )


def with_features(fitted: Fitted, expected: Array | None, *, what: str, than: str) -> Fitted:
    """Return the same model with its features in the expected order, by name.

    ``what`` and ``than`` are for errors; see :func:`isotopic.names.order_by_name`.
    """
    order = order_by_name(fitted.feature_names, expected, what=what, than=than)
    if order is None:
        return fitted
    online = fitted.online
    if online is not None:
        topics = online.topics and map_arrays(online.topics, lambda a: _reorder_columns(a, order))
        online = replace(online, average=_reorder_columns(online.average, order), topics=topics)
    return replace(
        fitted,
        topics_prior=select_columns(fitted.topics_prior, order, len(order)),
        topics=map_arrays(fitted.topics, lambda a: _reorder_columns(a, order)),
        feature_totals=fitted.feature_totals[order],
        feature_names=expected,
        online=online,
    )


def order_by_prevalence(fitted: Fitted, n_fixed: Sequence[int]) -> Array:
    """Return the order with the most prevalent component first; the fixed ones stay in front."""
    part = np.digitize(np.arange(fitted.n_components), sorted(n_fixed))
    return np.lexsort((-prevalence(fitted), part))


def merged_counts(fitted: Fitted, groups: Array) -> tuple[Array, Array]:
    """Return the explained counts of both sides, added up by the group of each component."""
    by_sample, by_topic = explained_counts(fitted)
    return sum_by_group(by_sample.T, groups).T, sum_by_group(by_topic, groups)


def sum_by_group(rows: Array, groups: Array) -> Array:
    """Return the sums of the rows of each group."""
    sums = np.zeros((groups.max() + 1, rows.shape[1]))
    np.add.at(sums, groups, rows)
    return sums


def merge_topics_prior(prior: Any, groups: Array) -> Any:
    """Return the prior of merged topics: that of each part, which must be the same."""
    first = np.unique(groups, return_index=True)[1]
    for topic, group in enumerate(groups):
        if prior.rows(np.array([topic])) != prior.rows(first[[group]]):
            raise ValueError(
                f"Cannot merge topics {first[group]} and {topic}: their priors differ."
            )
    return prior.rows(first)


def select_columns(value: Any, which: Array, n_features: int) -> Any:
    """Return a prior of topics with what it has for some of ``n_features``, in this order."""
    if isinstance(value, Posterior):
        return map_arrays(value, lambda array: _columns(array, which, n_features))
    if is_dataclass(value) and not isinstance(value, type):
        settings = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
        changed = {n: select_columns(setting, which, n_features) for n, setting in settings.items()}
        changed = {name: new for name, new in changed.items() if new is not settings[name]}
        return replace(value, **changed) if changed else value
    if isinstance(value, (list, tuple, np.ndarray)):
        return _columns(np.asarray(value), which, n_features)
    return value


def _reorder_columns(array: Array, order: Array) -> Array:
    """Reorder the columns of a matrix, or the entries of a vector, if there is one per feature."""
    return _columns(array, order, len(order))


def _columns(array: Array, which: Array, n_features: int) -> Array:
    """Return some columns of a matrix, or entries of a vector, if there is one per feature."""
    if array.shape[-1:] != (n_features,):
        return array
    return np.array(array[..., which], order="C" if array.flags.c_contiguous else "F")


def _reorder_rows(array: Array, order: Array) -> Array:
    """Reorder the rows of a matrix, keeping its layout in memory; leave vectors alone."""
    if array.ndim < 2:
        return array
    return np.array(array[order], order="C" if array.flags.c_contiguous else "F")

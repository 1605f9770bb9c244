"""Reorder and merge the components of an estimator: its parameters, and what it has fitted."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import is_frame
from isotopic.estimators.constraints import constraint_table
from isotopic.estimators.data import read_data
from isotopic.fitted import Fitted, fitted_of
from isotopic.fitted.fitting import Data
from isotopic.fitted.reordering import (
    merge_topics_prior,
    merged_counts,
    order_by_prevalence,
    reorder,
    sum_by_group,
)
from isotopic.init.start import absorbed
from isotopic.priors import Prior
from isotopic.threads import use_threads


def reorder_model(model: Any, given: Any) -> Any:
    """Return a new estimator with its components in another order."""
    fitted = fitted_of(model)
    n_fixed = numbers_of_fixed(model)
    if isinstance(given, str) and given == "prevalence":
        order = order_by_prevalence(fitted, n_fixed)
    else:
        n, order = fitted.n_components, np.asarray(given)
        if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order.ravel()), np.arange(n)):
            raise ValueError(
                f"order must name each of the {n} topics once, or be 'prevalence', not "
                f"{given!r:.200}."
            )
        order = order.ravel()
    for n in n_fixed:
        if set(order[:n]) != set(range(n)):
            raise ValueError(
                f"The first {n} topics are fixed and must stay in front. They can be reordered "
                "among themselves only."
            )
    weights, topics = model._priors()
    new = with_priors(model, (weights, topics), (weights.reordered(order), topics.rows(order)))
    new.fixed_topics = _select_rows(model.fixed_topics, order[: n_fixed[0]])
    new.seeds = _reorder_constraint(model.seeds, order)
    new.forbidden = _reorder_constraint(model.forbidden, order)
    new.init = _reorder_init(model.init, order)
    return new.with_fitted(reorder(fitted, order))


def merge_model(model: Any, given: Any, X: Any, missing_mask: Any) -> Any:
    """Return a new estimator in which groups of components are one."""
    fitted = fitted_of(model)
    groups = _read_groups(given, fitted.n_components)
    n_fixed = max(numbers_of_fixed(model))
    if np.bincount(groups)[groups[:n_fixed]].max(initial=1) > 1:
        raise ValueError("Cannot merge fixed topics, which stay as they are given.")
    new = _with_merged_parameters(model, groups)
    data = read_fitted_data(model, X, missing_mask)
    names = _merge_names(fitted, groups)
    return restarted(new, data, *merged_counts(fitted, groups), names)


def read_fitted_data(model: Any, X: Any, missing_mask: Any) -> Data:
    """Return the data that the model was fitted to; raise ValueError if it is other data."""
    fitted: Fitted = model.fitted_
    with use_threads(model.n_jobs):
        data = read_data(model, X, known=fitted, missing_mask=missing_mask)
    if len(fitted.weights.mean) != data.counts.shape[0] or not np.allclose(
        fitted.sample_totals, data.counts.sample_totals, rtol=1e-4
    ):
        raise ValueError("X is not the data that the model was fitted to.")
    return replace(data, copies=fitted.copies, offsets=fitted.offsets)


def restarted(model: Any, data: Data, by_sample: Array, by_topic: Array, names: Any) -> Any:
    """Return an unfitted estimator as if fitted with ``max_iter=0`` from expected counts.

    ``by_sample`` counts each sample once, ``by_topic`` as often as its sample weight says. The
    topics get the ``names``.
    """
    with use_threads(model.n_jobs):
        fit = model._pose(data)
        by_sample = by_sample if data.used_rows is None else by_sample[data.used_rows]
        if fit.problem.X.copies is not None:
            by_sample = by_sample * fit.problem.X.copies[:, np.newaxis]
        state = fit.problem.evaluate(*absorbed(fit.problem, by_sample, by_topic), passes=1)
        return model.with_fitted(replace(fit.fitted_at(state), topic_names=names))


def _merge_names(fitted: Fitted, groups: Array) -> Array | None:
    """Return the names of merged topics: those of their parts, with a plus sign between them."""
    if fitted.topic_names is None:
        return None
    names = np.full(groups.max() + 1, "", dtype=object)
    for group in range(len(names)):
        given = [name for name in fitted.topic_names[groups == group] if name]
        names[group] = " + ".join(dict.fromkeys(given))
    return names


def _with_merged_parameters(model: Any, groups: Array) -> Any:
    """Return the unfitted estimator of the merged components, with what was learned."""
    fitted: Fitted = model.fitted_
    weights, topics = model._priors()
    fitted.weights_prior.merged(groups)  # raises if what was learned cannot be merged
    learned = getattr(fitted.topics_prior, "prior", fitted.topics_prior)  # without fixed topics
    merged = (
        weights.with_learned(fitted.weights_prior).merged(groups),
        merge_topics_prior(topics.with_learned(learned), groups),
    )
    new = with_priors(model, (weights, topics), merged)
    new.n_components = int(groups.max()) + 1
    if not isinstance(model.init, str):
        new.init = "random"
    shape, names = fitted.topics.mean.shape, fitted.feature_names
    if model.seeds is not None:
        seeds = constraint_table("seeds", model.seeds, shape, names, fitted.feature_totals)
        new.seeds = sum_by_group(seeds, groups)
    if model.forbidden is not None:
        allowed = constraint_table("forbidden", model.forbidden, shape, names) == 0
        new.forbidden = sum_by_group(allowed.astype(float), groups) == 0
    return new


def with_priors(model: Any, old: tuple[Prior, Prior], new: tuple[Prior, Prior]) -> Any:
    """Return the unfitted estimator with other priors."""
    other = type(model)(**model.get_params(deep=False))
    for name, (side, setting) in model._prior_settings.items():
        if new[side] != old[side]:
            setattr(other, name, getattr(new[side], setting) if setting else new[side])
    return other


def numbers_of_fixed(model: Any) -> tuple[int, int]:
    """Return how many topics are fixed, and the weights of how many components."""
    n_topics = 0 if model.fixed_topics is None else len(model.fixed_topics)
    return n_topics, model.fitted_.offsets.n_fixed_weights


def _read_groups(given: Any, n: int) -> Array:
    """Return for each component the number of the merged component that it belongs to."""
    if not isinstance(given, Iterable):
        raise ValueError(f"groups must be a list of lists of components, not {given!r}.")
    groups = [list(group) if np.ndim(group) == 1 else group for group in given]
    first, taken = np.arange(n), set[int]()
    for group in groups:
        if not isinstance(group, list) or not all(is_component(topic, n) for topic in group):
            raise ValueError(
                f"groups must be lists of topics between 0 and {n - 1}, not {given!r}."
            )
        if len(set(group)) < 2:
            raise ValueError(f"A group needs at least two different topics, not {group}.")
        if taken & set(group):
            raise ValueError(f"Each topic can be in one group only; {group} overlaps another one.")
        first[group] = min(group)
        taken |= set(group)
    if not groups:
        raise ValueError("groups is empty: there are no topics to merge.")
    return np.unique(first, return_inverse=True)[1]


def is_component(given: Any, n: int) -> bool:
    """Return whether an integer below ``n`` was given."""
    return isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < n


def _select_rows(table: Any, rows: Array) -> Any:
    if table is None:
        return None
    if is_frame(table):  # which keeps its names
        return table.iloc[rows] if hasattr(table, "iloc") else table[rows.tolist()]
    return np.asarray(table)[rows]


def _reorder_constraint(constraint: Any, order: Array) -> Any:
    if isinstance(constraint, Mapping):
        new = np.argsort(order)
        return {int(new[topic]): features for topic, features in constraint.items()}
    return _select_rows(constraint, order)


def _reorder_init(init: Any, order: Array) -> Any:
    if isinstance(init, str):
        return init
    if isinstance(init, Fitted):
        return reorder(init, order)
    if hasattr(init, "reorder"):
        return init.reorder(order)
    weights, topics = init
    return np.asarray(weights)[:, order], _select_rows(topics, order)

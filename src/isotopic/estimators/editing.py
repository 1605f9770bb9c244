"""Split and drop the topics of an estimator, and drop features: parameters, and what is fitted."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.estimators.constraints import column_of, constraint_table
from isotopic.estimators.reordering import (
    is_component,
    numbers_of_fixed,
    read_fitted_data,
    restarted,
    with_priors,
)
from isotopic.fitted import Fitted, fitted_of
from isotopic.fitted.editing import counts_after_drop, counts_after_feature_drop, counts_after_split
from isotopic.fitted.reordering import select_columns
from isotopic.names import as_feature_names
from isotopic.priors import Prior


def split_model(model: Any, topic: Any, X: Any, n: Any, missing_mask: Any) -> Any:
    """Return a new estimator in which a topic is split into ``n``."""
    fitted = fitted_of(model)
    known = fitted.n_components
    if not is_component(topic, known):
        raise ValueError(f"topic must be between 0 and {known - 1}, not {topic!r}.")
    if not is_component(n, 2**31) or n < 2:
        raise ValueError(f"n must be an integer of at least 2, not {n!r}.")
    _check_not_fixed(model, [topic], "split")
    parents = np.append(np.arange(known), np.full(n - 1, topic))
    weights, topics = _learned_priors(model)
    new = with_priors(model, model._priors(), (weights.split(parents, known), topics.rows(parents)))
    _set_components(new, model, parents)
    if new.seeds is not None:  # each part has an equal share
        new.seeds = new.seeds / np.bincount(parents)[parents][:, np.newaxis]
    data = read_fitted_data(model, X, missing_mask)
    counts = counts_after_split(fitted, _sparse(data.counts), int(topic), int(n))
    names = None if fitted.topic_names is None else fitted.topic_names[parents]
    return restarted(new, data, *counts, names)


def drop_topics(model: Any, given: Any, X: Any, missing_mask: Any) -> Any:
    """Return a new estimator without some of its topics."""
    fitted = fitted_of(model)
    n = fitted.n_components
    dropped = [given] if np.ndim(given) == 0 else list(given)
    if not dropped or not all(is_component(topic, n) for topic in dropped):
        raise ValueError(f"topics must be one or some of 0 to {n - 1}, not {given!r}.")
    _check_not_fixed(model, dropped, "drop")
    kept = np.setdiff1d(np.arange(n), np.array(dropped, dtype=int))
    if len(kept) == 0:
        raise ValueError("Cannot drop all topics: at least one must stay.")
    weights, topics = _learned_priors(model)
    priors = weights.select_components(kept, n), topics.rows(kept)
    new = with_priors(model, model._priors(), priors)
    _set_components(new, model, kept)
    data = read_fitted_data(model, X, missing_mask)
    counts = counts_after_drop(fitted, _sparse(data.counts), kept)
    names = None if fitted.topic_names is None else fitted.topic_names[kept]
    return restarted(new, data, *counts, names if names is not None and any(names) else None)


def drop_features_of(model: Any, given: Any, X: Any, feature_names: Any, missing_mask: Any) -> Any:
    """Return a new estimator without some of its features."""
    fitted = fitted_of(model)
    if model.fixed_topics is not None:
        raise ValueError(
            "Cannot drop features of a model with fixed topics. Leave them out of fixed_topics and "
            "X, and fit again."
        )
    kept = _kept_features(fitted, given, feature_names)
    weights, topics = _learned_priors(model)
    new = with_priors(
        model, model._priors(), (weights, select_columns(topics, kept, fitted.n_features))
    )
    for name in ("seeds", "forbidden"):
        table = _table(model, name)
        setattr(new, name, None if table is None else table[:, kept])
    if not isinstance(model.init, str):
        new.init = "random"
    data = read_fitted_data(model, X, missing_mask)
    counts = _sparse(data.counts)
    missing = None if counts.missing is None else counts.missing.pattern[:, kept] != 0
    matrix = counts.named_matrix().matrix[:, kept]
    names = None if fitted.feature_names is None else as_feature_names(fitted.feature_names[kept])
    fewer = replace(
        data, counts=CountMatrix(matrix, counts.dtype, missing=missing), feature_names=names
    )
    found = counts_after_feature_drop(fitted, counts, kept)
    return restarted(new, fewer, *found, fitted.topic_names)


def _kept_features(fitted: Fitted, given: Any, feature_names: Any) -> Array:
    """Return the features that are not among those given by number or name."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    names = fitted.feature_names if feature_names is None else np.asarray(feature_names, object)
    n, features = fitted.n_features, list(given)
    if any(isinstance(feature, (bool, np.bool_)) for feature in features):
        raise ValueError(
            "features must be names or column numbers, not a mask. Pass np.flatnonzero(mask)."
        )
    columns = [column_of("features", feature, names, n) for feature in features]
    if not columns:
        raise ValueError("features is empty: there is nothing to drop.")
    kept = np.setdiff1d(np.arange(n), np.array(columns))
    if not fitted.feature_totals[kept].any():
        raise ValueError("Cannot drop all features that have counts.")
    return kept


def _learned_priors(model: Any) -> tuple[Prior, Any]:
    """Return the priors of the parameters, with what was learned."""
    fitted: Fitted = model.fitted_
    weights, topics = model._priors()
    if fitted.offsets.covariates is not None:
        raise ValueError(
            "Cannot change the topics or features of a model with covariates: their coefficients "
            "belong to all of them together. Fit again."
        )
    learned = getattr(fitted.topics_prior, "prior", fitted.topics_prior)  # without fixed topics
    return weights.with_learned(fitted.weights_prior), topics.with_learned(learned)


def _set_components(new: Any, model: Any, parents: Array) -> None:
    """Give a new estimator the number of topics, and what belongs to each of them."""
    new.n_components = len(parents)
    if not isinstance(model.init, str):
        new.init = "random"
    for name in ("seeds", "forbidden"):
        table = _table(model, name)
        setattr(new, name, None if table is None else table[parents])


def _table(model: Any, name: str) -> Array | None:
    """Return the seeds or forbidden features as a table, topics x features."""
    given, fitted = getattr(model, name), model.fitted_
    if given is None:
        return None
    shape, names = fitted.topics.mean.shape, fitted.feature_names
    if name == "seeds":
        return constraint_table(name, given, shape, names, fitted.feature_totals)
    return np.asarray(constraint_table(name, given, shape, names) != 0)


def _check_not_fixed(model: Any, topics: list[Any], verb: str) -> None:
    n_fixed = max(numbers_of_fixed(model))
    if min(topics) < n_fixed:
        raise ValueError(f"Cannot {verb} the first {n_fixed} topics: they are fixed.")


def _sparse(counts: Any) -> CountMatrix:
    matrix: CountMatrix = counts.as_sparse()
    return matrix

"""Turn fixed topics, seeds and forbidden features into a prior of the topics."""

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from isotopic.arrays import Array, as_numbers, check_numbers
from isotopic.containers import align_table, is_named
from isotopic.count_checks import LARGEST_TOTAL
from isotopic.fitted.fitting import SampleNames
from isotopic.names import names_of_vector
from isotopic.priors import Fixed, Posterior, Prior, WithFixedTopics, forbidding, row_norms, seeded


def constrain_topics(
    model: Any,
    prior: Prior,
    shape: tuple[int, int],
    dtype: Any,
    feature_totals: Array,
    feature_names: Any,
) -> Prior:
    """Return the prior of the topics with the fixed topics, seeds and forbidden features.

    ``shape`` is that of the topics, ``dtype`` that of the data, and ``feature_totals`` are the
    counts of each feature. Seeds and forbidden features may use ``feature_names``, if any.
    """
    prior = align_settings(prior, features=feature_names)
    prior.check_shape(shape)
    fixed = np.empty((0, shape[1]), dtype)
    if model.fixed_topics is not None:
        aligned = align_table("fixed_topics", model.fixed_topics, features=feature_names)
        fixed = _read_fixed_topics(aligned, shape, dtype, prior.norm)
    mask = np.zeros(shape, dtype=bool)
    if model.forbidden is not None:
        mask = constraint_table("forbidden", model.forbidden, shape, feature_names) != 0
        _check_possible(mask, fixed, feature_totals)
        prior = forbidding(prior, mask)
    if model.seeds is not None:
        pseudo_counts = constraint_table("seeds", model.seeds, shape, feature_names, feature_totals)
        if not pseudo_counts.sum() < LARGEST_TOTAL[np.dtype(dtype)]:
            raise ValueError(
                f"seeds are too large for {dtype}: they sum to {pseudo_counts.sum():.3g}."
            )
        _check_seeds(pseudo_counts, mask, len(fixed))
        prior = seeded(prior, np.asfortranarray(pseudo_counts))
    if len(fixed) == shape[0]:
        fixed = np.asfortranarray(fixed)
        return Fixed(Posterior(fixed, fixed), is_normalized=prior.is_normalized)
    if len(fixed):
        return WithFixedTopics(prior.rows(np.arange(len(fixed), shape[0])), fixed)
    return prior


def align_settings(
    prior: Prior, *, features: Array | None = None, samples: SampleNames | None = None
) -> Prior:
    """Return a prior whose settings with names are arrays in the order of ``X``.

    ``features`` are for the prior of the topics. ``samples``, for that of the weights, are asked
    for only if a setting has a row for each sample: a vector is one of components.
    """
    own: Any = prior
    settings: dict[str, Any] = vars(prior) if is_dataclass(prior) else {}
    changed: dict[str, Array] = {}
    for name, given in settings.items():
        if is_named(given) or hasattr(given, "iloc"):
            has_samples = samples is not None and is_named(given) and len(given) > 1
            rows = samples() if samples is not None and has_samples else None
            aligned = align_table(name, given, features=features, samples=rows)
            changed[name] = as_numbers(name, aligned)
    return replace(own, **changed) if changed else prior


def _read_fixed_topics(given: Any, shape: tuple[int, int], dtype: Any, norm: float | None) -> Array:
    fixed = as_numbers("fixed_topics", given)
    if fixed.ndim != 2 or fixed.shape[1] != shape[1] or not 0 < len(fixed) <= shape[0]:
        raise ValueError(
            f"fixed_topics has the shape {fixed.shape}; it must have one column for each of the "
            f"{shape[1]} features and between 1 and n_components={shape[0]} rows."
        )
    check_numbers("fixed_topics", fixed)
    with np.errstate(over="ignore"):
        sums = fixed.sum(axis=1, keepdims=True)
    if not np.all(sums > 0):
        raise ValueError(
            f"fixed_topics: topic {int(np.argmin(sums))} is zero in all features. Leave it out."
        )
    if not np.all(sums < np.inf):
        raise ValueError("fixed_topics are too large: their sums are infinite.")
    scale = 1.0 if norm is None else row_norms(fixed, norm)[:, np.newaxis]
    return (fixed / scale).astype(dtype)


def _check_seeds(pseudo_counts: Array, forbidden: Array, n_fixed: int) -> None:
    seeds = pseudo_counts > 0
    if seeds[:n_fixed].any():
        raise ValueError(
            f"seeds: topic {np.argwhere(seeds)[0][0]} is one of fixed_topics, which do not change."
        )
    if np.any(forbidden & seeds):
        topic, feature = np.argwhere(forbidden & seeds)[0]
        raise ValueError(
            f"seeds and forbidden: feature {feature} is both a seed of topic {topic} and "
            "forbidden in it."
        )


def _check_possible(forbidden: Array, fixed: Array, feature_totals: Array) -> None:
    if np.any(forbidden[: len(fixed)] & (fixed > 0)):
        topic, feature = np.argwhere(forbidden[: len(fixed)] & (fixed > 0))[0]
        raise ValueError(
            f"forbidden: feature {feature} is forbidden in topic {topic}, but fixed_topics has it."
        )
    barred = np.concatenate([fixed == 0, forbidden[len(fixed) :]])
    nowhere = barred.all(axis=0) & (feature_totals > 0)
    if nowhere.any():
        raise ValueError(
            f"forbidden: feature {int(np.argmax(nowhere))} is forbidden in every topic, but X has "
            "counts of it. Allow it in at least one topic, or remove the feature from X."
        )
    empty = forbidden.all(axis=1)
    if empty.any():
        raise ValueError(
            f"forbidden: every feature of topic {int(np.argmax(empty))} is forbidden. Allow at "
            "least one."
        )


def constraint_table(
    name: str, given: Any, shape: tuple[int, int], names: Any, default: Array | None = None
) -> Array:
    """Return a value for each topic and feature, from an array or a dict of topics."""
    if isinstance(given, Mapping):
        table = np.zeros(shape)
        for topic, features in given.items():
            _fill(name, table, topic, features, names, default)
        return table
    table = as_numbers(name, align_table(name, given, features=names))
    if table.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {table.shape}.")
    check_numbers(name, table)
    with np.errstate(over="ignore"):
        if not table.sum() < np.inf:
            raise ValueError(f"{name} are too large: their sum is infinite.")
    return table


def _fill(
    name: str, table: Array, topic: Any, features: Any, names: Any, default: Array | None
) -> None:
    if not isinstance(topic, Integral) or not 0 <= int(topic) < len(table):
        raise ValueError(
            f"{name}: topic {topic!r} is not an integer between 0 and n_components - 1 = "
            f"{len(table) - 1}."
        )
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise TypeError(f"{name}[{topic}] must be a list of features, not {features!r}.")
    labels = names_of_vector(features)
    if labels is not None:  # a pandas Series of pseudo-counts
        features = dict(zip(labels.tolist(), list(features), strict=True))
    for feature in features:
        column = column_of(name, feature, names, table.shape[1])
        value = features[feature] if isinstance(features, Mapping) else None
        if value is None:
            table[int(topic), column] = 1.0 if default is None else default[column]
        elif isinstance(value, Real) and 0 <= float(value) < np.inf:
            table[int(topic), column] = value
        else:
            raise ValueError(
                f"{name}[{topic}][{feature!r}] must be a finite number of at least 0, not "
                f"{value!r:.100}."
            )


def column_of(name: str, feature: Any, names: Any, n_features: int) -> int:
    """Return the column of a feature that is given by number or by name."""
    if isinstance(feature, Integral):
        if 0 <= int(feature) < n_features:
            return int(feature)
        raise ValueError(f"{name}: there is no feature {feature}; X has {n_features} features.")
    if names is None:
        raise ValueError(
            f"{name}: feature {feature!r} is given by name, but X has no column names. Pass X as a "
            "data frame, or use the feature's column number."
        )
    found = np.flatnonzero(names == feature)
    if len(found) == 0:
        raise ValueError(f"{name}: no feature is called {feature!r}.")
    if len(found) > 1:
        raise ValueError(
            f"{name}: {len(found)} features are called {feature!r}. Use the feature's column "
            "number."
        )
    return int(found[0])

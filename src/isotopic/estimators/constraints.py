"""What a user knows of the topics beforehand, turned into priors."""

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from isotopic.arrays import Array, as_numbers
from isotopic.priors import Fixed, Posterior, Prior, WithFixedTopics, forbidding, row_norms, seeded


def informed(
    prior: Prior,
    shape: tuple[int, int],
    dtype: Any,
    feature_totals: Array,
    *,
    fixed_topics: Any,
    seeds: Any,
    forbidden: Any,
    feature_names: Any,
) -> Prior:
    """Give the prior of the topics that knows what the user knows.

    Parameters
    ----------
    prior : Prior
        Of the topics.
    shape : tuple of int
        Components and features.
    dtype : dtype
        Of the data.
    feature_totals : ndarray of shape (features,)
        The counts of each feature.
    fixed_topics : array-like of shape (fixed topics, features) or None
    seeds, forbidden : array-like of shape (n_components, features), dict or None
    feature_names : ndarray of str or None
        By which seeds and forbidden features may be called.

    Returns
    -------
    prior : Prior
    """
    prior.check_shape(shape)
    held = np.empty((0, shape[1]), dtype)
    if fixed_topics is not None:
        aligned = _aligned(fixed_topics, feature_names)
        held = _held(aligned, shape, dtype, prior.norm)
    mask = np.zeros(shape, dtype=bool)
    if forbidden is not None:
        mask = knowledge_table("forbidden", forbidden, shape, feature_names) != 0
        _check_possible(mask, held, feature_totals)
        prior = forbidding(prior, mask)
    if seeds is not None:
        pseudo_counts = knowledge_table("seeds", seeds, shape, feature_names, feature_totals)
        _check_seeds(pseudo_counts, mask, len(held))
        prior = seeded(prior, np.asfortranarray(pseudo_counts))
    if len(held) == shape[0]:
        held = np.asfortranarray(held)
        return Fixed(Posterior(held, held), is_normalized=prior.is_normalized)
    if len(held):
        return WithFixedTopics(prior.rows(np.arange(len(held), shape[0])), held)
    return prior


def _aligned(fixed_topics: Any, feature_names: Any) -> Any:
    """Put the columns of a data frame into the order of the features."""
    columns = getattr(fixed_topics, "columns", None)
    if columns is None or feature_names is None:
        return fixed_topics
    if sorted(map(str, columns)) != sorted(map(str, feature_names)):
        raise ValueError("the columns of fixed_topics are not called like the features of X")
    return fixed_topics[list(feature_names)]


def _held(given: Any, shape: tuple[int, int], dtype: Any, norm: float | None) -> Array:
    held = as_numbers("fixed_topics", given)
    if held.ndim != 2 or held.shape[1] != shape[1] or not 0 < len(held) <= shape[0]:
        raise ValueError(
            f"fixed_topics has shape {held.shape}; it must have {shape[1]} columns, as X has "
            f"features, and between 1 and n_components={shape[0]} rows"
        )
    if not np.all((held >= 0) & (held < np.inf)):
        raise ValueError("fixed_topics must be finite and non-negative")
    with np.errstate(over="ignore"):
        sums = held.sum(axis=1, keepdims=True)
    if not np.all(sums > 0):
        raise ValueError(f"topic {int(np.argmin(sums))} of fixed_topics is zero everywhere")
    if not np.all(sums < np.inf):
        raise ValueError("fixed_topics are too large: their sums are infinite")
    scale = 1.0 if norm is None else row_norms(held, norm)[:, np.newaxis]
    return (held / scale).astype(dtype)


def _check_seeds(pseudo_counts: Array, forbidden: Array, n_held: int) -> None:
    seeds = pseudo_counts > 0
    if seeds[:n_held].any():
        raise ValueError(
            f"seeds: topic {np.argwhere(seeds)[0][0]} is one of fixed_topics and learns nothing"
        )
    if np.any(forbidden & seeds):
        topic, feature = np.argwhere(forbidden & seeds)[0]
        raise ValueError(
            f"seeds and forbidden: feature {feature} is both a seed of topic {topic} and "
            "forbidden in it"
        )


def _check_possible(forbidden: Array, held: Array, feature_totals: Array) -> None:
    if np.any(forbidden[: len(held)] & (held > 0)):
        topic, feature = np.argwhere(forbidden[: len(held)] & (held > 0))[0]
        raise ValueError(
            f"forbidden: feature {feature} is forbidden in topic {topic}, but fixed_topics has it"
        )
    barred = np.concatenate([held == 0, forbidden[len(held) :]])
    nowhere = barred.all(axis=0) & (feature_totals > 0)
    if nowhere.any():
        raise ValueError(
            f"forbidden: feature {int(np.argmax(nowhere))} may not occur in any topic, but X has "
            "counts of it"
        )
    empty = forbidden.all(axis=1)
    if empty.any():
        raise ValueError(f"forbidden: every feature of topic {int(np.argmax(empty))}")


def knowledge_table(
    name: str, given: Any, shape: tuple[int, int], names: Any, default: Array | None = None
) -> Array:
    """Read an array, or a dict from topics to features, as a value for each entry."""
    if isinstance(given, Mapping):
        table = np.zeros(shape)
        for topic, features in given.items():
            _fill(name, table, topic, features, names, default)
        return table
    table = as_numbers(name, given)
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; an array must have {shape}")
    if not np.all((table >= 0) & (table < np.inf)):
        raise ValueError(f"{name} must be finite and non-negative")
    with np.errstate(over="ignore"):
        if not table.sum() < np.inf:
            raise ValueError(f"{name} are too large: their sum is infinite")
    return table


def _fill(
    name: str, table: Array, topic: Any, features: Any, names: Any, default: Array | None
) -> None:
    if not isinstance(topic, Integral) or not 0 <= int(topic) < len(table):
        raise ValueError(
            f"{name}: topic {topic!r} is not a number between 0 and n_components - 1 = "
            f"{len(table) - 1}"
        )
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise TypeError(f"{name}[{topic}] must be a list of features, not {features!r}")
    for feature in features:
        place = _place(name, feature, names, table.shape[1])
        value = features[feature] if isinstance(features, Mapping) else None
        if value is None:
            table[int(topic), place] = 1.0 if default is None else default[place]
        elif isinstance(value, Real) and 0 <= float(value) < np.inf:
            table[int(topic), place] = value
        else:
            raise ValueError(f"{name}[{topic}][{feature!r}] must be a finite number >= 0")


def _place(name: str, feature: Any, names: Any, n_features: int) -> int:
    if isinstance(feature, Integral):
        if 0 <= int(feature) < n_features:
            return int(feature)
        raise ValueError(f"{name}: there is no feature {feature}; X has {n_features} features")
    if names is None:
        raise ValueError(
            f"{name}: feature {feature!r} is given by name, but X has no column names; give a data "
            "frame, or the feature's number"
        )
    found = np.flatnonzero(names == feature)
    if len(found) == 0:
        raise ValueError(f"{name}: no feature is called {feature!r}")
    return int(found[0])

"""The value that a fit produces."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array, check_numbers
from isotopic.divergences import Divergence
from isotopic.fitted.offsets import Offsets
from isotopic.priors import Posterior, Prior
from isotopic.problem import Pair
from isotopic.registry import register
from isotopic.solvers.solve import check_history

# How far a row of proportions in a file may be from one: float32 with millions of features.
_SUM_TOLERANCE = 1e-3

# Marks the fields that have a row for each sample.
_BY_SAMPLE = {"by": "sample"}


@register
@dataclass(frozen=True, eq=False)
class OnlineMemory:
    """What ``partial_fit`` remembers of the batches so far.

    Attributes
    ----------
    average : ndarray of shape (components, features)
        The topics' expected counts of one sample, averaged over the batches.
    n_samples : float
        How many samples there were.
    n_batches : int
    topics : Posterior or None
        The topics that the next batch starts from; ``None``: they are made of the average.
    statistics : ndarray of shape (sums, components) or None
        What the prior of the weights has learned its hyperparameters from, of one sample.
    """

    average: Array
    n_samples: float
    n_batches: int
    topics: Posterior | None = None
    statistics: Array | None = None


@register
@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """The result of a fit: priors, posteriors, objective and history.

    Estimators hold one as ``fitted_``; their other fitted attributes are views of it. Functions
    that take a fitted model take this value, too. It never changes, and neither should its arrays.

    Attributes
    ----------
    weights_prior : Prior
        Of the weights of a sample of size one, with the hyperparameters that were learned.
    topics_prior : Prior
        With fixed topics, seeds, forbidden features and learned hyperparameters.
    weights : Posterior
        Of the samples (samples x components), for size one. A fit to row blocks can leave them
        out; then they have no rows.
    topics : Posterior
        Components x features. ``effective`` is the factor that new samples see.
    offsets : Offsets
        The size factors and fixed weights of the samples.
    copies : ndarray of shape (samples,) or None
        The sample weights; ``None``: all are one.
    sample_totals : ndarray of shape (samples,)
        The sum of each sample.
    feature_totals : ndarray of shape (features,)
        The sum of each feature, with sample weights.
    has_missing : bool
        Whether entries were missing.
    divergence : Divergence
        What was minimised between the data and the model.
    objective : float
    log_likelihood : float
        At the effective factors, up to terms that depend on the data only.
    saturated_divergence : float
        What turns minus the log-likelihood into a divergence.
    history : structured ndarray
        A row for each iteration.
    converged : bool
    feature_names : ndarray of str or None
    sample_names : ndarray or None
        The names of the samples. Row blocks keep theirs in their files.
    online : OnlineMemory or None
        What ``partial_fit`` remembers; ``None`` after ``fit``.
    topic_names : ndarray of str (empty for topics without a name), or None
        What ``label`` has set.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> fitted = NMF(2, tol=1e-2, random_state=0).fit(X).fitted_
    >>> fitted.weights.mean.shape, fitted.topics.mean.shape, fitted.converged
    ((20, 2), (2, 8), True)
    """

    weights_prior: Prior
    topics_prior: Prior
    weights: Posterior = field(metadata=_BY_SAMPLE)
    topics: Posterior
    offsets: Offsets = field(metadata=_BY_SAMPLE)
    copies: Array | None = field(metadata=_BY_SAMPLE)
    sample_totals: Array = field(metadata=_BY_SAMPLE)
    feature_totals: Array
    has_missing: bool
    divergence: Divergence
    objective: float
    log_likelihood: float
    saturated_divergence: float
    history: Array
    converged: bool
    feature_names: Array | None = None
    online: OnlineMemory | None = None
    topic_names: Array | None = None
    sample_names: Array | None = field(default=None, metadata=_BY_SAMPLE)

    @property
    def pair(self) -> Pair:
        """Both priors."""
        return Pair(self.weights_prior, self.topics_prior)

    def known_topics(self, dtype: Any) -> Posterior:
        """Return the topics in the precision of new samples, prepared for them only once."""
        caches = vars(self).setdefault("_known_topics", {})
        if dtype not in caches:
            mean, effective = self.topics.mean, self.topics.effective
            caches[dtype] = Posterior(
                mean.astype(dtype, copy=False), effective.astype(dtype, copy=False)
            )
        known: Posterior = caches[dtype]
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # no caches

    @property
    def n_components(self) -> int:
        """The number of topics."""
        return len(self.topics.mean)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.topics.mean.shape[1])

    @property
    def passes(self) -> int:
        """The passes over the data that the fit made."""
        return int(self.history["passes"][-1]) if len(self.history) else 0

    @property
    def n_iter(self) -> int:
        """The iterations that were made, or the batches that were seen."""
        return len(self.history) if self.online is None else self.online.n_batches

    @property
    def sample_weight(self) -> Array:
        """How often each sample counts."""
        return np.ones(len(self.weights.mean)) if self.copies is None else self.copies

    def __repr__(self) -> str:
        return (
            f"<Fitted: {len(self.weights.mean)} samples, {self.n_components} components, "
            f"{self.n_features} features, {self.weights_prior!r} weights, "
            f"{self.topics_prior!r} topics>"
        )

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Self:
        fitted = cls(**content)
        _check(fitted)
        return fitted


def fitted_of(model: Any) -> Fitted:
    """Return the value of a fitted estimator, or the value that was given itself."""
    if isinstance(model, Fitted):
        return model
    check_is_fitted(model, "fitted_")
    fitted: Fitted = model.fitted_
    return fitted


def check_likelihood(fitted: Fitted, name: str) -> None:
    """Raise unless the divergence is that of counts, which have a likelihood."""
    if not fitted.divergence.is_likelihood:
        raise ValueError(
            f"{name} needs the Kullback-Leibler divergence (beta=1), which is a likelihood of "
            f"counts; this model has {fitted.divergence!r}. transform, score and "
            "inverse_transform work with any divergence."
        )


def read_feature_names(fitted: Fitted, feature_names: Any = None) -> Array:
    """Return the given names of the features, or those of the fitted data, or x0, x1, ..."""
    names: Any = fitted.feature_names if feature_names is None else feature_names
    if names is None:
        names = [f"x{i}" for i in range(fitted.n_features)]
    names = np.asarray(names, dtype=object)
    if names.shape != (fitted.n_features,):
        raise ValueError(
            f"feature_names must have one name for each of the {fitted.n_features} features, not "
            f"{names.size}."
        )
    return np.asarray(names)


def names_of_topics(fitted: Fitted) -> Array:
    """Return the name of each topic, and its number as text if it has none."""
    names = [""] * fitted.n_components if fitted.topic_names is None else fitted.topic_names
    return np.array([name or str(k) for k, name in enumerate(names)], dtype=object)


def map_arrays(posterior: Posterior, change: Callable[[Array], Array]) -> Posterior:
    """Return the posterior with a function applied to each array; shared arrays stay shared."""
    arrays = {item.name: getattr(posterior, item.name) for item in fields(Posterior)}
    changed = {id(array): change(array) for array in arrays.values() if array is not None}
    parts: dict[str, Any] = {name: changed.get(id(array)) for name, array in arrays.items()}
    return Posterior(**parts)


def without_terms(posterior: Posterior) -> Posterior:
    """Return the posterior without the fields that only the objective needs."""
    return replace(posterior, terms=None, scale=None)


def select_rows(fitted: Fitted, rows: Array) -> Fitted:
    """Return the same topics with some of the samples, by their row numbers."""
    return replace(without_rows(fitted, rows), weights_prior=fitted.weights_prior.rows(rows))


def without_rows(fitted: Fitted, rows: Array | slice = slice(0)) -> Fitted:
    """Leave out the samples (but those of ``rows``), and keep the prior of all samples."""
    names = [item.name for item in fields(fitted) if item.metadata == _BY_SAMPLE]
    parts: dict[str, Any] = {name: _rows(getattr(fitted, name), rows) for name in names}
    return replace(fitted, **parts)


def _rows(value: Any, rows: Array | slice) -> Any:
    if isinstance(value, Posterior):
        return map_arrays(value, lambda array: array[rows])
    if isinstance(value, Offsets):
        return value.rows(rows)
    return None if value is None else value[rows]


def _check(fitted: Fitted) -> None:
    """Raise if the parts of a file do not fit each other: the core trusts their shapes."""
    weights, topics, offsets, online = fitted.weights, fitted.topics, fitted.offsets, fitted.online
    good = all(isinstance(side, Posterior) for side in (weights, topics))
    good = good and isinstance(offsets, Offsets) and isinstance(fitted.divergence, Divergence)
    good = good and all(isinstance(p, Prior) for p in (fitted.weights_prior, fitted.topics_prior))
    if good:
        of_weights, of_topics = np.shape(weights.mean), np.shape(topics.mean)
        good = len(of_weights) == len(of_topics) == 2 and of_weights[1] == of_topics[0]
        good = good and _have_shape(weights, of_weights) and _have_shape(topics, of_topics)
        n_samples, n_features = of_weights[:1], of_topics[1:]
        optional = [
            (fitted.copies, n_samples),
            (offsets.size_factors, n_samples),
            (fitted.feature_names, n_features),
            (fitted.topic_names, of_topics[:1]),
            (fitted.sample_names, n_samples),
        ]
        good = good and all(vector is None or np.shape(vector) == n for vector, n in optional)
        good = good and np.shape(fitted.sample_totals) == n_samples
        good = good and np.shape(fitted.feature_totals) == n_features
        fixed = offsets.fixed_weights
        if good and fixed is not None:
            good = np.ndim(fixed) == 2 and len(fixed) == of_weights[0]
            good = good and fixed.shape[1] <= of_weights[1]
    if good and online is not None:
        good = isinstance(online, OnlineMemory) and np.shape(online.average) == of_topics
        if good and online.topics is not None:
            good = isinstance(online.topics, Posterior)
            good = good and _have_shape(without_terms(online.topics), of_topics)
        if good and online.statistics is not None:
            good = np.shape(online.statistics)[1:] == of_topics[:1]
    if not good:
        raise ValueError("The file is damaged: the shapes of its arrays do not match.")
    fitted.weights_prior.check_shape(of_weights)
    fitted.topics_prior.check_shape(of_topics)
    _check_values(fitted)


def _check_values(fitted: Fitted) -> None:
    """Raise ValueError if a file holds impossible values."""
    offsets, online = fitted.offsets, fitted.online
    named = {
        "sample_totals": fitted.sample_totals,
        "feature_totals": fitted.feature_totals,
        "copies": fitted.copies,
        "size_factors": offsets.size_factors,
        "fixed_weights": offsets.fixed_weights,
    }
    if online is not None:
        named["online.average"] = online.average
        if online.statistics is not None:
            check_numbers("online.statistics", online.statistics, -np.inf)
        if not (0 <= online.n_samples < np.inf and online.n_batches >= 0):
            raise ValueError("online.n_samples and online.n_batches must be at least 0.")
    for name, array in named.items():
        if array is not None:
            check_numbers(name, array)
    for name in ("objective", "log_likelihood", "saturated_divergence"):
        if np.isnan(getattr(fitted, name)):
            raise ValueError(f"{name} must be a number, not NaN.")
    _check_names("feature_names must be text", fitted.feature_names, "OU")
    _check_names("sample_names must be text or integers", fitted.sample_names, "OUi")
    for side in (fitted.weights, fitted.topics):
        fixed = offsets.n_fixed_weights if side is fitted.weights else fitted.topics_prior.held_rows
        if side.parameters is not None and _count_unknown(side.parameters) > fixed:
            raise ValueError("Some components have NaN parameters although they are not fixed.")
    check_history(fitted.history)
    for name, prior in (("weights", fitted.weights_prior), ("topics", fitted.topics_prior)):
        if prior.is_normalized:
            _check_sums(name, getattr(fitted, name).mean)


def _check_names(rule: str, names: Array | None, kinds: str) -> None:
    if names is not None and names.dtype.kind not in kinds:
        raise ValueError(f"{rule}.")


def _count_unknown(parameters: Array) -> int:
    """Return how many rows or columns are NaN, whichever are more."""
    if not (np.isnan(parameters[:1]).any() or np.isnan(parameters[:, :1]).any()):
        return 0  # a Posterior has NaN only in whole rows or columns
    unknown = np.isnan(parameters)
    return int(max(unknown.all(axis=0).sum(), unknown.all(axis=1).sum()))


def _check_sums(name: str, factor: Array) -> None:
    """Raise ValueError unless all rows of a factor sum to one."""
    sums = factor @ np.ones(factor.shape[1], factor.dtype)  # much faster than a sum over short rows
    wrong = np.abs(sums - 1) > _SUM_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"Row {row} of the {name} must sum to one, but its sum is {sums[row]:g}.")


def _have_shape(posterior: Posterior, shape: tuple[int, ...]) -> bool:
    """Return whether all arrays of a posterior are matrices of numbers of that shape."""
    arrays = [getattr(posterior, item.name) for item in fields(Posterior)]
    return all(
        array is None
        or (
            isinstance(array, np.ndarray)
            and array.shape == shape
            and array.dtype in (np.float32, np.float64)
        )
        for array in arrays
    )

r"""The parametric bootstrap: refit data drawn from the fitted model, for intervals of estimates.

For each resample, factors are drawn near those that were fitted, counts are drawn from them, and
the model is fitted to these counts as it was to the data. The error of a refit is its distance
from the factors that its counts were drawn from. The interval reaches equally far to both sides of
the estimate: as far as the larger of the two tail quantiles of these errors.

Three things matter for calibration (``python -m benchmarks --only coverage`` measures it):

- *Shrinkage.* Posterior means vary less than the values themselves, and resamples drawn from
  them would make refits look better than they are. So a Bayesian side is drawn from its posterior.
- *Zeros.* From a point estimate of zero only zeros would be drawn, and its interval would be a
  point. So a point estimate is drawn as if it had a posterior: expected counts :math:`c` out of
  the :math:`n` counts of a sample, or of a feature, become
  :math:`\operatorname{Gamma}((c + 1/K) \, n / (n + 1))`, as if one more count had been seen and
  shared equally by the :math:`K` components.

- *Skewness.* Where counts decide, large truths have large errors, and the quantiles of the errors
  belong to the same side of the estimate. Where the prior decides, small estimates stand for
  truths with a long upper tail, and they belong to the other side. A sample has weights of both
  kinds, and neither rule alone covers: 90 % intervals of LDA's weights cover 76 % by the first and
  those of NMF's topics 85 % by the second. The larger quantile on both sides covers in either case.

Errors are taken from the drawn factors, so these do not add their variance to the intervals.
"""

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array, as_numbers, check_level
from isotopic.containers import NamedMatrix
from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.fitted import Fitted
from isotopic.fitted.generation import draw_counts, draw_factors, spread_evenly
from isotopic.fitted.reordering import reorder
from isotopic.match import match
from isotopic.random import Seed, generator
from isotopic.threads import thread_count

Statistic: TypeAlias = Callable[[Any], Any]

# Refits go on at least to this residual. One that stops early has hardly left its start, which is
# near the model, and says nothing about the error.
_LARGEST_TOL = 1e-3

# The residual to which the model's own fit is completed first: what a fit leaves undone is an error
# of the estimate that no refit shows.
_COMPLETE_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class Intervals:
    """An estimate and its interval.

    Attributes
    ----------
    estimate : ndarray
        The statistic of the model.
    lower, upper : ndarray
        The ends of the interval for each of its entries.
    errors : ndarray of shape (n_resamples, ...)
        The statistic of each refit minus that of the factors that made its counts.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, bootstrap
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = NMF(2, tol=1e-3, random_state=0).fit(X)
    >>> topics = bootstrap(model, X, n_resamples=5, random_state=0)["components"]
    >>> topics.estimate.shape, bool((topics.lower <= topics.upper).all())
    ((2, 8), True)
    >>> topics
    Intervals(shape=(2, 8), level=0.9, n_resamples=5)
    """

    estimate: Array
    lower: Array
    upper: Array
    errors: Array
    level: float

    def __repr__(self) -> str:
        """Say how large it is; the arrays themselves would fill the screen."""
        shape, resamples = np.shape(self.estimate), len(self.errors)
        return f"Intervals(shape={shape}, level={self.level:g}, n_resamples={resamples})"

    @property
    def standard_error(self) -> Array:
        """The standard deviation of the errors."""
        return np.asarray(self.errors.std(axis=0, ddof=1))

    @property
    def bias(self) -> Array:
        """The mean of the errors."""
        return np.asarray(self.errors.mean(axis=0))


def bootstrap(
    model: BaseTopicModel,
    X: Any = None,
    *,
    statistic: Statistic | Mapping[str, Statistic] | None = None,
    n_resamples: int = 200,
    level: float = 0.9,
    missing_mask: Any = None,
    weights: str = "posterior",
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Any:
    """Return intervals for statistics of a fitted model, by a parametric bootstrap.

    Each resample has the same number of samples as the fitted data, with the same totals (for
    proportions), size factors, sample weights and missing entries. The model is fitted to it from a
    start near the model, with the model's settings (and ``tol`` at most 0.001), and its topics are
    put into the order of the model's. With ``X``, a fit that stopped at a ``tol`` above 0.0001 is
    completed first, and the intervals are those of the completed fit.

    Parameters
    ----------
    model : fitted estimator
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features) or None
        The data that the model was fitted to. Needed if entries were missing, or if the model was
        fitted with a ``tol`` above 0.001, as ``LDA`` is by default.
    statistic : callable, dict of callables or None, default=None
        Computes an array from a model's ``components_`` and ``weights_``; by default these
        themselves.
    n_resamples : int, default=200
        The number of refits. All their errors are kept.
    level : float, default=0.9
        The probability that an interval covers the truth. It reaches equally far to both sides of
        the estimate, except where values end (at zero, or at one).
    missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
        As it was given to ``fit``.
    weights : {"posterior", "prior"}, default="posterior"
        Where the weights of a resample are drawn from. Their posterior is right for statistics of
        these samples; the prior, for statistics of all samples that there could be, such as the
        coefficients of covariates.
    random_state : int, Generator, RandomState or None, default=None
    n_jobs : int or None, default=None
        Fits at a time, each in a thread; ``None`` uses every core. The result has the same bits
        for any number.

    Returns
    -------
    intervals : Intervals, or dict of Intervals
        For one statistic its intervals. For several a dict of them, which is
        ``{"components": ..., "weights": ...}`` by default.

    Notes
    -----
    Counts are drawn as the model assumes them: Poisson, multinomial (proportions) or negative
    binomial (``NegativeBinomialNMF``). If the data varies more, the intervals are too narrow. They
    do not account for other local optima either. On simulated data 90 % intervals covered 86 % to
    95 % of topics and weights, by model and estimate (``docs/uncertainty.md``). The cost is a refit
    from near the model for each resample.

    Examples
    --------
    >>> from isotopic import NMF, bootstrap, datasets
    >>> X = datasets.load_kjv().data[:100, :50]
    >>> model = NMF(2, tol=1e-3, random_state=0).fit(X)
    >>> share = bootstrap(
    ...     model,
    ...     statistic=lambda m: m.weights_[:, 0].sum() / m.weights_.sum(),
    ...     n_resamples=20,
    ...     random_state=0,
    ... )
    >>> bool(share.lower < share.estimate < share.upper)
    True
    """
    _check(model, n_resamples, level)
    if weights not in ("posterior", "prior"):
        raise ValueError(f"weights must be 'posterior' or 'prior', not {weights!r}.")
    if weights == "prior" and not model.fitted_.weights_prior.is_bayesian:
        raise ValueError("weights='prior' needs weights with a Dirichlet or Gamma prior.")
    missing = _missing_pattern(model, X, missing_mask)
    model = _completed(model, X, missing_mask)
    statistics = _statistics(statistic)
    prior = model.fitted_.topics_prior
    if statistic is None and (not prior.is_learned or prior.held_rows == len(model.components_)):
        warnings.warn(
            "All topics of this model are fixed, as those of a consensus are, so their intervals "
            "have no width. For intervals of the topics, fit once more from them, such as "
            "NMF(n_components, init=model).fit(X), and draw resamples of that model.",
            stacklevel=2,
        )
    errors = {
        name: _Errors(_value(name, of(model)), int(n_resamples)) for name, of in statistics.items()
    }
    start = spread_evenly(model.fitted_)
    seeds = generator(random_state).integers(2**63, size=(int(n_resamples), 2))

    def resample(seed: Array) -> tuple[dict[str, tuple[Array, Array]], bool]:
        """Draw a resample and fit it; return each statistic of both, and whether it converged."""
        rng = np.random.default_rng(seed)
        drawn = draw_factors(model.fitted_, rng, from_prior=weights == "prior")
        counts = draw_counts(drawn, missing, rng).astype(drawn.topics.mean.dtype)
        named = NamedMatrix(counts, drawn.feature_names)
        again = refit_model(model, named, start, missing)
        truth = model.with_fitted(drawn)
        values = {
            name: (_value(name, of(truth)), _value(name, of(again)))
            for name, of in statistics.items()
        }
        return values, again.converged_ or again.tol == 0

    unfinished = 0
    with warnings.catch_warnings(), ThreadPoolExecutor(thread_count(n_jobs)) as executor:
        warnings.simplefilter("ignore")  # the fit of the model has warned already
        try:
            for number, (values, converged) in enumerate(executor.map(resample, seeds)):
                unfinished += not converged
                for name, (truth, refitted) in values.items():
                    errors[name].add(number, truth, refitted)
        finally:  # the first error, or Ctrl-C, ends all threads
            executor.shutdown(cancel_futures=True)
    if unfinished:
        warnings.warn(
            f"{unfinished} of {n_resamples} refits stopped at max_iter={model.max_iter} before "
            "converging. Fit the model with a larger max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    found = {name: each.intervals(float(level)) for name, each in errors.items()}
    return found if statistic is None or isinstance(statistic, Mapping) else found["statistic"]


class _Errors:
    """The errors of a statistic, and the range of its values."""

    def __init__(self, estimate: Array, n_resamples: int) -> None:
        self.estimate, self.lowest, self.highest = estimate, estimate, estimate
        self.errors = np.empty((n_resamples, *estimate.shape))

    def add(self, number: int, truth: Array, refit: Array) -> None:
        """Add the error of a refit."""
        if truth.shape != self.estimate.shape or refit.shape != self.estimate.shape:
            raise ValueError(
                f"statistic must have one shape for all models; it had {self.estimate.shape}, "
                f"{truth.shape} and {refit.shape}."
            )
        self.errors[number] = refit - truth
        self.lowest = np.minimum(self.lowest, np.minimum(truth, refit))
        self.highest = np.maximum(self.highest, np.maximum(truth, refit))

    def intervals(self, level: float) -> Intervals:
        """Extend the estimate to both sides by the larger tail quantile of the errors."""
        tail = (1 - level) / 2
        # A new error lies below the k-th of n with probability k / (n + 1) (Weibull).
        below, above = np.quantile(self.errors, [tail, 1 - tail], axis=0, method="weibull")
        reach = np.maximum(-below, above)  # not negative: the lower quantile is at most the upper
        # Values that are never negative, or never above one, have such intervals, too.
        least = np.where(self.lowest >= 0, 0.0, -np.inf)
        most = np.where((self.lowest >= 0) & (self.highest <= 1), 1.0, np.inf)
        lower, upper = (np.clip(self.estimate + end, least, most) for end in (-reach, reach))
        return Intervals(self.estimate, lower, upper, self.errors, level)


def refit_model(
    model: BaseTopicModel,
    X: Any,
    start: Fitted,
    missing_mask: Any = None,
    *,
    tol: float = _LARGEST_TOL,
) -> Any:
    """Return a model of the same parameters, sizes and order of components for other counts."""
    parameters = model.get_params(deep=False) | {
        "init": start,
        "n_init": 1,
        "warm_start": False,
        "tol": min(model.tol, tol),
        "n_jobs": 1,
        "callbacks": None,
        "verbose": 0,
    }
    fitted = model.fitted_
    again = type(model)(**parameters).fit(
        X,
        sample_weight=fitted.copies,
        missing_mask=missing_mask,
        size_factors=fitted.offsets.size_factors,
        fixed_weights=fitted.offsets.fixed_weights,
        covariates=fitted.offsets.covariates,
    )
    order = match(fitted, again).order
    return again.with_fitted(reorder(again.fitted_, order))


def _completed(model: BaseTopicModel, X: Any, missing_mask: Any) -> Any:
    """Return the model fitted on until what is left undone is small beside the errors of refits."""
    if model.tol <= _COMPLETE_TOL:
        return model
    if X is None:
        if model.tol > _LARGEST_TOL:
            warnings.warn(
                f"The model was fitted with tol={model.tol:g}. Intervals of a fit that stops this "
                "early are too narrow. Pass X, so that the fit is completed first, or fit with "
                f"tol={_COMPLETE_TOL:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return model
    counts = _fitted_counts(model, X, missing_mask)
    if not np.allclose(counts.sample_totals, model.fitted_.sample_totals, rtol=1e-5):
        raise ValueError(
            "X must be the data that the model was fitted to, in the same order of samples: its "
            "samples have other sums."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # refits say so once for all
        return refit_model(model, X, model.fitted_, missing_mask, tol=_COMPLETE_TOL)


def _statistics(given: Any) -> Mapping[str, Statistic]:
    if given is None:
        return {"components": lambda m: m.components_, "weights": lambda m: m.weights_}
    named = given if isinstance(given, Mapping) else {"statistic": given}
    if not named or not all(callable(of) for of in named.values()):
        raise TypeError(
            "statistic must be a function that computes an array from a model, or a dict of such "
            f"functions, not {given!r}."
        )
    return named


def _value(name: str, given: Any) -> Array:
    value = as_numbers(name, given)
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} of a model must be finite; it has NaN or infinity.")
    return value


def _check(model: Any, n_resamples: Any, level: Any) -> None:
    if not isinstance(model, BaseTopicModel):
        raise TypeError(f"model must be a fitted model of this package, not {model!r}.")
    check_is_fitted(model)
    whole = isinstance(n_resamples, Integral) and not isinstance(n_resamples, bool)
    if not whole or int(n_resamples) < 2:
        raise ValueError(f"n_resamples must be an integer of at least 2, not {n_resamples!r}.")
    check_level(level)


def _missing_pattern(model: BaseTopicModel, X: Any, missing_mask: Any) -> Any:
    """Return where entries of the fitted data are missing; ``None``: nowhere."""
    if not model.fitted_.has_missing:
        return None
    if X is None:
        raise ValueError(
            "Entries were missing when this model was fitted. Pass the same X (and missing_mask, if"
            " there was one), so that the same entries of the resamples are missing."
        )
    counts = _fitted_counts(model, X, missing_mask)
    return None if counts.missing is None else counts.missing.pattern.astype(bool)


def _fitted_counts(model: BaseTopicModel, X: Any, missing_mask: Any) -> CountMatrix:
    """Return the data that the model was fitted to, validated."""
    counts = model.validate_counts(X, missing_mask=missing_mask)
    if counts.shape[0] != len(model.weights_):
        raise ValueError(
            f"X has {counts.shape[0]} samples; the model was fitted to {len(model.weights_)}."
        )
    return counts

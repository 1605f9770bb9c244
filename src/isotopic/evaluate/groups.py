"""Differences of the weights of topics between groups of samples."""

import warnings
from typing import Any

import numpy as np
from scipy import stats

from isotopic.arrays import Array, check_level, is_missing
from isotopic.containers import align_table
from isotopic.evaluate.shares import Shares, read_shares
from isotopic.fitted import Fitted
from isotopic.names import stacklevel_of_caller
from isotopic.table import Table

# As many samples the variance within both groups stands for, next to those of a group itself.
_PRIOR_SAMPLES = 4


def compare_groups(weights: Any, groups: Any, *, versus: Any = None, level: float = 0.95) -> Table:
    r"""Return how the shares of the topics differ between groups of samples, with intervals.

    The share of a topic in a sample is its part of the sample's counts. Many shares are often zero,
    so the p-value is that of ranks (Mann & Whitney, 1947): it says whether the shares of the two
    groups may be from one distribution. The interval is for the difference of the means, with the
    variance of each group.

    Parameters
    ----------
    weights : fitted model, Refit, or array-like of shape (n_samples, n_components)
        A model stands for the samples that it was fitted to.
    groups : array-like of shape (n_samples,)
        The group of each sample. A pandas Series is aligned with the names of the samples, which
        models that were fitted to named samples, refits and data frames have.
    versus : label or None, default=None
        The group that the others are compared with; ``None`` compares each group with all other
        samples.
    level : float, default=0.95
        The level of the intervals.

    Returns
    -------
    table : Table
        A row for each group and topic: ``group``, ``versus``, ``topic``, ``n`` and ``n_versus``
        (samples), ``mean`` and ``mean_versus`` (shares), ``difference``, ``se``, ``lower``,
        ``upper`` and ``p_value``, and ``name`` if the topics have names. If a side has a single
        sample, its variance is not known: the standard error is infinite, and the p-value 1.

    Notes
    -----
    The weights are taken as known; their own uncertainty is part of their variance between samples.
    The p-values are not corrected for the number of comparisons. A model with covariates knows its
    groups already, so there is a warning.

    A few samples may all be zero by chance, and then have no variance. So the variance of a group
    of :math:`n` samples is

    .. math:: \frac{(n - 1) s^2 + 4 \bar{s}^2}{n - 1 + 4}

    with that within both groups, :math:`\bar{s}^2`, as if it had been seen in four more samples.

    Examples
    --------
    >>> from isotopic.evaluate import compare_groups
    >>> weights = [[0.8, 0.2], [0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.1, 0.9]]
    >>> table = compare_groups(weights, ["a", "a", "a", "b", "b", "b"], versus="b")
    >>> table["difference"].round(2)
    array([ 0.6, -0.6])
    """
    check_level(level)
    shares = read_shares(weights)
    labels = _read_labels(groups, shares)
    _warn_of_covariates(weights)
    found = list(dict.fromkeys(labels.tolist()))
    if len(found) < 2:
        raise ValueError(
            f"groups has the single label {found[0]!r}, so there is nothing to compare. Pass at "
            "least two groups."
        )
    if versus is not None and versus not in found:
        raise ValueError(f"versus={versus!r} is not among the groups, which are {found}.")
    parts = []
    for group in found:
        if group == versus:
            continue
        own = labels == group
        others = ~own if versus is None else labels == versus
        name = "others" if versus is None else versus
        parts.append(_comparison(shares, own, others, (group, name), level))
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _warn_of_covariates(weights: Any) -> None:
    """Warn if the weights are those of a model that was told of groups."""
    fitted = getattr(weights, "fitted_", weights)
    covariates = fitted.offsets.covariates if isinstance(fitted, Fitted) else None
    if covariates is not None:
        names = ", ".join(covariates.table)
        warnings.warn(
            f"The model was fitted with covariates ({names}), so its weights are drawn towards "
            "what is typical of them, and groups of these differ too easily. Compare groups with "
            "model.effects, or fit without covariates.",
            stacklevel=stacklevel_of_caller(),
        )


def _read_labels(groups: Any, shares: Shares) -> Array:
    """Return the group of each sample, in the order of the samples."""
    labels = np.asarray(align_table("groups", groups, samples=shares.sample_names), dtype=object)
    if labels.shape != (len(shares.matrix),):
        raise ValueError(
            f"groups must have a label for each of the {len(shares.matrix)} samples, but has the "
            f"shape {labels.shape}. Of AnnData, pass a column such as adata.obs['donor']."
        )
    missing = np.array([is_missing(label) for label in labels])
    if missing.any():
        raise ValueError(
            f"groups has no label for {missing.sum()} samples, the first of which is "
            f"{np.flatnonzero(missing)[0]}. Leave these samples out, or give them a label."
        )
    return labels


def _comparison(
    shares: Shares, in_group: Array, in_other: Array, labels: tuple[Any, Any], level: float
) -> Table:
    """Compare the means of two groups of samples, for each topic."""
    own, others = shares.matrix[in_group], shares.matrix[in_other]
    n_topics = own.shape[1]
    means = own.mean(axis=0), others.mean(axis=0)
    difference = means[0] - means[1]
    sizes = len(own), len(others)
    se = margin = np.full(n_topics, np.inf)
    p_value = np.ones(n_topics)
    if min(sizes) > 1:
        se, freedom = _standard_error(own, others)
        margin = se * stats.t.ppf((1 + level) / 2, freedom)
        differs = np.ptp(np.vstack([own, others]), axis=0) > 0  # else there are no ranks
        if differs.any():
            p_value[differs] = stats.mannwhitneyu(own[:, differs], others[:, differs]).pvalue

    def repeated(value: Any) -> Array:
        column = np.empty(n_topics, dtype=object)
        column[:] = [value] * n_topics
        return column

    return Table(
        group=repeated(labels[0]),
        versus=repeated(labels[1]),
        topic=np.arange(n_topics),
        **shares.name_column(),
        n=np.full(n_topics, sizes[0]),
        n_versus=np.full(n_topics, sizes[1]),
        mean=means[0],
        mean_versus=means[1],
        difference=difference,
        se=se,
        lower=difference - margin,
        upper=difference + margin,
        p_value=p_value,
    )


def _standard_error(own: Array, others: Array) -> tuple[Array, Array]:
    """Return the standard error of the differences of the means, and its degrees of freedom."""
    degrees = [len(side) - 1 for side in (own, others)]
    variances = [side.var(axis=0, ddof=1) for side in (own, others)]
    within = np.average(variances, axis=0, weights=degrees)
    degrees_with_prior = [n + _PRIOR_SAMPLES for n in degrees]
    squares = [
        (n * variance + _PRIOR_SAMPLES * within) / (n + _PRIOR_SAMPLES) / (n + 1)
        for n, variance in zip(degrees, variances, strict=True)
    ]
    total = squares[0] + squares[1]
    bottom = sum(square**2 / n for square, n in zip(squares, degrees_with_prior, strict=True))
    freedom = np.divide(total**2, bottom, out=np.ones_like(total), where=bottom > 0)
    return np.sqrt(total), freedom

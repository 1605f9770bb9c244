"""Effects of covariates: coefficients and expected proportions, with intervals.

The intervals come from the scores of the samples: the derivatives of the log-likelihood of each
with respect to the coefficients, averaged over what its weights may be. The sum of their squares
is the information that the samples have of the coefficients. A sample whose weights are uncertain
has small scores, so that this uncertainty is part of the intervals; that of the topics is not.
The intervals of proportions and differences come from draws of the coefficients, on scales that
keep them in their range: for groups of few samples, derivatives say little.
"""

from typing import Any

import numpy as np
from scipy import special, stats

from isotopic.arrays import Array, check_level, check_numbers
from isotopic.covariates import Covariates, as_column
from isotopic.covariates.design import is_categorical, levels_of
from isotopic.fitted.value import Fitted
from isotopic.priors import Evidence, WithCovariates
from isotopic.priors.covariates import PRECISION
from isotopic.table import Table

# The most products that the information is summed from; of more samples, some are taken.
_MOST_PRODUCTS = 1e11

# Rows that are worked on at a time.
_ROWS = 4096

# Columns of a table of effects beside that of the covariate.
_COLUMNS = frozenset(
    [
        "topic",
        "proportion",
        "se",
        "lower",
        "upper",
        "difference",
        "difference_lower",
        "difference_upper",
    ]
)

# Values of a number that a table of effects has by default.
_VALUES = 21

# Draws of the coefficients for the intervals of proportions, and the samples these average over.
_DRAWS, _DRAWS_AT_ONCE, _MOST_AVERAGED = 600, 50, 500

# Proportions nearer to zero or one than this have the logit of this.
_LEAST = 1e-12


def covariates_of(fitted: Fitted) -> Covariates:
    """Return the covariates of the fitted samples; raise if there are none."""
    covariates = fitted.offsets.covariates
    if covariates is None:
        raise ValueError(
            "The model was fitted without covariates, so it has no effects. Pass covariates to "
            "fit, or compare groups of samples with evaluate.compare_groups."
        )
    return covariates


def coefficients(fitted: Fitted) -> Array:
    """Return the coefficients (columns x components) in the units of the covariates."""
    covariates = covariates_of(fitted)
    if not has_effects(fitted):
        raise ValueError(
            "The coefficients have not been learned: the fit stopped before the first update of "
            "hyperparameters. Fit with a larger max_iter."
        )
    return covariates.design.in_units(_prior(fitted).coefficients)


def has_effects(fitted: Fitted) -> bool:
    """Return whether the model has covariates whose coefficients have been learned."""
    return fitted.offsets.covariates is not None and _prior(fitted).coefficients is not None


def _prior(fitted: Fitted) -> Any:
    prior = fitted.weights_prior
    assert isinstance(prior, WithCovariates)
    return prior


def covariance(fitted: Fitted) -> Array:
    """Return the covariance of the coefficients of standardised columns, by column first.

    It has the shape (columns * components, columns * components).
    """
    prior = _prior(fitted)
    if len(fitted.weights.mean) == 0:
        raise ValueError(
            "The analytic intervals need the weights of the fitted samples, which were not kept. "
            "Open the row blocks with keep_weights=True."
        )
    n_samples, n_components = fitted.weights.mean.shape
    size = prior.covariates.shape[1] * n_components
    n_used = int(min(n_samples, max(_ROWS, _MOST_PRODUCTS / size**2)))
    used = np.linspace(0, n_samples - 1, n_used).round().astype(np.int64)
    copies = fitted.sample_weight[used] * (n_samples / n_used)
    if fitted.online is not None:  # the samples of the last batch stand for all
        copies = copies * (fitted.online.n_samples / fitted.sample_weight.sum())
    slopes = _slopes(fitted, used)
    information = np.zeros((size, size))
    for at in range(0, n_used, _ROWS):
        rows = slice(at, at + _ROWS)
        z = prior.covariates[used[rows]]
        scores = (z[:, :, np.newaxis] * slopes[rows, np.newaxis]).reshape(len(z), size)
        information += scores.T @ (scores * copies[rows, np.newaxis])
    penalty = np.full((prior.covariates.shape[1], n_components), PRECISION)
    penalty[0] = 1e-6  # hardly anything is known of the intercept before
    return np.asarray(np.linalg.inv(information + np.diag(penalty.ravel())))


def _slopes(fitted: Fitted, used: Array) -> Array:
    """Return the derivative of each sample's log-likelihood by the logarithms of concentrations."""
    rows: Any = _prior(fitted).rows(used)
    explained = fitted.weights.explained
    assert explained is not None
    counts = np.maximum(explained[used].astype(np.float64), 0)
    totals: Any = fitted.pair.topics_totals(fitted.topics)
    sizes = fitted.offsets.size_factors
    if sizes is not None:
        totals = sizes[used, np.newaxis] * totals
    gains, losses, _ = rows.prior.likelihood_slopes(Evidence(counts, None, totals))
    concentration = getattr(rows.prior, rows.kind.learned_setting)
    gains, losses = concentration * gains, np.broadcast_to(concentration * losses, gains.shape)
    # At the learned intercepts both have the same sum; without squares gains are a little larger.
    copies = fitted.sample_weight[used]
    expected = copies @ gains
    ratio = np.divide(copies @ losses, expected, out=np.ones_like(expected), where=expected > 0)
    return np.asarray(gains * ratio - losses)


def effect_table(
    fitted: Fitted, covariate: str | None, values: Any, others: str, level: float
) -> Table:
    """Return coefficients, or the expected proportions at values of a covariate, with intervals.

    ``others`` says what the other covariates are: ``"average"`` takes the mean over the fitted
    samples, ``"typical"`` a sample with their means (the most frequent text).
    """
    check_level(level)
    covariates_of(fitted)
    if covariate is None:
        return _coefficient_table(fitted, level)
    return _proportion_table(fitted, covariate, values, others, level)


def effect_points(
    fitted: Fitted, covariate: str | None, values: Any, others: str
) -> dict[str, Array]:
    """Return the columns of estimates of :func:`effect_table`, without intervals."""
    beta = _prior(fitted).coefficients
    if covariate is None:
        return {
            "coefficient": coefficients(fitted).ravel(),
            "change": _marginal_effects(fitted, None)[0].ravel(),
        }
    covariates, values = _values(fitted, covariate, values, others)
    means = [mean_proportions(covariates.with_column(covariate, v), beta)[0] for v in values]
    return {
        "proportion": np.concatenate(means),
        "difference": np.concatenate([mean - means[0] for mean in means]),
    }


def with_intervals(table: Table, found: dict[str, Any]) -> Table:
    """Return a table of effects with the intervals of a bootstrap, by the names of the estimates.

    The errors of effects, averages over many samples, are nearly normal. So their root mean square,
    which includes the bias, needs fewer refits than their quantiles.
    """
    changed = dict(table)
    for name, intervals in found.items():
        errors = intervals.errors
        reach = stats.t.ppf((1 + intervals.level) / 2, len(errors))
        reach = reach * np.sqrt((errors**2).mean(axis=0))
        lower, upper = intervals.estimate - reach, intervals.estimate + reach
        if name == "proportion":
            lower, upper = np.clip(lower, 0, 1), np.clip(upper, 0, 1)
        if f"{name}_lower" in table:
            changed |= {f"{name}_lower": lower, f"{name}_upper": upper}
        else:
            changed |= {"lower": lower, "upper": upper, "se": intervals.standard_error}
    return Table(changed)


def _coefficient_table(fitted: Fitted, level: float) -> Table:
    """Return coefficients with intervals, and by how much each column changes the proportions."""
    design = covariates_of(fitted).design
    values, n_components = coefficients(fitted), fitted.n_components
    to_units = np.kron(design.transform, np.eye(n_components))
    spread = covariance(fitted)
    errors = _errors(to_units, spread).reshape(values.shape)
    quantile = stats.norm.ppf((1 + level) / 2)
    changes, change_errors = _marginal_effects(fitted, spread)
    column, topic = np.indices(values.shape)
    return Table(
        covariate=design.names[column.ravel()],
        topic=topic.ravel(),
        coefficient=values.ravel(),
        se=errors.ravel(),
        lower=(values - quantile * errors).ravel(),
        upper=(values + quantile * errors).ravel(),
        change=changes.ravel(),
        change_lower=(changes - quantile * change_errors).ravel(),
        change_upper=(changes + quantile * change_errors).ravel(),
    )


def _marginal_effects(fitted: Fitted, spread: Array | None) -> tuple[Array, Array]:
    """Return the average derivative of proportions by each column, and its standard error.

    The intercept, which is no covariate, has the average proportions themselves.
    """
    prior, transform = _prior(fitted), covariates_of(fitted).design.transform
    matrix, beta = prior.covariates, prior.coefficients
    n_columns, n_components = beta.shape
    means, gradient = mean_proportions(matrix, beta)
    changes, errors = np.empty((2, n_columns, n_components))
    changes[0], errors[0] = means, _errors(gradient, spread)
    for column in range(1, n_columns):
        step = 1e-3  # of a standard deviation, to both sides
        sides = []
        for sign in (1, -1):
            moved = matrix + sign * step * transform[column] / transform[column, column]
            sides.append(mean_proportions(moved, beta))
        by = 2 * step / transform[column, column]
        changes[column] = (sides[0][0] - sides[1][0]) / by
        errors[column] = _errors((sides[0][1] - sides[1][1]) / by, spread)
    return changes, errors


def mean_proportions(matrix: Array, beta: Array) -> tuple[Array, Array]:
    r"""Return the mean of :math:`\alpha_k / \sum_j \alpha_j` over samples, and its derivatives.

    Their shapes are (components,) and (components, columns * components).
    """
    n_columns, n_components = beta.shape
    shares = special.softmax(matrix @ beta, axis=1)
    n = len(matrix)
    weighted = matrix.T @ shares / n  # columns x components
    crossed = np.empty((n_components, n_columns, n_components))
    for topic in range(n_components):
        crossed[topic] = -(matrix * shares[:, topic, np.newaxis]).T @ shares / n
        crossed[topic, :, topic] += weighted[:, topic]
    return shares.mean(axis=0), crossed.reshape(n_components, -1)


def _errors(gradient: Array, spread: Array | None) -> Array:
    """Return the standard errors of linear functions of the coefficients; zero if not needed."""
    if spread is None:
        return np.zeros(len(gradient))
    return np.asarray(np.sqrt(np.maximum(((gradient @ spread) * gradient).sum(axis=1), 0)))


def _proportion_table(
    fitted: Fitted, covariate: str, values: Any, others: str, level: float
) -> Table:
    """Return the expected proportions at values of a covariate, with intervals."""
    covariates, values = _values(fitted, covariate, values, others)
    beta, draws = _prior(fitted).coefficients, _drawn_coefficients(fitted)
    some = np.linspace(0, len(covariates) - 1, min(len(covariates), _MOST_AVERAGED)).astype(int)
    quantile = stats.norm.ppf((1 + level) / 2)
    parts: list[dict[str, Array]] = []
    for value in values:
        matrix = covariates.with_column(covariate, value)
        means, drawn = mean_proportions(matrix, beta)[0], _mean_shares(matrix[some], draws)
        if not parts:
            first, first_drawn = means, drawn
        logits = special.logit(np.clip(means, _LEAST, 1 - _LEAST))
        reach = quantile * special.logit(np.clip(drawn, _LEAST, 1 - _LEAST)).std(axis=0)
        # Differences lie between -1 and 1.
        difference = means - first
        apart = quantile * np.arctanh(drawn - first_drawn).std(axis=0)
        parts.append(
            {
                covariate: np.full(len(means), value, dtype=np.asarray(values).dtype),
                "topic": np.arange(len(means)),
                "proportion": means,
                "se": drawn.std(axis=0),
                "lower": special.expit(logits - reach),
                "upper": special.expit(logits + reach),
                "difference": difference,
                "difference_lower": np.tanh(np.arctanh(difference) - apart),
                "difference_upper": np.tanh(np.arctanh(difference) + apart),
            }
        )
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _drawn_coefficients(fitted: Fitted) -> Array:
    """Draw coefficients (draws x columns x components) as they may be; always the same."""
    beta = _prior(fitted).coefficients
    variances, vectors = np.linalg.eigh(covariance(fitted))
    normal = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(variances)))
    apart = (normal * np.sqrt(np.maximum(variances, 0))) @ vectors.T
    return np.asarray(beta + np.concatenate([apart, -apart]).reshape(-1, *beta.shape))


def _mean_shares(matrix: Array, draws: Array) -> Array:
    """Return the mean proportions of samples (draws x components) for each draw."""
    found = [
        special.softmax(np.tensordot(matrix, some, axes=(1, 1)), axis=2).mean(axis=0)
        for some in np.array_split(draws, len(draws) // _DRAWS_AT_ONCE)
    ]
    return np.concatenate(found)


def _values(fitted: Fitted, covariate: str, values: Any, others: str) -> tuple[Covariates, Array]:
    """Return the other covariates, and the values of one: by default groups, or an even grid."""
    covariates = covariates_of(fitted)
    table = covariates.design.table
    if covariate not in table:
        raise ValueError(
            f"covariate={covariate!r} is none of the model's covariates {list(table)}."
        )
    if covariate in _COLUMNS:
        raise ValueError(
            f"The table of effects has a column {covariate!r} of its own. Rename the "
            "covariate, and fit again."
        )
    if others not in ("average", "typical"):
        raise ValueError(f"others must be 'average' or 'typical', not {others!r}.")
    if not len(covariates):  # row blocks whose weights are not kept
        covariates = Covariates(covariates.design, table, _prior(fitted).covariates)
    if others == "typical":
        covariates = _typical(covariates)
    column = table[covariate]
    if values is None:
        if is_categorical(column):
            return covariates, np.array(levels_of(column), dtype=object)
        distinct = np.unique(column)
        if len(distinct) > _VALUES:
            distinct = np.linspace(column.min(), column.max(), _VALUES)
        return covariates, distinct
    given = as_column(np.ravel(values))
    if not given.size:
        raise ValueError("values is empty. Pass at least one value of the covariate.")
    if is_categorical(given) != is_categorical(column):
        kind = "texts" if is_categorical(column) else "numbers or dates"
        raise ValueError(
            f"values of {covariate!r} must be {kind}, as in the fit, not {given.tolist()[0]!r}."
        )
    if not is_categorical(given):
        check_numbers("values", given, -np.inf)
    return covariates, given


def typical_covariates(fitted: Fitted) -> Covariates | None:
    """Return the covariates of a typical sample; ``None`` if the model has none."""
    covariates = fitted.offsets.covariates
    return None if covariates is None else _typical(covariates)


def _typical(covariates: Covariates) -> Covariates:
    """Return one sample with the means of all numbers and the most frequent texts."""
    table = {}
    for name, column in covariates.table.items():
        if is_categorical(column):
            levels, counts = np.unique(column.astype(str), return_counts=True)
            table[name] = np.array([str(levels[np.argmax(counts)])], dtype=object)
        else:
            table[name] = np.array([column.mean()])
    return Covariates(covariates.design, table, covariates.design.matrix(table))

"""Stepwise selection of reference topics in NumPy.

The twin of ``selection.hpp`` and ``poisson_fit.hpp``. They say what is maximised and how; the
functions here have the same names and constants.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

Array = NDArray[Any]

_FIT_STEPS, _FIT_TOLERANCE = 60, 1e-7
_REMOVALS_TRIED, _ADDITIONS_TRIED, _EXCHANGES_TRIED = 3, 5, 2
_REPLACEMENTS_TRIED, _INTERVAL_STEPS, _RIDGE, _LEAST_GAIN = 3, 6, 1e-10, 1.0


@dataclass(frozen=True)
class Choice:
    """A set of topics with its weights."""

    topics: Array
    weights: Array
    log_likelihood: float

    def without_zeros(self) -> "Choice":
        """Leave out topics of weight zero."""
        kept = self.weights > 0
        return replace(self, topics=self.topics[kept], weights=self.weights[kept])


@dataclass(frozen=True)
class Selector:
    """The positive counts of one sample, and the reference topics at their features."""

    x: Array
    topics: Array  # components x entries

    def evaluate(self, products: Array, cost: float) -> float:
        """Return the log-likelihood; NaN if a product is not positive."""
        if np.any(products < np.finfo(float).tiny):
            return np.nan
        return float(self.x @ np.log(products / self.x)) - cost

    def factor(self, chosen: Array, products: Array) -> Array:
        """Return the Cholesky factor of the negative Hessian."""
        scaled = self.topics[chosen] * (np.sqrt(self.x) / products)
        hessian = scaled @ scaled.T
        hessian[np.diag_indices_from(hessian)] *= 1 + _RIDGE
        try:
            return np.asarray(cholesky(hessian, lower=True))
        except np.linalg.LinAlgError:  # topics that are the same up to rounding
            diagonal = np.diag(hessian).copy()
            return np.asarray(cholesky(hessian + np.diag(1e-8 * diagonal), lower=True))

    def fit(self, chosen: Array, weights: Array, offset: Array | float = 0.0) -> Choice:
        """Maximise the log-likelihood over the weights of a set, by Newton's method."""
        topics = self.topics[chosen]
        products = weights @ topics + offset
        best = self.evaluate(products, weights.sum())
        for _ in range(_FIT_STEPS if len(chosen) else 0):
            gradient = topics @ (self.x / products) - 1
            free = (weights > 0) | (gradient > 0)
            if not free.any():
                break
            factor = self.factor(chosen[free], products)
            half = solve_triangular(factor, gradient[free], lower=True)
            direction = np.zeros_like(weights)
            direction[free] = solve_triangular(factor.T, half, lower=False)
            by = 1.0
            for _ in range(30):
                moved = np.maximum(weights + by * direction, 0)
                further = moved @ topics + offset
                found = self.evaluate(further, moved.sum())
                if found >= best + 1e-4 * (gradient @ (moved - weights)):
                    break
                by *= 0.25 if by == 1 else 0.5
            else:
                break
            gain, weights, products, best = found - best, moved, further, found
            if gain < _FIT_TOLERANCE and half @ half < 10 * _FIT_TOLERANCE:
                break
        return Choice(chosen, weights, best)

    def variances(self, now: Choice) -> Array:
        """Return the variance of each weight of a choice."""
        factor = self.factor(now.topics, now.weights @ self.topics[now.topics])
        return np.diag(cho_solve((factor, True), np.eye(len(factor))))

    def without(self, now: Choice, which: int, total: float) -> Choice:
        """Fit a choice without one of its topics."""
        weights = np.delete(now.weights, which)
        weights = 0.95 * weights + 0.05 * total / len(weights)
        return self.fit(np.delete(now.topics, which), weights)

    def best_removal(self, now: Choice, total: float) -> Choice | None:
        """Return the best of a few choices with one topic less."""
        if len(now.topics) < 2:
            return None
        losses = now.weights**2 / self.variances(now)
        some = np.argsort(losses, kind="stable")[:_REMOVALS_TRIED]
        return max(
            (self.without(now, i, total) for i in some), key=lambda found: found.log_likelihood
        )

    def best_addition(
        self, now: Choice, total: float, tries: int, least: float, other_than: int = -1
    ) -> Choice | None:
        """Return the best of a few choices with one topic more, if it is better than ``least``."""
        products = now.weights @ self.topics[now.topics]
        factor = self.factor(now.topics, products)
        slopes = self.topics @ (self.x / products) - 1
        scaled = self.topics * (np.sqrt(self.x) / products)
        own = np.square(scaled).sum(axis=1)
        cross = solve_triangular(factor, scaled[now.topics] @ scaled.T, lower=True)
        rest = np.maximum(own - np.square(cross).sum(axis=0), 1e-9 * own)
        gains = np.where(slopes > 0, slopes**2 / np.where(rest > 0, rest, 1), 0)
        gains[now.topics] = 0
        if other_than >= 0:
            gains[other_than] = 0
        best = None
        for topic in np.argsort(-gains, kind="stable")[:tries]:
            if gains[topic] <= 0:
                break
            weights = np.append(0.9 * now.weights, 0.1 * total)
            found = self.fit(np.append(now.topics, topic), weights)
            if found.log_likelihood > least:
                best, least = found, found.log_likelihood
        return best

    def best_exchange(self, now: Choice, total: float) -> Choice | None:
        """Return the best choice with another topic in place of one, if it is better."""
        best, least = None, now.log_likelihood + 10 * _FIT_TOLERANCE
        for i, topic in enumerate(now.topics if len(now.topics) > 1 else ()):
            shorter = self.without(now, i, total)
            found = self.best_addition(shorter, total, _EXCHANGES_TRIED, least, topic)
            if found is not None:
                best, least = found, found.log_likelihood
        return best

    def improve(self, now: Choice, penalty: float, total: float) -> Choice:
        """Remove, add and exchange topics until nothing improves the choice."""
        for _ in range(4 * len(self.topics) + 8):
            now = now.without_zeros()
            better = self.best_removal(now, total)
            if better is None or not now.log_likelihood - better.log_likelihood < penalty:
                least = now.log_likelihood + penalty
                better = self.best_addition(now, total, _ADDITIONS_TRIED, least)
                better = self.best_exchange(now, total) if better is None else better
            if better is None:
                break
            now = better
        return now.without_zeros()

    def improve_from_larger(self, now: Choice, penalty: float, gain: float, total: float) -> Choice:
        """Improve a larger set, to which topics were added; return the better choice."""
        larger = now
        while len(larger.topics) < len(self.topics):
            added = self.best_addition(larger, total, 1, larger.log_likelihood + gain)
            if added is None:
                break
            larger = added.without_zeros()
        if larger is now:
            return now
        larger = self.improve(larger, penalty, total)
        better = larger.log_likelihood - now.log_likelihood
        most = penalty * (len(larger.topics) - len(now.topics)) + 10 * _FIT_TOLERANCE
        return larger if better > most else now

    def margin(self, now: Choice, which: int, penalty: float, total: float) -> float:
        """Return how much better a choice is than one without a topic, with others in its place."""
        if len(now.topics) < 2:
            return np.inf
        other, topic = self.without(now, which, total), int(now.topics[which])
        for _ in range(_REPLACEMENTS_TRIED):
            least = other.log_likelihood + penalty
            added = self.best_addition(other, total, _EXCHANGES_TRIED, least, topic)
            if added is None:
                break
            other = added
        saved = penalty * (len(now.topics) - len(other.topics))
        return now.log_likelihood - other.log_likelihood - saved

    def keep(self, now: Choice, is_kept: Array, total: float) -> Choice:
        """Fit a choice with some of its topics."""
        if is_kept.all():
            return now
        weights = 0.95 * now.weights[is_kept] + 0.05 * total / is_kept.sum()
        return self.fit(now.topics[is_kept], weights).without_zeros()

    def dispersion(self, now: Choice, n_features: int) -> float:
        """Return Pearson's statistic by degree of freedom, corrected for small counts."""
        freedom = n_features - len(now.topics)
        if freedom <= 0:
            return 1.0
        mean = now.weights @ self.topics[now.topics]
        rest = (self.x - mean) / mean
        pearson = rest @ (self.x - mean) + max(now.weights.sum() - mean.sum(), 0)
        correction = 1 + (rest.sum() + len(self.x) - n_features) / n_features
        return max(1.0, float(pearson / freedom / max(correction, 0.1)))

    def interval_end(self, now: Choice, which: int, fall: float, step: float) -> float:
        """Return where the profile of the log-likelihood has fallen by ``fall``."""
        at = now.weights[which]
        others, weights = np.delete(now.topics, which), np.delete(now.weights, which)
        end = at + step
        for _ in range(_INTERVAL_STEPS):
            end = end if end > 0 else 0.05 * at
            found = self.fit(others, weights, end * self.topics[now.topics[which]])
            fallen = now.log_likelihood - (found.log_likelihood - end)
            if not fallen > 0:
                break
            previous, end = end, at + (end - at) * np.sqrt(fall / fallen)
            if abs(end - previous) < 1e-6 * at:
                break
        return max(float(end), 0.0)


def select_topics(
    row_starts: Array,
    features: Array,
    values: Array,
    topics: Array,
    penalties: Array,
    background: float,
    fall: float,
    least_margin: float,
    estimates_dispersion: bool,
    weights: Array,
    losses: Array,
    margins: Array,
    lower: Array,
    upper: Array,
    dispersions: Array,
    threads: int,
) -> None:
    """Select the topics of each sample; ``selection.hpp`` has the formulas."""
    for table in (weights, losses, margins, lower, upper):
        table[:] = 0
    dispersions[:] = 1
    mixed = (1 - background) * topics.T + background / len(topics)
    for row in range(len(weights)):
        entries = slice(row_starts[row], row_starts[row + 1])
        x, at = values[entries], features[entries]
        total = float(x.sum())
        if not total > 0:
            continue
        sample = Selector(x, np.ascontiguousarray(mixed[:, at]))
        alone = [sample.evaluate(total * topic, total) for topic in sample.topics]
        if np.all(np.isnan(alone)):
            continue
        first = int(np.nanargmax(alone))
        now = Choice(np.array([first]), np.array([total]), alone[first])
        now = sample.improve(now, penalties[row], total)
        if estimates_dispersion:
            dispersions[row] = sample.dispersion(now, len(topics))
            if dispersions[row] > 1:
                now = sample.improve(now, penalties[row] * dispersions[row], total)
        strength = penalties[row] * dispersions[row]
        now = sample.improve_from_larger(now, strength, _LEAST_GAIN * dispersions[row], total)
        found = [sample.margin(now, i, strength, total) for i in range(len(now.topics))]
        is_kept = np.array(found) / dispersions[row] >= least_margin
        is_kept[np.argmax(now.weights)] = True
        margins[row, now.topics] = np.where(is_kept, np.array(found) / dispersions[row], 0)
        now = sample.keep(now, is_kept, total)
        by = fall * dispersions[row]
        steps = np.sqrt(2 * by * sample.variances(now))
        for i, topic in enumerate(now.topics):
            losses[row, topic] = np.inf
            if len(now.topics) > 1:
                without = sample.without(now, i, total)
                losses[row, topic] = now.log_likelihood - without.log_likelihood
            upper[row, topic] = sample.interval_end(now, i, by, steps[i])
            if losses[row, topic] > by:
                lower[row, topic] = sample.interval_end(now, i, by, -steps[i])
        exact = topics.T[:, at]
        kept = exact[now.topics].max(axis=0) > 1e-200
        refined = Selector(x[kept], exact[:, kept]).fit(now.topics, now.weights).weights
        chosen = row, now.topics
        weights[chosen] = refined
        lower[chosen] = np.minimum(lower[chosen], refined)
        upper[chosen] = np.maximum(upper[chosen], refined)
        losses[row, now.topics[refined == 0]] = 0

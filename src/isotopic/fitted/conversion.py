"""Turn a fitted model into another one that is exactly equivalent.

One rule makes all conversions: the target's priors absorb the counts that the model explains. The
paper's lemmas say when this is exact:

- free NMF and normalised NMF have the same products (Lemma 4.1);
- normalised NMF and PLSA differ by the samples' totals (Lemma 4.2, and iterate by iterate);
- the Lasso with normalised topics scales the weights by ``1 / (1 + strength)`` (Lemma 6.1);
- Gamma-Poisson with a common rate and LDA have the same posteriors (Gamma-Poisson appendix).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from isotopic.fitted.explained import explained_counts
from isotopic.fitted.fitting import topics_for_new_samples
from isotopic.fitted.value import Fitted, without_terms
from isotopic.priors import Posterior, SampleWeighted
from isotopic.problem import Pair


def convert_fitted(fitted: Fitted, target: Pair) -> Fitted:
    """Return the model with other priors, its weights rescaled, and its objective on the same data.

    Parameters
    ----------
    fitted : Fitted
    target : Pair
        Priors for which :func:`why_not_exact` finds no reason.
    """
    by_sample, by_topic = explained_counts(fitted)
    totals = target.topics.initial_totals(by_topic)
    weights = target.weights.absorb(by_sample.copy("C"), totals)  # it keeps what it absorbs
    pair = target
    if fitted.copies is not None:
        weighted = SampleWeighted(target.weights, fitted.copies)
        pair, weights = Pair(weighted, target.topics), weighted.repeated(weights)
    topics = target.topics.absorb(by_topic.copy("F"), pair.weights_totals(weights))
    log_likelihood = fitted.log_likelihood + _likelihood_gain(fitted, weights, topics)
    objective = pair.objective(weights, topics, log_likelihood, fitted.saturated_divergence)
    history = fitted.history.copy()
    history["objective"] += objective - fitted.objective
    return replace(
        fitted,
        weights_prior=target.weights,
        topics_prior=target.topics,
        weights=without_terms(weights),
        topics=topics_for_new_samples(target.topics, topics),
        objective=objective,
        log_likelihood=log_likelihood,
        history=history,
        online=None,
    )


def why_not_exact(fitted: Fitted, target: Pair) -> str:
    """Return the reason why another pair of priors is not equivalent; empty if it is."""
    if not fitted.offsets.is_empty:
        return "the model has size_factors or fixed_weights, the other one has none"
    if fitted.has_missing:
        return "entries were missing, and the other model would fill them in differently"
    return _why_pairs_differ(fitted.pair, target)


def _why_pairs_differ(source: Pair, target: Pair) -> str:
    both_factors = source.topics.linear_penalty == target.topics.linear_penalty == 0
    if not (both_factors or source.topics == target.topics):
        return "their topics have different priors"
    pairs: tuple[Any, ...] = (source, target)
    if not all(pair.topics.is_normalized or _has_free_weights(pair) for pair in pairs):
        return "only free weights are equivalent when the topics carry a scale"
    if not all(p.weights.linear_penalty is not None or p.weights.is_bayesian for p in pairs):
        return "a concave penalty, or another prior, changes more than the scale of the weights"
    if source.weights.is_bayesian != target.weights.is_bayesian:
        return "one has a prior on the weights, the other has none"
    weights: Any = source.weights
    if weights.is_bayesian and weights != target.weights:
        return str(weights.why_posterior_differs(target.weights))
    return ""


def _has_free_weights(pair: Pair) -> bool:
    return pair.weights.linear_penalty == 0 and not pair.weights.is_normalized


def _likelihood_gain(fitted: Fitted, weights: Posterior, topics: Posterior) -> float:
    """Return the gain in log-likelihood: the rows of the effective product are scaled."""
    before = fitted.weights.effective @ fitted.topics.effective.sum(axis=1)
    after = weights.effective @ topics.effective.sum(axis=1)
    totals = fitted.sample_totals * (1.0 if fitted.copies is None else fitted.copies)
    some = totals > 0
    return float((totals[some] * np.log(after[some] / before[some])).sum())

"""The expected counts that a fitted model stands for, and starts that are made of them."""

import numpy as np

from isotopic.arrays import Array
from isotopic.fitted.offsets import Offsets
from isotopic.fitted.value import Fitted
from isotopic.init import Start
from isotopic.init.start import absorbed
from isotopic.problem import Problem


def explained_counts(fitted: Fitted) -> tuple[Array, Array]:
    """Return the expected counts of both sides, which a model of any kind stands for.

    Those of the weights (samples x components) count each sample once; those of the topics
    (components x features) count it as often as its sample weight says. Priors of another kind
    that absorb them turn one model into the other, as the paper's lemmas say.
    """
    topics, topics_prior = fitted.topics, fitted.topics_prior
    sizes = Offsets(fitted.offsets.size_factors)
    weights = sizes.for_own_size(fitted.weights)
    by_sample = sizes.wrap(fitted.weights_prior).implied_counts(
        weights, fitted.sample_totals, fitted.pair.topics_totals(topics)
    )
    if len(by_sample) == 0:  # the weights were not kept: assume that topics explain equal shares
        even = np.full(fitted.n_components, fitted.feature_totals.sum() / fitted.n_components)
        return by_sample, topics_prior.implied_counts(topics, even, even[:, np.newaxis])
    copies = fitted.sample_weight
    scale = np.asarray(copies @ weights.mean)[:, np.newaxis]
    return by_sample, topics_prior.implied_counts(topics, copies @ by_sample, scale)


def start_from_fitted(problem: Problem, fitted: Fitted, rows: Array | None = None) -> Start:
    """Let the priors of a problem absorb the counts that a fitted model explains.

    ``rows`` are the samples of the model that the problem has; ``None``: all of them. If it was
    fitted to another number of samples, only its topics are used.
    """
    given, needed = fitted.topics.mean.shape, (problem.n_components, problem.X.shape[1])
    if given != needed:
        raise ValueError(f"init is a model with topics of shape {given}; this fit needs {needed}")
    by_sample, by_topic = explained_counts(fitted)
    if rows is not None and len(by_sample) > rows[-1]:
        by_sample = by_sample[rows]
    n_samples = problem.X.shape[0]
    if len(by_sample) != n_samples:
        return absorbed(problem, problem.X.equal_shares(problem.n_components), by_topic.copy("K"))
    copies = np.ones(n_samples) if problem.X.copies is None else problem.X.copies
    totals = problem.X.sample_totals / copies
    by_sample = by_sample.copy("K")
    # A sample of which the model explains nothing starts with equal shares: zeros cannot grow.
    empty = (by_sample.sum(axis=1) <= 0) & (totals > 0)
    by_sample[empty] = totals[empty, np.newaxis] / problem.n_components
    by_sample *= copies[:, np.newaxis]
    return absorbed(problem, by_sample, by_topic.copy("K"))

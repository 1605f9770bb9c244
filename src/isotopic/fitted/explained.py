"""The expected counts that a fitted model stands for."""

import numpy as np

from isotopic.arrays import Array
from isotopic.fitted.offsets import Offsets
from isotopic.fitted.value import Fitted


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

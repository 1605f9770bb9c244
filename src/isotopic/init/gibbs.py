"""Gibbs: the mean counts of samples from the posterior of LDA, for many topics."""

from typing import NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.init.allocation import shared_out, smallest_count
from isotopic.init.start import random_counts
from isotopic.priors import Dirichlet, Evidence
from isotopic.sampling import SampledCounts, Tokens, sample_sweeps

# Sweeps over all tokens: in total, from one update of the concentrations to the next, and at the
# end, whose counts are averaged. More sweeps mix better; the fit that follows does the rest.
_SWEEPS, _INTERVAL, _AVERAGED = 100, 5, 25

# Where the concentrations begin: of all weights of a sample together, and of a topic's entries.
_WEIGHTS_SUM, _TOPICS = 5.0, 0.05

# A part of the counts is shared out at random, so that topics without tokens are not all alike.
_RANDOM_PART = 0.01

# The least part of the total that is taken for one count.
_LEAST_UNIT = 1e-12

# An entry has at most so many tokens. Those of larger entries count more than one each.
_MOST_TOKENS = 8


def gibbs(X: CountMatrix, n_components: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Share the counts out as collapsed Gibbs sampling does (Griffiths & Steyvers, 2004).

    The cost of a token follows the number of topics in its sample, not the number of all topics.
    Both concentrations are learned from the sampled counts.
    """
    if not X.total > 0:
        return X.equal_shares(n_components), np.zeros((n_components, X.shape[1]))
    tokens = tokens_of(X)
    assignments = rng.integers(n_components, size=int(tokens.repeats.sum()), dtype=np.int32)
    alpha = Dirichlet(_WEIGHTS_SUM / n_components, learn="asymmetric")
    eta = Dirichlet(_TOPICS, learn="symmetric")
    counts = sampled_counts(
        tokens, assignments, (alpha, eta), n_components, rng, sweeps=_SWEEPS, averaged=_AVERAGED
    ).counts
    topics = shared_out(X.feature_totals, counts.topics.T).T
    topics += _RANDOM_PART * (random_counts(X, n_components, rng)[1] - topics)
    return shared_out(X.sample_totals, counts.weights), topics


class Sampled(NamedTuple):
    """Mean counts of sweeps in units of the smallest count, and the priors learned on the way."""

    counts: SampledCounts
    alpha: Dirichlet
    eta: Dirichlet


def sampled_counts(
    tokens: Tokens,
    assignments: Array,
    priors: tuple[Dirichlet, Dirichlet],
    n_components: int,
    rng: np.random.Generator,
    *,
    sweeps: int,
    averaged: int,
) -> Sampled:
    """Return the mean counts of the last sweeps of Gibbs sampling, and the learned priors.

    Both priors are updated every few sweeps until the counts are averaged. ``assignments`` change
    in place.
    """
    alpha, eta = priors
    copies = None if np.all(tokens.copies == 1) else tokens.copies
    for done in range(0, sweeps, _INTERVAL):
        is_last = done + averaged >= sweeps
        counts = sample_sweeps(
            tokens,
            assignments,
            np.broadcast_to(np.ravel(alpha.concentration), n_components),
            float(np.ravel(eta.concentration)[0]),
            sweeps=averaged if is_last else _INTERVAL,
            averaged=averaged if is_last else 1,
            seed=int(rng.integers(2**63)),
        )
        if is_last:
            break
        alpha = alpha.with_updated_hyperparameters(Evidence(counts.weights, None, 1.0, copies))
        eta = eta.with_updated_hyperparameters(Evidence(counts.topics, None, 1.0))
    return Sampled(counts, alpha, eta)


def tokens_of(X: CountMatrix) -> Tokens:
    """Return the tokens of the counts, in units of the smallest count."""
    unit = max(smallest_count(X), _LEAST_UNIT * X.total)
    stored = X.as_complete().as_sparse()
    copies = np.ones(X.shape[0]) if X.copies is None else np.asarray(X.copies)
    units = stored.values / np.repeat(unit * copies, np.diff(stored.row_starts))
    repeats = np.clip(np.rint(units), 1, _MOST_TOKENS).astype(np.int32)
    return Tokens(
        stored.row_starts,
        stored.features,
        repeats,
        (units / repeats).astype(np.float32),
        copies.astype(np.float32),
        X.shape[1],
    )

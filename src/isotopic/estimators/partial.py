"""partial_fit: learning from samples as they come."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts
from isotopic.counts import CountMatrix
from isotopic.estimators.data import read_sample_weight
from isotopic.estimators.offsets import NOTHING_KNOWN
from isotopic.init import explained_counts, random_start
from isotopic.priors import Posterior, Prior
from isotopic.problem import Pair, Problem
from isotopic.random import generator
from isotopic.solvers import HISTORY, OnlineEM
from isotopic.solvers.batches import number_of_batches
from isotopic.solvers.quick_inference import PASSES, quick_inference
from isotopic.threads import use_threads

# While there are fewer counts than this for each entry of the topics, their means lead.
_FEW_COUNTS = 1.0


class Seen(NamedTuple):
    """What the topics remember.

    Attributes
    ----------
    average : ndarray of shape (components, features)
        Expected counts of a sample, averaged over batches.
    samples : float
        How many samples there were.
    steps : int
        In how many batches.
    """

    average: Array
    samples: float
    steps: int


def _has_normalised_topics(estimator: Any) -> bool:
    if not Pair(*estimator._priors()).topics.is_normalized:
        raise AttributeError(
            "partial_fit needs normalised topics (Simplex or Dirichlet): others depend on the "
            "weights of all samples at once"
        )
    if not estimator._divergence.is_likelihood:
        raise AttributeError(
            "partial_fit averages expected counts, which need the Kullback-Leibler divergence"
        )
    return True


class PartialFit:
    """A model that can go on learning."""

    n_jobs: int | None
    solver: Any
    init: Any
    random_state: Any

    @available_if(_has_normalised_topics)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, missing_mask: Any = None
    ) -> Self:
        """Learn from more samples, which are not looked at again.

        The topics absorb an average over all batches so far, in which later ones have as much of a
        part as :class:`~isotopic.solvers.OnlineEM` says (with its settings, if that is the
        ``solver``). After ``fit``, the samples of the fit are what came before. ``weights_`` and
        ``objective_`` are those of the last batch. Concentrations that a fit would learn stay where
        they start.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
            A batch; more samples than a batch should have are learned from one part after the
            other, and so are row blocks.
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each sample counts.
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing.

        Returns
        -------
        self
        """
        before = self.__dict__.copy()
        try:
            self._validate_params()
            first = not hasattr(self, "components_")
            counts = self._read(X, reset=first, missing_mask=missing_mask)
            copies = read_sample_weight(sample_weight, counts.shape[0])
            with use_threads(self.n_jobs):
                for batch, part in self._batches(counts, copies):
                    fitted = self._learn(batch, part)
                totals = self._feature_totals
                self.__dict__.update(fitted(), _feature_totals=totals)
        except BaseException:  # a failed call leaves the earlier model as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _batches(self, X: Any, copies: Array | None) -> Iterator[tuple[CountMatrix, Array | None]]:
        """Cut into batches, in the order in which the samples stand."""
        if isinstance(X, BlockedCounts):
            for piece, block in X.loaded():
                part = None if copies is None else copies[piece.rows]
                yield from self._batches(block, part)
            return
        n_batches = number_of_batches(X, getattr(self.solver, "batch_size", None))
        for rows in np.array_split(np.arange(X.shape[0]), n_batches):
            whole = n_batches == 1
            part = copies if copies is None or whole else copies[rows]
            if part is None or part.any():
                yield (X if whole else X.rows(rows)), part

    def _learn(self, X: CountMatrix, copies: Array | None) -> Callable[[], dict[str, Any]]:
        """Take a step with a batch; give a function that makes the fitted attributes."""
        began = time.perf_counter()
        problem, seen_rows = self._problem(X, copies, NOTHING_KNOWN)
        seen = self._seen_so_far(problem)
        if hasattr(self, "_fitted_priors"):  # what is known of the topics was said at first
            problem = replace(problem, topics=self._fitted_priors[1])
        topics, totals = self._topics_for(problem, seen), problem.X.feature_totals
        weights, counts = quick_inference(problem, topics)
        n_samples = float(X.shape[0] if copies is None else copies.sum())
        rate = 1.0 if seen is None else self._online_settings().step_size(seen.steps)
        average = problem.with_unseen(counts.topics, weights, topics) * (rate / n_samples)
        now = Seen(average, n_samples, 1)
        if seen is not None:
            average += (1 - rate) * seen.average
            now = Seen(average, seen.samples + n_samples, seen.steps + 1)
            totals = self._feature_totals + totals
        state = problem.state_at(weights, topics, counts, PASSES)
        absorbed = problem.topics.absorb(_counts_of(now, problem), 1.0)
        self._fitted_priors = self._own_priors()[0], problem.topics
        self._latest_topics, self._feature_totals = absorbed, totals
        self._remember(now, state, time.perf_counter() - began)
        return partial(
            self._fitted,
            state,
            counts=X,
            problem=problem,
            copies=copies,
            seen=seen_rows,
            topics=absorbed,
        )

    def _seen_so_far(self, problem: Problem) -> Seen | None:
        """Give what the topics remember: of earlier batches, of a fit, or nothing."""
        if hasattr(self, "_topic_average"):
            return Seen(self._topic_average, self.n_samples_seen_, self.n_iter_)
        if not hasattr(self, "components_"):
            return None
        copies = self._copies
        samples = float(len(self.weights_) if copies is None else copies.sum())
        counts = explained_counts(self)[1]
        steps = max(1, round(samples / problem.X.shape[0]))
        return Seen(counts / samples, samples, steps)

    def _topics_for(self, problem: Problem, seen: Seen | None) -> Posterior:
        """Give the topics to explain a batch with."""
        seeds = generator(self.random_state).integers(2**63, size=(1, 2))
        if seen is None:
            return _led_by_means(self._first_topics(problem, seeds))
        topics = self._later_topics(problem, seen, seeds)
        few = self._feature_totals.sum() < _FEW_COUNTS * topics.mean.size
        return _led_by_means(topics) if few else topics

    def _first_topics(self, problem: Problem, seeds: Array) -> Posterior:
        """Give those of a start; by default at random.

        A decomposition of the first batch takes longer than it is worth to those that follow.
        """
        if isinstance(self.init, str) and self.init == "auto":
            return random_start(problem, np.random.default_rng(seeds[0]))[1]
        start: tuple[Posterior, Posterior] = self._starts(problem, None, seeds)[0]()
        return start[1]

    def _later_topics(self, problem: Problem, seen: Seen, seeds: Array) -> Posterior:
        """Give the latest ones, with the features that are new."""
        latest: Posterior | None = getattr(self, "_latest_topics", None)
        if latest is None or latest.mean.dtype != problem.X.dtype:
            latest = problem.topics.absorb(_counts_of(seen, problem), 1.0)
        topics, totals = latest, problem.X.feature_totals
        if topics.effective.min() > 0:  # mostly, and soon found out
            return topics
        new = (totals > 0) & ~np.any(topics.effective, axis=0)
        if not new.any():
            return topics
        # Features that occur for the first time are shared out at random, as at a start.
        counts = _counts_of(seen, problem)
        rng = np.random.default_rng([*seeds[0].tolist(), seen.steps])
        shares = rng.dirichlet(np.ones(len(counts)), size=np.count_nonzero(new))
        counts[:, new] = (shares * totals[new, np.newaxis]).T
        return problem.topics.absorb(counts, 1.0)

    def _online_settings(self) -> OnlineEM:
        return self.solver if isinstance(self.solver, OnlineEM) else OnlineEM()

    def _remember(self, seen: Seen, state: Any, seconds: float) -> None:
        """Keep what the next batch needs, and a row of the history."""
        earlier = self.history_ if hasattr(self, "_topic_average") else np.empty(0, HISTORY)
        last = (0, 0, 0.0) if len(earlier) == 0 else earlier[-1].item()
        row = (
            seen.steps,
            last[1] + state.passes,
            last[2] + seconds,
            state.objective,
            state.residual,
        )
        self.history_ = np.append(earlier, np.array([row], HISTORY))
        self._topic_average, self.n_samples_seen_ = seen.average, seen.samples
        self.n_iter_, self.converged_ = seen.steps, False

    # What the estimator itself has.
    _fitted_priors: tuple[Prior, Prior]
    _feature_totals: Array
    _copies: Array | None
    _topic_average: Array
    _latest_topics: Posterior
    n_samples_seen_: float
    n_iter_: int
    history_: Array
    components_: Array
    weights_: Array
    _validate_params: Any
    _read: Any
    _problem: Any
    _own_priors: Any
    _starts: Any
    _fitted: Any


def _led_by_means(topics: Posterior) -> Posterior:
    """Let the mean stand for ``exp(E[log])``.

    That is far smaller wherever there is less than a count: while few were seen, a variational
    side would give up features of topics for no other reason.
    """
    return replace(topics, effective=topics.mean)


def _counts_of(seen: Seen, problem: Problem) -> Array:
    """Give the topics' counts of all samples so far."""
    return np.asfortranarray(np.multiply(seen.average, seen.samples, dtype=problem.X.dtype))

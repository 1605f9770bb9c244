"""What a fitted model can tell: of new samples, of its topics, of its own certainty."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from isotopic import generative
from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts, is_blocks
from isotopic.counts import CountMatrix
from isotopic.estimators.blockwise import Score, Transform, over_blocks, score_rows
from isotopic.estimators.data import read_sample_weight
from isotopic.estimators.offsets import NOTHING_KNOWN, Offsets, read_offsets
from isotopic.init import uniform_start, with_self_contribution_estimate
from isotopic.kernels import normalized
from isotopic.priors import Fixed, Posterior
from isotopic.problem import Problem
from isotopic.random import Seed, generator
from isotopic.responsibilities import Responsibilities
from isotopic.solvers import choose_fold_in, solve
from isotopic.table import Table
from isotopic.threads import use_threads

# New samples are inferred until an update moves less than this share of a sample's total.
_FOLD_IN_TOL = 1e-6


class Inference:
    """The methods of a fitted model."""

    components_: Array
    weights_: Array
    n_jobs: int | None

    def inverse_transform(self, X: Any) -> Array:
        """Multiply weights with the topics: the counts that are expected.

        Proportions (PLSA, LDA) give distributions over the features; times the totals of the
        samples these are the expected counts. So they are, times the size factors, of a model
        that was fitted with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Weights.

        Returns
        -------
        expected : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        weights = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if weights.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {weights.shape[1]} columns; weights have one for each of the "
                f"{len(self.components_)} components"
            )
        return np.asarray(weights @ self.components_.astype(weights.dtype, copy=False))

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> float:
        r"""Mean log-likelihood of a count.

        .. math:: \sum_{dv} x_{dv} \log p_{dv} \Big/ \sum_{dv} x_{dv}, \qquad
            p_{dv} \propto (\text{weights topics})_{dv}

        with each sample's inferred weights (the mean of a Bayesian side) and
        :math:`\sum_v p_{dv} = 1`, so that all models are measured alike. The weights are inferred
        from the counts that are scored, so more components are seldom worse: this score compares
        models of one size, and does not tell how many components there are.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each sample counts.
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing.
        size_factors, fixed_weights : array-like or None, default=None
            As for :meth:`transform`.
        memory_limit, client
            For row blocks, as for :meth:`fit`.

        Returns
        -------
        score : float
            Higher is better.
        """
        counts = self._read_data(X, missing_mask, memory_limit, client)
        copies = read_sample_weight(sample_weight, counts.shape[0])
        times = np.ones(counts.shape[0]) if copies is None else copies
        total = float(counts.sample_totals @ times)
        if total == 0:
            raise ValueError("X has no counts to score")
        known = (size_factors, fixed_weights)
        offsets = self._offsets(counts, *known)
        if isinstance(counts, BlockedCounts):
            scored = over_blocks(self, counts, lambda model: Score(model, times, offsets))
        else:
            scored = score_rows(self, counts, times, offsets)
        if scored.impossible:
            warnings.warn(
                f"{scored.impossible} samples have counts of features that no topic has, so the "
                "score is -inf. A prior on the topics, such as LDA's eta, gives every feature a "
                "chance",
                UserWarning,
                stacklevel=2,
            )
        return scored.log_likelihood / total

    def perplexity(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> float:
        """``exp(-score)``: among how many features, equally likely, a count is as good as drawn.

        Parameters
        ----------
        X, y, sample_weight, missing_mask, size_factors, fixed_weights, memory_limit, client
            As for :meth:`score`.

        Returns
        -------
        perplexity : float
            Lower is better.
        """
        how = {"missing_mask": missing_mask, "memory_limit": memory_limit, "client": client}
        known = {"size_factors": size_factors, "fixed_weights": fixed_weights}
        return float(np.exp(-self.score(X, y, sample_weight, **how, **known)))

    def posterior(
        self,
        X: Any,
        *,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
    ) -> Responsibilities:
        """Tell which component explains each count.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry is missing.
        size_factors, fixed_weights : array-like or None, default=None
            As for :meth:`transform`.

        Returns
        -------
        posterior : Responsibilities
            ``posterior[d]`` and each step of a loop over it give the ``features`` of sample ``d``,
            their ``counts``, and the ``probabilities`` (n_entries x n_components).
        """
        counts = self._read_new(X, missing_mask)
        offsets = self._offsets(counts, size_factors, fixed_weights)
        effective = self._infer(counts, offsets).effective
        return Responsibilities(counts, effective, self._effective_components)

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> Any:
        """Draw new samples from the model.

        Their weights come from the prior if there is one, else they are those of fitted samples,
        drawn with replacement. So are the totals of models of proportions, size factors and
        weights that were given.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        X : sparse array of shape (n_samples, n_features)
            Whole counts.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number of at least 1, not {n_samples!r}")
        rng = generator(random_state)
        copies = np.ones(len(self.weights_)) if self._copies is None else self._copies
        like = rng.choice(len(copies), size=int(n_samples), p=copies / copies.sum())
        prior = self._fitted_priors[0].rows(like)
        weights = prior.draw(self.weights_[like].astype(np.float64), rng)
        given = np.s_[:, : self._n_fixed_weights]
        weights[given] = self.weights_[like][given]
        if self._size_factors is not None:
            weights = weights * self._size_factors[like, np.newaxis]
        topics = self.components_.astype(np.float64)
        if not prior.is_normalized:
            return generative.poisson(weights, topics, random_state=rng)
        totals = np.rint(self.sample_totals_[like]).astype(np.int64)
        shares, topics = normalized(weights), normalized(topics)
        return generative.multinomial(shares, topics, totals, random_state=rng)

    def top_terms(self, n: int = 10, *, feature_names: Any = None) -> Table:
        """List the strongest features of each topic.

        Parameters
        ----------
        n : int, default=10
            How many of each.
        feature_names : array-like of str of shape (n_features,) or None, default=None
            By default those of the ``X`` that was fitted, else ``x0``, ``x1``, ...

        Returns
        -------
        table : Table
            With the columns ``topic``, ``rank``, ``term`` and ``weight``: the feature's share of
            its topic. ``pandas.DataFrame(table)`` takes it as it is.
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1, not {n!r}")
        n_topics = len(self.components_)
        names = self._feature_names(feature_names)
        shares = normalized(self.components_)
        order = np.argsort(-shares, axis=1, kind="stable")[:, : int(n)]
        return Table(
            topic=np.repeat(np.arange(n_topics), order.shape[1]),
            rank=np.tile(np.arange(1, order.shape[1] + 1), n_topics),
            term=names[order.ravel()],
            weight=np.take_along_axis(shares, order, axis=1).ravel(),
        )

    def credible_interval(
        self,
        side: str = "weights",
        *,
        level: float = 0.9,
        X: Any = None,
        missing_mask: Any = None,
        size_factors: Any = None,
        fixed_weights: Any = None,
    ) -> tuple[Array, Array]:
        """Give the posterior's interval for each entry of a Bayesian side.

        Parameters
        ----------
        side : {"weights", "components"}, default="weights"
        level : float, default=0.9
            The probability of the interval; as much is left below it as above.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
            The samples whose weights are asked for; by default those that were fitted.
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            True where an entry of ``X`` is missing.
        size_factors, fixed_weights : array-like or None, default=None
            Of the samples ``X``, as for :meth:`transform`.

        Returns
        -------
        lower, upper : ndarray
            Of the shape of the side.

        Notes
        -----
        The variational posterior is narrower than the true one; for proportions (LDA) the more so
        the more entries are missing. The topics' intervals are those of the topics' own posterior,
        which only a model with a prior on the topics has.
        """
        check_is_fitted(self)
        if not (isinstance(side, str) and side in ("weights", "components")):
            raise ValueError(f"side must be 'weights' or 'components', not {side!r}")
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        prior = self._fitted_priors[0 if side == "weights" else 1]
        if not prior.is_bayesian:
            raise ValueError(
                f"the {side} of this {type(self).__name__} are a point estimate, without a "
                "posterior; give them a Dirichlet or Gamma prior"
            )
        if X is not None and side == "components":
            raise ValueError("X is for the intervals of weights; the topics have theirs from fit")
        if X is None:
            posterior = self._kept(side)
        else:
            counts = self._read_new(X, missing_mask)
            posterior = self._infer(counts, self._offsets(counts, size_factors, fixed_weights))
        tail = (1 - level) / 2
        ends = prior.quantile(posterior, tail), prior.quantile(posterior, 1 - tail)
        return np.minimum(*ends), np.maximum(*ends)  # equal but for rounding if counts are huge

    def _kept(self, side: str) -> Posterior:
        mean = getattr(self, f"{side}_")
        parameters = getattr(self, f"{side}_posterior_")
        return Posterior(
            mean, mean, parameters=parameters, rates=getattr(self, f"{side}_posterior_rate_")
        )

    def _feature_names(self, given: Any) -> Array:
        if given is None:
            given = getattr(self, "feature_names_in_", None)
        n_features = self.components_.shape[1]
        if given is None:
            given = [f"x{i}" for i in range(n_features)]
        names = np.asarray(given, dtype=object)
        if names.shape != (n_features,):
            raise ValueError(f"{names.size} feature_names were given for {n_features} features")
        return names

    def _read_new(self, X: Any, missing_mask: Any = None) -> CountMatrix:
        """Read new samples that are to be in memory."""
        if is_blocks(X):
            raise TypeError(
                "row blocks are for fit, transform, score and perplexity only; X is a "
                f"{type(X).__name__}"
            )
        counts: CountMatrix = self._read_data(X, missing_mask)
        return counts

    def _read_data(
        self, X: Any, missing_mask: Any = None, memory_limit: Any = None, client: Any = None
    ) -> Any:
        """Read new samples: counts in memory, or in row blocks."""
        check_is_fitted(self)
        with use_threads(self.n_jobs):
            counts = self._read(
                X, reset=False, missing_mask=missing_mask, memory_limit=memory_limit, client=client
            )
        # Sparse, because its rows do not see each other.
        return counts if isinstance(counts, BlockedCounts) else counts.as_sparse()

    def _transformed(
        self, counts: CountMatrix | BlockedCounts, size_factors: Any, fixed_weights: Any
    ) -> Array:
        """Infer the weights of samples, a block at a time where there are blocks."""
        offsets = self._offsets(counts, size_factors, fixed_weights)
        if isinstance(counts, BlockedCounts):
            found = over_blocks(self, counts, lambda model: Transform(model, offsets))
            return np.concatenate(found.parts)
        return self._infer(counts, offsets).mean

    def _offsets(
        self, counts: CountMatrix | BlockedCounts, size_factors: Any, fixed_weights: Any
    ) -> Offsets:
        """Read what is known of samples; what was known of the fitted ones is needed."""
        needed = {
            "size_factors": self._size_factors is not None and size_factors is None,
            "fixed_weights": self._n_fixed_weights > 0 and fixed_weights is None,
        }
        for name, missing in needed.items():
            if missing:
                raise ValueError(f"this model was fitted with {name}; give those of these samples")
        offsets = read_offsets(
            size_factors, fixed_weights, counts, self._fitted_priors[0], len(self.components_)
        )
        if self._n_fixed_weights not in (0, offsets.n_fixed_weights):
            raise ValueError(
                f"fixed_weights has {offsets.n_fixed_weights} columns; this model was fitted with "
                f"{self._n_fixed_weights}"
            )
        return offsets

    def _infer(
        self, counts: CountMatrix, offsets: Offsets = NOTHING_KNOWN, which: Array | None = None
    ) -> Posterior:
        """Find the posterior of the weights of samples; ``which`` of those fitted, if they are."""
        counts = counts.as_sparse()
        own_prior, topics_prior = self._fitted_priors
        if which is not None:
            own_prior = own_prior.rows(which)
        weights_prior = offsets.around(own_prior)
        topics = Posterior(
            self.components_.astype(counts.dtype, copy=False),
            self._effective_components.astype(counts.dtype, copy=False),
        )
        fixed = Fixed(topics, is_normalized=topics_prior.is_normalized)
        problem = Problem(weights_prior, fixed, counts, len(self.components_), self._divergence)
        with use_threads(self.n_jobs):
            problem = with_self_contribution_estimate(
                problem, uniform_start(counts, problem, topics)
            )
            solver: Any = choose_fold_in(problem, _FOLD_IN_TOL)
            solution = solve(
                problem,
                solver,
                uniform_start(counts, problem, topics),
                tol=solver.tol,
            )
        if solution.interrupted:
            raise KeyboardInterrupt
        if not solution.converged and counts.total > 0:
            warnings.warn(
                f"the weights of some samples still move by {solution.state.residual:.1e} of their "
                f"total after {solver.max_updates} updates",
                ConvergenceWarning,
                stacklevel=3,
            )
        found = problem.absorb_weights(solution.state.counts, topics)
        return offsets.unsized(own_prior, found)

    # What the estimator itself has.
    _fitted_priors: Any
    _divergence: Any
    _effective_components: Array
    _copies: Array | None
    _size_factors: Array | None = None
    _n_fixed_weights: int = 0
    sample_totals_: Array

    def _read(
        self,
        X: Any,
        *,
        reset: bool,
        missing_mask: Any = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> CountMatrix | BlockedCounts:
        raise NotImplementedError

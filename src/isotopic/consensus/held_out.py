"""Score a model on held-out counts: of whole samples by document completion, or of entries."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.containers import NamedMatrix
from isotopic.elementwise import normalized
from isotopic.estimators import LDA
from isotopic.evaluate import completion_score, split_counts
from isotopic.evaluate.entries import hide_entries, score_entries
from isotopic.threads import use_threads

# Starts of a fit whose hidden entries are scored: overdispersed counts have poor local optima, and
# one of them would decide the score of a number.
_STARTS = 4


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The samples to fit, and two random halves of the counts of the others."""

    train: Any
    seen: Any
    hidden: Any

    @classmethod
    def draw(cls, counts: Any, test_size: float, rng: np.random.Generator) -> "HeldOut":
        """Hold out a part of the samples; features that the rest does not have are left out."""
        n_samples = counts.shape[0]
        n_test = int(np.ceil(test_size * n_samples)) if 0 < test_size < 1 else 0
        if not 0 < n_test < n_samples:
            raise ValueError(f"test_size={test_size} of {n_samples} samples leaves one part empty.")
        order = rng.permutation(n_samples)
        train, test = counts[np.sort(order[n_test:])], counts[np.sort(order[:n_test])]
        occurs = np.asarray(train.sum(axis=0)).ravel() > 0
        seen, hidden = split_counts(sparse.csr_array(test.multiply(occurs)), random_state=rng)
        if hidden.sum() == 0:
            raise ValueError(
                "The held-out samples have no counts. Hold out more samples (test_size)."
            )
        return cls(train, seen, hidden)

    def fit_and_score(self, model: Any, feature_names: Array | None) -> float:
        """Fit the model to the samples that are not held out, and score the others."""
        return self._score(model.fit(NamedMatrix(self.train, feature_names)))

    def _score(self, model: Any) -> float:
        """Return the mean log-likelihood of a count of the hidden half.

        Weights without a prior get that of LDA, Dir(1 / K): a point estimate may exclude what the
        other half contains.
        """
        if not model.fitted_.weights_prior.is_bayesian:
            topics = normalized(model.components_)
            model = LDA(
                len(topics),
                alpha=1 / len(topics),
                eta=None,
                estimate="variational",
                init="random",
                fixed_topics=topics,
                max_iter=1,
                tol=0,
                n_jobs=model.n_jobs,
            ).fit(self.seen)
        with use_threads(model.n_jobs):
            names = getattr(model, "feature_names_in_", None)
            return completion_score(model, NamedMatrix(self.seen, names), self.hidden)


@dataclass(frozen=True, eq=False)
class HiddenEntries:
    """The counts, and entries of them to hide: for noise that all counts of an entry share."""

    counts: Any
    hidden: Any

    @classmethod
    def draw(cls, counts: Any, test_size: float, rng: np.random.Generator) -> Self:
        """Hide a part of the entries."""
        return cls(counts, hide_entries(counts.shape, test_size, rng))

    def fit_and_score(self, model: Any, feature_names: Array | None) -> float:
        """Fit the model without the hidden entries; return the mean log-likelihood of these."""
        if isinstance(model.init, str):
            model.set_params(n_init=max(model.n_init, _STARTS))
        with use_threads(model.n_jobs):
            return score_entries(model, self.counts, self.hidden, feature_names)

"""What ``partial_fit`` does: update the topics with more samples, a batch at a time."""

from functools import partial
from typing import Any

from isotopic.estimators.count_hints import warn_unless_counts
from isotopic.estimators.data import read_data
from isotopic.estimators.multistart import first_topics
from isotopic.estimators.parameters import with_plain_parameters
from isotopic.fitted import Fitted
from isotopic.fitted.offsets import check_covariates
from isotopic.fitted.online import Progress, learn_batch, split_batches
from isotopic.problem import Pair
from isotopic.random import generator
from isotopic.solvers import OnlineEM
from isotopic.threads import use_threads


def can_partial_fit(model: Any) -> bool:
    """Return True, or raise AttributeError with the reason why batches cannot be averaged."""
    if not Pair(*model._priors()).topics.is_normalized:
        raise AttributeError(
            "partial_fit needs normalised topics (Simplex or Dirichlet): others depend on the "
            "weights of all samples at once."
        )
    if not model._divergence.is_likelihood:
        raise AttributeError(
            "partial_fit averages expected counts, which need the Kullback-Leibler divergence."
        )
    return True


def learn_samples(model: Any, X: Any, **given: Any) -> Fitted:
    """Return what the model has fitted, updated with more samples."""
    plain = with_plain_parameters(model)
    plain._validate_params()
    known: Fitted | None = getattr(model, "fitted_", None)
    if known is not None and known.n_components != plain.n_components:
        raise ValueError(
            f"n_components={plain.n_components}, but partial_fit continues a model with "
            f"{known.n_components} components. Set n_components back, or call fit."
        )
    with use_threads(plain.n_jobs):
        data = read_data(plain, X, known=known, **given)
        names = data.feature_names
        if known is None:
            warn_unless_counts(plain, data.counts)
        else:
            check_covariates(known.offsets, data.offsets)
        settings = plain.solver if isinstance(plain.solver, OnlineEM) else OnlineEM()
        progress, size = None, getattr(plain.solver, "batch_size", None)
        for part in split_batches(data, size):
            batch = plain._pose(part)
            if progress is None and known is not None:
                progress = Progress.of(known, batch.problem.X.shape[0])
            seeds = generator(plain.random_state).integers(2**63, size=(1, 2))
            start = partial(first_topics, plain, names)
            update = learn_batch(batch, progress, settings, seeds, start)
            progress = update.progress
        return update.fitted()

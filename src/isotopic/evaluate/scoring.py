"""A scorer for scikit-learn's model selection: document completion."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from isotopic.counts import CountMatrix
from isotopic.divergences import KullbackLeibler
from isotopic.elementwise import normalized
from isotopic.evaluate.completion import split_counts
from isotopic.evaluate.topics import proportions
from isotopic.fitted.inference import infer
from isotopic.fitted.offsets import read_new_covariates
from isotopic.fitted.value import Fitted, fitted_of
from isotopic.kernels import row_pass
from isotopic.priors import Dirichlet, Posterior, Simplex
from isotopic.random import Seed
from isotopic.threads import use_threads


def completion_scorer(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    held_out: float = 0.5,
    random_state: Seed = 0,
    covariates: Any = None,
) -> float:
    r"""Return the mean log-likelihood of a hidden count, given the rest of its sample.

    A function that ``GridSearchCV`` and ``cross_val_score`` take as ``scoring``. The counts of each
    sample are split at random, the weights are inferred from one part, and the other one is scored:

    .. math:: \sum_{dv} x_{dv} \log p_{dv} \Big/ \sum_{dv} x_{dv}, \qquad
        p_{dv} = \sum_k \mathrm{E}[h_{dk}] w_{kv}

    Unlike ``model.score`` this does not grow with the number of components. Weights without a prior
    get that of LDA, :math:`\mathrm{Dir}(1 / K)`, because a point estimate may exclude what the
    other part contains. Features that no topic has are left out, whatever the number of components.

    Parameters
    ----------
    model : fitted model, or a Pipeline that ends with one
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Integer counts; or what the first step of a pipeline takes.
    y : None
        Ignored.
    held_out : float, default=0.5
        The fraction of each sample's counts that is hidden.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the split. The default splits the same way every time.
    covariates : data frame, dict of columns, array-like, names of columns, or None, default=None
        Of the samples, if the model was fitted with covariates.

    Returns
    -------
    score : float
        Higher is better.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from isotopic import NMF, datasets, evaluate
    >>> X = datasets.load_kjv().data[:200]
    >>> search = GridSearchCV(
    ...     NMF(tol=1e-2, random_state=0), {"n_components": [1, 6]}, cv=2,
    ...     scoring=evaluate.completion_scorer,
    ... )
    >>> search.fit(X).best_params_
    {'n_components': 6}
    """
    if hasattr(model, "steps"):  # a Pipeline: all steps but the last prepare the counts
        check_is_fitted(model)
        X, model = model[:-1].transform(X), model[-1]
    fitted = _with_prior_on_weights(fitted_of(model))
    topics = normalized(fitted.topics.mean.astype(np.float64))
    known = np.any(topics, axis=0)
    counts = CountMatrix.of(X, feature_names=fitted.feature_names).as_sparse().only_features(known)
    entries = (counts.values, counts.features, counts.row_starts)
    parts = split_counts(
        sparse.csr_array(entries, shape=counts.shape), held_out=held_out, random_state=random_state
    )
    seen, hidden = (CountMatrix(part).as_sparse() for part in parts)
    if hidden.total == 0:
        raise ValueError("X has no counts to score of features that a topic has.")
    with use_threads(getattr(model, "n_jobs", None)):
        offsets = read_new_covariates(fitted.offsets, covariates, X, seen.shape[0])
        shares = proportions(infer(fitted, seen, offsets).mean, fitted.topics.mean)
        by_sample = row_pass(
            hidden, shares.astype(hidden.dtype), topics.astype(hidden.dtype), proportions=True
        )[1]
    return float(by_sample.sum()) / hidden.total


def _with_prior_on_weights(fitted: Fitted) -> Fitted:
    """Return the model with a prior on its weights; one that has none gets that of LDA."""
    if fitted.weights_prior.is_bayesian:
        return fitted
    topics = normalized(fitted.topics.mean)
    return replace(
        fitted,
        weights_prior=Dirichlet(1 / fitted.n_components),
        topics_prior=Simplex(),
        topics=Posterior(topics, topics),
        divergence=KullbackLeibler(),
    )

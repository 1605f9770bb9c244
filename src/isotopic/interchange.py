"""Exchange fitted models with other packages."""

from copy import copy
from typing import Any

import numpy as np
from sklearn import decomposition
from sklearn.utils.validation import check_is_fitted

from isotopic.containers import read_container
from isotopic.counts import CountMatrix
from isotopic.estimators import LDA, NMF, BetaNMF
from isotopic.estimators.base import BaseTopicModel
from isotopic.evaluate import proportions
from isotopic.fitted import read_feature_names
from isotopic.fitted.offsets import read_new_covariates

_AT_THE_POINT = {"max_iter": 0, "tol": 0}  # a fit that makes no iteration keeps its start


def from_sklearn(model: Any, X: Any) -> BaseTopicModel:
    """Return a fitted model of scikit-learn as one of isotopic, without fitting again.

    Parameters
    ----------
    model : fitted NMF, MiniBatchNMF or LatentDirichletAllocation of scikit-learn
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples whose weights the model shall hold: scikit-learn does not keep them. They are
        those that ``model.transform(X)`` infers.

    Returns
    -------
    converted : NMF, BetaNMF or LDA
        ``NMF(normalize=False)`` for the Kullback-Leibler loss, ``BetaNMF`` for others, and
        ``LDA(estimate="variational")`` with both priors. Topics and weights are those of ``model``.
        ``converted.set_params(warm_start=True).fit(X)`` continues from there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import LatentDirichletAllocation
    >>> from isotopic import from_sklearn
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> theirs = LatentDirichletAllocation(3, random_state=0).fit(X)
    >>> ours = from_sklearn(theirs, X)
    >>> bool(np.allclose(ours.components_posterior_, theirs.components_))
    True
    >>> bool(np.allclose(ours.weights_, theirs.transform(X)))
    True
    """
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    counts = CountMatrix(read_container(X).with_features(names))
    given = counts.named_matrix().matrix
    if names is not None:  # or scikit-learn warns that there are none
        model = copy(model)
        del model.feature_names_in_
    weights, topics = model.transform(given), model.components_
    if isinstance(model, decomposition.LatentDirichletAllocation):
        alpha, eta = float(model.doc_topic_prior_), float(model.topic_word_prior_)
        totals = counts.sample_totals[:, np.newaxis]
        weights = weights * (alpha * len(topics) + totals)  # the parameters of their posterior
        made: Any = LDA(len(topics), alpha=alpha, eta=eta, estimate="variational")
    elif isinstance(model, (decomposition.NMF, decomposition.MiniBatchNMF)):
        if model.alpha_W or model.alpha_H not in (0, "same"):
            raise ValueError(
                f"The model has the penalties alpha_W={model.alpha_W} and alpha_H={model.alpha_H}. "
                "Only models without a penalty can be converted."
            )
        if model.beta_loss in (1, "kullback-leibler"):
            made = NMF(len(topics), normalize=False)
        else:
            made = BetaNMF(len(topics), beta=model.beta_loss, normalize=False)
    else:
        raise TypeError(
            "model must be a fitted NMF, MiniBatchNMF or LatentDirichletAllocation of "
            f"scikit-learn, not {type(model).__name__}."
        )
    settings = {name: getattr(made, name) for name in _AT_THE_POINT}
    made.set_params(init=(weights, topics), **_AT_THE_POINT).fit(counts)
    return made.set_params(init="auto", **settings)  # type: ignore[no-any-return]


def to_sklearn(model: BaseTopicModel) -> Any:
    """Return a fitted model as one of scikit-learn, with the same topics.

    Parameters
    ----------
    model : fitted NMF, BetaNMF or LDA
        An LDA needs a prior on the topics, and one concentration for all components
        (``alpha="symmetric"`` or a number): scikit-learn has no others.

    Returns
    -------
    converted : NMF or LatentDirichletAllocation of scikit-learn
        It infers weights with its own updates. Those of ``NMF`` have the scale of the topics.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, to_sklearn
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> theirs = to_sklearn(NMF(3, random_state=0).fit(X))
    >>> theirs.transform(X).shape
    (20, 3)
    """
    check_is_fitted(model)
    common = {"n_components": len(model.components_), "random_state": model.random_state}
    if isinstance(model, LDA):
        made = _lda_of_sklearn(model, common)
    elif isinstance(model, (NMF, BetaNMF)) and not getattr(model, "strength", 0):
        loss = float(getattr(model._divergence, "beta", 1))
        made = decomposition.NMF(beta_loss=loss, solver="mu", init="random", **common)
        made.components_ = np.array(model.components_)
        made.n_components_ = len(model.components_)
        made.reconstruction_err_ = float(np.sqrt(2 * max(model.objective_, 0)))
    else:
        raise TypeError(
            f"scikit-learn has no model like {model!r}. NMF, BetaNMF without a penalty and LDA "
            "can be converted."
        )
    made.n_iter_ = model.n_iter_
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    return made


def _lda_of_sklearn(model: LDA, common: dict[str, Any]) -> Any:
    alpha, eta = (np.unique(np.asarray(value)) for value in (model.alpha_, model.eta_))
    if len(alpha) != 1 or len(eta) != 1 or model.components_posterior_ is None:
        raise ValueError(
            "scikit-learn's LDA has one concentration for all weights and one for all topics. Fit "
            'with alpha="symmetric" and eta="symmetric", or with numbers.'
        )
    priors = {"doc_topic_prior": float(alpha[0]), "topic_word_prior": float(eta[0])}
    made = decomposition.LatentDirichletAllocation(learning_method="batch", **priors, **common)
    made._init_latent_vars(model.components_.shape[1])
    made.components_ = np.array(model.components_posterior_)
    logs = decomposition._lda._dirichlet_expectation_2d(made.components_)
    made.exp_dirichlet_component_ = np.exp(logs)
    made.bound_ = np.nan  # it belongs to their inference
    return made


def pyldavis_arguments(
    model: BaseTopicModel, X: Any, *, feature_names: Any = None, covariates: Any = None
) -> dict[str, Any]:
    """Return what ``pyLDAvis.prepare`` takes.

    ``pyLDAvis.prepare(**pyldavis_arguments(model, X))`` draws the model.

    Parameters
    ----------
    model : fitted model
    X : the fitted samples
    feature_names : sequence of str or None, default=None
        By default those of ``X`` or of the model.
    covariates : data frame, dict of columns, array-like, names of columns, or None, default=None
        Of the samples, if the model was fitted with covariates.

    Returns
    -------
    arguments : dict
        ``topic_term_dists``, ``doc_topic_dists``, ``doc_lengths``, ``vocab``, ``term_frequency``.
        Samples without counts are left out, which pyLDAvis does not take.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NMF, pyldavis_arguments
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> model = NMF(2, random_state=0).fit(X)
    >>> sorted(pyldavis_arguments(model, X, feature_names=["a", "b", "c", "d"]))
    ['doc_lengths', 'doc_topic_dists', 'term_frequency', 'topic_term_dists', 'vocab']
    """
    check_is_fitted(model)
    counts = model.validate_counts(X)
    offsets = read_new_covariates(model.fitted_.offsets, covariates, X, counts.shape[0])
    if feature_names is None:
        feature_names = counts.feature_names
    used = counts.sample_totals > 0
    weights = model.transform(counts, covariates=offsets.covariates)
    return {
        "topic_term_dists": model.components_ / model.components_.sum(axis=1, keepdims=True),
        "doc_topic_dists": proportions(weights, model.components_)[used],
        "doc_lengths": counts.sample_totals[used],
        "vocab": list(read_feature_names(model.fitted_, feature_names)),
        "term_frequency": counts.feature_totals,
    }

"""What comes from other packages: names of parameters, and fitted models of scikit-learn."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.base import clone

from isotopic import LDA, NMF, PLSA, BetaNMF, from_sklearn, pyldavis_arguments, to_sklearn
from isotopic.estimators import MODELS
from isotopic.estimators.unknown_parameters import ELSEWHERE, parameter_names

X = np.random.default_rng(0).poisson(2.0, (30, 10))


@pytest.mark.parametrize(
    ("model", "name", "ours"),
    [
        (LDA, "doc_topic_prior", "alpha"),
        (LDA, "topic_word_prior", "eta"),
        (NMF, "beta_loss", "BetaNMF"),
        (LDA, "learning_method", "solver"),
        (LDA, "num_topics", "n_components"),
        (PLSA, "n_topics", "n_components"),
        (LDA, "k", "n_components"),
        (NMF, "alpha", "LDA"),  # of another model
        (NMF, "n_component", "'n_components'"),  # misspelled
        (NMF, "nonsense", "max_iter"),  # all are listed
    ],
)
def test_a_parameter_of_another_package_names_ours(model, name, ours):
    with pytest.raises(TypeError, match=f"^{model.__name__} has no parameter '{name}'.*{ours}"):
        model(**{name: 1})
    with pytest.raises(ValueError, match=f"^{model.__name__} has no parameter '{name}'.*{ours}"):
        model().set_params(**{name: 1})


def test_no_parameter_of_every_model_is_listed_as_that_of_another_package():
    elsewhere = {name for names in ELSEWHERE.values() for name in names}
    common = set.intersection(*(set(parameter_names(model)) for model in MODELS.values()))
    assert elsewhere & common == set()


def test_the_check_of_names_leaves_signature_clones_and_subclasses_alone():
    class Own(NMF):
        def __init__(self, n_components=2, *, scale=1.0):
            super().__init__(n_components)
            self.scale = scale

    assert list(inspect.signature(LDA).parameters) == parameter_names(LDA)
    assert Own(scale=2.0).set_params(scale=3.0).scale == 3.0
    model = LDA(3, alpha=0.2)
    for made in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert made.get_params() == model.get_params()


@pytest.mark.parametrize(("loss", "kind"), [("kullback-leibler", NMF), (2, BetaNMF)])
def test_nmf_of_scikit_learn_comes_over_as_it_is(loss, kind):
    settings = {"solver": "mu", "init": "nndsvda", "max_iter": 3000, "tol": 1e-5}
    theirs = decomposition.NMF(3, beta_loss=loss, random_state=0, **settings).fit(X)
    ours = from_sklearn(theirs, X)
    assert isinstance(ours, kind)
    np.testing.assert_allclose(ours.components_, theirs.components_)
    np.testing.assert_allclose(ours.weights_, theirs.transform(X))
    assert ours.objective_ == pytest.approx(theirs.reconstruction_err_**2 / 2, rel=1e-3)
    assert ours.get_params() == kind(**ours.get_params()).set_params(init="auto").get_params()
    assert ours.set_params(warm_start=True).fit(X).objective_ <= theirs.reconstruction_err_**2 / 2


def test_lda_goes_to_scikit_learn_and_comes_back():
    model = LDA(3, alpha=0.2, eta=0.1, estimate="variational", tol=1e-6, random_state=0).fit(X)
    theirs = to_sklearn(model)
    np.testing.assert_allclose(theirs.components_, model.components_posterior_)
    back = from_sklearn(theirs, X)
    np.testing.assert_allclose(back.components_posterior_, model.components_posterior_)
    np.testing.assert_allclose(back.weights_, theirs.transform(X))
    assert (back.alpha, back.eta) == (0.2, 0.1)


def test_nmf_goes_to_scikit_learn():
    model = NMF(3, tol=1e-6, random_state=0).fit(X)
    theirs = to_sklearn(model).set_params(max_iter=5000, tol=1e-10)
    np.testing.assert_allclose(theirs.transform(X), model.transform(X), rtol=1e-3, atol=1e-3)


def test_what_scikit_learn_does_not_have_is_refused():
    with pytest.raises(ValueError, match="one concentration"):
        to_sklearn(LDA(3, alpha=[0.1, 0.2, 0.3], eta=0.1, tol=1e-2).fit(X))
    with pytest.raises(TypeError, match="no model like PLSA"):
        to_sklearn(PLSA(3, tol=1e-2).fit(X))
    with pytest.raises(TypeError, match="PCA"):
        from_sklearn(decomposition.PCA(2).fit(X), X)
    with pytest.raises(ValueError, match=r"penalties alpha_W=0\.1"):
        from_sklearn(decomposition.NMF(2, alpha_W=0.1, random_state=0).fit(X), X)


def test_arguments_for_pyldavis_are_distributions_of_what_is_there():
    empty = np.vstack([X, np.zeros(10, dtype=int)])
    found = pyldavis_arguments(NMF(3, random_state=0, tol=1e-3).fit(X), empty)
    for name in ("topic_term_dists", "doc_topic_dists"):
        np.testing.assert_allclose(found[name].sum(axis=1), 1)
    assert found["doc_topic_dists"].shape == (30, 3)
    np.testing.assert_array_equal(found["doc_lengths"], X.sum(axis=1))
    np.testing.assert_array_equal(found["term_frequency"], X.sum(axis=0))
    assert len(found["vocab"]) == 10

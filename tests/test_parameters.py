"""Parameters of any type: a fit computes with plain values, and everything can be saved."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import isotopic
from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    Beta,
    BetaNMF,
    Checkpoint,
    Dirichlet,
    FeatureOrderWarning,
    Free,
    Gamma,
    GammaPoisson,
    IncrementalEM,
    JointEM,
    Lasso,
    LogPenalty,
    NegativeBinomialNMF,
    OnlineEM,
    PoissonFactorization,
    PowerPenalty,
    SparseNMF,
    TopicModel,
    UnitNorm,
)

SHAPE = (30, 6)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
WIDE = np.longdouble

# A parameter in an unusual type, and the plain value that it stands for.
SAME = {
    "int8": (NMF(np.int8(3)), NMF(3)),
    "uint8": (LDA(np.uint8(3), alpha=None), LDA(3, alpha=None)),
    "int8 with a concentration": (LDA(np.int8(3), alpha=None), LDA(3, alpha=None)),
    "max_iter": (NMF(3, max_iter=np.int16(20)), NMF(3)),
    "tol of Fraction": (NMF(3, tol=Fraction(1, 1000)), NMF(3, tol=1e-3)),
    "tol of long double": (NMF(3, tol=WIDE("0.001")), NMF(3, tol=1e-3)),
    "online": (NMF(3, solver=OnlineEM(batch_size=np.int64(9))), NMF(3, solver=OnlineEM(9))),
    "incremental": (NMF(3, solver=IncrementalEM(np.int8(9))), NMF(3, solver=IncrementalEM(9))),
    "numpy text": (LDA(3, estimate=np.str_("cvb0"), alpha=np.str_("auto")), LDA(3)),
    "series": (LDA(3, alpha=pd.Series([0.1, 0.2, 0.3])), LDA(3, alpha=[0.1, 0.2, 0.3])),
    "tuple": (LDA(3, alpha=(0.1, THIRD, 0.3)), LDA(3, alpha=[0.1, 1 / 3, 0.3])),
    "frame": (LDA(3, eta=pd.DataFrame(np.full((3, 6), 0.1))), LDA(3, eta=np.full((3, 6), 0.1))),
    "fraction": (LDA(3, alpha=THIRD), LDA(3, alpha=1 / 3)),
    "decimal": (LDA(3, alpha=Decimal("0.3")), LDA(3, alpha=0.3)),
    "decimals": (LDA(3, alpha=[Decimal("0.3")] * 3), LDA(3, alpha=[0.3] * 3)),
    "objects": (LDA(3, alpha=np.array([THIRD] * 3)), LDA(3, alpha=[1 / 3] * 3)),
    "long double": (LDA(3, alpha=WIDE("0.5")), LDA(3, alpha=0.5)),
    "long doubles": (LDA(3, alpha=np.full(3, 0.5, WIDE)), LDA(3, alpha=[0.5] * 3)),
    "matrix": (LDA(3, eta=np.asmatrix(np.full((3, 6), 0.1))), LDA(3, eta=np.full((3, 6), 0.1))),
    "gamma": (GammaPoisson(3, shape=pd.Series([1, 2, 3]), rate=HALF),
              GammaPoisson(3, shape=[1, 2, 3], rate=0.5)),
    "poisson": (PoissonFactorization(3, topic_shape=pd.Series(np.ones(6)), topic_rate=HALF),
                PoissonFactorization(3, topic_shape=1.0, topic_rate=0.5)),
    "strength": (SparseNMF(3, HALF, norm=Fraction(3, 2)), SparseNMF(3, 0.5, norm=1.5)),
    "power": (SparseNMF(3, penalty="power", power=HALF), SparseNMF(3, penalty="power")),
    "offset": (SparseNMF(3, penalty="log", offset=WIDE(2)),
               SparseNMF(3, penalty="log", offset=2.0)),
    "beta": (BetaNMF(3, beta=Fraction(3, 2)), BetaNMF(3, beta=1.5)),
    "wide beta": (BetaNMF(3, beta=WIDE("1.5")), BetaNMF(3, beta=1.5)),
    "penalty": (BetaNMF(3, penalty=Lasso(HALF)), BetaNMF(3, penalty=Lasso(0.5))),
    "dispersion": (NegativeBinomialNMF(3, dispersion=HALF), NegativeBinomialNMF(3, dispersion=0.5)),
    "relevance": (ARDNMF(3, shape=Fraction(5, 2), scale=np.float32(2)),
                  ARDNMF(3, shape=2.5, scale=2.0)),
    "lasso": (TopicModel(3, weights=Lasso(HALF)), TopicModel(3, weights=Lasso(0.5))),
    "log": (TopicModel(3, weights=LogPenalty(HALF, WIDE(1))),
            TopicModel(3, weights=LogPenalty(0.5, 1.0))),
    "root": (TopicModel(3, weights=PowerPenalty(HALF, THIRD)),
             TopicModel(3, weights=PowerPenalty(0.5, 1 / 3))),
    "norm": (TopicModel(3, topics=UnitNorm(Fraction(3, 2))), TopicModel(3, topics=UnitNorm(1.5))),
    "priors": (TopicModel(3, weights=Dirichlet(pd.Series([0.1, 0.2, 0.3])),
                          topics=Dirichlet(pd.DataFrame(np.ones((3, 6))))),
               TopicModel(3, weights=Dirichlet([0.1, 0.2, 0.3]),
                          topics=Dirichlet(np.ones((3, 6))))),
    "gamma prior": (TopicModel(3, weights=Gamma(HALF, WIDE(1))),
                    TopicModel(3, weights=Gamma(0.5, 1.0))),
    "divergence": (TopicModel(3, divergence=Beta(Fraction(3, 2))),
                   TopicModel(3, divergence=Beta(1.5))),
    "range": (NMF(3, seeds={0: range(3)}), NMF(3, seeds={0: [0, 1, 2]})),
    "set": (NMF(3, seeds={np.int8(0): {2, 1}}), NMF(3, seeds={0: [1, 2]})),
    "index": (NMF(3, seeds={0: pd.Index([1, 2])}), NMF(3, seeds={0: [1, 2]})),
    "nested": (NMF(3, seeds={0: {np.int64(1): THIRD}}), NMF(3, seeds={0: {1: 1 / 3}})),
    "forbidden": (NMF(3, forbidden={0: range(2)}), NMF(3, forbidden={0: [0, 1]})),
    "mask": (NMF(3, forbidden=pd.DataFrame(np.eye(3, 6) > 0)), NMF(3, forbidden=np.eye(3, 6))),
    "fixed": (NMF(3, fixed_topics=[[Fraction(1, 6)] * 6]), NMF(3, fixed_topics=[[1 / 6] * 6])),
    "start": (NMF(3, init=(pd.DataFrame(np.ones((30, 3))), np.arange(1, 19).reshape(3, 6))),
              NMF(3, init=[np.ones((30, 3)), np.arange(1.0, 19).reshape(3, 6)])),
    "wide start": (PLSA(3, init=(np.ones((30, 3), WIDE), WIDE(np.arange(1, 19)).reshape(3, 6))),
                   PLSA(3, init=(np.ones((30, 3)), np.arange(1.0, 19).reshape(3, 6)))),
}  # fmt: skip


@pytest.fixture(name="X")
def counts():
    return np.random.default_rng(0).poisson(2.0, SHAPE).astype(float)


def fitted(model, X, **given):
    return clone(model).set_params(random_state=0, max_iter=20, tol=0).fit(X, **given)


@pytest.mark.every(2)
@pytest.mark.parametrize("case", SAME)
def test_a_parameter_of_any_type_fits_as_its_plain_value_and_can_be_saved(case, X, tmp_path):
    unusual, plain = SAME[case]
    model, expected = fitted(unusual, X), fitted(plain, X)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-11)
    for name, value in unusual.get_params(deep=False).items():
        if name not in ("random_state", "max_iter", "tol"):
            assert type(getattr(model, name)) is type(value)  # as the user gave it
    model.save(tmp_path / "model")
    loaded = isotopic.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    again = clone(loaded).fit(X)
    np.testing.assert_allclose(again.components_, model.components_, rtol=1e-11)
    checkpoint = Checkpoint(tmp_path / "checkpoint", seconds=0)
    for _ in range(2):  # written, and read
        with_checkpoint = fitted(unusual, X, checkpoint=checkpoint)
        np.testing.assert_array_equal(with_checkpoint.components_, model.components_)


def test_an_unusual_tolerance_is_named_in_the_warning(X):
    with pytest.warns(UserWarning, match=r"more than tol=1.0e-03"):
        NMF(3, tol=Fraction(1, 1000), max_iter=np.int8(2)).fit(X)


def test_labels_of_a_parameter_are_put_into_the_order_of_the_features(X, tmp_path):
    names, eta = list("fbadce"), np.linspace(0.1, 2, 6)
    frame, settings = pd.DataFrame(X, columns=names), {"max_iter": 5, "tol": 0, "random_state": 0}
    expected = LDA(3, eta=eta, **settings).fit(X).components_
    series = pd.Series(eta, names)[sorted(names)]
    table = pd.DataFrame([eta] * 3, columns=names)[sorted(names)]
    for shuffled in (series, table):
        with pytest.warns(FeatureOrderWarning, match="aligned by name"):
            model = LDA(3, eta=shuffled, **settings).fit(frame)
        np.testing.assert_allclose(model.components_, expected, rtol=1e-12)
        model.save(tmp_path / "model")
        again = clone(isotopic.load(tmp_path / "model")).fit(X)
        np.testing.assert_array_equal(again.components_, model.components_)


def test_an_iterator_is_refused_because_it_is_empty_the_second_time(X):
    with pytest.raises(TypeError, match=r"seeds\[0\] is an iterator.*Pass a list"):
        NMF(3, seeds={0: iter([1, 2])}).fit(X)


def test_a_number_beyond_float64_is_refused(X):
    with pytest.raises(ValueError, match="tol is too large"):
        NMF(3, tol=Fraction(10**400)).fit(X)


@dataclass(frozen=True, eq=False)
class Unregistered(Free):
    pass


@dataclass(frozen=True)
class UnregisteredSolver(JointEM):
    pass


@pytest.mark.parametrize(
    "parameters",
    [{"weights": Unregistered()}, {"topics": Unregistered()}, {"solver": UnregisteredSolver()}],
    ids=lambda parameters: next(iter(parameters)),
)
def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_fit(X, tmp_path, parameters):
    iterations = []
    model = TopicModel(3, callbacks=iterations.append, **parameters)
    with pytest.raises(TypeError, match=r"isotopic\.register"):
        model.fit(X, checkpoint=tmp_path / "checkpoint")
    assert iterations == []
    assert not (tmp_path / "checkpoint").exists()


def test_a_model_of_another_package_and_sparse_tables_are_still_refused(X):
    with pytest.raises((TypeError, ValueError), match="init"):
        NMF(3, init=LinearRegression()).fit(X)
    with pytest.raises(ValueError, match="seeds"):
        NMF(3, seeds=sparse.csr_array(np.eye(3, 6))).fit(X)
    with pytest.raises(TypeError, match="masked"):
        LDA(3, alpha=np.ma.masked_array([0.1, 0.2, 0.3], [True, False, False])).fit(X)

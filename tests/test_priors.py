"""Every prior: what it promises as mathematics, alone, in wrappers, and from outside."""

import copy
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from outside import Barrier, Quadratic
from problems import random_counts

import isotopic
from isotopic import NMF, Checkpoint, Simplex, TopicModel, open_blocks, priors
from isotopic.priors import (
    CollapsedDirichlet,
    Dirichlet,
    DirichletMean,
    DirichletMode,
    Fixed,
    Forbidden,
    Free,
    Gamma,
    Lasso,
    LogPenalty,
    Posterior,
    PowerPenalty,
    Prior,
    Relevance,
    SampleWeighted,
    Seeded,
    UnitNorm,
    WithCovariates,
    WithFixedTopics,
    WithFixedWeights,
    WithSizeFactors,
)
from isotopic.registry import registered_types

SHAPE = (6, 4)
BY_COLUMN = np.array([0.3, 0.7, 1.2, 2.0])

PRIORS = [
    Free(),
    Simplex(),
    Lasso(0.7),
    LogPenalty(0.7, 0.5),
    PowerPenalty(0.7, 0.5),
    PowerPenalty(0.7, 0.8),
    Relevance(strength=BY_COLUMN, constant=1.0),
    Dirichlet(BY_COLUMN),
    DirichletMean(BY_COLUMN),
    DirichletMode(1 + BY_COLUMN),
    CollapsedDirichlet(BY_COLUMN),
    Gamma(BY_COLUMN, 2 * BY_COLUMN),
    Quadratic(0.7),
    Quadratic(BY_COLUMN),
    Barrier(0.5),
]

_rng = np.random.default_rng(5)
COPIES, SIZES = _rng.gamma(2.0, size=SHAPE[0]) + 0.2, _rng.gamma(2.0, size=SHAPE[0]) + 0.2
GIVEN, HELD = _rng.gamma(2.0, size=(SHAPE[0], 1)), _rng.dirichlet(np.ones(SHAPE[1]), 2)
SEEDS = np.where(_rng.random(SHAPE) < 0.3, 2.0, 0.0)
MASK = _rng.random(SHAPE) < 0.3
MASK[:, 0] = False
COVARIATES = np.column_stack([np.ones(SHAPE[0]), _rng.normal(size=SHAPE[0])])
COEFFICIENTS = _rng.normal(-0.5, 0.5, (2, SHAPE[1]))


def wrapped(prior):
    yield SampleWeighted(prior, COPIES)
    yield WithFixedTopics(prior, HELD)
    if not prior.is_normalized:
        yield WithSizeFactors(prior, SIZES)
        yield WithFixedWeights(prior, GIVEN)
        yield SampleWeighted(WithSizeFactors(WithFixedWeights(prior, GIVEN), SIZES), COPIES)
    if prior.is_bayesian and not isinstance(prior, DirichletMode):  # whose rows have concentrations
        yield WithCovariates(replace(prior, learn="asymmetric"), COVARIATES)
        yield SampleWeighted(WithCovariates(prior, COVARIATES, COEFFICIENTS), COPIES)
    if not prior.is_bayesian:
        yield Seeded(prior, SEEDS)
        if type(prior) is not Barrier:  # which has infinite costs at zero
            yield Forbidden(prior, MASK)


ALL = PRIORS + [wrapper for prior in PRIORS for wrapper in wrapped(prior)]
each_prior = pytest.mark.parametrize("prior", ALL, ids=str)
each_point = pytest.mark.parametrize("prior", [p for p in ALL if not p.is_bayesian], ids=str)


def absorbed(prior, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(2.0, 3.0, SHAPE) + 0.05
    if not isinstance(prior, (SampleWeighted, WithSizeFactors, WithFixedWeights, WithCovariates)):
        counts = np.asfortranarray(counts)  # the layout of topics
    if isinstance(prior, Forbidden):  # they cannot have any
        counts[prior.forbidden] = 0
    totals = 1.0 if prior.is_normalized else rng.gamma(2.0, size=SHAPE[1]) + 0.1
    if isinstance(prior, WithFixedTopics) and not prior.is_normalized:
        totals = rng.gamma(2.0, size=(SHAPE[0], 1)) + 0.1
    return prior.absorb(counts.copy("K"), totals), counts, totals


def majorizer(prior, found, counts, totals):
    """The part of the bound on the objective that depends on this factor."""
    logs = np.log(found.effective, out=np.zeros(SHAPE), where=found.effective > 0)
    mass = found.mean * totals * (1.0 if prior.copies is None else prior.copies[:, np.newaxis])
    return float(-(counts * logs).sum() + (0 if prior.is_normalized else mass.sum()) + found.term)


def test_every_registered_prior_is_tested():
    known = {cls for cls in registered_types().values() if issubclass(cls, Prior)}
    assert known - {type(prior) for prior in ALL} == {Fixed, UnitNorm}  # which have their own


@each_prior
def test_absorbing_minimises_the_majorizer(prior, rng):
    found, counts, totals = absorbed(prior)
    least = majorizer(prior, found, counts, totals)
    values = found.parameters if prior.is_bayesian else found.mean
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(5):
            other = prior.at(values * np.exp(size * rng.standard_normal(SHAPE)), totals)
            assert majorizer(prior, other, counts, totals) >= least - 1e-10 * abs(least)


@each_prior
def test_the_gap_is_zero_where_the_counts_are_absorbed(prior):
    found, counts, totals = absorbed(prior)
    assert prior.gap(found, counts, totals) <= 1e-9 * counts.sum()
    assert prior.gap(found, 2 * counts + 1, totals) > 0.1


@each_prior
def test_implied_counts_are_those_absorbed(prior):
    found, counts, totals = absorbed(prior)
    implied = prior.implied_counts(found, counts.sum(axis=1), totals)
    again = prior.absorb(np.array(implied, order="K"), totals)
    np.testing.assert_allclose(again.mean, found.mean, rtol=1e-9, atol=1e-12)


@each_point
def test_the_slope_is_the_derivative_of_the_penalty(prior):
    factor, step = absorbed(prior)[0].mean.copy(), 1e-6
    factor = np.maximum(factor, 0.01)
    slope = np.broadcast_to(prior.slope(factor), SHAPE)
    if prior.penalty(factor) is None:
        assert not slope.any()
        return
    assert prior.penalty(factor).shape == SHAPE[:1]
    for column in range(SHAPE[1]):
        shift = np.zeros(SHAPE)
        shift[:, column] = step
        found = (prior.penalty(factor + shift) - prior.penalty(factor - shift)) / (2 * step)
        np.testing.assert_allclose(found, slope[:, column], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "prior", [p for p in PRIORS if not p.is_bayesian and p.norm is None], ids=str
)
@pytest.mark.parametrize("copies", [None, COPIES], ids=["once", "copies"])
def test_the_derivative_by_the_scale(prior, copies):
    factor, step = absorbed(prior)[0].mean, 1e-6
    counted = prior if copies is None else SampleWeighted(prior, copies)
    found = np.broadcast_to(counted.scale_derivative(Posterior(factor, factor)), SHAPE[1])
    for component in range(SHAPE[1]):
        scale = np.exp(step * (np.arange(SHAPE[1]) == component))
        rise = counted.at(factor * scale, 1.0).term - counted.at(factor / scale, 1.0).term
        assert rise / (2 * step) == pytest.approx(found[component], rel=1e-6, abs=1e-7)


@each_prior
def test_rows_have_the_prior_of_their_rows(prior):
    found, counts, totals = absorbed(prior)
    which = np.array([0, 1, 4])
    if np.ndim(totals) == 2:
        totals = totals[which]
    part = prior.rows(which).absorb(counts[which].copy("K"), totals)
    np.testing.assert_allclose(part.mean, found.mean[which], rtol=1e-12)
    np.testing.assert_allclose(part.effective, found.effective[which], rtol=1e-12)


@each_prior
def test_priors_are_values(prior):
    assert isinstance(prior, Prior)
    for other in (copy.copy(prior), copy.deepcopy(prior), pickle.loads(pickle.dumps(prior))):
        assert other == prior
        assert hash(other) == hash(prior)
    assert prior != Free() or type(prior) is Free
    with pytest.raises(AttributeError):
        prior.no_such_member  # noqa: B018


def test_unit_norm_takes_the_roots():
    prior = UnitNorm(2.5).next_to(np.linspace(0.5, 2.0, SHAPE[0]))
    found, counts, totals = absorbed(prior)
    roots = found.mean * found.scale[:, np.newaxis]
    left = totals * roots + prior.pulled_by[:, np.newaxis] * roots**2.5
    np.testing.assert_allclose(left, counts, rtol=1e-9)
    np.testing.assert_allclose((found.mean**2.5).sum(axis=1), 1)


def test_settings_by_component_follow_the_components():
    prior, order = Quadratic(BY_COLUMN), np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(prior.reordered(order).strength, BY_COLUMN[order])
    assert Quadratic(0.7).reordered(order) == Quadratic(0.7)
    groups = np.array([0, 1, 0, 2])
    assert Quadratic(0.7).merged(groups) == Quadratic(0.7)
    same = Quadratic(np.array([1.0, 2.0, 1.0, 3.0])).merged(groups)
    np.testing.assert_array_equal(same.strength, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="strength of Quadratic differs"):
        prior.merged(groups)
    with pytest.raises(ValueError, match="Cannot merge components with DirichletMode weights"):
        DirichletMode(2.0).merged(groups)


def test_settings_must_fit_the_factor():
    Quadratic(BY_COLUMN).check_shape(SHAPE)
    Quadratic(np.ones(SHAPE)).check_shape(SHAPE)
    with pytest.raises(ValueError, match=r"strength of shape \(3,\) does not fit a factor"):
        Quadratic(np.ones(3)).check_shape(SHAPE)


def test_an_l1_penalty_is_told_by_a_number():
    numbers = [Free(), Simplex(), Lasso(0.7), SampleWeighted(Lasso(0.7), COPIES)]
    assert [prior.linear_penalty for prior in numbers] == [0.0, 0.0, 0.7, 0.7]
    others = [Quadratic(), Gamma(), Dirichlet(), Seeded(Simplex(), SEEDS), LogPenalty()]
    assert [prior.linear_penalty for prior in others] == [None] * 5


def test_what_priors_do_to_the_scale():
    tendencies = {Free(): "free", Quadratic(): "shrinks", Lasso(): "shrinks", Simplex(): "bounded"}
    tendencies |= {Barrier(): "bounded", Gamma(): "bounded", Seeded(Free(), SEEDS): "grows"}
    tendencies |= {SampleWeighted(Quadratic(), COPIES): "shrinks", UnitNorm(2.0): "bounded"}
    for prior, tendency in tendencies.items():
        assert prior.scale_tendency == tendency


# A prior from outside, with everything that a model does.


@pytest.mark.parametrize("solver", ["joint", "alternating", "accelerated", "online", "incremental"])
@pytest.mark.parametrize(
    ("weights", "topics"),
    [(Quadratic(0.3), Simplex()), (Quadratic(0.3), Barrier(0.2)), (Quadratic(0.3), Quadratic(0.3))],
    ids=str,
)
def test_outside_priors_in_every_solver(rng, solver, weights, topics):
    X = random_counts(rng, mean=3.0)
    model = TopicModel(3, weights=weights, topics=topics, solver=solver, random_state=0)
    model.set_params(max_iter=5000, tol=1e-5)
    if topics.norm is None and solver in ("joint", "online", "incremental"):
        with pytest.raises(ValueError, match="normalised topics"):
            model.fit(X)
        return
    model.fit(X)
    assert model.converged_
    objective = model.history_["objective"]
    if solver in ("joint", "alternating"):
        assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
    np.testing.assert_allclose(model.transform(X), model.weights_, rtol=0.02, atol=0.05)


@pytest.mark.parametrize(
    "known",
    ["sample_weight", "size_factors", "fixed_weights", "missing_mask"],
)
def test_outside_priors_in_wrappers(rng, known):
    X = random_counts(rng, 20, 9, mean=3.0)
    given = {
        "sample_weight": rng.gamma(2.0, size=20) + 0.1,
        "size_factors": rng.gamma(2.0, size=20) + 0.1,
        "fixed_weights": np.ones((20, 1)),
        "missing_mask": rng.random(X.shape) < 0.1,
    }[known]
    model = TopicModel(3, weights=Quadratic(0.3), solver="joint", max_iter=5000, tol=1e-5)
    model.set_params(random_state=0, forbidden={2: [3]}).fit(X, **{known: given})
    objective = model.history_["objective"]
    assert model.converged_
    assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))


def test_outside_priors_are_saved_and_loaded(rng, tmp_path):
    model = TopicModel(3, weights=Quadratic(np.ones(3)), topics=Barrier(0.2), max_iter=5, tol=0)
    model.fit(random_counts(rng)).save(tmp_path / "model")
    again = isotopic.load(tmp_path / "model")
    assert again.weights == model.weights
    np.testing.assert_array_equal(again.weights_, model.weights_)


@pytest.mark.parametrize("in_blocks", [False, True])
def test_outside_priors_in_checkpoints_and_blocks(rng, tmp_path, in_blocks):
    X = random_counts(rng, 24, 9)
    data = open_blocks([X[:8], X[8:16], X[16:]], block_entries=1) if in_blocks else X
    by_sample = Quadratic(rng.gamma(2.0, size=(24, 3)) + 0.1)
    settings = {"weights": by_sample, "topics": Barrier(0.2), "tol": 0, "random_state": 0}
    whole = TopicModel(3, max_iter=9, **settings).fit(data)
    kept = Checkpoint(tmp_path / "fit", seconds=0)
    TopicModel(3, max_iter=4, **settings).fit(data, checkpoint=kept)
    again = TopicModel(3, max_iter=9, **settings).fit(data, checkpoint=kept)
    np.testing.assert_array_equal(again.weights_, whole.weights_)
    np.testing.assert_allclose(
        TopicModel(3, max_iter=9, **settings).fit(X).weights_, whole.weights_, rtol=1e-9
    )


def test_outside_priors_are_merged_and_reordered(rng):
    X = random_counts(rng)
    model = TopicModel(3, weights=Quadratic(np.array([1.0, 1.0, 2.0])), max_iter=5, tol=0).fit(X)
    np.testing.assert_array_equal(model.reorder([2, 0, 1]).weights.strength, [2.0, 1.0, 1.0])
    merged = model.merge([[0, 1]], X)
    np.testing.assert_array_equal(merged.weights.strength, [1.0, 2.0])
    assert merged.components_.shape == (2, 9)


# The registry


def test_what_is_not_registered_is_not_saved(rng, tmp_path):
    @dataclass(frozen=True, eq=False)
    class Unknown(Quadratic):
        pass

    model = TopicModel(2, weights=Unknown(), max_iter=2, tol=0).fit(random_counts(rng))
    with pytest.raises(TypeError, match=r"not registered. Call isotopic.register\(Unknown\)"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_what_is_not_registered_is_not_read(rng, tmp_path, monkeypatch):
    model = TopicModel(2, weights=Quadratic(), max_iter=2, tol=0).fit(random_counts(rng))
    model.save(tmp_path / "model")
    monkeypatch.delitem(isotopic.registry._TYPES, "Quadratic")
    with pytest.raises(ValueError, match=r"'Quadratic' is not registered.*call isotopic.register"):
        isotopic.load(tmp_path / "model")


def test_names_in_files_are_taken_once(monkeypatch):
    monkeypatch.setattr(isotopic.registry, "_TYPES", dict(registered_types()))

    @dataclass(frozen=True, eq=False)
    class Lasso(Prior):
        pass

    with pytest.raises(ValueError, match=r"'Lasso' is already registered for isotopic.priors"):
        isotopic.register(Lasso)

    def define():
        @dataclass(frozen=True, eq=False)
        class Redefined(Prior):
            pass

        return isotopic.register(Redefined)

    first, second = define(), define()  # as when a cell of a notebook runs twice
    assert first is not second
    assert registered_types()["Redefined"] is second


def test_only_what_files_can_hold_is_registered():
    class Plain(Prior):
        pass

    with pytest.raises(TypeError, match="make it a dataclass"):
        isotopic.register(Plain)
    with pytest.raises(TypeError, match="expects a class"):
        isotopic.register(Quadratic())


def test_the_table_of_priors_is_complete():
    for name, cls in registered_types().items():
        if issubclass(cls, Prior) and cls.__module__.startswith("isotopic."):
            assert f" {name}(" in priors.__doc__, name


def test_named_models_need_an_object(rng):
    with pytest.raises(TypeError, match=r"such as Dirichlet\(0.1\)"):
        TopicModel(2, weights=Quadratic).fit(random_counts(rng))
    assert NMF(2).fit(random_counts(rng)).components_.shape == (2, 9)

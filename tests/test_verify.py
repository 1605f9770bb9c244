"""Every claim of the paper holds, and every row of the table notices when it does not."""

import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from isotopic import generative, kernels
from isotopic.divergences import NegativeBinomial, kullback_leibler
from isotopic.priors import Dirichlet, Free, Gamma, Lasso, Simplex, UnitNorm
from isotopic.problem import Pair
from isotopic.solvers import Alternating, JointEM
from isotopic.verify import CHECKS, Claim, VerificationTable, exact, verify
from isotopic.verify.evidence import Evidence, deviation, excess
from isotopic.verify.reformulation import Sparse

NUMBERED = {
    *(f"Algorithm {number}" for number in range(1, 8)),
    *(f"Lemma {number}" for number in ("4.1", "4.2", "6.1", "A.1", "A.2", "B.1")),
    *(f"Lemma {number}" for number in ("D.1", "D.2", "D.3", "E.1", "E.3")),
    *(f"Corollary {number}" for number in ("A.3", "B.2", "E.2", "E.4")),
    "Theorem F.1",
}


def small_data():
    """Two parts that are easily told apart, so that fits settle soon."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet([0.3, 0.3], size=20)
    topics = np.repeat([[5.0, 1.0], [1.0, 4.0]], 6, axis=1) * rng.uniform(0.2, 1.0, size=12)
    X = rng.poisson(8 * shares @ topics)
    X[3], X[:, 4] = 0, 0  # a sample and a feature that were never seen
    return X


# Every claim holds


def test_the_paper_holds_on_the_bundled_corpus():
    table = verify()
    assert table.passed, str(table)
    assert {claim.where for claim in table} >= NUMBERED


def sparse_counts():
    rng = np.random.default_rng(1)
    return sparse.coo_array(rng.poisson(0.15, size=(2500, 60)))


def fractions():
    return np.random.default_rng(2).gamma(0.3, size=(25, 18)) * 1e4


@pytest.mark.parametrize(
    ("X", "n_components"),
    [
        (small_data(), 3),
        (sparse_counts(), 4),  # more samples than are looked at
        (fractions(), 2),
        (small_data().astype(np.float32), 20),  # more components than samples or features
        (np.array([[2]]), 1),
    ],
    ids=["dense", "sparse", "fractions", "many components", "one count"],
)
def test_the_paper_holds_on_random_data(X, n_components):
    table = verify(X, n_components, n_iter=5, random_state=np.random.default_rng(4))
    assert table.passed, str(table)


def test_it_can_be_repeated_and_does_not_touch_the_data():
    X = sparse.csr_array(np.repeat(np.eye(2), 4, axis=1) * 5 + np.eye(2, 8))
    before = X.copy()
    assert verify(X, 2, n_iter=2) == verify(X, 2, n_iter=2)
    assert X.dtype == before.dtype
    assert (before != X).nnz == 0


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (np.zeros((3, 4)), {}, "no counts"),
        (-np.eye(3), {}, "row 0, column 0"),
        (np.eye(3), {"n_components": 0}, "n_components must be at least 1"),
        (np.eye(3), {"n_iter": 1}, "n_iter must be at least 2"),
    ],
)
def test_what_cannot_be_verified_is_an_error(X, settings, message):
    with pytest.raises(ValueError, match=message):
        verify(X, **settings)


# The table


def a_table():
    return VerificationTable(
        [
            Claim("Lemma 1.1", "a < b & so on", 1e-16, 1e-10),
            Claim("Algorithm 22", "it does", 0.5, 0.0),
            Claim("Section 3", "no number", math.nan, 1.0),
        ]
    )


def test_a_table_is_its_rows():
    table = a_table()
    assert len(table) == 3
    assert [claim.passed for claim in table] == [True, False, False]
    assert not table.passed
    assert VerificationTable(table[:1]).passed


def test_a_table_prints_aligned():
    text = str(a_table())
    assert repr(a_table()) == text
    header, rule, *rows, _, summary = text.splitlines()
    assert [row.split()[-1] for row in rows] == ["ok", "FAILED", "FAILED"]
    assert {row.index("1e-10") + 5 for row in rows[:1]} == {header.index("tolerance") + 9}
    assert set(rule) == {"-", " "}
    assert summary == "1 of 3 claims hold"


def test_a_table_fits_the_page_even_if_all_of_it_fails():
    table = VerificationTable(Claim(check.where, check.claim, 1e-9, 1e-10) for check in CHECKS)
    assert max(map(len, str(table).splitlines())) <= 110


def test_a_table_is_html_in_notebooks():
    html = a_table()._repr_html_()
    assert html.count("<tr>") == 4
    assert "a &lt; b &amp; so on" in html
    assert "1 of 3 claims hold" in html


def test_what_is_not_a_number_is_no_small_deviation():
    assert deviation([1.0, math.nan], np.ones(2)) == math.inf
    assert deviation(math.inf, math.inf) == math.inf
    assert excess(math.nan, 1.0, scale=1.0) == math.inf
    assert excess([1.0, 3.0], [2.0, 2.0], scale=4.0) == 0.25
    assert deviation((1.0, 3.0), (1.0, 2.0)) == 0.5


# Mistakes that the library could make. What each is called says what it is.


def _absorb(patch, prior, change):
    """Let a prior absorb what ``change`` makes of (prior, counts, totals)."""
    right = prior.absorb
    patch.setattr(
        prior, "absorb", lambda self, counts, totals: right(*change(self, counts, totals))
    )


def lasso_halves_its_strength(patch):
    _absorb(patch, Lasso, lambda self, c, t: (Lasso(self.strength / 2), c, t))


def lasso_makes_zeros(patch):
    _absorb(patch, Lasso, lambda self, c, t: (self, np.maximum(c - 0.5 * self.strength, 0), t))


def gamma_forgets_the_totals(patch):
    _absorb(patch, Gamma, lambda self, c, t: (self, c, 0.0 * t))


def dirichlet_forgets_its_concentration(patch):
    _absorb(patch, Dirichlet, lambda self, c, t: (self, c - 0.999 * self.concentration, t))


def free_is_generous(patch):
    _absorb(patch, Free, lambda self, c, t: (self, c * (1 + 1e-6), t))


def simplex_smooths(patch):
    _absorb(patch, Simplex, lambda self, c, t: (self, c + 0.1, t))


def _one_pass(patch, change):
    right = kernels.one_pass

    def wrong(*arguments, **options):
        return change(right(*arguments, **options))

    for module in (kernels, kullback_leibler):
        patch.setattr(module, "one_pass", wrong)


def kernel_prefers_a_component(patch):
    def change(counts):
        weights, topics = counts.weights.copy(), counts.topics.copy(order="F")
        weights[:, 0] *= 1 + 1e-3
        topics[0, ::2] *= 1 + 1e-3
        return counts._replace(weights=weights, topics=topics)

    _one_pass(patch, change)


def kernel_misjudges_the_likelihood(patch):
    _one_pass(patch, lambda c: c._replace(log_likelihood=c.log_likelihood * (1 - 1e-6)))


def objective_misses_one(patch):
    right = Pair.objective
    patch.setattr(Pair, "objective", lambda self, *terms: right(self, *terms) - 1)


def topics_count_as_normalized(patch):
    patch.setattr(Pair, "topics_totals", lambda self, topics, missing=None: 1.0)


def penalty_is_not_counted(patch):
    right = Lasso.at
    patch.setattr(Lasso, "at", lambda self, v, t: replace(right(self, v, t), terms=None))


def joint_iteration_is_two(patch):
    right = JointEM.step
    patch.setattr(JointEM, "step", lambda self, p, state: right(self, p, right(self, p, state)))


def alternating_does_not_look_again(patch):
    def wrong(self, problem, state):
        topics = problem.topics.absorb(state.counts.topics, problem.weights_totals(state.weights))
        weights = problem.weights.absorb(state.counts.weights, problem.topics_totals(topics))
        return problem.evaluate(weights, topics, state.passes + 2)

    patch.setattr(Alternating, "step", wrong)


def conversion_changes_the_topics(patch):
    module = import_module("isotopic.convert")
    right = module.explained_counts

    def wrong(*arguments):
        weights, topics = right(*arguments)
        return weights, topics**1.001

    patch.setattr(module, "explained_counts", wrong)


def process_draws_too_few(patch):
    right = generative.poisson
    patch.setattr(generative, "poisson", lambda w, t, **options: right(0.8 * w, t, **options))


def integral_has_another_prior(patch):
    right = exact.lda_likelihood
    patch.setattr(exact, "lda_likelihood", lambda x, t, alpha: right(x, t, alpha + 0.01))


def convolution_has_other_rates(patch):
    right = exact.poisson_contributions
    patch.setattr(exact, "poisson_contributions", lambda w, t, most: right(w + 1e-6, t, most))


def words_have_other_weights(patch):
    right = exact.word_by_word
    patch.setattr(exact, "word_by_word", lambda w, t, total: right(w + 1e-6, t, total))


def unit_norm_forgets_the_pull(patch):
    patch.setattr(UnitNorm, "next_to", lambda self, pull: self)


def dispersion_does_not_vanish(patch):
    right = NegativeBinomial.gradient

    def wrong(self, x, product):
        numerator, denominator = right(self, x, product)
        return numerator, denominator * (1 + 1e-3 * x / x.max())

    patch.setattr(NegativeBinomial, "gradient", wrong)


def norm_is_another(patch):
    def wrong(self, weights, topics):
        norms = (topics ** (self.p + 0.01)).sum(axis=1) ** (1 / (self.p + 0.01))
        return weights * norms, topics / norms[:, np.newaxis]

    patch.setattr(Sparse, "normalized", wrong)


# What notices a mistake, by the names of the checks. The first are noticed by these and no others.

LOCAL = {
    lasso_halves_its_strength: "lasso_iterates lasso_solutions lasso_without_constraint "
    "sparse_nmf_without_constraint",
    gamma_forgets_the_totals: "gamma_poisson gamma_poisson_and_lda_fixed_points",
    penalty_is_not_counted: "lasso_solutions products_of_norms sparse_nmf_without_constraint",
    unit_norm_forgets_the_pull: "sparse_nmf_without_constraint",
    dispersion_does_not_vanish: "negative_binomial_limit",
    norm_is_another: "solutions_of_both sparse_nmf_without_constraint",
    alternating_does_not_look_again: "lee_and_seung",
    conversion_changes_the_topics: "free_and_normalized lasso_solutions",
    process_draws_too_few: "draws",
    integral_has_another_prior: "buntine same_optima",
    convolution_has_other_rates: "poisson_counts poisson_and_multinomial",
    words_have_other_weights: "multinomial_counts poisson_and_multinomial",
}
WIDE = {
    lasso_makes_zeros: "lasso_iterates lasso_sparsity",
    dirichlet_forgets_its_concentration: "blei dirichlet_poisson "
    "gamma_poisson_and_lda_iterates gamma_poisson_and_lda_fixed_points",
    free_is_generous: "lee_and_seung joint_nmf nmf_and_plsa_iterates totals_are_kept",
    simplex_smooths: "hofmann joint_plsa fixed_points_of_nmf nmf_and_plsa_fixed_points "
    "exposures_of_samples",
    kernel_prefers_a_component: "lee_and_seung hofmann blei joint_nmf gamma_poisson one_count "
    "sums_of_counts",
    kernel_misjudges_the_likelihood: "divergence_and_likelihood normalized_and_plsa "
    "sums_of_counts whole_divergence",
    objective_misses_one: "lda_is_bounded divergence_and_likelihood dirichlet_poisson_bound "
    "gamma_poisson_bounds",
    topics_count_as_normalized: "lee_and_seung descent constraint_into_penalty",
    joint_iteration_is_two: "passes joint_nmf joint_minimum whole_divergence",
}


SLOW = {"draws", "free_and_normalized"}


def noticed_by(mistake, wanted):
    """Make the mistake and find the checks that fail, among those that are wanted."""
    with pytest.MonkeyPatch.context() as patch:
        mistake(patch)
        evidence = Evidence.of(small_data(), 2, 5, 0)
        checks = (check for check in CHECKS if check.measure.__name__ in wanted)
        return {check.measure.__name__ for check in checks if not check(evidence).passed}


@pytest.mark.parametrize("mistake", LOCAL, ids=lambda mistake: mistake.__name__)
def test_a_mistake_fails_its_rows_and_no_others(mistake, pytestconfig):
    """Of the others, each mistake meets a quarter; with ``--thorough`` all."""
    expected, names = set(LOCAL[mistake].split()), [check.measure.__name__ for check in CHECKS]
    if not pytestconfig.getoption("thorough"):
        names = names[list(LOCAL).index(mistake) % 4 :: 4]
    assert noticed_by(mistake, {*names} - SLOW | expected) == expected


@pytest.mark.parametrize("mistake", WIDE, ids=lambda mistake: mistake.__name__)
def test_a_mistake_in_what_all_share_fails_its_rows(mistake):
    expected = set(WIDE[mistake].split())
    assert noticed_by(mistake, expected) == expected


def test_every_row_can_fail():
    """The tests above show that the rows of each mistake do."""
    names = [check.measure.__name__ for check in CHECKS]
    failing = " ".join((LOCAL | WIDE).values()).split()
    assert sorted(set(failing)) == sorted(names)

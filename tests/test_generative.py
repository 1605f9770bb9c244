"""Every process draws the distribution that the paper gives it, so equivalent ones agree."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse, special, stats
from scipy.signal import convolve

from isotopic import generative

N = 20_000
WEIGHTS = np.array([0.5, 1.5])
PROPORTIONS = WEIGHTS / WEIGHTS.sum()
# Eighths: products and sums of them are exact, whatever the order of the arithmetic.
TOPICS = np.array([[0.125, 0.25, 0.625], [0.5, 0.5, 0.0]])
TOTAL = 4
SHAPE = np.array([0.7, 2.0])
RATE = 1.5
SCALE = 2.0

# Every process, with parameters to draw n samples of the same distribution.
GIVEN_WEIGHTS = {
    "poisson": lambda n, **kw: generative.poisson(np.tile(WEIGHTS, (n, 1)), TOPICS, **kw),
    "poisson_contributions": lambda n, **kw: generative.poisson_contributions(
        np.tile(WEIGHTS, (n, 1)), TOPICS, **kw
    ),
    "multinomial": lambda n, **kw: generative.multinomial(
        np.tile(WEIGHTS, (n, 1)), TOPICS, TOTAL, **kw
    ),
    "multinomial_contributions": lambda n, **kw: generative.multinomial_contributions(
        np.tile(WEIGHTS, (n, 1)), TOPICS, TOTAL, **kw
    ),
    "word_by_word": lambda n, **kw: generative.word_by_word(
        np.tile(WEIGHTS, (n, 1)), TOPICS, TOTAL, **kw
    ),
}
WITH_PRIOR = {
    "dirichlet_poisson": lambda n, **kw: generative.dirichlet_poisson(
        TOPICS, n, SHAPE, scale=SCALE, **kw
    ),
    "gamma_poisson": lambda n, **kw: generative.gamma_poisson(TOPICS, n, SHAPE, RATE, **kw),
    "dirichlet_negative_binomial": lambda n, **kw: generative.dirichlet_negative_binomial(
        TOPICS, n, SHAPE, RATE, **kw
    ),
}
PROCESSES = GIVEN_WEIGHTS | WITH_PRIOR
every_process = pytest.mark.parametrize("draw", PROCESSES.values(), ids=PROCESSES.keys())


# Exact distributions, as tables over the outcomes below CAP of each feature

CAP = 12
OUTCOMES = np.stack(np.meshgrid(*[np.arange(CAP)] * 3, indexing="ij"), axis=-1)


def poisson_table(rates):
    return stats.poisson.pmf(OUTCOMES, rates).prod(axis=-1)


def multinomial_table(total, p):
    return np.where(OUTCOMES.sum(axis=-1) == total, stats.multinomial.pmf(OUTCOMES, total, p), 0.0)


def negative_multinomial_table(shape, rate, p):
    """Counts of one component of Gamma weight, of which the features are independent given it."""
    sizes = OUTCOMES.sum(axis=-1)
    spread = stats.multinomial.pmf(OUTCOMES.reshape(-1, 3), sizes.ravel(), p).reshape(sizes.shape)
    return stats.nbinom.pmf(sizes, shape, rate / (1 + rate)) * spread


def gamma_poisson_table(shape, rate, topics):
    """Components are independent, so their sum is a convolution."""
    rates = np.broadcast_to(rate, len(topics))
    first, second = map(negative_multinomial_table, shape, rates, topics)
    full = convolve(first, second, method="direct")
    return full[:CAP, :CAP, :CAP]


def dirichlet_average(table_given, alpha):
    """Integrate over two proportions by Gauss quadrature."""
    nodes, masses = special.roots_sh_jacobi(40, alpha.sum() - 1, alpha[0])
    tables = (m * table_given(np.array([h, 1 - h])) for h, m in zip(nodes, masses, strict=True))
    return sum(tables) / masses.sum()


def assert_drawn_from(samples, table):
    """Test the frequency of every outcome; those outside of the table are one outcome more."""
    samples = np.asarray(samples)
    inside = (samples < np.array(table.shape)).all(axis=1)
    observed = np.zeros(table.shape)
    np.add.at(observed, tuple(samples[inside].T), 1)
    assert not observed[table == 0].any(), "drew something impossible"

    expected = len(samples) * table
    common = expected >= 5  # the chi-square approximation needs some of each
    rest = len(samples) - expected[common].sum()
    observed = [*observed[common], len(samples) - observed[common].sum()]
    expected = [*expected[common], rest]
    if rest < 5:  # never alone in a test
        rare_observed, rare_expected = observed.pop(), expected.pop()
        observed[0] += rare_observed
        expected[0] += rare_expected
    assert len(expected) > 2
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def dense(X):
    return X.toarray()


def draw_all(draw, seed=0):
    X, latent = draw(N, random_state=seed, return_latent=True)
    return dense(X), latent


def assert_mean_is_zero(values):
    """Each column, within five standard errors."""
    errors = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0)) <= 5 * errors).all()


# The lemmas: equivalent processes have one distribution


@pytest.mark.parametrize("name", ["poisson", "poisson_contributions"])
def test_poisson_lemma(name):
    X, _ = draw_all(PROCESSES[name])
    assert_drawn_from(X, poisson_table(WEIGHTS @ TOPICS))


@pytest.mark.parametrize("name", ["multinomial", "multinomial_contributions", "word_by_word"])
def test_multinomial_lemma(name):
    X, _ = draw_all(PROCESSES[name])
    assert_drawn_from(X, multinomial_table(TOTAL, PROPORTIONS @ TOPICS))


@pytest.mark.parametrize("name", ["poisson", "poisson_contributions"])
def test_poisson_given_its_total_is_multinomial(name):
    X, _ = draw_all(PROCESSES[name], seed=1)
    X = X[X.sum(axis=1) == 2]
    assert_drawn_from(X, multinomial_table(2, PROPORTIONS @ TOPICS))


@pytest.mark.parametrize("name", ["gamma_poisson", "dirichlet_negative_binomial"])
def test_gamma_poisson_lemma(name):
    X, _ = draw_all(PROCESSES[name])
    assert_drawn_from(X, gamma_poisson_table(SHAPE, RATE, TOPICS))


def test_gamma_poisson_with_a_rate_for_each_component():
    rate = np.array([0.5, 3.0])
    X = generative.gamma_poisson(TOPICS, N, SHAPE, rate, random_state=0)
    assert_drawn_from(dense(X), gamma_poisson_table(SHAPE, rate, TOPICS))


@pytest.mark.parametrize("scale", [1.0, SCALE])
def test_dirichlet_poisson(scale):
    X = generative.dirichlet_poisson(TOPICS, N, SHAPE, scale=scale, random_state=0)
    table = dirichlet_average(lambda h: poisson_table(scale * h @ TOPICS), SHAPE)
    assert_drawn_from(dense(X), table)


def test_dirichlet_poisson_given_its_total_is_lda():
    """As are word-by-word tokens with Dirichlet proportions, and Gamma-Poisson given its total."""
    total = 2
    lda = generative.word_by_word(
        np.random.default_rng(0).dirichlet(SHAPE, N), TOPICS, total, random_state=1
    )
    table = dirichlet_average(lambda h: multinomial_table(total, h @ TOPICS), SHAPE)
    assert_drawn_from(dense(lda), table)
    for draw in WITH_PRIOR.values():
        X, _ = draw_all(draw, seed=2)
        assert_drawn_from(X[X.sum(axis=1) == total], table)


def test_scale_can_differ_between_samples():
    scale = np.repeat([0.5, 50.0], N // 2)
    X, latent = generative.dirichlet_poisson(
        TOPICS, N, SHAPE, scale=scale, random_state=0, return_latent=True
    )
    np.testing.assert_allclose(latent.weights.sum(axis=1), 1)
    for half in np.split(X.sum(axis=1) - scale, 2):
        assert_mean_is_zero(half[:, None])


def poisson_moments(mean_weights, weights_covariance):
    """Return the mean and the covariance of Poisson counts whose weights are random."""
    mean = mean_weights @ TOPICS
    return mean, np.diag(mean) + TOPICS.T @ weights_covariance @ TOPICS


def multinomial_covariance(total, p):
    return total * (np.diag(p) - np.outer(p, p))


def moments():
    p = PROPORTIONS @ TOPICS
    poisson = poisson_moments(WEIGHTS, np.zeros((2, 2)))
    multinomial = TOTAL * p, multinomial_covariance(TOTAL, p)
    dirichlet = stats.dirichlet(SHAPE)
    gamma_poisson = poisson_moments(SHAPE / RATE, np.diag(SHAPE / RATE**2))
    return {
        "poisson": poisson,
        "poisson_contributions": poisson,
        "multinomial": multinomial,
        "multinomial_contributions": multinomial,
        "word_by_word": multinomial,
        "dirichlet_poisson": poisson_moments(SCALE * dirichlet.mean(), SCALE**2 * dirichlet.cov()),
        "gamma_poisson": gamma_poisson,
        "dirichlet_negative_binomial": gamma_poisson,
    }


@pytest.mark.parametrize("name", PROCESSES)
def test_means_and_covariances(name):
    """More sensitive to a wrong rate than the frequencies of single outcomes are."""
    mean, covariance = moments()[name]
    X, _ = draw_all(PROCESSES[name], seed=3)
    centred = X - mean
    assert_mean_is_zero(centred)
    assert_mean_is_zero((centred[:, :, None] * centred[:, None, :] - covariance).reshape(N, -1))


# Latent variables


FIELDS = {
    "poisson": {"weights"},
    "poisson_contributions": {"weights", "contributions"},
    "multinomial": {"weights", "totals"},
    "multinomial_contributions": {"weights", "totals", "contributions"},
    "word_by_word": {"weights", "totals", "assignments"},
    "dirichlet_poisson": {"weights", "contributions"},
    "gamma_poisson": {"weights", "contributions"},
    "dirichlet_negative_binomial": {"weights", "totals"},
}


@pytest.mark.parametrize("name", PROCESSES)
def test_latent_has_the_fields_of_the_process(name):
    _, latent = PROCESSES[name](3, random_state=0, return_latent=True)
    present = {field for field, value in latent._asdict().items() if value is not None}
    assert present == FIELDS[name]


@pytest.mark.parametrize("name", [name for name in PROCESSES if "contributions" in FIELDS[name]])
def test_contributions_add_up(name):
    X, latent = PROCESSES[name](200, random_state=0, return_latent=True)
    assert latent.contributions.shape == (200, 2, 3)
    assert latent.contributions.min() >= 0
    np.testing.assert_array_equal(latent.contributions.sum(axis=1), dense(X))


@pytest.mark.parametrize("name", [name for name in PROCESSES if "totals" in FIELDS[name]])
def test_totals_are_row_sums(name):
    X, latent = PROCESSES[name](200, random_state=0, return_latent=True)
    np.testing.assert_array_equal(X.sum(axis=1), latent.totals)


@pytest.mark.parametrize("name", GIVEN_WEIGHTS)
def test_given_weights_are_returned_as_they_are(name):
    _, latent = PROCESSES[name](3, random_state=0, return_latent=True)
    np.testing.assert_array_equal(latent.weights, np.tile(WEIGHTS, (3, 1)))


def test_poisson_contributions_are_independent_poisson():
    _, latent = draw_all(PROCESSES["poisson_contributions"])
    rates = WEIGHTS[:, None] * TOPICS
    for component, component_rates in enumerate(rates):
        assert_drawn_from(latent.contributions[:, component], poisson_table(component_rates))
    first, second = (z - r for z, r in zip(latent.contributions.swapaxes(0, 1), rates, strict=True))
    assert_mean_is_zero((first[:, :, None] * second[:, None, :]).reshape(N, -1))


def test_multinomial_contributions_are_multinomial():
    _, latent = draw_all(PROCESSES["multinomial_contributions"])
    p = PROPORTIONS[:, None] * TOPICS
    by_component = latent.contributions.sum(axis=2)
    np.testing.assert_array_equal(by_component.sum(axis=1), TOTAL)
    assert_drawn_from(by_component[:, :1], stats.binom.pmf(np.arange(TOTAL + 1), TOTAL, p[0].sum()))
    centred = latent.contributions.reshape(N, -1) - TOTAL * p.ravel()
    covariance = multinomial_covariance(TOTAL, p.ravel())
    assert_mean_is_zero((centred[:, :, None] * centred[:, None, :] - covariance).reshape(N, -1))


def test_gamma_poisson_contributions_are_negative_multinomial():
    """Although they are drawn after the counts."""
    _, latent = draw_all(PROCESSES["gamma_poisson"])
    for component, (shape, p) in enumerate(zip(SHAPE, TOPICS, strict=True)):
        table = negative_multinomial_table(shape, RATE, p)
        assert_drawn_from(latent.contributions[:, component], table)
    first, second = (
        z - (shape / RATE) * p
        for z, shape, p in zip(latent.contributions.swapaxes(0, 1), SHAPE, TOPICS, strict=True)
    )
    assert_mean_is_zero((first[:, :, None] * second[:, None, :]).reshape(N, -1))


@pytest.mark.parametrize(("name", "scale"), [("gamma_poisson", 1.0), ("dirichlet_poisson", SCALE)])
def test_contributions_go_with_their_weights(name, scale):
    _, latent = draw_all(PROCESSES[name])
    residual = latent.contributions - scale * latent.weights[:, :, None] * TOPICS
    for size in (np.ones_like(latent.weights), latent.weights, latent.weights[:, ::-1]):
        assert_mean_is_zero((residual * size[:, :, None]).reshape(N, -1))


def test_assignments_are_the_tokens_of_the_counts():
    X, latent = draw_all(PROCESSES["word_by_word"])
    sample, component, feature = latent.assignments
    counted = np.zeros_like(X)
    np.add.at(counted, (sample, feature), 1)
    np.testing.assert_array_equal(counted, X)
    assert_drawn_from(np.stack([component, feature], axis=1), PROPORTIONS[:, None] * TOPICS)


def test_assignments_follow_the_weights_of_their_own_sample():
    weights = np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0], [1.0, 0.0]])
    totals = [5, 3, 0, 2]
    _, latent = generative.word_by_word(
        weights, np.eye(2), totals, random_state=0, return_latent=True
    )
    sample, component, feature = latent.assignments
    np.testing.assert_array_equal(sample, np.repeat(range(4), totals))
    np.testing.assert_array_equal(component, np.repeat([0, 1, 0, 0], totals))
    np.testing.assert_array_equal(feature, component)


def test_gamma_weights():
    _, latent = draw_all(PROCESSES["gamma_poisson"])
    for weights, shape in zip(latent.weights.T, SHAPE, strict=True):
        assert stats.kstest(weights, stats.gamma(shape, scale=1 / RATE).cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", ["dirichlet_poisson", "dirichlet_negative_binomial"])
def test_dirichlet_weights(name):
    _, latent = draw_all(PROCESSES[name])
    np.testing.assert_allclose(latent.weights.sum(axis=1), 1)
    assert stats.kstest(latent.weights[:, 0], stats.beta(*SHAPE).cdf).pvalue > 1e-4


def test_negative_binomial_totals_do_not_depend_on_the_proportions():
    _, latent = draw_all(PROCESSES["dirichlet_negative_binomial"])
    table = stats.nbinom.pmf(np.arange(CAP), SHAPE.sum(), RATE / (1 + RATE))
    assert_drawn_from(latent.totals[:, None], table)
    centred = (latent.totals - SHAPE.sum() / RATE) * (latent.weights[:, 0] - 0.7 / 2.7)
    assert_mean_is_zero(centred[:, None])


# What is returned


@every_process
def test_counts_are_a_canonical_sparse_array_of_integers(draw):
    X = draw(30, random_state=0)
    assert isinstance(X, sparse.csr_array)
    assert X.shape == (30, 3)
    assert X.dtype == np.int64
    assert X.has_canonical_format
    assert (X.data > 0).all()


@every_process
def test_rows_are_drawn_in_blocks_without_a_seam(draw, monkeypatch):
    whole, whole_latent = draw(50, random_state=0, return_latent=True)
    monkeypatch.setattr(generative.draws, "_BLOCK_SIZE", 20)
    blocks, blocks_latent = draw(50, random_state=0, return_latent=True)
    np.testing.assert_array_equal(dense(whole), dense(blocks))
    if whole_latent.contributions is not None:
        np.testing.assert_array_equal(whole_latent.contributions, blocks_latent.contributions)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_totals_are_met_and_only_possible_features_drawn(data):
    n_samples, n_components, n_features = (data.draw(st.integers(1, 4)) for _ in range(3))
    entries = st.sampled_from([0.0, 1e-3, 1.0, 7.0, 1e4])
    weights = data.draw(arrays(float, (n_samples, n_components), elements=entries))
    topics = data.draw(arrays(float, (n_components, n_features), elements=entries))
    rates = weights @ topics
    totals = np.where(rates.any(axis=1), data.draw(st.integers(0, 50)), 0)
    for draw in (generative.multinomial, generative.multinomial_contributions):
        X = dense(draw(weights, topics, totals, random_state=0))
        np.testing.assert_array_equal(X.sum(axis=1), totals)
        assert not X[rates == 0].any()
    for draw in (generative.poisson, generative.poisson_contributions):
        assert not dense(draw(weights, topics, random_state=0))[rates == 0].any()


# Randomness


@every_process
@pytest.mark.parametrize(
    "state",
    [lambda: 5, lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)],
    ids=["int", "Generator", "RandomState"],
)
def test_same_state_same_draw_with_or_without_latent(draw, state):
    first = dense(draw(50, random_state=state()))
    np.testing.assert_array_equal(first, dense(draw(50, random_state=state())))
    with_latent, _ = draw(50, random_state=state(), return_latent=True)
    np.testing.assert_array_equal(first, dense(with_latent))


@every_process
@pytest.mark.parametrize(
    "state",
    [None, np.random.default_rng(5), np.random.RandomState(5)],
    ids=["None", "Generator", "RandomState"],
)
def test_a_state_moves_on(draw, state):
    first = dense(draw(50, random_state=state))
    assert (first != dense(draw(50, random_state=state))).any()


def test_an_int_seeds_numpys_default_generator():
    """A Generator is used as it is, so that a script can pass one through."""
    weights, topics = np.ones((20, 2)), np.ones((2, 3))
    expected = np.random.default_rng(3).poisson(weights @ topics)
    for state in (3, np.random.default_rng(3)):
        X = generative.poisson(weights, topics, random_state=state)
        np.testing.assert_array_equal(dense(X), expected)


@every_process
def test_the_global_generator_is_left_alone(draw):
    def global_state():
        return pickle.dumps(np.random.get_state())  # noqa: NPY002

    before = global_state()
    draw(10)
    draw(10, random_state=0)
    assert global_state() == before


# Arguments


def test_one_number_stands_for_all():
    both = {"random_state": 0}
    for one, many in [
        (
            generative.gamma_poisson(TOPICS, 9, 2.0, 0.5, **both),
            generative.gamma_poisson(TOPICS, 9, [2.0, 2.0], [0.5, 0.5], **both),
        ),
        (
            generative.dirichlet_poisson(TOPICS, 9, 2.0, scale=9.0, **both),
            generative.dirichlet_poisson(TOPICS, 9, [2.0, 2.0], scale=np.full(9, 9.0), **both),
        ),
        (
            generative.multinomial(np.ones((9, 2)), TOPICS, 7, **both),
            generative.multinomial(np.ones((9, 2)), TOPICS, [7.0] * 9, **both),
        ),
    ]:
        np.testing.assert_array_equal(dense(one), dense(many))


def test_topics_are_normalized_up_to_rounding():
    X = generative.word_by_word(np.ones((1, 2)), TOPICS * (1 + 9e-7), 100, random_state=0)
    assert X.sum() == 100


FACTOR_ERRORS = [
    ([[-1.0, 1.0]], TOPICS, "Negative values in data passed to weights"),
    ([[1.0, 1.0]], -TOPICS, "Negative values in data passed to topics"),
    ([[np.nan, 1.0]], TOPICS, "weights contains NaN"),
    ([[1.0, 1.0]], np.full((2, 3), np.inf), "topics contains infinity"),
    ([1.0, 1.0], TOPICS, "Expected 2D array"),
    ([[1.0, 1.0, 1.0]], TOPICS, "must have the same number of components"),
]


@pytest.mark.parametrize(("weights", "topics", "message"), FACTOR_ERRORS)
def test_bad_factors(weights, topics, message):
    for draw in (generative.poisson, generative.poisson_contributions):
        with pytest.raises(ValueError, match=message):
            draw(weights, topics)
    for draw in (
        generative.multinomial,
        generative.multinomial_contributions,
        generative.word_by_word,
    ):
        with pytest.raises(ValueError, match=message):
            draw(weights, topics, [3])


@pytest.mark.parametrize(
    "draw",
    [generative.multinomial, generative.multinomial_contributions, generative.word_by_word],
)
@pytest.mark.parametrize(
    ("weights", "totals", "message"),
    [
        (np.ones((2, 2)), [1, 2, 3], "one for each of the 2 samples"),
        (np.ones((2, 2)), [1, -2], "non-negative integers"),
        (np.ones((2, 2)), [1, 2.5], "non-negative integers"),
        (np.ones((2, 2)), [1, np.nan], "non-negative integers"),
        (np.ones((2, 2)), [1, np.inf], "non-negative integers"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), [0, 1], "Sample 1 has a positive total"),
    ],
)
def test_bad_totals(draw, weights, totals, message):
    with pytest.raises(ValueError, match=message):
        draw(weights, TOPICS, totals)


@pytest.mark.parametrize(
    "draw",
    [
        lambda topics: generative.word_by_word(np.ones((1, 2)), topics, 1),
        lambda topics: generative.dirichlet_poisson(topics, 1, 1.0),
        lambda topics: generative.gamma_poisson(topics, 1, 1.0, 1.0),
        lambda topics: generative.dirichlet_negative_binomial(topics, 1, 1.0, 1.0),
    ],
)
def test_topics_must_be_normalized_where_the_process_needs_it(draw):
    with pytest.raises(ValueError, match="row 1 sums to 2"):
        draw(TOPICS * [[1.0], [2.0]])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("alpha", lambda bad: generative.dirichlet_poisson(TOPICS, 2, bad)),
        ("scale", lambda bad: generative.dirichlet_poisson(TOPICS, 2, 1.0, scale=bad)),
        ("shape", lambda bad: generative.gamma_poisson(TOPICS, 2, bad, 1.0)),
        ("rate", lambda bad: generative.gamma_poisson(TOPICS, 2, 1.0, bad)),
        ("alpha", lambda bad: generative.dirichlet_negative_binomial(TOPICS, 2, bad, 1.0)),
        ("rate", lambda bad: generative.dirichlet_negative_binomial(TOPICS, 2, 1.0, bad)),
    ],
)
def test_priors_must_be_positive(name, draw, bad):
    with pytest.raises(ValueError, match=f"{name} must be"):
        draw(bad)


@pytest.mark.parametrize("draw", WITH_PRIOR.values(), ids=WITH_PRIOR.keys())
def test_number_of_samples_and_of_concentrations(draw):
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        draw(0)
    with pytest.raises(ValueError, match="alpha must be a number or have 2 entries"):
        generative.dirichlet_poisson(TOPICS, 2, [1.0, 1.0, 1.0])

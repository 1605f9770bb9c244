"""How often 90 % intervals cover the truth, on data drawn from the models themselves."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, NMF, PLSA, GammaPoisson, PoissonFactorization, bootstrap, generative

COMPONENTS, FEATURES, SAMPLES, TOKENS = 3, 30, 40, 300
LEVEL = 0.9
RESAMPLES, REPETITIONS = 100, 9


def anchored_topics(rng):
    """Topics that share most features, each with two features of its own: so they can be found."""
    topics = np.zeros((COMPONENTS, FEATURES))
    own = 2 * COMPONENTS
    topics[:, own:] = 0.7 * rng.dirichlet(np.ones(FEATURES - own), COMPONENTS)
    for k in range(COMPONENTS):
        topics[k, 2 * k : 2 * k + 2] = 0.15
    return topics


def sparse_weights(rng):
    """Weights of which about a third are zero: some samples have one topic only."""
    weights = rng.gamma(1.0, TOKENS / COMPONENTS, (SAMPLES, COMPONENTS))
    weights *= rng.random(weights.shape) < 0.7
    weights[weights.sum(axis=1) == 0] = TOKENS / COMPONENTS
    return weights


def nmf(rng):
    weights, topics = sparse_weights(rng), anchored_topics(rng)
    return NMF(COMPONENTS), weights, topics, generative.poisson(weights, topics, random_state=rng)


def plsa(rng):
    weights, topics = sparse_weights(rng), anchored_topics(rng)
    weights /= weights.sum(axis=1, keepdims=True)
    X = generative.multinomial(weights, topics, TOKENS, random_state=rng)
    return PLSA(COMPONENTS), weights, topics, X


def lda(rng):
    weights, topics = rng.dirichlet(np.full(COMPONENTS, 0.5), SAMPLES), anchored_topics(rng)
    X = generative.multinomial(weights, topics, TOKENS, random_state=rng)
    return LDA(COMPONENTS, alpha=0.5, eta=None, estimate="variational"), weights, topics, X


def with_priors(**settings):
    """Return the process that draws both sides of LDA from their priors; how to fit is given."""

    def draw(rng):
        weights = rng.dirichlet(np.full(COMPONENTS, 0.3), SAMPLES)
        topics = rng.dirichlet(np.full(FEATURES, 0.3), COMPONENTS)
        X = generative.multinomial(weights, topics, TOKENS, random_state=rng)
        return LDA(COMPONENTS, **settings), weights, topics, X

    return draw


def gamma_poisson(rng):
    topics, rate = anchored_topics(rng), 0.5 * COMPONENTS / TOKENS
    X, latent = generative.gamma_poisson(
        topics, SAMPLES, 0.5, rate, random_state=rng, return_latent=True
    )
    return GammaPoisson(COMPONENTS, shape=0.5, rate=rate), latent.weights, topics, X


def poisson_factorization(rng):
    scale = COMPONENTS * FEATURES / TOKENS
    topics = rng.gamma(0.3, 1 / 0.3, (COMPONENTS, FEATURES))
    weights = rng.gamma(0.3, 1 / (0.3 * scale), (SAMPLES, COMPONENTS))
    X = generative.poisson(weights, topics, random_state=rng)
    return PoissonFactorization(COMPONENTS, rate=0.3 * scale), weights, topics, X


PROCESSES: dict[str, Callable] = {
    "NMF": nmf,
    "PLSA": plsa,
    "LDA(alpha)": lda,
    "LDA(alpha, eta)": with_priors(alpha=0.3, eta=0.3, estimate="variational"),
    "LDA()": with_priors(),
    "LDA(alpha, eta), cvb0": with_priors(alpha=0.3, eta=0.3),
    "LDA, smoothed": with_priors(estimate="smoothed"),
    "LDA(alpha, eta), smoothed": with_priors(alpha=0.3, eta=0.3, estimate="smoothed"),
    "LDA, variational": with_priors(estimate="variational"),
    "LDA, map": with_priors(alpha=1.3, eta=1.3, estimate="map"),
    "GammaPoisson": gamma_poisson,
    "PoissonFactorization": poisson_factorization,
}


def scaled(model):
    """Give topics that sum to one and weights with their scale: all that data can tell."""
    sums = model.components_.sum(axis=1)
    return model.components_ / sums[:, np.newaxis], model.weights_ * sums


STATISTICS = {
    "topics": lambda model: scaled(model)[0],
    "weights": lambda model: scaled(model)[1],
}


def covered(lower, truth, upper):
    """Tell for each entry whether its interval has it; zero to the rounding of a refit is zero."""
    slack = 1e-12
    return (lower <= truth + slack) & (truth <= upper + slack)


def repetition(process, seed, *, resamples=RESAMPLES):
    """Draw data, fit, and give the coverage of each kind of interval, small entries apart."""
    rng = np.random.default_rng(seed)
    model, weights, topics, X = process(rng)
    model.set_params(random_state=0, max_iter=5000).fit(X)
    sums = topics.sum(axis=1)
    shares = topics / sums[:, np.newaxis]
    order = linear_sum_assignment(unit(model.components_) @ unit(shares).T, maximize=True)[1]
    truth = {"topics": shares[order], "weights": (weights * sums)[:, order]}
    found = bootstrap(
        model, X, statistic=STATISTICS, n_resamples=resamples, level=LEVEL, random_state=rng
    )
    scores = {}
    for side, intervals in found.items():
        hit = covered(intervals.lower, truth[side], intervals.upper)
        scores["bootstrap", side] = hit.mean()
        few = truth[side] <= np.quantile(truth[side], 0.25)
        scores["small", side] = hit[few].mean()
    for side, interval in variational(model).items():
        scores["variational", side] = covered(interval[0], truth[side], interval[1]).mean()
    return scores


def variational(model):
    """Give the credible intervals that the model has, in the scale of the truth."""
    sums = model.components_.sum(axis=1)
    scales = {"topics": 1 / sums[:, np.newaxis], "weights": sums}
    names = {"topics": "components", "weights": "weights"}
    bayesian = {
        "topics": model.components_posterior_ is not None,
        "weights": model.weights_posterior_ is not None,
    }
    return {
        side: [end * scales[side] for end in model.credible_interval(names[side], level=LEVEL)]
        for side, has in bayesian.items()
        if has
    }


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def measure(settings: Settings) -> Iterator[Row]:
    seeds = np.random.SeedSequence(0).spawn(settings.repetitions(REPETITIONS))
    for name, process in PROCESSES.items():
        began = time.process_time()
        runs = [repetition(process, seed) for seed in seeds]
        seconds = (time.process_time() - began) / len(runs)
        for kind, side in (k for k in runs[0] if k[0] in ("bootstrap", "variational")):
            values = [100 * run[kind, side] for run in runs]
            detail = ""
            if kind == "bootstrap":
                small = 100 * np.mean([run["small", side] for run in runs])
                detail = f"smallest quarter {small:.0f}%; {seconds:.2f} s a dataset"
            yield Row(
                f"{name}, {side}: {kind}",
                float(np.mean(values)),
                "%",
                (float(np.quantile(values, 0.25)), float(np.quantile(values, 0.75))),
                Target(85.0, most=95.0) if kind == "bootstrap" else None,
                detail,
            )


SECTION = Section(
    "coverage",
    "how often 90 % intervals cover the truth, on data drawn from each model",
    measure,
    (
        f"{SAMPLES} samples of about {TOKENS} counts, {FEATURES} features, {COMPONENTS} topics;",
        f"{RESAMPLES} resamples, {REPETITIONS} datasets; a bootstrap is ok from 85 % to 95 %.",
        "Topics as distributions, weights with the topics' scale.",
    ),
)

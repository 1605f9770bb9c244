"""Covariates: known coefficients found again, their intervals, predictions, batches and size."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.covariate_corpora import completion, draw, matched
from benchmarks.covariate_peers import agreement
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, GammaPoisson, group_weights
from isotopic.evaluate import split_counts

LEVEL = 0.9
REPETITIONS, RESAMPLES = 60, 20

# The large corpus.
LARGE = {"n": 1_000_000, "n_topics": 20, "n_features": 5_000, "length": 40}


def intervals(settings: Settings) -> Iterator[Row]:
    """Measure signs, and how often intervals cover the truth."""
    names = ("coefficients", "intercepts", "proportions")
    covers: dict[str, list[float]] = {}
    signs: list[float] = []
    for seed in range(settings.repetitions(REPETITIONS)):
        corpus = draw(seed)
        model = LDA(5, random_state=0).fit(corpus.X, covariates=corpus.table)
        order, truth = matched(corpus.topics, model.components_), corpus.coefficients
        how = {"method": "bootstrap", "n_resamples": RESAMPLES, "random_state": seed}
        for method, options in {"analytic": {}, "bootstrap": {"X": corpus.X, **how}}.items():
            found = model.effects(level=LEVEL, **options)
            if method == "analytic":
                clear = np.abs(truth[1:]) > 2 * found["se"].reshape(5, 5)[1:, order]
                same = np.sign(found["coefficient"].reshape(5, 5)[1:, order]) == np.sign(truth[1:])
                signs += same[clear].tolist()
            groups = model.effects("group", level=LEVEL, **options)
            covered = _covered(found, truth, order)
            parts = covered[1:], covered[0], _covered(groups, true_proportions(corpus), order)
            for name, part in zip(names, parts, strict=True):
                covers.setdefault(f"{name}, {method} intervals", []).append(np.mean(part))
    yield Row("signs of coefficients above 2 errors", 100 * np.mean(signs), "%", target=Target(98))
    for what, shares in covers.items():
        yield _coverage(what, shares)


def many_topics(settings: Settings) -> Iterator[Row]:
    """Measure intervals where there are few documents for each of many topics."""
    for n_topics, n_features in ((10, 300), (20, 200)):
        shares = []
        for seed in range(settings.repetitions(6)):
            corpus = draw(seed, n_topics=n_topics, n_features=n_features)
            model = LDA(n_topics, random_state=0).fit(corpus.X, covariates=corpus.table)
            order = matched(corpus.topics, model.components_)
            covered = _covered(model.effects(level=LEVEL), corpus.coefficients, order)
            shares.append(np.mean(covered[1:]))
        yield _coverage(
            f"{n_topics} topics, {n_features} words: coefficients, analytic intervals", shares
        )


def _coverage(what, shares):
    """Return how many intervals cover the truth, with its standard error over corpora."""
    error = 100 * np.std(shares, ddof=1) / np.sqrt(len(shares))
    return Row(what, 100 * np.mean(shares), "%", None, Target(85, most=95), f"± {error:.1f}")


def _covered(table, truth, order):
    """Return whether the intervals of a table of effects contain the truth."""
    lower, upper = (table[name].reshape(truth.shape)[:, order] for name in ("lower", "upper"))
    return (lower <= truth) & (truth <= upper)


def true_proportions(corpus):
    """Return the expected proportions of each group, the other covariates averaged."""
    found = []
    for group in range(3):
        columns = np.column_stack([np.ones(len(corpus.columns)), corpus.columns])
        columns[:, 1], columns[:, 2] = group == 1, group == 2
        alpha = np.exp(columns @ corpus.coefficients)
        found.append((alpha / alpha.sum(axis=1, keepdims=True)).mean(axis=0))
    return np.array(found)


def predictions(settings: Settings) -> Iterator[Row]:
    """Compare held-out perplexities with and without covariates."""
    for what, strength, target in (
        ("covariates that matter", 0.7, Target(0.0, False)),
        ("covariates without effect", 0.0, Target(0.1, False)),
    ):
        for kind in (LDA, GammaPoisson):
            changes = []
            for seed in range(settings.repetitions(6)):
                corpus = draw(seed, strength=strength)
                new = draw(seed + 500, strength=strength, model_seed=seed)
                seen, hidden = split_counts(new.X, held_out=0.9, random_state=0)
                more = {} if kind is LDA else {"shape": 0.2, "rate": 0.01, "learn": "asymmetric"}
                plain = kind(5, random_state=0, **more).fit(corpus.X)
                model = kind(5, random_state=0, **more).fit(corpus.X, covariates=corpus.table)
                values = [
                    completion(
                        each.components_, weights / weights.sum(axis=1, keepdims=True), hidden
                    )
                    for each, weights in (
                        (model, model.transform(seen, covariates=new.table)),
                        (plain, plain.transform(seen)),
                    )
                ]
                changes.append(100 * (values[0] / values[1] - 1))
            yield Row(
                f"{kind.__name__}, {what}: perplexity", float(np.mean(changes)), "%", target=target
            )


def backgrounds(settings: Settings) -> Iterator[Row]:
    """Measure what is left of a planted batch effect, with a background for each batch."""
    left: dict[str, list[float]] = {"without": [], "with": []}
    for seed in range(settings.repetitions(6)):
        rng = np.random.default_rng(seed)
        topics = rng.dirichlet(np.full(300, 0.05), 5)
        own = rng.dirichlet(np.full(300, 0.1), 3)
        batch, weights = rng.integers(0, 3, 600), rng.dirichlet(np.full(5, 0.2), 600)
        share = rng.beta(3, 7, 600)[:, np.newaxis]
        X = rng.poisson(150 * ((1 - share) * (weights @ topics) + share * own[batch]))
        kind = {"shape": 0.3, "rate": 0.01, "learn": "asymmetric", "random_state": 0}
        plain = GammaPoisson(5, **kind).fit(X).weights_
        given = group_weights(X, batch)
        model = GammaPoisson(8, **kind).fit(X, fixed_weights=given).weights_[:, 3:]
        for name, found in (("without", plain), ("with", model)):
            left[name].append(explained_by(found / found.sum(axis=1, keepdims=True), batch))
    yield Row("share of a topic's variance due to batches", 100 * np.mean(left["without"]), "%")
    yield Row(
        "... with a background for each batch",
        100 * np.mean(left["with"]),
        "%",
        target=Target(3.0, False),
    )


def explained_by(shares, groups):
    """Return the largest share of the variance of a topic that is between groups."""
    means = np.array([shares[groups == group].mean(axis=0) for group in np.unique(groups)])
    between = ((means[groups] - shares.mean(axis=0)) ** 2).mean(axis=0)
    return float((between / shares.var(axis=0)).max())


def measure_size(settings: Settings) -> Iterator[Row]:
    """Fit many documents."""
    size = LARGE | ({"n": 20_000} if settings.quick else {})
    corpus = draw(0, **size)
    times = {}
    for name, table in (("without", None), ("with", corpus.table)):
        wall, began = time.perf_counter(), time.process_time()
        model = LDA(size["n_topics"], random_state=0).fit(corpus.X, covariates=table)
        times[name] = time.process_time() - began
        yield Row(
            f"{size['n']:,} documents, {name} covariates",
            times[name] / 60,
            " min",
            target=Target(10.0, False),
            detail=f"{model.n_iter_} iterations, {(time.perf_counter() - wall) / 60:.1f} min wall",
        )
    order = matched(corpus.topics, model.components_)
    yield Row(
        "correlation with the truth",
        agreement(corpus, model.coefficients_[1:, order]),
    )


def measure(settings: Settings) -> Iterator[Row]:
    """Measure everything."""
    yield from intervals(settings)
    yield from many_topics(settings)
    yield from predictions(settings)
    yield from backgrounds(settings)


SECTION = Section(
    "covariates",
    "documents drawn from models with known coefficients of three covariates (five columns)",
    measure,
    (
        f"{REPETITIONS} corpora of 1,000 documents, 80 words, 5 topics; {RESAMPLES} resamples of",
        "each. After ±: the standard error over corpora; the intercepts of a corpus err together.",
        "Perplexity of held-out words of new documents.",
    ),
)
SIZE = Section(
    "covariate_size",
    "A million documents with three covariates (five columns), 20 topics",
    measure_size,
    ("Processor time of all threads, and seconds of the clock.",),
)

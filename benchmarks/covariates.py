"""Covariates: known coefficients found again, their intervals, predictions, peers and size."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from benchmarks.coverage import Within
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, GammaPoisson, group_weights
from isotopic.evaluate import split_counts

LEVEL = 0.9
REPETITIONS, BOOTSTRAPS, RESAMPLES = 30, 8, 40

# The corpus that peers are compared on, and the large one.
PEER = {"n": 2_000, "n_topics": 10, "n_features": 1_000, "length": 100}
LARGE = {"n": 1_000_000, "n_topics": 20, "n_features": 5_000, "length": 40}


@dataclass
class Corpus:
    """Documents drawn from a model with known coefficients."""

    X: Any
    table: dict[str, Any]
    columns: Any
    coefficients: Any
    topics: Any


def draw(
    seed: int,
    *,
    n: int = 1_000,
    n_topics: int = 5,
    n_features: int = 300,
    length: int = 80,
    strength: float = 0.5,
    model_seed: int | None = None,
) -> Corpus:
    """Draw documents with a covariate of three groups, and two numbers.

    ``strength`` is the spread of the coefficients; ``model_seed`` draws other documents of the
    same model.
    """
    known = np.random.default_rng(seed if model_seed is None else model_seed)
    topics = known.dirichlet(np.full(n_features, 0.05), n_topics)
    beta = known.normal(0, strength, (5, n_topics))
    beta[0] = np.log(1 / n_topics)
    rng = np.random.default_rng(seed + 10_000)
    group = rng.choice(["a", "b", "c"], n, p=[0.4, 0.3, 0.3])
    year, size = rng.uniform(-1, 1, n), rng.normal(size=n)
    columns = np.column_stack([np.ones(n), group == "b", group == "c", year, size]).astype(float)
    weights = rng.standard_gamma(np.exp(columns @ beta)) + 1e-300
    weights /= weights.sum(axis=1, keepdims=True)
    lengths = 1 + rng.poisson(length - 1, n)
    table = {"group": group, "year": year, "size": size}
    return Corpus(_words(weights, topics, lengths, rng), table, columns[:, 1:], beta, topics)


def _words(weights, topics, lengths, rng):
    """Draw a topic and a word for each token, some documents at a time."""
    steps = np.cumsum(topics, axis=1)
    parts = []
    for begin in range(0, len(weights), 50_000):
        rows = slice(begin, begin + 50_000)
        n_tokens = lengths[rows]
        row = np.repeat(np.arange(len(n_tokens)), n_tokens)
        ends = np.cumsum(weights[rows], axis=1)
        topic = (rng.random(len(row))[:, np.newaxis] > ends[row]).sum(axis=1)
        topic = np.minimum(topic, len(topics) - 1)
        words = np.empty(len(row), np.int64)
        for k in range(len(topics)):
            own = topic == k
            words[own] = np.searchsorted(steps[k], rng.random(own.sum()) * steps[k, -1])
        ones = np.ones(len(row), np.int32)
        shape = len(n_tokens), topics.shape[1]
        parts.append(sparse.coo_array((ones, (row, words)), shape=shape).tocsr())
    return sparse.vstack(parts, format="csr")


def matched(truth, topics):
    """Return which found topic belongs to each true one."""
    norms = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (truth, topics)]
    return linear_sum_assignment(-norms[0] @ norms[1].T)[1]


def completion(model_topics, weights, hidden):
    """Return the perplexity of hidden words under inferred weights."""
    rows, columns = hidden.nonzero()
    probability = np.einsum("ij,ij->i", weights[rows], model_topics.T[columns])
    counts = np.asarray(hidden[rows, columns]).ravel()
    return float(np.exp(-(counts * np.log(probability + 1e-12)).sum() / counts.sum()))


def intervals(settings: Settings) -> Iterator[Row]:
    """Measure signs, and how often intervals cover the truth."""
    covers: dict[str, list[float]] = {"coefficients": [], "proportions": [], "bootstrap": []}
    signs: list[float] = []
    for seed in range(settings.repetitions(REPETITIONS)):
        corpus = draw(seed)
        model = LDA(5, random_state=0).fit(corpus.X, covariates=corpus.table)
        order = matched(corpus.topics, model.components_)
        truth = corpus.coefficients
        found = model.effects(level=LEVEL)
        value, se, lower, upper = (
            found[name].reshape(5, 5)[1:, order] for name in ("coefficient", "se", "lower", "upper")
        )
        covers["coefficients"].append(np.mean((lower <= truth[1:]) & (truth[1:] <= upper)))
        clear = np.abs(truth[1:]) > 2 * se
        signs += (np.sign(value) == np.sign(truth[1:]))[clear].tolist()
        groups = model.effects("group", level=LEVEL)
        shares = true_proportions(corpus)
        lower, upper = (groups[name].reshape(3, 5)[:, order] for name in ("lower", "upper"))
        covers["proportions"].append(np.mean((lower <= shares) & (shares <= upper)))
        if seed < (2 if settings.quick else BOOTSTRAPS):
            again = model.effects(
                level=LEVEL,
                method="bootstrap",
                X=corpus.X,
                n_resamples=RESAMPLES,
                random_state=seed,
            )
            lower, upper = (again[name].reshape(5, 5)[1:, order] for name in ("lower", "upper"))
            covers["bootstrap"].append(np.mean((lower <= truth[1:]) & (truth[1:] <= upper)))
    yield Row("signs of coefficients above 2 errors", 100 * np.mean(signs), "%", target=Target(98))
    for what, name in (
        ("coefficients, analytic intervals", "coefficients"),
        ("expected proportions, analytic", "proportions"),
        ("coefficients, bootstrap intervals", "bootstrap"),
    ):
        yield Row(what, 100 * np.mean(covers[name]), "%", target=Within(85, most=95))


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


def peers(settings: Settings) -> Iterator[Row]:
    """Compare with the DMR and STM of topica, on one thread."""
    try:
        import topica  # noqa: PLC0415 - a peer
    except ImportError:
        yield Row("topica", detail="not installed")
        return
    corpus, new = draw(0, **PEER), draw(900, model_seed=0, **PEER)
    seen, hidden = split_counts(new.X, held_out=0.5, random_state=0)
    k = PEER["n_topics"]
    began = time.process_time()
    model = LDA(k, random_state=0, n_jobs=1).fit(corpus.X, covariates=corpus.table)
    seconds = time.process_time() - began
    ours = completion(model.components_, model.transform(seen, covariates=new.table), hidden)
    yield Row("isotopic: seconds", seconds, " s", detail=f"perplexity {ours:.1f}")
    order = matched(corpus.topics, model.components_)
    yield Row(
        "isotopic: correlation with the truth", agreement(corpus, model.coefficients_[1:, order])
    )
    words = as_words(corpus.X)
    iterations = 400 if settings.quick else 1000
    began = time.process_time()
    dmr = topica.DMR(k, seed=0, num_threads=1)
    dmr.fit(words, corpus.columns, iters=iterations)
    theirs = time.process_time() - began
    place = vocabulary(dmr, corpus)
    topics = np.zeros((k, corpus.X.shape[1]))
    topics[:, place] = dmr.topic_word
    weights = dmr.transform(as_words(seen), new.columns)
    perplexity = completion(topics, weights, hidden)
    yield Row(
        "topica DMR: times slower",
        theirs / seconds,
        "x",
        target=Target(10),
        detail=f"{theirs:.1f} s",
    )
    yield Row(
        "topica DMR: perplexity above ours", 100 * (perplexity / ours - 1), "%", target=Target(0)
    )
    order = matched(corpus.topics, topics)
    effects = np.asarray(dmr.feature_effects).T[1:, order]
    yield Row("topica DMR: correlation with the truth", agreement(corpus, effects))
    yield Row("topica DMR: correlation with ours", same(model, corpus, effects), target=Target(0.9))
    yield from structural(topica, corpus, new, words, seen, hidden, model, seconds, ours)


def structural(topica, corpus, new, words, seen, hidden, model, seconds, ours):
    """Compare with the structural topic model, which is logistic normal."""
    k = PEER["n_topics"]
    began = time.process_time()
    stm = topica.STM(k, seed=0)
    stm.fit(words, prevalence=corpus.columns)
    theirs = time.process_time() - began
    topics = np.zeros((k, corpus.X.shape[1]))
    topics[:, vocabulary(stm, corpus)] = stm.topic_word
    weights = topica.stm.transform(stm, as_words(seen), prevalence=new.columns)
    perplexity = completion(topics, np.asarray(weights), hidden)
    yield Row(
        "topica STM: times slower",
        theirs / seconds,
        "x",
        target=Target(10),
        detail=f"{theirs:.1f} s",
    )
    yield Row(
        "topica STM: perplexity above ours", 100 * (perplexity / ours - 1), "%", target=Target(0)
    )
    # Regress both models' proportions on the covariates: effects in the same units.
    design = np.column_stack([np.ones(len(corpus.columns)), corpus.columns])
    slopes = []
    for found, weights in ((topics, stm.doc_topic), (model.components_, model.weights_)):
        order = matched(corpus.topics, found)
        slopes.append(np.linalg.lstsq(design, np.asarray(weights)[:, order], rcond=None)[0][1:])
    agree = float(np.corrcoef(slopes[0].ravel(), slopes[1].ravel())[0, 1])
    yield Row("topica STM: correlation with ours", agree, target=Target(0.9))


def agreement(corpus, coefficients):
    """Return the correlation of coefficients with the true ones."""
    return float(np.corrcoef(coefficients.ravel(), corpus.coefficients[1:].ravel())[0, 1])


def same(model, corpus, effects):
    """Return the correlation of coefficients with ours."""
    order = matched(corpus.topics, model.components_)
    return float(np.corrcoef(effects.ravel(), model.coefficients_[1:, order].ravel())[0, 1])


def as_words(X):
    """Return the tokens of each document as texts."""
    X = sparse.csr_array(X)
    return [
        [
            f"w{v}"
            for v, count in zip(X.indices[a:b], X.data[a:b], strict=True)
            for _ in range(int(count))
        ]
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def vocabulary(model, corpus):
    """Return the feature of each word of a peer's vocabulary."""
    return np.array([int(word[1:]) for word in model.vocabulary])


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


def large(settings: Settings) -> Iterator[Row]:
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
    yield Row("correlation with the truth", agreement(corpus, model.coefficients_[1:, order]))


def measure(settings: Settings) -> Iterator[Row]:
    """Measure everything."""
    yield from intervals(settings)
    yield from predictions(settings)
    yield from backgrounds(settings)
    yield from peers(settings)
    yield from large(settings)


SECTION = Section(
    "covariates",
    "documents drawn from models with known coefficients of three covariates (five columns)",
    measure,
    (
        f"{REPETITIONS} corpora of 1,000 documents, 80 words, 5 topics; {RESAMPLES} resamples of",
        f"{BOOTSTRAPS} of them. Perplexity of held-out words of new documents. Processor time.",
    ),
)

"""Every public function takes the same containers of counts.

A new public function, or a new method of the estimators, must be listed here.
"""

import inspect
import warnings
from functools import lru_cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import isotopic
from isotopic import NMF, PLSA, CountMatrix, evaluate, generative, plot, read_counts
from isotopic.containers import NamedMatrix, as_dense
from isotopic.report import write_report
from isotopic.verify.evidence import prepare_counts

anndata = pytest.importorskip("anndata")

FEATURES = ["sea", "ship", "sun", "moon", "star", "cat"]
SAMPLES = [f"s{i}" for i in range(10)]
SETTINGS = {"max_iter": 4, "tol": 0, "random_state": 0}
X = np.random.default_rng(0).poisson(2.0, (10, 6)) + np.eye(10, 6, dtype=int)
WEIGHTS = np.random.default_rng(1).dirichlet([1, 1], 10)
TOPICS = np.random.default_rng(2).dirichlet(np.ones(6), 2)


def as_frame(matrix):
    named = matrix.shape == X.shape
    return pd.DataFrame(matrix, index=SAMPLES if named else None, columns=FEATURES)


def as_anndata(matrix):
    data = anndata.AnnData(sparse.csr_matrix(matrix.astype(np.float64)))
    data.var_names = FEATURES
    if matrix.shape == X.shape:
        data.obs_names = SAMPLES
    return data


def count_data(matrix, folder):
    np.savez(folder / "x.npz", counts=matrix, feature_names=FEATURES)
    return read_counts(folder / "x.npz")


CONTAINERS = {
    "array": lambda matrix, _: matrix,
    "list": lambda matrix, _: matrix.tolist(),
    "csr_matrix": lambda matrix, _: sparse.csr_matrix(matrix),
    "csc_array": lambda matrix, _: sparse.csc_array(matrix),
    "coo_array": lambda matrix, _: sparse.coo_array(matrix),
    "pandas": lambda matrix, _: as_frame(matrix),
    "pandas-sparse": lambda matrix, _: as_frame(matrix).astype(pd.SparseDtype("float64", 0.0)),
    "pandas-nullable": lambda matrix, _: as_frame(matrix).convert_dtypes(),
    "polars": lambda matrix, _: pl.DataFrame(matrix, schema=FEATURES),
    "anndata": lambda matrix, _: as_anndata(matrix),
    "CountMatrix": lambda matrix, _: CountMatrix(as_frame(matrix)),
    "read_counts": count_data,
}


@lru_cache
def fitted():
    return NMF(2, **SETTINGS).fit(as_frame(X))


def drawn(draw, *given, **options):
    """Return how much a plot draws, and what it writes."""
    ax = draw(*given, ax=Figure().add_subplot(), **options)
    return len(ax.patches), len(ax.texts), len(ax.collections)


def texts(draw, *given, **options):
    ax = draw(*given, ax=Figure().add_subplot(), **options)
    return " ".join(text.get_text() for text in ax.texts)


def reported(write):
    def run(folder, data):
        path = write(fitted(), data, folder / "report.html")
        return len(path.read_bytes()) > 1000

    return run


def explored(data):
    with fitted().explore(data) as explorer:
        return explorer.model.components_


def with_missing(data):
    mask = np.eye(10, 6) > 0
    model = NMF(2, **SETTINGS).fit(as_frame(X), missing_mask=mask)
    draws = {"n_resamples": 2, "random_state": 0, "n_jobs": 1}
    return isotopic.bootstrap(model, data, missing_mask=mask, **draws)["components"].lower


def in_blocks(data):
    data = np.array(data) if isinstance(data, list) else data  # a list is a list of blocks
    return NMF(2, **SETTINGS).fit(isotopic.open_blocks(data)).components_


# Each function of counts, called with a container of them.
OF_COUNTS = {
    "isotopic.beta_divergence": lambda X: isotopic.beta_divergence(X, WEIGHTS, TOPICS, 0.5),
    "isotopic.bootstrap": with_missing,
    "isotopic.consensus": lambda X: (
        isotopic.consensus(NMF(**SETTINGS), X, 2, n_runs=2, random_state=0).model.components_
    ),
    "isotopic.expected_counts": lambda X: isotopic.expected_counts(X, WEIGHTS, TOPICS).topics,
    "isotopic.gamma_poisson_bound": lambda X: isotopic.gamma_poisson_bound(
        X, TOPICS, 1.0, 1.0, WEIGHTS
    ),
    "isotopic.from_sklearn": lambda X: (
        isotopic.from_sklearn(isotopic.to_sklearn(fitted()), X).weights_
    ),
    "isotopic.generalized_kl": lambda X: isotopic.generalized_kl(X, WEIGHTS, TOPICS),
    "isotopic.lasso_kl": lambda X: isotopic.lasso_kl(X, WEIGHTS, TOPICS, 0.5),
    "isotopic.lda_bound": lambda X: isotopic.lda_bound(X, TOPICS, 0.1, WEIGHTS),
    "isotopic.open_blocks": in_blocks,
    "isotopic.plsa_log_likelihood": lambda X: isotopic.plsa_log_likelihood(X, WEIGHTS, TOPICS),
    "isotopic.pyldavis_arguments": lambda X: isotopic.pyldavis_arguments(fitted(), X)[
        "term_frequency"
    ],
    "isotopic.refit": lambda X: isotopic.refit(X, TOPICS).weights,
    "isotopic.verify": lambda X: as_dense(NamedMatrix(prepare_counts(X))).matrix,  # all it reads
    "evaluate.coherence": lambda X: evaluate.coherence(fitted(), X),
    "evaluate.completion_perplexity": lambda X: evaluate.completion_perplexity(fitted(), X),
    "evaluate.completion_score": lambda X: evaluate.completion_score(fitted(), X, X),
    "evaluate.completion_scorer": lambda X: evaluate.completion_scorer(fitted(), X),
    "evaluate.differential": lambda X: evaluate.differential(fitted(), X).rates,
    "evaluate.distinctive_terms": lambda X: evaluate.distinctive_terms(fitted(), X)["lfc"],
    "evaluate.held_out_likelihood": lambda X: evaluate.held_out_likelihood(NMF(2, **SETTINGS), X),
    "evaluate.split_counts": lambda X: evaluate.split_counts(X, random_state=0)[0].toarray(),
    "report.write_report": lambda X, folder: reported(write_report)(folder, X),
    "NMF.fit": lambda X: NMF(2, **SETTINGS).fit(X).components_,
    "NMF.fit_transform": lambda X: NMF(2, **SETTINGS).fit_transform(X),
    "NMF.partial_fit": lambda X: PLSA(2, **SETTINGS).partial_fit(X).components_,
    "NMF.transform": lambda X: fitted().transform(X),
    "NMF.score": lambda X: fitted().score(X),
    "NMF.perplexity": lambda X: fitted().perplexity(X),
    "NMF.topic_info": lambda X: fitted().topic_info(X)["coherence"],
    "NMF.document_info": lambda X: fitted().document_info(X)["share"],
    "NMF.distinctive_terms": lambda X: fitted().distinctive_terms(X)["lfc"],
    "NMF.posterior": lambda X: fitted().posterior(X)[3].probabilities,
    "isotopic.group_weights": lambda X: isotopic.group_weights(X, np.arange(len(WEIGHTS)) % 2),
    "NMF.credible_interval": lambda X: (
        isotopic.LDA(2, **SETTINGS).fit(as_frame(TOPICS * 50)).credible_interval(X=X)[0]
    ),
    "NMF.validate_counts": lambda X: fitted().validate_counts(X).feature_totals,
    "NMF.merge": lambda X: fitted().merge([[0, 1]], X).objective_,
    "NMF.split": lambda X: fitted().split(0, X).objective_,
    "NMF.drop": lambda X: fitted().drop(0, X).objective_,
    "NMF.drop_features": lambda X: fitted().drop_features(0, X).objective_,
    "NMF.explore": explored,
    "NMF.compare": lambda X, folder: reported(lambda m, X, path: m.compare(m, path, X))(folder, X),
    "NMF.report": lambda X, folder: reported(lambda m, X, path: m.report(path, X))(folder, X),
}

# Each function of topics, called with a container of them.
OF_TOPICS = {
    "isotopic.decompose": lambda topics: isotopic.decompose(topics, fitted()).weights,
    "isotopic.match": lambda topics: isotopic.match(fitted(), topics).similarity,
    "evaluate.diversity": lambda topics: evaluate.diversity(topics, 3),
    "evaluate.exclusivity": lambda topics: evaluate.exclusivity(topics, 3),
    "evaluate.proportions": lambda topics: evaluate.proportions(WEIGHTS, topics),
    "generative.dirichlet_negative_binomial": lambda topics: generative.dirichlet_negative_binomial(
        topics, 3, 1.0, 1.0, random_state=0
    ).toarray(),
    "generative.dirichlet_poisson": lambda topics: generative.dirichlet_poisson(
        topics, 3, 1.0, random_state=0
    ).toarray(),
    "generative.gamma_poisson": lambda topics: generative.gamma_poisson(
        topics, 3, 1.0, 1.0, random_state=0
    ).toarray(),
    "generative.multinomial": lambda topics: generative.multinomial(
        WEIGHTS, topics, 5, random_state=0
    ).toarray(),
    "generative.multinomial_contributions": lambda topics: generative.multinomial_contributions(
        WEIGHTS, topics, 5, random_state=0
    ).toarray(),
    "generative.poisson": lambda topics: generative.poisson(
        WEIGHTS, topics, random_state=0
    ).toarray(),
    "generative.poisson_contributions": lambda topics: generative.poisson_contributions(
        WEIGHTS, topics, random_state=0
    ).toarray(),
    "generative.word_by_word": lambda topics: generative.word_by_word(
        WEIGHTS, topics, 5, random_state=0
    ).toarray(),
    "plot.heatmap": lambda topics: drawn(plot.heatmap, topics),
    "plot.image_parts": lambda topics: drawn(plot.image_parts, topics, (2, 3)),
    "plot.spectra": lambda topics: drawn(plot.spectra, topics),
    "plot.top_terms": lambda topics: drawn(plot.top_terms, topics),
    "plot.topic_map": lambda topics: drawn(plot.topic_map, topics),
}

# The others, and what they take.
OTHERS = {
    "isotopic.convert": "a model",
    "isotopic.differential_anndata": "AnnData, where it stores the result",
    "isotopic.fit_anndata": "AnnData, where it stores the result",
    "isotopic.load": "a path",
    "isotopic.read_counts": "a path",
    "isotopic.register": "a class",
    "isotopic.to_sklearn": "a model",
    "evaluate.compare_groups": "a model, or weights",
    "evaluate.prevalence": "a model",
    "plot.consensus": "the result of consensus",
    "plot.convergence": "models",
    "evaluate.over_time": "a model, or weights",
    "plot.effects": "a model",
    "plot.over_time": "a model, or weights",
    "plot.exposures": "a refit, a model, or weights",
    "plot.palette": "a number",
    "plot.selection": "a table of scores",
    "plot.sparsity_path": "models",
    "plot.structure": "a model, or weights",
    "plot.volcano": "the result of evaluate.differential",
    "NMF.effects": "the name of a covariate",
    "NMF.get_feature_names_out": "scikit-learn's",
    "NMF.get_metadata_routing": "scikit-learn's",
    "NMF.get_params": "scikit-learn's",
    "NMF.inverse_transform": "weights",
    "NMF.label": "names",
    "NMF.reorder": "an order",
    "NMF.sample": "a number",
    "NMF.save": "a path",
    "NMF.top_terms": "a number",
    "NMF.with_fitted": "a fitted value",
}


def public_functions():
    for name, module in {
        "isotopic": isotopic.public,
        "evaluate": evaluate,
        "generative": generative,
        "plot": plot,
    }.items():
        for member in module.__all__:
            if inspect.isfunction(getattr(module, member)):
                yield f"{name}.{member}"
    yield "report.write_report"
    for name, member in inspect.getmembers(NMF, callable):
        if not name.startswith(("_", "set_")):
            assert member is not None
            yield f"NMF.{name}"


def test_every_public_function_is_listed():
    assert sorted(public_functions()) == sorted([*OF_COUNTS, *OF_TOPICS, *OTHERS])


def called(function, given, folder):
    """Return what a function returns; names on one side only are a warning of scikit-learn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return function(given, folder) if function.__code__.co_argcount == 2 else function(given)


def in_each_container(function, matrix, folder):
    """Compare what a function returns for each container with what it returns for an array."""
    expected = called(function, matrix, folder)
    for kind, contain in CONTAINERS.items():
        (folder / "report.html").unlink(missing_ok=True)
        found = called(function, contain(matrix, folder), folder)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=kind)


@pytest.mark.parametrize("name", OF_COUNTS)
def test_counts_in_any_container(tmp_path, name):
    in_each_container(OF_COUNTS[name], X, tmp_path)


@pytest.mark.parametrize("name", OF_TOPICS)
def test_topics_in_any_container(tmp_path, name):
    in_each_container(OF_TOPICS[name], TOPICS, tmp_path)


def test_weights_in_any_container():
    frame = pd.DataFrame(WEIGHTS, index=SAMPLES, columns=["a", "b"])
    groups = pd.Series(list("uuuuuvvvvv"), index=SAMPLES)
    expected = drawn(plot.structure, WEIGHTS, groups=list(groups))
    product = fitted().inverse_transform(WEIGHTS)
    for weights in (frame, pl.DataFrame(WEIGHTS), sparse.csr_array(WEIGHTS), WEIGHTS.tolist()):
        assert drawn(plot.structure, weights, groups=list(groups)) == expected
        np.testing.assert_array_equal(fitted().inverse_transform(weights), product)
    with pytest.warns(isotopic.SampleOrderWarning):
        assert drawn(plot.structure, frame, groups=groups[::-1]) == expected


def test_annotated_counts_are_no_weights():
    data = as_anndata(X)
    isotopic.fit_anndata(data, NMF(2, **SETTINGS))
    with pytest.raises(TypeError, match=r"draws weights, not counts.* obsm has \['X_nmf'\]"):
        plot.structure(data)
    drawn(plot.structure, data.obsm["X_nmf"])


def test_plots_show_the_names_of_features():
    frame, found = as_frame(TOPICS), evaluate.differential(fitted(), X)
    assert any(name in texts(plot.top_terms, frame) for name in FEATURES)
    assert any(name in texts(plot.topic_map, frame) for name in FEATURES)
    assert all(name in texts(plot.volcano, found, 0) for name in FEATURES)


BAD = {
    "word": list("abcdefghij"),
    "digit": list("0123456789"),
    "date": pd.date_range("2020-01-01", periods=10),
    "duration": pd.to_timedelta(range(10), "s"),
}


@pytest.mark.parametrize("name", OF_COUNTS)
def test_a_column_that_holds_no_numbers_is_named(tmp_path, name):
    for column, values in BAD.items():
        frame = as_frame(X).reset_index(drop=True).assign(**{column: values})
        for given in (frame, pl.from_pandas(frame)):
            with pytest.raises(TypeError, match=f"Column '{column}' of (X|seen) holds "):
                called(OF_COUNTS[name], given, tmp_path)


@pytest.mark.parametrize("name", OF_COUNTS)
def test_what_is_no_matrix_is_refused_at_once(tmp_path, name):
    for given in (object(), {"a": [1]}, np.ma.masked_array(X, X > 3)):
        with pytest.raises((TypeError, ValueError)):
            called(OF_COUNTS[name], given, tmp_path)


LEVELS = {
    "distinctive_terms": lambda model, level: evaluate.distinctive_terms(model, X, level=level),
    "compare_groups": lambda _, level: evaluate.compare_groups(WEIGHTS, [0, 1] * 5, level=level),
    "bootstrap": lambda model, level: isotopic.bootstrap(model, X, n_resamples=2, level=level),
    "refit": lambda model, level: isotopic.refit(X, model.components_, level=level),
    "credible_interval": lambda model, level: model.credible_interval(level=level),
}


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("level", [None, "x", 0, 1.5, np.nan, [0.9], np.array([0.5, 0.9]), 1 + 2j])
def test_a_level_that_is_no_probability_is_refused_in_words(name, level):
    model = isotopic.LDA(2, **SETTINGS).fit(X)
    with pytest.raises(ValueError, match=r"level must be between 0 and 1 \(exclusive\), not"):
        LEVELS[name](model, level)


@pytest.mark.parametrize("wrong", [-1, 2, True, "x", None, np.array([0, 1]), pd.Series([1, 2])])
def test_a_topic_to_compare_with_is_refused_in_words(wrong):
    with pytest.raises(ValueError, match="versus must be 'nearest', 'mean' or a topic between"):
        evaluate.differential(NMF(2, **SETTINGS).fit(X), X, versus=wrong)


@pytest.mark.parametrize("wrong", [3, 1.5, object()])
def test_names_of_topics_that_are_none_are_refused_in_words(wrong):
    with pytest.raises(TypeError, match="names must be a mapping from topics to names"):
        NMF(2, **SETTINGS).fit(X).label(wrong)


@pytest.mark.parametrize("wrong", [0, 2**70, 1.5, "x"])
def test_a_number_of_samples_that_is_none_is_refused_in_words(wrong):
    with pytest.raises(ValueError, match=r"n_samples must be an integer from 1 to 2\*\*31"):
        NMF(2, **SETTINGS).fit(X).sample(wrong)

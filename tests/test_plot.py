"""What the plots draw: the data, in the right place, under the right name."""

import itertools
import pathlib
import re
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

from isotopic import LDA, NMF, TopicModel, datasets, evaluate, plot, refit
from isotopic.consensus import cluster_components
from isotopic.mutation_types import DBS_COLOURS, ID_CLASSES, ID_GROUPS, SBS_COLOURS, STRANDS
from isotopic.plot.labels import move_apart
from isotopic.plot.structure import sample_order
from isotopic.plot.style import N_COLOURS, text_on
from isotopic.plot.text import readable
from isotopic.priors import Lasso

mpl.use("Agg")
SETTINGS = {"max_iter": 15, "tol": 0, "random_state": 0}

HOSTILE = [
    "<script>alert(1)</script>",
    "$\\frac{1}{$",
    "$",
    "a $x^2$ b",
    "line\nbreak\ttab\x00\x1b[31m",
    "y" * 10_000,
    "🚀👩‍👩‍👧",
    "\u202eשלום عالم",  # noqa: RUF001
    "漢字かな",
    "",
    "\ud800",
    "{}%s%(a)s\\alpha_^&#~",
]


@pytest.fixture(scope="module")
def corpus():
    kjv = datasets.load_kjv()
    columns = np.argsort(-np.asarray(kjv.data.sum(axis=0)).ravel(), kind="stable")[:60]
    return kjv.data[:80][:, columns], kjv.feature_names[columns]


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(4, alpha=0.2, **SETTINGS).fit(corpus[0])


@pytest.fixture
def ax():
    return Figure(figsize=(6, 4)).add_subplot()


def texts(ax):
    return [text.get_text() for text in ax.texts]


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def shares_of(model):
    return model.components_ / model.components_.sum(axis=1, keepdims=True)


# Structure


def test_structure_stacks_the_proportions_of_every_sample(model, ax):
    assert plot.structure(model, ax=ax) is ax
    heights = np.zeros((80, 4))
    top = np.zeros(80)
    for patch in ax.patches:
        values, edges, baseline = patch.get_data()
        np.testing.assert_array_equal(edges, np.arange(81))
        np.testing.assert_array_equal(baseline, top)
        heights[:, int(patch.get_label().removeprefix("topic "))] = values - baseline
        top = values
    np.testing.assert_allclose(top, 1)
    drawn = sorted(map(tuple, heights.round(9)))
    assert drawn == sorted(map(tuple, model.weights_.round(9)))
    layers = [int(patch.get_label().removeprefix("topic ")) for patch in ax.patches]
    assert layers == list(np.argsort(-model.weights_.mean(axis=0)))
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        f"topic {k}" for k in reversed(layers)
    ]


def test_structure_keeps_groups_together(model, ax):
    groups = np.array(["old", "new", "apocrypha", "new"] * 20)
    plot.structure(model, groups=groups, ax=ax)
    assert labels(ax.xaxis) == ["apocrypha", "new", "old"]
    np.testing.assert_allclose(ax.get_xticks(), [10, 40, 70])
    first = ax.patches[0]
    topic = int(first.get_label().removeprefix("topic "))
    values = first.get_data().values
    for name, part in (("apocrypha", values[:20]), ("new", values[20:60]), ("old", values[60:])):
        np.testing.assert_allclose(np.sort(part), np.sort(model.weights_[groups == name, topic]))


def test_structure_takes_the_order_of_categories(model, ax):
    groups = pd.Categorical(["b", "a"] * 40, categories=["b", "unused", "a"])
    plot.structure(model, groups=pd.Series(groups), ax=ax)
    assert labels(ax.xaxis) == ["b", "a"]


def test_structure_draws_at_most_so_many_samples(model, ax):
    plot.structure(model, n=30, ax=ax)
    assert len(ax.patches[0].get_data().values) == 30


def test_neighbours_are_nearer_than_by_chance(rng):
    shares = rng.dirichlet(np.full(5, 0.3), 900)
    order = sample_order(shares)
    assert sorted(order) == list(range(900))

    def way(rows):
        return np.linalg.norm(np.diff(rows, axis=0), axis=1).sum()

    assert way(shares[order]) < 0.35 * way(shares)
    few = shares[:60]
    assert way(few[sample_order(few)]) < 0.6 * way(few)


def test_weights_of_any_scale_are_drawn_as_proportions(ax):
    plot.structure([[2.0, 6.0], [1.0, 1.0], [0.0, 0.0]], ax=ax)
    lower = ax.patches[0].get_data()
    assert sorted(lower.values) == [0.5, 0.5, 0.75]


# Terms


def test_top_terms_are_bars_of_the_shares(model, corpus, ax):
    names = corpus[1]
    plot.top_terms(model, 3, topics=[2, 0], feature_names=names, ax=ax)
    shares = shares_of(model)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 3)
    expected = np.sort(shares[[2, 0]], axis=1)[:, :-4:-1]
    np.testing.assert_allclose(widths / widths.max(), expected / expected.max())
    common = evaluate.prevalence(model)
    wanted = []
    for topic in (2, 0):
        wanted.append(f"topic {topic}, {common[topic]:.1%}")
        wanted += list(names[np.argsort(-shares[topic], kind="stable")[:3]])
    assert texts(ax) == wanted
    lefts = [bar.get_x() for bar in ax.patches]
    assert lefts == [0, 0, 0, 1, 1, 1]


def test_top_terms_start_with_the_most_prevalent_topic(model, ax):
    plot.top_terms(model, 1, ax=ax)
    heads = [int(text.split()[1].rstrip(",")) for text in texts(ax)[::2]]
    assert heads == list(np.argsort(-evaluate.prevalence(model), kind="stable"))


def test_heat_map_is_the_table_of_shares(model, corpus, ax):
    figure = Figure()
    ax = plot.heatmap(model, 3, topics=[3, 1], feature_names=corpus[1], ax=figure.add_subplot())
    mesh = ax.collections[0]
    table = np.asarray(mesh.get_array()).reshape(2, -1)
    columns = [list(corpus[1]).index(name) for name in labels(ax.xaxis)]
    np.testing.assert_allclose(table, shares_of(model)[np.ix_([3, 1], columns)])
    assert labels(ax.yaxis) == ["topic 3", "topic 1"]
    assert len(set(columns)) == len(columns)
    home = table.argmax(axis=0)
    assert np.all(np.diff(home) >= 0)  # a staircase


# The map


def test_topic_map_has_the_distances_and_the_prevalences(model, corpus, ax):
    plot.topic_map(model, feature_names=corpus[1], ax=ax)
    circles = ax.collections[0]
    order = np.argsort(-evaluate.prevalence(model), kind="stable")
    areas, places = circles.get_sizes(), circles.get_offsets()
    common = evaluate.prevalence(model)[order]
    np.testing.assert_allclose(areas / areas.sum(), common)
    numbers = {text.get_text(): text.get_position() for text in ax.texts[:4]}
    for place, topic in zip(places, order, strict=True):
        np.testing.assert_allclose(numbers[str(topic)], place)
    assert len(ax.texts) == 8
    assert all(text.count(",") == 2 for text in texts(ax)[4:])


def test_circles_do_not_cover_each_other(ax):
    places = np.array([[0.5, 0.5], [0.5, 0.5], [0.51, 0.5], [0.1, 0.9]])
    radii = np.array([20.0, 10.0, 5.0, 5.0])
    moved = move_apart(ax, places, radii)
    points = ax.transData.transform(moved) * 72 / ax.figure.dpi
    apart = np.linalg.norm(points[:, None] - points, axis=-1)
    needed = 0.67 * (radii[:, None] + radii)
    first, second = np.triu_indices(4, 1)
    assert np.all(apart[first, second] >= 0.98 * needed[first, second])
    np.testing.assert_allclose(moved[3], places[3])  # nothing is near it


@pytest.mark.parametrize("n", [1, 2])
def test_a_map_of_one_or_two_topics(n, rng, ax):
    plot.topic_map(rng.dirichlet(np.ones(5), n), ax=ax)
    assert len(ax.collections[0].get_offsets()) == n


# Fits


def test_convergence_is_the_history(corpus, ax):
    fits = {s: NMF(3, solver=s, **SETTINGS).fit(corpus[0]) for s in ("joint", "alternating")}
    plot.convergence(fits, ax=ax)
    best = min(fit.objective_ for fit in fits.values())
    for line, (name, fit) in zip(ax.lines, fits.items(), strict=True):
        assert line.get_label() == name
        np.testing.assert_array_equal(line.get_xdata(), fit.history_["passes"])
        above = fit.history_["objective"] - best
        np.testing.assert_array_equal(line.get_ydata(), np.where(above > 0, above, np.nan))
    assert ax.get_yscale() == "log"
    other = Figure().add_subplot()
    plot.convergence(fits["joint"], against="seconds", value="residual", ax=other)
    history = fits["joint"].history_
    np.testing.assert_array_equal(other.lines[0].get_xdata(), history["seconds"])
    np.testing.assert_array_equal(other.lines[0].get_ydata(), history["residual"])
    assert other.get_legend() is None


def test_selection_draws_scores_errors_and_stability(ax):
    table = {
        "n_components": [5, 2, 10],
        "score": [-6.0, -7.0, -6.5],
        "score_error": [0.1, 0.2, 0.3],
        "stability": [0.8, 0.9, 0.5],
    }
    plot.selection(table, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [2, 5, 10])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [-7, -6, -6.5])
    ends = ax.collections[0].get_segments()
    np.testing.assert_allclose([np.ptp(end[:, 1]) / 2 for end in ends], [0.2, 0.1, 0.3])
    assert ax.lines[-1].get_xdata()[0] == 5  # the chosen one
    right = ax.figure.axes[-1]
    np.testing.assert_array_equal(right.lines[0].get_ydata(), [0.9, 0.8, 0.5])
    with pytest.raises(ValueError, match="no column 'score'"):
        plot.selection({"n_components": [1]})


def test_a_sparsity_path_counts_zeros(corpus, ax):
    path = {s: TopicModel(3, weights=Lasso(s), **SETTINGS).fit(corpus[0]) for s in (10.0, 0.1)}
    path[0.1].components_[0, :30] = 0
    plot.sparsity_path(path, ax=ax)
    for line, side in zip(ax.lines, ("weights_", "components_"), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 10])
        for y, strength in zip(line.get_ydata(), (0.1, 10.0), strict=True):
            factor = getattr(path[strength], side)
            factor = factor / factor.sum(axis=1, keepdims=True)
            assert y == np.mean(factor <= 1e-6)
    with pytest.raises(ValueError, match="at least two"):
        plot.sparsity_path({1.0: path[0.1]})


def test_a_volcano_has_every_feature(model, corpus, ax):
    found = evaluate.differential(model, corpus[0])
    plot.volcano(found, 1, feature_names=corpus[1], n=4, ax=ax)
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([found.shrunken_lfc[1], np.abs(found.z[1])]))
    best = np.argsort(-found.interval()[0][1], kind="stable")[:4]
    assert sorted(texts(ax)) == sorted(corpus[1][best])  # labels are placed by their height


# Spectra and images

SBS = [f"{l}[{m}]{r}" for l in "ACGT" for m in SBS_COLOURS for r in "ACGT"]  # noqa: E741


def test_spectra_are_96_bars_by_class_and_context(rng, ax):
    order = rng.permutation(96)
    names = np.array(SBS)[order]
    topics = rng.dirichlet(np.ones(96), 3)
    plot.spectra(topics, topics=[2, 0], feature_names=names, ax=ax)
    bars = ax.patches[:192]
    sorted_names = sorted(SBS, key=lambda s: (s[2:5], s[0], s[6]))
    where = [list(names).index(name) for name in sorted_names]
    for row, topic in enumerate((2, 0)):
        mine = bars[96 * row : 96 * (row + 1)]
        heights = np.array([bar.get_height() for bar in mine])
        np.testing.assert_allclose(heights * topics[topic].max(), topics[topic, where])
        for bar, name in zip(mine, sorted_names, strict=True):
            assert mpl.colors.to_hex(bar.get_facecolor()).upper() == SBS_COLOURS[name[2:5]]
    contexts = [name[0] + name[2] + name[6] for name in sorted_names]
    assert labels(ax.xaxis) == contexts
    assert texts(ax) == ["topic 2", "topic 0", *SBS_COLOURS]
    assert labels(ax.yaxis)[1] == f"{topics[2].max():.1%}"


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["AC>CA", "TT>GG", "AC>CG"], ["AC>NN", "TT>NN"]),
        (
            ["1:Del:C:0", "2:Ins:R:1", "1:Del:C:1"],
            ["C", "2", "deletion of 1 bp", "longer insertion at repeats"],
        ),
        (["what", "ever", "else"], []),
        (["AC>CA", "ever", "else"], []),
        (["AA>CC", "TT>GG", "GG>AA"], []),
    ],
)
def test_other_spectra_are_grouped_if_they_have_classes(names, classes, ax):
    plot.spectra([[0.2, 0.5, 0.3]], feature_names=names, ax=ax)
    heights = [bar.get_height() for bar in ax.patches[:3]]
    expected = [0.2, 0.3, 0.5] if classes else [0.2, 0.5, 0.3]
    np.testing.assert_allclose(heights, np.array(expected) / 0.5)
    assert texts(ax)[1:] == classes


def indels():
    """Return the 83 types of indels."""
    ones = [f"1:{c}:{b}:{n}" for c in ("Del", "Ins") for b in "CT" for n in range(6)]
    repeats = [f"{s}:{c}:R:{n}" for c in ("Del", "Ins") for s in range(2, 6) for n in range(6)]
    return [
        *ones,
        *repeats,
        *(f"{s}:Del:M:{n}" for s in range(2, 6) for n in range(1, s + (s == 5))),
    ]


def bar_colours(ax, n):
    return [mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.patches[:n]]


@pytest.mark.parametrize("strands", ["TU", "TUN", "TUBN"])
def test_substitutions_with_strands_are_side_by_side(rng, ax, strands):
    types = [f"{strand}:{name}" for strand in strands for name in SBS]
    order = rng.permutation(len(types))
    topic = rng.dirichlet(np.ones(len(types)))
    plot.spectra([topic], feature_names=np.array(types)[order], ax=ax)
    by_class = sorted(SBS, key=lambda s: (s[2:5], s[0], s[6]))
    expected = [f"{strand}:{name}" for name in by_class for strand in "TUBN" if strand in strands]
    drawn = [bar.get_height() for bar in ax.patches[: len(types)]]
    where = [list(order).index(types.index(name)) for name in expected]
    np.testing.assert_allclose(drawn, topic[where] / topic.max())
    assert bar_colours(ax, len(types)) == [STRANDS[name[0]][1] for name in expected]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [STRANDS[strand][0] for strand in "TUBN" if strand in strands]
    assert texts(ax)[1:] == list(SBS_COLOURS)


def test_indels_have_their_83_types_in_order(rng, ax):
    types = indels()
    assert len(types) == 83
    order = rng.permutation(83)
    topic = rng.dirichlet(np.ones(83))
    plot.spectra([topic[order]], feature_names=np.array(types)[order], ax=ax)
    drawn = [bar.get_height() for bar in ax.patches[:83]]
    np.testing.assert_allclose(drawn, topic / topic.max())
    assert bar_colours(ax, 83) == [ID_CLASSES[name[:7]][1] for name in types]
    below = labels(ax.xaxis)
    assert below[:6] == ["1", "2", "3", "4", "5", "6+"]  # deletions of C
    assert below[12:18] == ["0", "1", "2", "3", "4", "5+"]  # insertions of C
    assert below[72:] == ["1", "1", "2", "1", "2", "3", "1", "2", "3", "4", "5+"]
    assert texts(ax)[1:] == [*(title for title, _ in ID_CLASSES.values()), *ID_GROUPS.values()]


def test_doublets_have_the_colours_of_their_ten_classes(rng, ax):
    types = [f"{kind[:2]}>{b}" for kind in DBS_COLOURS for b in ("AA", "GT")]
    order = rng.permutation(20)
    plot.spectra([rng.random(20)], feature_names=np.array(types)[order], ax=ax)
    assert bar_colours(ax, 20) == [DBS_COLOURS[f"{name[:2]}>NN"] for name in types]
    assert labels(ax.xaxis) == ["AA", "GT"] * 10


def test_rows_of_a_frame_have_the_names_of_their_signatures(rng, ax):
    frame = pd.DataFrame(rng.dirichlet(np.ones(96), 2), ["SBS1", "SBS5"], SBS)
    plot.spectra(frame, ax=ax)
    assert texts(ax)[:2] == ["SBS1", "SBS5"]


def test_a_table_with_mutation_types_in_its_rows_is_turned(rng, ax):
    table = pd.DataFrame(rng.dirichlet(np.ones(96), 2).T, index=SBS, columns=["SBS1", "SBS5"])
    plot.spectra(table, ax=ax)
    assert [text.get_text() for text in ax.texts][:2] == ["SBS1", "SBS5"]
    with pytest.raises(ValueError, match="There are 101 spectra to draw"):
        plot.spectra(np.ones((101, 96)), feature_names=SBS)


def test_a_topic_has_one_colour_in_all_exposures(rng):
    weights = rng.random((5, 4)) * [1, 5, 2, 9]

    def colours(weights, **options):
        bars = plot.exposures(weights, **options).containers
        return {bar.get_label(): bar.patches[0].get_facecolor() for bar in bars}

    assert colours(weights) == colours(weights, relative=True)
    assert colours(weights)["topic 1"] == to_rgba(plot.palette(4)[1])
    many = rng.random((5, 40))
    same = colours(many)
    other = colours(many, relative=True)
    assert all(same[name] == other[name] for name in same.keys() & other.keys())
    assert len(set(same.values())) == len(same)


def test_exposures_are_stacked_counts_of_the_largest_samples(rng, ax):
    counts = rng.gamma(0.5, 100, (30, 6)) * [3, 2, 1, 1, 0.5, 0]
    frame = pd.DataFrame(counts, [f"tumour {i}" for i in range(30)], [f"S{k}" for k in range(6)])
    plot.exposures(frame, n=8, n_topics=3, ax=ax)
    largest = np.argsort(-counts.sum(axis=1))[:8]
    assert labels(ax.xaxis) == [f"tumour {i}" for i in largest]
    bars = np.array([bar.get_height() for bar in ax.patches]).reshape(4, 8)
    tops = np.array([bar.get_y() + bar.get_height() for bar in ax.patches]).reshape(4, 8)
    np.testing.assert_allclose(tops[-1], counts[largest].sum(axis=1))
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[-1] == "other topics"
    for row, name in zip(bars, legend[:-1], strict=False):
        np.testing.assert_allclose(row, frame.loc[frame.index[largest], name])


@pytest.mark.filterwarnings("ignore::isotopic.EmptySampleWarning")
def test_exposures_of_a_refit_have_the_names_of_the_reference(ax):
    reference = pd.DataFrame([[6, 3, 1, 0], [0, 0, 5, 5]], ["A", "B"], list("wxyz"))
    X = pd.DataFrame([[60, 30, 10, 0], [0, 0, 7, 9], [0, 0, 0, 0]], ["u", "v", "w"], list("wxyz"))
    plot.exposures(refit(X, reference), relative=True, ax=ax)
    assert labels(ax.xaxis) == ["u", "v", "w"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]
    assert [bar.get_height() for bar in ax.patches] == [1, 0, 0, 0, 1, 0]


def test_image_parts_are_the_topics(rng, ax):
    topics = rng.random((5, 6))
    plot.image_parts(topics, (2, 3), topics=[4, 1], ax=ax)
    mosaic = ax.images[0].get_array()
    np.testing.assert_allclose(mosaic[2:4, :3], topics[4].reshape(2, 3) / topics[4].max())
    np.testing.assert_allclose(mosaic[2:4, 5:8], topics[1].reshape(2, 3) / topics[1].max())
    assert texts(ax) == ["4", "1"]
    with pytest.raises(ValueError, match="images of 2 x 2 have 4 pixels, but there are 6 features"):
        plot.image_parts(topics, (2, 2))


def test_consensus_draws_the_similarities_of_all_components(rng, ax):
    runs = rng.dirichlet(np.full(20, 0.2), size=3)[np.newaxis].repeat(4, axis=0)
    found = cluster_components(runs)
    plot.consensus(found, ax=ax)
    drawn = ax.images[0].get_array()
    assert drawn.shape == (12, 12)
    np.testing.assert_allclose(drawn[:4, :4], 1)
    assert drawn[0, 4] < 0.9
    assert texts(ax)[:3] == ["topic 0 (1.00)", "topic 1 (1.00)", "topic 2 (1.00)"]
    with pytest.raises(TypeError, match="draws the result of consensus"):
        plot.consensus(runs)


# All of them


def with_covariates(X, groups, n):
    """Return a model whose weights depend on the groups of the samples."""
    groups = [str(group) or "none" for group in groups]
    return LDA(n, tol=1e-2, random_state=0).fit(X, covariates={"group": groups})


def every_plot(model, X, names, ax):
    """Draw each with the names wherever names can be."""
    terms = np.resize(np.array(names, dtype=object), model.components_.shape[1])
    topics = np.resize(np.array(names, dtype=object), len(model.components_))
    found = evaluate.differential(model, X)
    groups = np.resize(np.array(names, dtype=object), X.shape[0])
    table = {"n_components": [1, 2], "score": [0.1, 0.2]}
    clusters = cluster_components(np.repeat(model.components_[np.newaxis], 3, axis=0))
    return {
        "structure": lambda: plot.structure(model, groups=groups, names=topics, ax=ax),
        "top_terms": lambda: plot.top_terms(model, feature_names=terms, names=topics, ax=ax),
        "heatmap": lambda: plot.heatmap(model, feature_names=terms, names=topics, ax=ax),
        "topic_map": lambda: plot.topic_map(model, feature_names=terms, ax=ax),
        "convergence": lambda: plot.convergence(dict.fromkeys(names, model), ax=ax),
        "selection": lambda: plot.selection(table, ax=ax),
        "consensus": lambda: plot.consensus(clusters, names=topics, ax=ax),
        "spectra": lambda: plot.spectra(model, feature_names=terms, names=topics, ax=ax),
        "effects": lambda: plot.effects(
            with_covariates(X, groups, len(topics)), "group", names=topics, ax=ax
        ),
        "over_time": lambda: plot.over_time(model, np.arange(X.shape[0]), names=topics, ax=ax),
        "exposures": lambda: plot.exposures(model, names=topics, ax=ax),
        "image_parts": lambda: plot.image_parts(model, (6, 10), ax=ax),
        "sparsity_path": lambda: plot.sparsity_path({1.0: model, 2.0: model}, ax=ax),
        "volcano": lambda: plot.volcano(found, 0, feature_names=terms, ax=ax),
    }


def test_curves_over_time_have_panels_of_their_own():
    weights = np.random.default_rng(0).dirichlet(np.ones(6), 60)
    time = np.repeat(np.arange(10), 6)
    panels = plot.over_time(weights, time, columns=4).figure.axes
    assert [ax.get_title(loc="left") for ax in panels] == [f"topic {k}" for k in range(6)]
    assert all(len(ax.collections) == 1 and len(ax.lines) == 6 for ax in panels)
    assert len({ax.get_ylim() for ax in panels}) == 1
    some = plot.over_time(weights, time, topics=[4, 1]).figure.axes
    assert [ax.get_title(loc="left") for ax in some] == ["topic 4", "topic 1"]
    alone = plot.over_time(weights, time, topics=2).figure.axes
    assert len(alone) == 1
    on_one = plot.over_time(weights, time, ax=alone[0])
    assert on_one is alone[0]
    assert len(on_one.collections) == 7


def test_long_names_of_groups_do_not_overlap():
    rng = np.random.default_rng(0)
    names = [f"a rather long name {i}" for i in range(4)]
    X, group = rng.poisson(2.0, (40, 8)), np.resize(names, 40)
    model = LDA(2, tol=0.1, random_state=0).fit(X, covariates={"group": group})

    def rotations(model):
        ax = plot.effects(model, "group", topics=0)
        ax.figure.canvas.draw()
        return [label.get_rotation() for label in ax.get_xticklabels()]

    assert rotations(model) == [45] * 4
    short = LDA(2, tol=0.1, random_state=0).fit(X, covariates={"group": np.resize(list("ab"), 40)})
    assert rotations(short) == [0] * 2


def test_groups_have_a_panel_for_each_topic_that_holds_all_intervals():
    rng = np.random.default_rng(0)
    X, group = rng.poisson(2.0, (40, 8)), np.resize(list("abc"), 40)
    model = LDA(3, tol=0.1, random_state=0).fit(X, covariates={"group": group})
    panels = plot.effects(model, "group").figure.axes
    assert [ax.get_title(loc="left") for ax in panels] == [f"topic {k}" for k in range(3)]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["a", "b", "c"]
    for ax in panels:
        assert ax.get_xlim()[0] == 0
        assert ax.get_xlim()[1] >= model.effects("group")["upper"].max()
        assert ax.get_ylim() == (2.5, -0.5)  # the first group is at the top


def test_axes_over_numbers_hold_all_intervals():
    weights = np.random.default_rng(0).dirichlet(np.full(6, 0.1), 40)
    weights[:, 0] = 1e-3  # the first panel has the smallest intervals
    time = np.repeat([2010, 2015, 2020, 2021], 10)
    upper = evaluate.over_time(weights, time)["upper"].max()
    for ax in plot.over_time(weights, time).figure.axes:
        assert ax.get_ylim()[0] == 0
        assert ax.get_ylim()[1] >= upper
    one = plot.over_time(weights, time, topics=0)
    plot.over_time(weights, time, ax=one)  # draws all topics on the same axes
    assert one.get_ylim()[1] >= upper


@pytest.mark.parametrize(("period", "least"), [(5, 3), (1, 2)])
def test_whole_years_have_few_labels_that_are_whole(period, least):
    time = np.resize(np.arange(2010, 2023), 130)
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 130)
    ax = plot.over_time(weights, time, period=period)
    ax.figure.canvas.draw()
    ticks = [tick for tick in ax.figure.axes[0].get_xticks() if 2010 <= tick <= 2022]
    assert least <= len(ticks) <= 5
    labels = [label.get_text() for label in ax.figure.axes[0].get_xticklabels()]
    assert all(label.isdigit() for label in labels if label)


def test_distinctive_terms_leave_out_what_is_frequent_everywhere():
    topics = np.array([[0.6, 0.3, 0.1, 0], [0.6, 0, 0.1, 0.3]])
    names = ["common", "first", "other", "second"]

    def first_terms(order):
        ax = plot.top_terms(topics, 1, order=order, feature_names=names)
        return [text.get_text() for text in ax.texts][1::2]

    assert first_terms("share") == ["common", "common"]
    assert first_terms("distinctive") == ["first", "second"]
    with pytest.raises(ValueError, match="order must be 'share' or 'distinctive'"):
        plot.top_terms(topics, order="lift")


def test_the_report_has_the_colours_of_the_plots():
    page = pathlib.Path(plot.__file__).parent.parent / "report" / "page"
    text = (page / "colours.js").read_text()
    colours = re.findall(r'"(#\w{6})"', text.split("HUES = [")[1].split("]")[0])
    assert colours == [colour.lower() for colour in plot.palette(N_COLOURS)]


NAMES = [name for name in plot.__all__ if name != "palette"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["png", "svg"])
def test_hostile_text_breaks_no_plot(name, form, model, corpus, tmp_path):
    """Warnings are errors: a glyph that is missing would be one."""
    figure = Figure()
    drawn = every_plot(model, corpus[0], HOSTILE, figure.add_subplot())[name]()
    drawn.figure.savefig(tmp_path / f"plot.{form}")
    assert (tmp_path / f"plot.{form}").stat().st_size > 1000
    if form == "svg":
        assert "<script" not in (tmp_path / "plot.svg").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_plots_make_a_figure_of_their_own(name, model, corpus):
    from matplotlib import pyplot as plt

    made = every_plot(model, corpus[0], ["a", "b"], None)[name]()
    assert made.figure in map(plt.figure, plt.get_fignums())
    plt.close("all")


def test_text_is_drawn_as_it_stands():
    assert readable("a\n b\tc") == "a b c"
    assert readable("y" * 10_000) == "y" * 23 + "…"
    assert readable("Lung-AdenoCA_SP10007", 12, cut="middle") == "Lung-A…10007"
    assert readable("$x$") == r"\$x\$"
    assert readable("漢") == "\ufffd"
    assert readable("naïve Ωμέγα שלום") == "naïve Ωμέγα שלום"
    assert "\u202e" not in readable("\u202eabc")
    assert readable(None) == "None"


def test_a_font_that_knows_more_is_asked():
    with mpl.rc_context({"font.family": ["monospace"]}):
        assert readable("é") == "é"
    with mpl.rc_context({"font.family": ["no such font"]}):
        assert readable("é") == "é"


def test_colours_can_be_told_apart():
    tools = str(pathlib.Path(__file__).parent.parent / "tools")
    sys.path.insert(0, tools)
    try:
        from make_palette import rgb, seen
    finally:
        sys.path.remove(tools)
    for n, least in ((7, (0.15, 0.07)), (12, (0.15, 0.07)), (24, (0.1, 0.05))):
        places = seen(np.array([rgb(colour) for colour in plot.palette(n)]))
        apart = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
        apart[:, np.arange(n), np.arange(n)] = np.inf
        assert apart[0].min() > least[0]  # normal eyes
        assert apart[1:].min() > least[1]
    assert plot.palette(25)[24] == plot.palette(1)[0]
    assert text_on("#FFFFFF") == "#222222"
    assert text_on("#000000") == "#FFFFFF"


def test_what_cannot_be_drawn_is_refused(model, ax):
    for call, message in (
        (lambda: plot.structure(model, groups=["a"]), r"but has the shape \(1,\)"),
        (lambda: plot.structure([[1, -1]]), "sample 0, component 1 is -1"),
        (lambda: plot.structure(model, colours=["red"]), "colours has 1 entries"),
        (lambda: plot.structure(model, names=["a"]), "names has 1 entries, but there are 4 topics"),
        (lambda: plot.structure(NMF(2)), "not fitted"),
        (lambda: plot.structure(model, n=0), "n must be an integer"),
        (lambda: plot.top_terms(model, topics=[4]), "between 0 and 3"),
        (lambda: plot.top_terms(model, topics="all"), "indices of topics"),
        (lambda: plot.top_terms(model, feature_names=["a"]), "one name for each of the"),
        (lambda: plot.heatmap([[1, 2]], feature_names=["a"]), "feature_names has 1 entries"),
        (lambda: plot.convergence(model, against="time"), "against must be one of"),
        (lambda: plot.convergence(model, value="loss"), "'objective' or 'residual'"),
        (lambda: plot.convergence([]), "no model"),
        (lambda: plot.convergence(model.history_[:0]), "without iterations"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="a fitted model or its history_"):
        plot.convergence(3)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, model):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'isotopic\[plot\]'"):
        plot.structure(model)


def boxes_of(artists):
    """Return the boxes of texts and legends that have been drawn, without arrows."""
    renderer = artists[0].figure.canvas.get_renderer()
    kinds = [Text if isinstance(artist, Text) else type(artist) for artist in artists]
    return [kind.get_window_extent(it, renderer) for kind, it in zip(kinds, artists, strict=True)]


def paper_axes():
    figure = Figure(figsize=(3.4, 2.6))
    mpl.backends.backend_agg.FigureCanvasAgg(figure)
    return figure.add_subplot()


def test_names_of_very_many_groups_do_not_overlap():
    rng = np.random.default_rng(0)
    groups = [f"D{i % 137}+/CD45RA+/CD25- Naive T" for i in range(1200)]
    ax = plot.structure(rng.dirichlet(np.ones(3), 1200), groups=groups)
    ax.figure.draw_without_rendering()
    labels = ax.get_xticklabels()
    boxes = boxes_of(labels)
    assert 30 < len(labels) < 80
    assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(boxes))
    assert ax.get_xlabel() == "137 groups; the largest have a name"


@pytest.mark.parametrize("draw", ["structure", "topic_map", "exposures"])
def test_small_axes_hold_everything_that_is_drawn(model, draw):
    ax = getattr(plot, draw)(model, ax=paper_axes())
    ax.figure.draw_without_rendering()
    drawn = [*ax.texts, ax.xaxis.label, ax.yaxis.label]
    legend = ax.get_legend()
    boxes = boxes_of(drawn if legend is None else [*drawn, legend])
    width, height = ax.figure.bbox.size
    for box in boxes:
        assert (box.x0 > -1, box.y0 > -1, box.x1 < width + 1, box.y1 < height + 1) == (True,) * 4
    for circle in (c for c in ax.collections if draw == "topic_map"):
        radii = np.sqrt(circle.get_sizes() / np.pi) * ax.figure.dpi / 72
        places = ax.transData.transform(circle.get_offsets())
        assert np.all(places - radii[:, None] > 0)
        assert np.all(places + radii[:, None] < [width, height])


def test_a_figure_with_a_layout_or_several_axes_keeps_it(model):
    both = Figure().subplots(1, 2)
    plot.structure(model, ax=both[0])
    assert both[0].figure.get_layout_engine() is None


def test_names_of_samples_that_begin_alike_stay_different(ax):
    names = [f"Lung-AdenoCA-long_SP{10_000 + i}" for i in range(38)]
    plot.exposures(pd.DataFrame(np.ones((38, 2)), index=names), ax=ax)
    assert len({label.get_text() for label in ax.get_xticklabels()}) == 38


def test_the_name_of_a_spectrum_hides_no_bar(ax):
    plot.spectra(np.eye(3, 8) + 0.01, names=["a", "b", "c"], ax=ax)
    tops = [bar.get_y() + bar.get_height() for bar in ax.patches]
    floors = sorted({bar.get_y() for bar in ax.patches})
    for text in ax.texts:
        floor = max(f for f in floors if f <= text.get_position()[1])
        row = [top for top, bar in zip(tops, ax.patches, strict=True) if bar.get_y() == floor]
        assert text.get_position()[1] > max(row)
    assert ax.get_ylabel() == "share"


@pytest.mark.parametrize(
    ("lowest", "said"), [(0.5, "stable above this line"), (-0.5, "no number is stable")]
)
def test_the_plot_of_a_selection_shows_what_is_stable(ax, lowest, said):
    table = {
        "n_components": [2, 3],
        "score": [-2.0, -1.9],
        "stability": [0.9, 0.7],
        "min_stability": [lowest, lowest],
    }
    right = plot.selection(table, ax=ax).figure.axes[-1]
    assert texts(right) == [said]
    assert any(set(line.get_ydata()) == {0.8} for line in right.lines)


@pytest.mark.parametrize("ends", [(0.6, 0.79), (0.81, 0.6), (0.79, 0.8)])
def test_words_at_the_line_of_stability_leave_points_free(ends):
    table = {
        "n_components": [2, 3, 4, 5],
        "score": [-2.0, -1.9, -1.89, -1.88],
        "stability": np.linspace(*ends, 4),
        "min_stability": [0.3] * 4,
    }
    right = plot.selection(table).figure.axes[-1]
    right.figure.draw_without_rendering()
    (box,) = boxes_of([text for text in right.texts if text.get_text()])
    for ax in right.figure.axes:
        points = ax.transData.transform(ax.lines[0].get_xydata())
        assert not any(box.contains(*point) for point in points)


def test_labels_of_a_volcano_stay_inside_and_leave_points_free(corpus, model):
    names = np.array([f"{name}_of_a_long_name" for name in corpus[1]])
    found = evaluate.differential(model, corpus[0])
    ax = plot.volcano(found, 0, feature_names=names)
    ax.figure.draw_without_rendering()
    inside = ax.get_window_extent()
    boxes = boxes_of([text for text in ax.texts if text.get_text()])
    assert len(boxes) == 10
    for box in boxes:
        assert inside.x0 - 5 < box.x0
        assert box.x1 < inside.x1 + 5
    shared = sum(
        max(0, min(a.x1, b.x1) - max(a.x0, b.x0)) * max(0, min(a.y1, b.y1) - max(a.y0, b.y0))
        for a, b in itertools.combinations(boxes, 2)
    )
    assert shared < 0.02 * sum(box.width * box.height for box in boxes)

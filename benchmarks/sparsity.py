"""How many topics a sample uses, what that costs, and how a heuristic for it does."""

import csv
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from isotopic import NMF, SparseNMF, SparsityWarning, generalized_kl
from isotopic.priors import row_norms

RESULTS = Path(__file__).parent / "results"
COMBINATIONS = (
    ("l1", "l1"),
    ("l2", "l1"),
    (4.0, "l1"),
    ("l1", "log"),
    ("l2", "log"),
    ("l1", "power"),
    ("l2", "power"),
)

# A component is as good as absent from a sample of which it explains less than this share. It is
# above what the accelerated solver holds weights at, lest momentum lose them, when it stops.
ABSENT = 1e-4

# How much more divergence a sparse fit may have.
MOST_PAID = 0.02

COLOURS = ("#000000", "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")


@dataclass(frozen=True)
class Plan:
    """What to fit: data sets, components, strengths, and iterations at most."""

    data: tuple[str, ...] = ("kjv", "pcawg_sbs96")
    components: int = 20
    strengths: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    max_iter: int = 300


@dataclass(frozen=True)
class Fit:
    """One point of a path."""

    data: str
    norm: str
    penalty: str
    strength: float
    zeros: float  # share of the weights that explain as good as nothing of their sample
    exact_zeros: float
    topics_per_sample: float
    topic_zeros: float
    divergence: float  # with each sample's weights scaled to its total
    divergence_as_it_is: float
    paid: float  # of the divergence, compared with NMF


def measure(settings: Settings) -> Iterator[Row]:
    plan = Plan(("kjv",), strengths=Plan.strengths[::2]) if settings.quick else Plan()
    yield from paths(plan, RESULTS)
    yield from against_heuristic(settings)
    yield from known_signatures(settings)


def paths(plan: Plan, folder: Path) -> Iterator[Row]:
    """Fit along a path of strengths for each combination of norm and penalty."""
    fits: list[Fit] = []
    for name in plan.data:
        X = data.dataset(name)
        if X is None:
            yield Row(name, detail="not found; ISOTOPIC_DATA names the folder of it")
            continue
        settings = {"max_iter": plan.max_iter, "tol": 1e-4, "random_state": 0}
        plain = _fitted(NMF(plan.components, **settings), X)
        describe = partial(_fit, X, name, generalized_kl(X, plain.weights_, plain.components_))
        fits.append(describe("l1", "none", 0.0, plain))
        for norm, penalty in COMBINATIONS:
            path = list(_path(X, plan, settings, norm, penalty, plain))
            found = [describe(norm, penalty, m.strength, m) for m in path]
            fits += found
            yield _best(name, norm, penalty, fits[-len(found) :], plain, X)
    folder.mkdir(exist_ok=True)
    with (folder / "sparsity.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Fit)])
        writer.writeheader()
        writer.writerows(asdict(fit) for fit in fits)
    yield from _draw(fits, folder / "sparsity.png")


def _path(X, plan: Plan, settings: dict, norm, penalty, start) -> Iterator[SparseNMF]:
    """Fit with growing strength, each fit from where the one before ended."""
    for strength in plan.strengths:
        model = SparseNMF(plan.components, strength, norm=norm, penalty=penalty, **settings)
        start = _fitted(model.set_params(init=start), X)
        yield start


def _fitted(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsityWarning)  # to show it is why it is fitted
        warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for a figure
        return model.fit(X)


def _fit(X, name: str, least: float, norm, penalty: str, strength: float, model) -> Fit:
    explained = model.weights_ * model.components_.sum(axis=1)
    totals = explained.sum(axis=1, keepdims=True)
    absent = explained <= ABSENT * totals
    scale = np.asarray(X.sum(axis=1)).reshape(-1, 1) / np.where(totals > 0, totals, 1)
    divergence = generalized_kl(X, model.weights_ * scale, model.components_)
    topics = model.components_
    return Fit(
        name,
        str(norm),
        penalty,
        strength,
        float(absent.mean()),
        float((model.weights_ == 0).mean()),
        float((~absent).sum(axis=1).mean()),
        float((topics <= ABSENT * topics.sum(axis=1, keepdims=True)).mean()),
        divergence,
        generalized_kl(X, model.weights_, topics),
        divergence / least - 1,
    )


def _best(name: str, norm, penalty: str, path: list[Fit], plain, X) -> Row:
    """Give the sparsest fit of a path that costs little."""
    cheap = [fit for fit in path if fit.paid <= MOST_PAID]
    before = _fit(X, name, 1.0, "l1", "none", 0.0, plain).topics_per_sample
    what = f"{name}, {norm} topics, {penalty} penalty"
    if not cheap:
        return Row(what, detail=f"no fit within {MOST_PAID:.0%} of the divergence of NMF")
    best = min(cheap, key=lambda fit: fit.topics_per_sample)
    return Row(
        what,
        best.topics_per_sample,
        " topics",
        detail=f"of a sample, at {100 * best.paid:+.2f} % divergence, strength {best.strength:g}; "
        f"NMF {before:.3g}",
    )


def _draw(fits: list[Fit], file: Path) -> Iterator[Row]:
    try:
        import matplotlib  # noqa: PLC0415 - an extra
    except ImportError:
        yield Row("figure", detail="matplotlib is not installed; `make bench` installs it")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - an extra

    names = list(dict.fromkeys(fit.data for fit in fits))
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.6 * len(names) + 1, 4.6), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes.flat, names, strict=True):
        _panel(axis, name, [fit for fit in fits if fit.data == name])
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9
    )
    figure.savefig(file, dpi=120)
    plt.close(figure)


def _panel(axis, name: str, fits: list[Fit]) -> None:
    """Draw sparsity against its price; the Lasso with l1 topics has neither, and is a point."""
    for (norm, penalty), colour, marker in zip(COMBINATIONS, COLOURS, MARKERS, strict=True):
        path = [
            f for f in fits if f.penalty == "none" or (f.norm, f.penalty) == (str(norm), penalty)
        ]
        axis.plot(
            [100 * fit.paid for fit in path],
            [100 * fit.zeros for fit in path],
            color=colour,
            marker=marker,
            markersize=5 if (norm, penalty) != ("l1", "l1") else 10,
            markerfacecolor=colour if (norm, penalty) != ("l1", "l1") else "none",
            linewidth=1.5,
            label=f"{norm if isinstance(norm, str) else f'l{norm:g}'} topics, {penalty} penalty",
        )
    priciest = min(30.0, 110 * max(fit.paid for fit in fits))
    axis.set(title=name, xlim=(-0.04 * priciest, priciest))
    axis.set_xlabel("divergence paid, % of that of NMF")
    axis.set_ylabel("weights that are zero, %")
    axis.grid(alpha=0.3)


def heuristic(X, weights, topics, strength: float, n_iter: int) -> list[float]:
    """Transcribe the updates of Le Roux, Weninger and Hershey (2015), l2 topics, divergence KL.

    The ratio of the negative and the positive part of a gradient; nothing says that it descends.
    """
    norms = row_norms(topics, 2.0)
    weights, topics = weights * norms, topics / norms[:, np.newaxis]
    values = []
    for _ in range(n_iter):
        weights = weights * (X / (weights @ topics) @ topics.T) / (topics.sum(axis=1) + strength)
        down = weights.T @ (X / (weights @ topics))
        up = np.broadcast_to(weights.sum(axis=0)[:, np.newaxis], down.shape)
        along_up = topics * (up * topics).sum(axis=1, keepdims=True)
        along_down = topics * (down * topics).sum(axis=1, keepdims=True)
        topics = topics * (down + along_up) / (up + along_down)
        topics /= row_norms(topics, 2.0)[:, np.newaxis]
        values.append(generalized_kl(X, weights, topics) + strength * float(weights.sum()))
    return values


def against_heuristic(settings: Settings) -> Iterator[Row]:
    """Compare it with the majorizer from the same start, pass for pass, on the same objective."""
    X = data.dataset("pcawg_sbs96")
    X = data.dataset("kjv_small") if X is None else X
    X = np.asarray(X[:600].toarray(), float)
    X = X[:, X.sum(axis=0) > 0]
    passes = 60 if settings.quick else 200
    for strength in (0.1, 1.0):
        start = data.start_for(X, 10)
        theirs = np.array(heuristic(X, *start, strength, passes // 2))
        rises = int((np.diff(theirs) > 1e-12 * theirs[:-1]).sum())
        yield Row(
            f"heuristic, strength {strength:g}",
            theirs[-1] / theirs.min(),
            "",
            detail=f"its objective after {passes} passes / its best; it rose {rises} times",
        )
        for solver, n_iter in (("alternating", passes // 2), ("joint", passes), ("auto", passes)):
            model = SparseNMF(10, strength, solver=solver, init=start, max_iter=n_iter, tol=0)
            value = model.fit(X).objective_ / theirs[-1]
            yield Row(
                f"{solver}, strength {strength:g}",
                value,
                "",
                target=Target(1.0, at_least=False) if solver == "auto" else None,
                detail=f"its objective after {passes} passes / the heuristic's",
            )


def mutations():
    """Load the mutation catalogue and its reference signatures; None if they are not here."""
    catalogue, folder = data.dataset("pcawg_sbs96"), data.REAL_DATA / "pcawg_sbs96"
    if catalogue is None:
        return None, None
    names = (folder / "vocab.txt").read_text().split()
    with (folder / "reference_signatures.csv").open() as file:
        rows = {row[0]: [float(cell) for cell in row[1:]] for row in list(csv.reader(file))[1:]}
    return catalogue.astype(float), np.array([rows[name] for name in names]).T


def known_signatures(settings: Settings) -> Iterator[Row]:
    """Explain tumours by reference signatures that are held."""
    X, signatures = mutations()
    if X is None:
        yield Row("pcawg_sbs96", detail="not found; ISOTOPIC_DATA names the folder of it")
        return
    X = X[::5] if settings.quick else X
    known = {"fixed_topics": signatures, "max_iter": 2000, "tol": 1e-5}
    plain = _fitted(NMF(len(signatures), **known), X)
    least = plain.objective_
    before = _fit(X, "", least, "l1", "none", 0.0, plain)
    yield Row("reference signatures held: NMF", before.topics_per_sample, " topics")
    for strength, options in (
        (0.15, {"norm": "l1", "penalty": "log"}),
        (0.1, {"norm": "l1", "penalty": "power"}),
        (0.03, {"norm": "l2", "penalty": "l1"}),
    ):
        model = _fitted(SparseNMF(len(signatures), strength, **options, **known), X)
        after = _fit(X, "", least, options["norm"], options["penalty"], strength, model)
        paid = after.divergence_as_it_is / least - 1
        yield Row(
            f"the same, {options['norm']} topics, {options['penalty']}, {strength:g}",
            after.topics_per_sample,
            " topics",
            target=Target(before.topics_per_sample, at_least=False),
            detail=f"of a tumour, at {100 * paid:+.2f} % divergence",
        )


SECTION = Section(
    "sparsity",
    "topics that a sample uses, and the divergence paid for it",
    measure,
    notes=(
        f"a topic counts as used if it explains more than {ABSENT:g} of the sample",
        f"the sparsest fit of each path that costs at most {MOST_PAID:.0%} of NMF's divergence",
        "the paths are kept in sparsity.csv, and drawn in sparsity.png",
    ),
)

"""Draw the pictures of docs/plots.md.

Usage: ``python tools/make_pictures.py``. The single cells and the tumours are taken from the folder
that ``ISOTOPIC_DATA`` names (see docs/benchmarks.md); without it those pictures are left as they
are.
"""

import io
import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from scipy import sparse
from sklearn.datasets import load_digits

from isotopic import LDA, NMF, datasets, evaluate, plot, refit
from isotopic.containers import NamedMatrix

mpl.use("Agg")
ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "pictures"
DATA = ROOT / os.environ.get("ISOTOPIC_DATA", "../shared/data")


def save(ax, name: str) -> None:
    """Write a picture with few colours: these are drawings."""
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, dpi=100)
    mpl.pyplot.close(ax.figure)
    Image.open(buffer).convert("RGB").quantize(48).save(OUT / f"{name}.png", optimize=True)
    print(f"{name}: {(OUT / f'{name}.png').stat().st_size / 1000:.0f} kB")


def corpus() -> None:
    """Draw what can be drawn of the bundled corpus."""
    kjv = datasets.load_kjv()
    names = kjv.feature_names
    model = LDA(12, alpha=0.1, tol=1e-3, random_state=5).fit(kjv.data)
    save(plot.top_terms(model, feature_names=names), "top_terms")
    save(plot.heatmap(model, 4, feature_names=names), "heatmap")
    save(plot.topic_map(model, feature_names=names), "topic_map")
    solvers = ("joint", "alternating", "accelerated")
    settings = {"max_iter": 100, "tol": 0, "random_state": 0}
    fits = {s: NMF(12, solver=s, **settings).fit(kjv.data) for s in solvers}
    save(plot.convergence(fits), "convergence")


def covariates() -> None:
    """Draw the effects of a year, and below those of a group, of documents that depend on both."""
    rng = np.random.default_rng(0)
    group, year = rng.choice(list("abc"), 900), rng.integers(1995, 2016, 900)
    logs = np.log(np.full((900, 4), 0.4))
    logs[:, 1] += (year - 2005) / 12
    logs[:, 2] += np.where(group == "c", 0.7, -0.3)
    shares = rng.standard_gamma(np.exp(logs)) + 1e-9
    topics = rng.dirichlet(np.full(40, 0.1), size=4)
    shares /= shares.sum(axis=1, keepdims=True)
    X = np.array([rng.multinomial(60, row) for row in shares @ topics])
    model = LDA(4, random_state=0).fit(X, covariates={"group": group, "year": year})
    drawn = []
    for name in ("year", "group"):
        buffer = io.BytesIO()
        plot.effects(model, name).figure.savefig(buffer, dpi=100)
        drawn.append(np.asarray(Image.open(buffer).convert("RGB")))
    both = Image.fromarray(np.concatenate(drawn))
    both.quantize(48).save(OUT / "effects.png", optimize=True)


def numbers() -> None:
    """Draw how a number of components is chosen, of counts that have six."""
    from isotopic import consensus  # noqa: PLC0415

    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.2), size=6)
    X = rng.poisson(rng.gamma(0.5, 100, size=(150, 6)) @ topics)
    tried = consensus(NMF(), X, range(2, 11), random_state=0)
    save(plot.selection(tried), "selection")


def penalties() -> None:
    """Draw what a penalty does."""
    from isotopic import SparseNMF  # noqa: PLC0415

    kjv = datasets.load_kjv()
    strengths = (1.0, 3.0, 10.0, 30.0, 100.0)
    settings = {"max_iter": 200, "tol": 0, "random_state": 0}
    path = {s: SparseNMF(12, strength=s, **settings).fit(kjv.data) for s in strengths}
    save(plot.sparsity_path(path, threshold=1e-4), "sparsity_path")


def digits() -> None:
    """Draw parts of handwritten digits."""
    model = NMF(16, tol=1e-3, max_iter=3000, random_state=0).fit(load_digits().data)
    save(plot.image_parts(model, (8, 8), columns=8), "image_parts")


def read(name: str) -> tuple[sparse.csr_matrix, list[str]]:
    """Read counts and the names of their features."""
    folder = DATA / name
    return sparse.load_npz(folder / f"{name}.npz"), (folder / "vocab.txt").read_text().split("\n")


def cells() -> None:
    """Draw the structure of sorted single cells."""
    X, genes = read("pbmc_facs")
    groups = (DATA / "pbmc_facs" / "labels.txt").read_text().splitlines()
    model = NMF(6, tol=1e-3, random_state=1).fit(X)
    save(plot.structure(model, groups=groups), "structure")
    symbols = [gene.split("|")[-1] for gene in genes[: X.shape[1]]]
    killers = int(model.components_[:, symbols.index("NKG7")].argmax())
    save(plot.volcano(evaluate.differential(model, X), killers, feature_names=symbols), "volcano")


def tumours() -> None:
    """Draw signatures of mutations."""
    X, types = read("pcawg_sbs96")
    model = NMF(8, tol=1e-3, random_state=1).fit(X)
    strongest = np.argsort(-evaluate.exclusivity(model))[:4]
    save(plot.spectra(model, topics=np.sort(strongest), feature_names=types[:96]), "spectra")
    reference = DATA / "pcawg_sbs96" / "reference_signatures.csv"
    found = refit(NamedMatrix(X[::40], np.array(types[:96], dtype=object)), reference)
    save(plot.exposures(found, n=40, relative=True), "exposures")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    corpus()
    covariates()
    numbers()
    penalties()
    digits()
    for name, draw in (("pbmc_facs", cells), ("pcawg_sbs96", tumours)):
        if (DATA / name).exists():
            draw()
        else:
            print(f"{name} not found; ISOTOPIC_DATA names the folder of it")

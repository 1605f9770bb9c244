"""
Gene programs in single cells
=============================

This tutorial is for people who use AnnData and scanpy. In ten minutes you fit gene programs, draw them, find the genes that tell them
apart, check which programs are stable, and save everything in one file.

You need isotopic with plots and AnnData (``pip install '.[plot,anndata]'``, see :doc:`/install`) and raw counts, not logarithms. Here a
sample is a cell, a feature is a gene, and a component or topic is a gene program.

With your own file, these lines fit twelve programs, find the genes that tell them apart, write a report and save everything. Leave out
``layer`` if the counts are in ``X``. The rest of the page explains the lines, and how to choose the number of programs.

.. code-block:: python

   import anndata
   from isotopic import NMF, differential_anndata, fit_anndata

   adata = anndata.read_h5ad("cells.h5ad")
   model = fit_anndata(adata, NMF(12, random_state=0), layer="counts")
   differential_anndata(adata, model, layer="counts")
   model.report("programs.html", adata, layer="counts", overwrite=True)
   adata.write_h5ad("programs.h5ad")

The data of this page is drawn: 600 cells of three types, and a cell-cycle program that is active in some cells of each type.
"""

import tempfile
from pathlib import Path

import anndata
import numpy as np
import pandas as pd

from isotopic import (
    NMF,
    consensus,
    differential_anndata,
    evaluate,
    fit_anndata,
    load,
    plot,
)

PROGRAMS = {
    "T cell": "CD3D CD3E CD3G IL7R LTB TRAC CCR7 LEF1 CD2 IL32",
    "B cell": "MS4A1 CD79A CD79B CD74 HLA-DRA BANK1 TCL1A VPREB3 CD19 IGHM",
    "monocyte": "LYZ S100A8 S100A9 FCN1 CST3 TYROBP VCAN CD14 LST1 AIF1",
    "cell cycle": "MKI67 TOP2A CCNB1 CDK1 BIRC5 TYMS PCNA STMN1 TUBB HMGB2",
}
HOUSEKEEPING = "ACTB B2M MALAT1 TMSB4X RPL3 RPS6 EEF1A1 FTL GAPDH PPIA"

genes = " ".join([*PROGRAMS.values(), HOUSEKEEPING]).split()
rng = np.random.default_rng(0)
profiles = rng.gamma(0.3, 0.3, size=(4, len(genes))) + 0.01
for k in range(4):
    profiles[k, 10 * k : 10 * k + 10] += rng.gamma(4.0, 2.0, 10)
profiles[:, 40:] += rng.gamma(2.0, 2.0, 10)  # housekeeping is everywhere
profiles /= profiles.sum(axis=1, keepdims=True)

cell_type = rng.choice(3, size=600, p=[0.5, 0.2, 0.3])
usage = 0.02 + 0.98 * np.eye(4)[cell_type]
cycling = rng.random(600) < 0.25
usage[cycling, 3] += rng.gamma(2.0, 0.4, cycling.sum())
usage /= usage.sum(axis=1, keepdims=True)
depth = rng.lognormal(6.0, 0.4, size=(600, 1))
counts = rng.poisson(depth * usage @ profiles).astype(np.float32)

adata = anndata.AnnData(
    counts,
    obs=pd.DataFrame(
        {"cell_type": np.array(list(PROGRAMS))[cell_type]},
        index=[f"cell{i}" for i in range(600)],
    ),
    var=pd.DataFrame(index=genes),
)
adata.layers["counts"] = adata.X.copy()
adata.X = np.log1p(adata.X)  # as scanpy leaves it
adata

# %%
# Fit
# ---
# ``fit_anndata`` fits a model and stores the result as scanpy does. ``NMF`` is quick and a good first choice. ``GammaPoisson`` takes the
# same arguments and suits cells with few counts.

model = fit_anndata(adata, NMF(4, random_state=0), layer="counts")
adata

# %%
# The usage of each program is in ``obsm["X_nmf"]``: how many counts of a cell it explains. The programs are in ``varm["nmf_topics"]``, the
# settings in ``uns["nmf"]``. Usages grow with the depth of a cell. For a graph of cells, divide them by their sums first, so that scanpy's
# ``sc.pp.neighbors(adata, use_rep="X_usage")`` compares proportions:

usage = adata.obsm["X_nmf"]
adata.obsm["X_usage"] = usage / usage.sum(axis=1, keepdims=True)

# %%
# Which genes tell a program from the others?
# -------------------------------------------
# The strongest genes of a program are often strong everywhere, such as ribosomal genes. So look at differences first.
# ``differential_anndata`` compares the rate of each gene in a program with its rate in the other program that comes closest. It writes
# shrunken log-fold changes, false sign rates and z-scores to ``varm``, and the genes in the order of their z-scores to ``uns``, in the form
# of scanpy's ``rank_genes_groups``.

found = differential_anndata(adata, model, layer="counts")
pd.DataFrame(adata.uns["nmf_differential"]["names"]).head(5)

# %%
# Genes that two programs share, such as CD3E in two programs of T cells, differ from neither. ``versus="mean"`` compares with the mean of
# all programs and finds them.
#
# If ``var_names`` are Ensembl's identifiers, name a column of symbols where genes are shown, as in
# ``plot.top_terms(model, feature_names=adata.var["gene_symbol"])``. The report finds such a column by itself.
#
# One program as a picture. Genes whose difference is certain are in colour, those that are named in orange:

cycle = int(np.argmax(adata.varm["nmf_topics"][genes.index("MKI67")]))
ax = plot.volcano(found, cycle, feature_names=genes)

# %%
# The strongest genes, for comparison. GAPDH is in most programs:

ax = plot.top_terms(model, 8, columns=4)

# %%
# Which cells use which program?
# ------------------------------
# Names make all pictures easier to read. Each column of this one is a cell, grouped by type:

ranked = pd.DataFrame(adata.uns["nmf_differential"]["names"])
model = model.label([ranked.iloc[0, k] for k in range(4)])
ax = plot.structure(model, groups=adata.obs["cell_type"])

# %%
# Three programs are cell types. The fourth is the cell cycle, and cells of all types use it. A clustering would have had to choose.
#
# Do proportions differ between groups? ``evaluate.compare_groups(model, groups)`` tests it. Cells of one donor are alike, so compare donors, not
# cells: average the proportions of each donor, and pass the averages. Three donors on each side are too few for its p-value, which
# comes from ranks and is then 0.1 at least; look at the interval of the difference.
#
# How many programs?
# ------------------
# ``consensus`` fits each number several times to resampled data, and asks which programs come back. Use 20 runs or more for your data: some minutes
# for 4,000 cells and 2,000 genes. ``verbose=1`` shows the time left, and ``checkpoint="runs.isotopic"`` keeps finished runs.

tried = consensus(
    NMF(), adata, range(2, 7), n_runs=6, layer="counts", random_state=0
)
print(tried.reason)
ax = plot.selection(tried)

# %%
# ``tried.model`` is a fitted model with the consensus programs. ``tried.stability`` says how stable each of them is. Both go into ``adata``
# like this:

adata.obsm["X_consensus"] = tried.model.weights_
adata.varm["consensus_topics"] = tried.model.components_.T
adata.uns["consensus_stability"] = tried.stability
print(tried.stability.round(2))

# %%
# Fewer genes, and back to all
# ----------------------------
# Real data has 20,000 genes. Two thousand variable ones are enough to find programs, and a consensus is ten times sooner done. With scanpy
# that is ``adata[:, adata.var["highly_variable"]]``; here we take every second gene. Genes of ribosomes and mitochondria hide differences: leave
# them out. Afterwards, fit the programs of all genes to the usages that were found, and make a model of these programs, which can infer the usages
# of other cells:

few = consensus(
    NMF(), adata[:, ::2], 4, n_runs=6, layer="counts", random_state=0
)
counts = adata.layers["counts"]
every = NMF(4, normalize=False).fit(counts, fixed_weights=few.model.weights_)
programs = every.components_ / every.components_.sum(axis=1, keepdims=True)
model = fit_anndata(
    adata,
    NMF(4, fixed_topics=programs),
    layer="counts",
    key="all_genes",
)
model.components_.shape, evaluate.differential(every, counts).lfc.shape

# %%
# Save, and use again
# -------------------
# The programs, usages and settings are saved with the data. The model has a file of its own, from which you can infer the usages of
# other cells. Genes are matched by name, in any order:

folder = Path(tempfile.mkdtemp())
adata.write_h5ad(folder / "cells.h5ad")
model.save(folder / "programs.isotopic")

new = adata[:5].copy()
loaded = load(folder / "programs.isotopic")
print(loaded.transform(new, layer="counts").round(0))

# %%
# Where to go on: :doc:`/consensus` says how the number is chosen, :doc:`/offsets` handles known depths and ambient RNA,
# :doc:`/uncertainty` gives intervals, :doc:`/scale` fits data larger than memory, :doc:`/migration` translates from cNMF.

"""
Gene programs in single cells
=============================

This tutorial is for people who use AnnData and scanpy. In ten minutes you fit gene programs, draw them, find the genes that tell them
apart, check which programs are stable, and save everything in one file.

You need isotopic with plots and AnnData (``pip install '.[plot,anndata]'``, see :doc:`/install`) and raw counts, not logarithms.

With your own file, start with these lines. Leave out ``layer`` if the counts are in ``X``. (If ``X`` holds logarithms and a layer holds
counts, a warning names the layer.)

.. code-block:: python

   import anndata
   from isotopic import NMF, fit_anndata

   adata = anndata.read_h5ad("cells.h5ad")
   model = fit_anndata(adata, NMF(12, random_state=0), layer="counts")
   model.report("programs.html", adata, layer="counts")

The data of this page is drawn: 600 cells of three types, and a cell-cycle program that is active in some cells of each type.
"""

import tempfile
from pathlib import Path

import anndata
import numpy as np
import pandas as pd

from isotopic import NMF, consensus, evaluate, fit_anndata, plot

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
adata

# %%
# Fit
# ---
# ``fit_anndata`` fits a model and stores the result as scanpy does. ``NMF`` is quick and a good first choice. ``GammaPoisson`` takes the
# same arguments and suits cells with few counts.

model = fit_anndata(adata, NMF(4, random_state=0), layer="counts")
adata

# %%
# The usage of each program is in ``obsm["X_nmf"]``, the programs are in ``varm["nmf_topics"]``, the settings in ``uns["nmf"]``. So scanpy
# finds them: ``sc.pp.neighbors(adata, use_rep="X_nmf")`` builds a graph on the programs, and ``sc.pl.embedding(adata, basis="nmf")``
# draws two of them.
#
# What are the programs?
# ----------------------

ax = plot.top_terms(model, 8, columns=4)

# %%
# Which cells use which program? Each column is a cell, grouped by type:

ax = plot.structure(model, groups=adata.obs["cell_type"])

# %%
# Three programs are cell types. The fourth is the cell cycle, and cells of all types use it. A clustering would have had to choose.
#
# Which genes tell a program from the others?
# -------------------------------------------
# The strongest genes of a program are often strong everywhere. ``differential`` compares the rate of each gene in a program with that in
# the nearest other program, with a standard error.

found = evaluate.differential(model, adata.layers["counts"])
cycle = int(np.argmax(adata.varm["nmf_topics"][genes.index("MKI67")]))
ax = plot.volcano(found, cycle, feature_names=genes)

# %%
# As a table, for one program:

table = pd.DataFrame(
    model.distinctive_terms(adata.layers["counts"], 5, feature_names=genes)
)
table[table["topic"] == cycle].round(2)

# %%
# How many programs?
# ------------------
# ``consensus`` fits each number several times to resampled data, and asks which programs come back. Use 20 runs or more for your data.

X = adata.layers["counts"]
tried = consensus(NMF(tol=1e-3), X, range(2, 7), n_runs=6, random_state=0)
print(tried.reason)
ax = plot.selection(tried)

# %%
# ``tried.model`` is a fitted model with the consensus programs. ``tried.stability`` says how stable each of them is:

print(tried.stability.round(2))

# %%
# Save, and use again
# -------------------
# The programs, usages and settings are saved with the data. The model has a file of its own, from which you can infer the usages of
# other cells. Genes are matched by name, in any order.

folder = Path(tempfile.mkdtemp())
adata.write_h5ad(folder / "cells.h5ad")
model.save(folder / "programs.isotopic")

new = adata[:5].copy()
print(model.transform(new).round(0))

# %%
# Where to go on: :doc:`/offsets` handles known depths and ambient RNA, :doc:`/uncertainty` gives intervals, :doc:`/scale` fits data larger
# than memory, :doc:`/report` writes all of this to one page.

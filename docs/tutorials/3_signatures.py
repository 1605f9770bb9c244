"""
Mutational signatures
=====================

This tutorial is for people with a catalogue of mutations: tumours and 96 types. In ten minutes you extract signatures, compare them with a
file of known ones, find which signatures each tumour has, and say how certain that is.

You need isotopic with its plots (``pip install '.[plot]' pandas``, see :doc:`/install`) and a table of counts: mutation types in rows and tumours in
columns, or the other way round. SigProfiler's ``.SBS96.all`` files work as they are.

With your own catalogue, and the file of signatures that you have downloaded from COSMIC, these lines go the whole way. The rest of the page
explains them.

.. code-block:: python

   import pandas as pd
   from isotopic import NMF, consensus, decompose, plot, read_counts, refit

   # sample_table: what you know of the tumours, such as their type
   catalogue = read_counts("tumours.SBS96.all", sample_table="clinical.csv")

   # Extract: how many signatures are there, and which? (some minutes)
   found = consensus(
       NMF(),
       catalogue,
       range(2, 26),
       n_runs=20,
       max_total=9600,  # so that hypermutated tumours do not decide alone
       random_state=0,
       checkpoint="runs.isotopic",  # keeps what is done, if you stop it
       verbose=1,
   )
   print(found.reason)

   # Compare with COSMIC, and name the signatures.
   compared = decompose(found.model, "COSMIC.txt")
   print(compared)
   model = found.model.label(compared)

   # Which known signatures does each tumour have?
   assigned = refit(catalogue, "COSMIC.txt")

   # Save everything.
   model.report(
       "signatures.html", catalogue, consensus=found, overwrite=True
   )
   signatures = pd.DataFrame(model.components_.T, catalogue.feature_names)
   signatures.to_csv("signatures.csv")
   pd.DataFrame(assigned.table).to_csv("assigned.csv")
   plot.spectra(model).figure.savefig("spectra.png")
   plot.exposures(assigned).figure.savefig("exposures.png")

The data of this page is drawn: 60 tumours with four signatures, of which three are in our "known" file and one is new.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from isotopic import (
    NMF,
    bootstrap,
    consensus,
    decompose,
    evaluate,
    plot,
    refit,
)

types = [
    f"{left}[{change}]{right}"
    for change in "C>A C>G C>T T>A T>C T>G".split()
    for left in "ACGT"
    for right in "ACGT"
]
rng = np.random.default_rng(1)
known = pd.DataFrame(
    rng.dirichlet(np.full(96, 0.15), size=8).T,
    index=pd.Index(types, name="Type"),
    columns=[f"Known{i}" for i in range(1, 9)],
)
folder = Path(tempfile.mkdtemp())
# The layout of the files that COSMIC publishes:
known.to_csv(folder / "known.tsv", sep="\t")

new = rng.dirichlet(np.full(96, 0.15), size=1)
truth = np.vstack([known[["Known1", "Known4", "Known6"]].T, new])
exposures = rng.gamma(0.6, 800.0, size=(60, 4))
exposures[rng.random((60, 4)) < 0.4] = 0
catalogue = pd.DataFrame(
    rng.poisson(exposures @ truth),
    columns=types,
    index=[f"tumour{i}" for i in range(60)],
)
catalogue.iloc[:3, :5]

# %%
# Extract
# -------
# How many signatures are there? ``consensus`` fits each number several times, to catalogues that are drawn again from the counts, and
# keeps what the fits agree on. Use at least 20 runs for a paper, 100 are better. Let the range go well beyond the number that you expect: to
# 10 for tumours of one type, to 30 for many types.
#
# Tumours of many types hold many signatures, of which only the common ones are found together. So extract from each type by itself, too, and collect
# what is new with ``decompose``. A few hypermutated tumours can have most of the mutations. ``max_total`` is the number of mutations above
# which a tumour counts as if it had so many; a hundred for each mutation type is usual.

found = consensus(NMF(), catalogue, range(2, 7), n_runs=8, random_state=0)
print(found.reason)
ax = plot.selection(found)

# %%
# Do you want more signatures, and accept that some are less stable? ``found.at(6)`` returns the result for another number, without new fits.

model = found.model
ax = plot.spectra(model)

# %%
# Compare with known signatures
# -----------------------------
# ``decompose`` says for each signature whether it is in a reference file, a mix of a few of its signatures, or new. Give it the file
# that you have downloaded from COSMIC. Mutation types are matched by name.

decompose(model, folder / "known.tsv")

# %%
# Which signatures does each tumour have?
# ---------------------------------------
# The weights of the extraction do not answer this. Most of them are above zero, and small ones may stand for other signatures. ``refit``
# explains each tumour by a few known signatures. All other weights are exactly zero.
#
# Leave out signatures that cannot be there: ``known.drop(columns=["Known8"])``. COSMIC's page of each signature says whether it may be an artefact of
# sequencing, and in which tissues it was seen. Add the new ones that you have found. A series with the mutation types as its index is aligned with the rows of the reference:

table = decompose(model, folder / "known.tsv").table
reference = known.drop(columns=["Known8"])
for k in np.flatnonzero(np.array(table["verdict"]) == "new"):
    spectrum = pd.Series(model.components_[k], model.feature_names_in_)
    reference[f"New{k}"] = spectrum
assigned = refit(catalogue, reference)
pd.DataFrame(assigned.table).head(6).round(2)

# %%
# A row for each tumour says how well it is explained. A low cosine means that something is missing from the reference.

pd.DataFrame(assigned.samples).head(3).round(3)

# %%
# The counts of each tumour that each signature explains, as a picture:

ax = plot.exposures(assigned)

# %%
# ``refit`` keeps only what the counts of a tumour prove. A flat signature, such as SBS3 or SBS5, is proved later than one with sharp peaks.
#
# Do exposures differ between groups of tumours, such as types of cancer? A series with the names of the tumours as its index is matched by name. What
# ``sample_table`` has joined is in their order: ``catalogue.metadata["cancer_type"]``.

groups = pd.Series(np.repeat(["left", "right"], 30), index=catalogue.index)
pd.DataFrame(evaluate.compare_groups(assigned, groups, versus="left")).head(
    3
).round(2)

# %%
# How certain is it?
# ------------------
# The table above has an interval for each weight, given the signatures. ``bootstrap`` gives intervals for the signatures themselves: it draws the
# catalogue again from the model, fits it again, and measures how far the result moves.
# A consensus model keeps its signatures fixed, so they cannot move. ``init=model`` starts a fit from them in which they can.
# If you gave ``max_total``, give the tumours the weight that they had: ``fit(catalogue, sample_weight=np.minimum(1, 9600 / totals))``, with
# the number of mutations of each tumour as ``totals``.

free = NMF(found.n_components, init=model).fit(catalogue)
intervals = bootstrap(free, catalogue, n_resamples=30, random_state=0)
signature = intervals["components"]
largest = np.argsort(-signature.estimate[0])[:5]
pd.DataFrame(
    {
        "type": np.array(types)[largest],
        "estimate": signature.estimate[0, largest],
        "lower": signature.lower[0, largest],
        "upper": signature.upper[0, largest],
    }
).round(4)

# %%
# In a terminal
# -------------
# The command line does the same with files:
#
# .. code-block:: console
#
#    $ isotopic consensus tumours.SBS96.all -k 2:25 --runs 20 --max-total 9600 -o consensus
#    $ isotopic decompose consensus COSMIC.txt --label
#    $ isotopic refit tumours.SBS96.all COSMIC.txt -o exposures.csv
#
# Where to go on: :doc:`/signatures` has the options of ``refit`` (hypermutated tumours, exome opportunities), :doc:`/consensus` those of the
# extraction, :doc:`/uncertainty` says how often such intervals cover the truth.

"""
What goes with what: covariates
===============================

This tutorial is for people who know something about their documents besides the words: who wrote them, when, for which paper. In ten
minutes you ask how topics depend on it, draw the answer with intervals, and keep the habits of a source out of the topics.

You need isotopic with its plots and formulas (``pip install '.[plot,covariates]' pandas``, see :doc:`/install`) and a table with a
column of texts and columns of metadata.

With your own table, start with these lines:

.. code-block:: python

   from isotopic import LDA, plot, read_counts

   # max_df=0.3: without words of more than 30 % of the texts. name_column: the names of the texts
   data = read_counts("press.csv", name_column="headline", max_df=0.3, keep_text=True)
   model = LDA(8, random_state=0).fit(data, formula="~ party + year")
   ax = plot.effects(model, "year")
   model.report("press.html", data)

The data of this page is drawn, so that we know what the model should find: 800 speeches about five subjects. The left speaks more of
schools, the right more of taxes, and the climate comes up over the years.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from isotopic import (
    LDA,
    GammaPoisson,
    evaluate,
    group_weights,
    plot,
    read_counts,
)

subjects = {
    "taxes": "tax income budget deficit spending rate cut revenue business growth",
    "schools": "school teacher child student class education college learning pupil university",
    "health": "hospital doctor patient nurse care medicine insurance treatment illness clinic",
    "defence": "army soldier defence war treaty weapon border security alliance navy",
    "climate": "climate energy carbon wind emission coal warming power solar fuel",
}
habits = {  # of the two chambers, whatever the subject
    "house": "speaker gentleman yield minute floor",
    "senate": "president senator clerk quorum consent",
}

rng = np.random.default_rng(0)
n = 800
speeches = pd.DataFrame(
    {
        "party": rng.choice(["left", "right"], n),
        "year": rng.integers(1990, 2021, n),
        "chamber": rng.choice(["house", "senate"], n),
    }
)
decades = (speeches["year"] - 2005) / 10
logs = np.zeros((n, 5)) + np.log(0.3)
logs[:, 0] += np.where(speeches["party"] == "right", 0.8, -0.2)
logs[:, 1] += np.where(speeches["party"] == "left", 0.7, -0.3)
logs[:, 4] += 0.9 * decades
shares = rng.standard_gamma(np.exp(logs)) + 1e-9
shares /= shares.sum(axis=1, keepdims=True)
frequent = 1 / np.arange(
    1, 11
)  # the first words of a subject are the most frequent
frequent /= frequent.sum()


def speech(number):
    """Draw the words of a speech, without the habits of its chamber."""
    chosen = rng.choice(5, size=60, p=shares[number])
    return [
        str(rng.choice(list(subjects.values())[k].split(), p=frequent))
        for k in chosen
    ]


words = [speech(number) for number in range(n)]
speeches["text"] = [" ".join(each) for each in words]
folder = Path(tempfile.mkdtemp())
speeches.to_csv(folder / "speeches.csv", index=False)
speeches.head(3)

# %%
# Read
# ----
# ``read_counts`` finds the column of texts. The other columns travel along as ``metadata``.

data = read_counts(folder / "speeches.csv")
print(data.counts.shape, list(data.metadata))

# %%
# Fit
# ---
# A formula names the covariates. The concentration of each topic in a document then depends on them. Numbers stay numbers, and texts become
# groups; the first in alphabetical order, here the left, is what the others are compared with. ``label`` names each topic by its strongest word.

model = LDA(5, random_state=0).fit(data, formula="~ party + year")
model = model.label(lambda terms, documents: terms[0])
ax = plot.top_terms(model, 5)

# %%
# Compare groups
# --------------
# ``effects`` has the expected share of each topic in each group, with 90 % intervals. The other covariates are averaged. ``difference``
# is that from the first group.

parties = pd.DataFrame(model.effects("party"))
parties[parties["party"] == "right"].round(3)

# %%
ax = plot.effects(model, "party")

# %%
# Taxes and schools differ between the parties, and the intervals of their differences are far from zero. This is how we have drawn the
# data.
#
# Over time
# ---------
# The same over a number is a curve. The band is the interval.

ax = plot.effects(model, "year")

# %%
# The curve follows the covariate through the model: its concentrations rise or fall exponentially. If a topic may come and go, let the formula say
# it: ``spline(year, 4)`` is a smooth curve with four coefficients.

bent = LDA(5, random_state=0).fit(data, formula="~ party + spline(year, 4)")
bent = bent.label(lambda terms, documents: terms[0])
ax = plot.effects(bent, "year", topics=[0, 2])

# %%
# To check a curve, look at plain means over five years each. They need no covariates, and work for every model. The bands are wider, because each
# mean knows only its own years.

years = data.metadata["year"]
ax = plot.over_time(model, years, period=5)
ax.figure.supxlabel("year")

# %%
# Coefficients
# ------------
# ``effects_`` has the coefficients themselves and, as ``change``, by how much the expected share changes for each unit: each year, or from left to
# right.

table = pd.DataFrame(model.effects_)
table[table["covariate"] == "year"][
    ["topic", "coefficient", "change", "change_lower", "change_upper"]
].round(4)

# %%
# These intervals need no refit. They contain how uncertain the weights are, but take the topics as known. ``method="bootstrap"`` fits
# data that is drawn from the model, and has both. Use 100 resamples or more for a paper.

again = model.effects(
    "party", method="bootstrap", X=data, n_resamples=20, random_state=0
)
both = parties[
    ["topic", "difference", "difference_lower", "difference_upper"]
].assign(
    bootstrap_lower=again["difference_lower"],
    bootstrap_upper=again["difference_upper"],
)
both[5:].round(3)

# %%
# New documents
# -------------
# New documents need their covariates, too: the same columns. They make a difference where there are few words. Three words about energy from 1990 and
# from 2020:

words_of_model = model.feature_names_in_
short = pd.DataFrame(0, index=[1990, 2020], columns=words_of_model).assign(
    energy=3
)
weights = model.transform(
    short, covariates={"party": ["left", "left"], "year": [1990, 2020]}
)
pd.DataFrame(weights, columns=model.topic_names_, index=short.index).round(2)

# %%
# Words that belong to a group
# ----------------------------
# A covariate changes how much a topic is used, not its words. But each chamber has words of its own, in every speech. So let us
# add them. They become topics, which tell us nothing:

speeches["text"] = [
    " ".join(each + list(rng.choice(habits[chamber].split(), 25)))
    for each, chamber in zip(words, speeches["chamber"], strict=True)
]
speeches.to_csv(folder / "whole.csv", index=False)
whole = read_counts(folder / "whole.csv")
chamber = whole.metadata["chamber"]
settings = {
    "shape": 0.3,
    "rate": 0.01,
    "learn": "asymmetric",
    "random_state": 0,
}
plain = GammaPoisson(5, **settings).fit(whole)
ax = plot.top_terms(plain, 5)

# %%
# ``group_weights`` gives each chamber a background: a topic whose weight is given, and whose words are learned. ``share`` says how much
# of each document it explains. The other topics are shared by both chambers.

given = group_weights(whole.counts, chamber, share=0.3)
shared = GammaPoisson(2 + 5, **settings).fit(whole, fixed_weights=given)
ax = plot.top_terms(shared, 5)

# %%
# Topics 0 and 1 are the backgrounds, and the other five are the subjects again. ``compare_groups`` compares the means of shares between groups, for
# any model. Here is the largest difference between the chambers:

for name, weights in (
    ("without", plain.weights_),
    ("with", shared.weights_[:, 2:]),
):
    compared = evaluate.compare_groups(weights, chamber, versus="senate")
    print(name, "backgrounds:", np.abs(compared["difference"]).max().round(2))

# %%
# Where to go on: :doc:`/covariates` says what covariates can be, what happens to missing values, and what the models cannot do. How often the
# intervals cover the truth is on the :doc:`benchmark page </benchmarks>`.

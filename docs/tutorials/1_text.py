"""
From text files to a report
===========================

This tutorial is for people with a folder of texts. In ten minutes you have topics, names for them, and a report that you can send to
others. Here a sample is a document, a feature is a word, and a component is a topic.

You need isotopic with its plots (``pip install '.[plot]' pandas``, see :doc:`/install`) and a folder with one ``.txt`` file for each document.
A CSV file with a column of texts works, too: give its path instead, and ``name_column="package"`` if the texts have their names in a column
*package*. A column *id*, *name* or *title* is found, and without names texts are numbered (:doc:`/formats`).

With your own folder, these lines are enough for a report. The rest of the page explains them, and what else you can do.

.. code-block:: python

   from isotopic import LDA, read_counts

   # max_df=0.3: without words of more than 30 % of the texts
   data = read_counts("texts", max_df=0.3, keep_text=True)
   model = LDA(8, random_state=0).fit(data)
   model.report("report.html", data, overwrite=True)

The texts of this page are 199 chapters of the King James Bible. They are in the file :download:`chapters.zip </tutorials/chapters.zip>`, in a
folder for the Old and one for the New Testament.
"""

import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from isotopic import LDA, evaluate, load, plot, read_counts

folder = Path(tempfile.mkdtemp())
texts = folder / "texts"
with zipfile.ZipFile("chapters.zip") as archive:
    archive.extractall(texts)
print((texts / "old" / "Psalms 3.txt").read_text()[:180])

# %%
# The short way: one command
# --------------------------
# In a terminal, this reads the folder, fits 8 topics, writes the results to the folder ``out`` and opens the report:
#
# .. code-block:: console
#
#    $ isotopic fit texts/ --model LDA -k 8 --max-df 0.3 -o out --open
#
# :doc:`/cli` says what is in the folder. The rest of this page does the same in Python, step by step.
#
# Read
# ----
# ``read_counts`` counts the words of each file. English stop words are left out, and words that occur in one file only. Every collection
# of texts also has words of its own that are everywhere. Here they are "unto" and "shall", in newspapers "said". They would fill the
# topics. ``max_df=0.3`` leaves out words that more than 30 % of the files have. ``keep_text`` keeps the texts for the report.
# Tags of HTML are left out, if there are any; ``print(data)`` says in how many files. If some files are not UTF-8, an error lists them, and
# ``encoding="utf-8,cp1252"`` reads only these in the older encoding of Windows.

data = read_counts(texts, max_df=0.3, keep_text=True)
print(data)

# %%
# Numbers count as words, too. ``token_pattern=r"[^\W\d_]{2,}"`` keeps letters only. Other options: ``stop_words``, ``min_df``,
# ``ngrams`` (:func:`~isotopic.read_counts`).
#
# Fit
# ---
# ``LDA`` is the usual model for texts. ``random_state`` makes the result repeatable. The number of topics is up to you: with more topics,
# each is narrower. :doc:`/consensus` helps to choose it.

model = LDA(8, random_state=0).fit(data)
print("converged after", model.n_iter_, "iterations")

# %%
# Look
# ----
# The topics and their main words. The numbers of topics are arbitrary. ``prevalence`` is the share of all words that a topic explains.
# ``exclusivity`` says how much of its main words belongs to it alone (1: all).

model.topic_info(n=6)

# %%
# The same as a picture:

ax = plot.top_terms(model, 6, columns=4)

# %%
# The main words of a topic may be frequent in other topics, too. ``distinctive_terms`` sorts words by how much larger their rate in a
# topic is than in any other topic. A topic without distinctive words has no rows.

table = model.distinctive_terms(data, 6)
for topic in range(8):
    print(topic, ", ".join(table["term"][table["topic"] == topic]))

# %%
# Name
# ----
# Read the words and find names. ``model.label({1: "sacrifice"})`` names topic 1. The numbers of topics may change with the data or the version,
# so here each name goes to the topic in which a word of it has the largest share. A topic without a clear meaning needs no name. Tables,
# plots and the report then use the names.

words = {
    "offering": "sacrifice",
    "disciples": "gospel",
    "saul": "Saul and David",
    "babylon": "Babylon",
    "tabernacle": "tabernacle",
    "jacob": "patriarchs",
}
columns = {word: column for column, word in enumerate(data.feature_names)}
model = model.label(
    {
        int(model.components_[:, columns[word]].argmax()): name
        for word, name in words.items()
    }
)
ax = plot.structure(model, groups=data.metadata["folder"])

# %%
# Each column is a chapter, and its colours are the shares of its topics. As a table:

shares = model.weights_ / model.weights_.sum(axis=1, keepdims=True)
table = pd.DataFrame(shares, index=data.sample_names)
table.round(2).head(4)

# %%
# ``table.to_csv("topics.csv")`` saves it. Which chapters have most of the sacrifices?

sacrifice = list(model.topic_names_).index("sacrifice")
main = np.argsort(-shares[:, sacrifice])[:3]
print(", ".join(data.sample_names[main]))

# %%
# Report
# ------
# One HTML file, without a server. Everybody can open it.

path = model.report(
    folder / "report.html",
    data,
    title="Chapters of the Bible",
    overwrite=True,
)
print(path.stat().st_size // 1000, "kB")

# %%
# .. image:: /report.png
#    :alt: The report: a list of topics, their map, and the words of the selected topic
#    :target: ../../kjv.html
#
# Select a topic on the left, see its words on the right, and write its name above them. Below are the documents that have most of it, with
# each word in the colour of its topic. *Save names* writes the names to a file, which ``model.label("labels.json")`` reads. Click the
# picture to try it on the whole Bible.
#
# New texts
# ---------
# Save the model. Later, read new texts with its vocabulary and infer their topics. ``weights_`` are those of the texts that were fitted, found
# together with the topics. ``transform`` takes the topics as they are, so for the same texts it returns almost the same weights, not exactly.

model.save(folder / "bible.isotopic")
later = load(folder / "bible.isotopic")

(folder / "new").mkdir()
(folder / "new" / "altar.txt").write_text(
    "And the priest burnt the ram upon the altar, "
    "and poured the oil upon the offering."
)
new = read_counts(folder / "new", vocabulary=later.feature_names_in_)
print(int(new.counts.sum()), "words of the text are in the vocabulary")
print(later.transform(new).round(2))

# %%
# Do not forget ``vocabulary``: without it the new texts would be counted by other words.
#
# Are your texts strings in Python? Then count them with scikit-learn. A pipeline takes strings, old and new:

from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

strings = [path.read_text() for path in sorted(texts.glob("*/*.txt"))]
counter = CountVectorizer(stop_words="english", min_df=2, max_df=0.3)
pipeline = make_pipeline(counter, LDA(8, random_state=0)).fit(strings)
print(pipeline.transform(["The priest burnt the ram upon the altar."]).shape)

# %%
# Who and when
# ------------
# Do you know more about the texts, such as author, year or party? The other columns of a CSV file become ``data.metadata``, and so do the
# folders of a folder of texts. Is it in a table of its own, with a row for each file? ``read_counts("texts", sample_table="authors.csv")`` finds
# the row of each text by its name. Give the names of columns as ``covariates``, and ask how the topics depend on them:

known = LDA(8, random_state=0).fit(data, covariates=["folder"])
ax = plot.effects(known, "folder")

# %%
# :doc:`/covariates` has more: years, formulas, intervals.
#
# How good is it?
# ---------------
# Coherence says whether the main words of a topic occur in the same documents. It is between -1 and 1. Topics that are easy to name often
# have 0.2 or more:

print(evaluate.coherence(model, data).round(2))

# %%
# Perplexity says how well the model predicts. Half of the words of each text are hidden and predicted from the other half:

print(round(evaluate.completion_perplexity(model, data, random_state=0)))

# %%
# So it is as unsure as if it chose among so many equally likely words. Lower is better. All words of the vocabulary would be 3,026. The
# topics have seen these texts. :func:`isotopic.consensus` scores texts that its topics have not seen, so its perplexity is higher.
#
# Where to go on: :doc:`/consensus` chooses the number of topics, :doc:`/report` explains the report, :doc:`/explore` merges and splits
# topics in the browser, :doc:`/guide` fixes or seeds topics.

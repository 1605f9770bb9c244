"""
From text files to a report
===========================

This tutorial is for people with a folder of texts. In ten minutes you have topics, names for them, and a report that you can send to
others.

You need isotopic with its plots (``pip install '.[plot]'``, see :doc:`/install`) and a folder with one ``.txt`` file for each document. A CSV
file with a column of texts works, too: see :doc:`/formats`.

With your own folder, these lines are enough for a report. The rest of the page explains them, and what else you can do.

.. code-block:: python

   from isotopic import LDA, read_counts

   data = read_counts("texts", keep_text=300)  # your folder; the beginning of each text is kept for the report
   model = LDA(8, random_state=0).fit(data)
   model.report("report.html", data, documents=data.documents)

Here we write some files first: three hundred chapters of the King James Bible, which comes with isotopic. Its words are counted already, so
our files have them in alphabetical order. That makes no difference, because the models count words.
"""

import tempfile
from pathlib import Path

import numpy as np

from isotopic import LDA, datasets, evaluate, load, plot, read_counts

corpus = datasets.load_kjv()
folder = Path(tempfile.mkdtemp())
texts = folder / "texts"
texts.mkdir()
chapters, counts = corpus.sample_names[::4], corpus.data[::4].toarray()
for name, row in zip(chapters, counts, strict=True):
    words = np.repeat(corpus.feature_names, row)
    (texts / f"{name}.txt").write_text(" ".join(words))
print(len(chapters), "files, for example", f"{chapters[0]}.txt")

# %%
# The short way: one command
# --------------------------
# In a terminal, this reads the folder, fits 8 topics, writes the results to the folder ``out`` and opens the report:
#
# .. code-block:: console
#
#    $ isotopic fit texts/ --model LDA -k 8 -o out --open
#
# :doc:`/cli` says what is in the folder. The rest of this page does the same in Python, step by step.
#
# Read
# ----
# ``read_counts`` counts the words of each file. English stop words are left out, and words that occur in one file only. Options
# change that: ``stop_words``, ``min_df``, ``max_df``, ``ngrams``. ``keep_text`` keeps the beginning of each text for the report.

data = read_counts(texts, keep_text=300)
print(data.counts.shape)

# %%
# Fit
# ---
# ``LDA`` is the usual model for texts. ``random_state`` makes the result repeatable. The number of topics is up to you: more topics
# are finer. :doc:`/consensus` shows how to choose it.

model = LDA(8, random_state=0).fit(data)
print(model.converged_, model.n_iter_)

# %%
# Look
# ----
# The topics, with their share of all words and their main terms:

model.topic_info(n=6)

# %%
# The same as a picture:

ax = plot.top_terms(model, 6)

# %%
# Frequent words are not always telling. ``distinctive_terms`` lists the words whose rate in a topic is larger than in every other topic:

table = model.distinctive_terms(data, 4)
for topic in range(8):
    print(topic, ", ".join(table["term"][table["topic"] == topic]))

# %%
# Name
# ----
# Read the terms and find names. You can start from the most distinctive term and correct it by hand. Tables, plots, files and the report
# then use the names.

names = table["term"][table["rank"] == 1]
model = model.label(names)
ax = plot.structure(model)

# %%
# Each column is a chapter, and its colours are the shares of its topics. Which chapters have most of topic 0?

main = np.argsort(-model.weights_[:, 0])[:3]
print(names[0], "|", ", ".join(data.sample_names[main]))

# %%
# Report
# ------
# One HTML file, without a server. Everybody can open it.

path = model.report(
    folder / "report.html", data, title="Bible", documents=data.documents
)
print(path.stat().st_size // 1000, "kB")

# %%
# New texts
# ---------
# Save the model. Later, read new texts with its vocabulary and infer their topics.

model.save(folder / "kjv.isotopic")
later = load(folder / "kjv.isotopic")

(folder / "new").mkdir()
(folder / "new" / "storm.txt").write_text(
    "And the sea was troubled, and the ship was broken by the waves and the wind."
)
new = read_counts(folder / "new", vocabulary=later.feature_names_in_)
weights = later.transform(new)
print(names[int(weights[0].argmax())], weights.round(2))

# %%
# How good is it?
# ---------------
# Coherence says whether the main terms of a topic occur in the same documents (from -1 to 1, higher is better). Perplexity on half of
# the words, given the other half, says how well the model predicts (lower is better).

print(evaluate.coherence(model, data).round(2))
print(round(evaluate.completion_perplexity(model, data, random_state=0)))

# %%
# Where to go on: :doc:`/consensus` chooses the number of topics, :doc:`/report` explains the report, :doc:`/guide` fixes or seeds topics.

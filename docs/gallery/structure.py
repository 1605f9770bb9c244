"""
Structure
=========

A stacked bar of proportions for each sample, here the chapters of some books. Similar samples are next to each other within a group.
"""

from isotopic import LDA, datasets, plot

corpus = datasets.load_kjv()
books = corpus.sample_names.astype(str)
chosen = [
    i
    for i, name in enumerate(books)
    if name.split()[0] in {"Genesis", "Leviticus", "Psalms", "John"}
]
X = corpus.data[chosen]
groups = [books[i].split()[0] for i in chosen]
model = LDA(6, random_state=0).fit(X)
ax = plot.structure(model, groups=groups)

"""
Effects of covariates
=====================

How much the use of topics differs between groups of samples, here the books of both testaments, with 90 % intervals.
"""

from isotopic import LDA, datasets, plot

corpus = datasets.load_kjv()
books = [name.rsplit(" ", 1)[0] for name in corpus.sample_names]
new = set(books[books.index("Matthew") :])
testament = ["new" if book in new else "old" for book in books]
model = LDA(8, random_state=0).fit(
    corpus.data, covariates={"testament": testament}
)
ax = plot.effects(model, "testament")

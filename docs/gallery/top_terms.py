"""
Top terms
=========

The strongest terms of each topic, on one scale, the most prevalent topic first.
"""

from isotopic import LDA, datasets, plot

corpus = datasets.load_kjv()
model = LDA(10, random_state=0).fit(corpus.data)
ax = plot.top_terms(model, feature_names=corpus.feature_names)

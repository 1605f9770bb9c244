"""
Heat map
========

Topics and their strongest terms as a table of colours.
"""

from isotopic import LDA, datasets, plot

corpus = datasets.load_kjv()
model = LDA(8, random_state=0).fit(corpus.data)
ax = plot.heatmap(model, 4, feature_names=corpus.feature_names)

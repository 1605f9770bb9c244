"""
Topic map
=========

Hellinger distances between the topics in two dimensions, with the distinctive terms of each topic. Areas show prevalence.
"""

from isotopic import LDA, datasets, plot

corpus = datasets.load_kjv()
model = LDA(10, random_state=0).fit(corpus.data)
ax = plot.topic_map(model, feature_names=corpus.feature_names)

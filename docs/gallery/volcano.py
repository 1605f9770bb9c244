"""
Distinctive features
====================

How much the rate of each feature in a topic differs from that in the nearest other topic, with its z-score.
"""

from isotopic import LDA, datasets, evaluate, plot

corpus = datasets.load_kjv()
model = LDA(8, random_state=0).fit(corpus.data)
found = evaluate.differential(model, corpus.data)
ax = plot.volcano(found, 0, feature_names=corpus.feature_names)

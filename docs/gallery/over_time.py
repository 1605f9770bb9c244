"""
Topics over time
================

The mean share of each topic in each period, with 90 % intervals; here over the chapters of a book in their order.
"""

import numpy as np

from isotopic import LDA, datasets, plot

corpus = datasets.load_kjv()
model = LDA(8, random_state=0).fit(corpus.data)
ax = plot.over_time(
    model, np.arange(len(corpus.sample_names)), period=60, topics=[0, 1, 2, 3]
)
ax.figure.supxlabel("chapter", fontsize="medium")

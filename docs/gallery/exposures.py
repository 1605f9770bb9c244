"""
Exposures
=========

A stacked bar for each sample: the counts that each topic explains.
"""

import numpy as np

from isotopic import NMF, plot

rng = np.random.default_rng(0)
signatures = rng.dirichlet(np.full(96, 0.2), size=3)
X = rng.poisson(rng.gamma(0.5, 1000.0, size=(40, 3)) @ signatures)
model = NMF(3, random_state=0).fit(X)
ax = plot.exposures(model)

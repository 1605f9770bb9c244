"""
How many components
===================

Held-out score and stability for several numbers of components, and the similarities of the components of all runs.
"""

import numpy as np

from isotopic import NMF, consensus, plot

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(30, 0.2), size=3)
X = rng.poisson(rng.gamma(0.5, 200, size=(100, 3)) @ topics)
found = consensus(NMF(), X, range(2, 6), n_runs=8, random_state=0)
ax = plot.selection(found)

# %%
# The runs with the chosen number:

ax = plot.consensus(found)

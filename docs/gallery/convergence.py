"""
Convergence
===========

The objective above the best one, against passes over the data, for several solvers.
"""

from isotopic import NMF, datasets, plot

X = datasets.load_kjv().data
fits = {
    name: NMF(8, solver=name, max_iter=60, tol=0, random_state=0).fit(X)
    for name in ("joint", "alternating", "accelerated")
}
ax = plot.convergence(fits)

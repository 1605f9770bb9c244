"""
Sparsity
========

The share of zeros on both sides as a penalty grows.
"""

from isotopic import SparseNMF, datasets, plot

X = datasets.load_kjv().data[::4]
path = {
    strength: SparseNMF(
        6, strength=strength, max_iter=60, tol=0, random_state=0
    ).fit(X)
    for strength in (1.0, 3.0, 10.0, 30.0, 100.0)
}
ax = plot.sparsity_path(path, threshold=1e-4)

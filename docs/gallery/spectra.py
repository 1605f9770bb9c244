"""
Mutational spectra
==================

The 96 substitutions in the order and colours of the field.
"""

import numpy as np

from isotopic import NMF, plot

changes = ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
types = [
    f"{left}[{change}]{right}"
    for change in changes
    for left in "ACGT"
    for right in "ACGT"
]
rng = np.random.default_rng(0)
signatures = rng.dirichlet(np.full(96, 0.2), size=2)
X = rng.poisson(rng.gamma(0.5, 1000.0, size=(50, 2)) @ signatures)
model = NMF(2, random_state=0).fit(X)
ax = plot.spectra(model, feature_names=types)

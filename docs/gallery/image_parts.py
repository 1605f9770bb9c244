"""
Parts of images
===============

Topics over pixels as images: the strokes that handwritten digits are made of.
"""

from sklearn.datasets import load_digits

from isotopic import NMF, plot

model = NMF(16, tol=1e-2, random_state=0).fit(load_digits().data)
ax = plot.image_parts(model, (8, 8), columns=8)

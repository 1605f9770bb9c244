"""
Leaving scikit-learn
====================

This tutorial is for people who fit ``NMF`` or ``LatentDirichletAllocation`` with scikit-learn. After it you can replace both in your
code, carry fitted models over, and explain why results differ.
"""

import warnings

import numpy as np
from sklearn.decomposition import NMF as SklearnNMF
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from isotopic import (
    LDA,
    NMF,
    datasets,
    evaluate,
    from_sklearn,
    match,
    to_sklearn,
)

corpus = datasets.load_kjv()
X, test = corpus.data[::3], corpus.data[1::6]

# %%
# The same calls
# --------------
# Change the import, and most code runs.

theirs = LatentDirichletAllocation(10, max_iter=20, random_state=0).fit(X)
ours = LDA(10, random_state=0).fit(X)
print(theirs.transform(test).shape, ours.transform(test).shape)

# %%
# Parameters of scikit-learn raise an error that says what to write:

try:
    LDA(10, doc_topic_prior=0.1)
except TypeError as error:
    print(error)

# %%
# Which is better?
# ----------------
# Hide half of the words of new documents, infer the weights from the other half, and predict the hidden words. Lower is better.
# ``from_sklearn`` turns their fitted model into one of ours, so both are measured in the same way.

carried_over = from_sklearn(theirs, X)
for name, model in {"scikit-learn": carried_over, "isotopic": ours}.items():
    found = evaluate.completion_perplexity(model, test, random_state=0)
    print(f"{name:12}", round(found))

# %%
# The model is the same. The difference is in the estimate (CVB0 instead of mean-field variational), in learned priors, and in the
# start. :doc:`/estimates` explains them. This is exactly their model, fitted by us from where they stopped:

goes_on = carried_over.set_params(warm_start=True, tol=1e-4).fit(X)
print(goes_on.n_iter_, "more iterations")

# %%
# NMF: the scale
# --------------
# Our topics sum to one in each row, and the scale is in the weights. So a weight is the number of words that a topic explains. The product is what
# scikit-learn's NMF minimises, too:

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # 100 iterations are not enough for it
    settings = {"beta_loss": "kullback-leibler", "solver": "mu"}
    sklearn_nmf = SklearnNMF(8, max_iter=100, **settings).fit(X)
nmf = NMF(8, random_state=0).fit(X)
divergence = sklearn_nmf.reconstruction_err_**2 / 2
print("divergence:", round(divergence), "and", round(nmf.objective_))
print(
    "sums of topics:",
    sklearn_nmf.components_.sum(axis=1).round(1)[:3],
    "and",
    nmf.components_.sum(axis=1)[:3],
)
explained = nmf.weights_.sum(axis=1)
print("all words:", np.allclose(explained, X.sum(axis=1), rtol=1e-3))

# %%
# Do both find the same topics? ``match`` pairs them by cosine similarity:

print(match(sklearn_nmf.components_, nmf).similarity.round(2))

# %%
# Pipelines and searches
# ----------------------
# They work. For the number of components, use a scorer that does not see the words it scores:

search = GridSearchCV(
    LDA(tol=1e-2, random_state=0),
    {"n_components": [2, 10]},
    scoring=evaluate.completion_scorer,
    cv=2,
)
print(search.fit(X).best_params_)
print(make_pipeline(NMF(5, tol=1e-2, random_state=0)).fit_transform(X).shape)

# %%
# And back
# --------
# If another program needs a model of scikit-learn:

print(to_sklearn(nmf))

# %%
# Where to go on: :doc:`/migration` has the table of all names.

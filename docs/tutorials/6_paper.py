r"""
The paper as code
=================

This tutorial is for readers of Geiger & Park, *On the Connection Between Non-negative Matrix Factorization and Latent Dirichlet
Allocation*. It states each lemma in a sentence and checks it in a few lines.

The paper writes :math:`X \approx WH` with words in rows. Here ``X`` has documents in rows, ``weights`` is :math:`H^\top` and ``topics``
is :math:`W^\top`. With ``tol=0``, a fit makes exactly ``max_iter`` iterations.
"""

import numpy as np

from isotopic import (
    LDA,
    NMF,
    PLSA,
    GammaPoisson,
    Lasso,
    Simplex,
    TopicModel,
    convert,
    datasets,
    expected_counts,
    generative,
    verify,
)

X = datasets.load_kjv().data[:150]
iterations = {"max_iter": 30, "tol": 0, "random_state": 0}

# %%
# The joint update
# ----------------
# Algorithm 4: if the topics sum to one, both sides can be updated from one pass. The pass is ``expected_counts``: it shares each count
# out over the components. Then each side is the sum of its counts, and the topics are normalised.

rng = np.random.default_rng(0)
weights = rng.random((150, 4))
topics = rng.dirichlet(np.ones(X.shape[1]), size=4)
settings = {"max_iter": 3, "tol": 0, "solver": "joint"}
by_library = NMF(4, init=(weights, topics), **settings).fit(X)
for _ in range(3):
    counts = expected_counts(X, weights, topics)
    weights = counts.weights
    topics = counts.topics / counts.topics.sum(axis=1, keepdims=True)
print(
    np.allclose(weights, by_library.weights_),
    np.allclose(topics, by_library.components_),
)

# %%
# It never raises the objective (Lemmas A.1 and A.2):

nmf = NMF(4, solver="joint", **iterations).fit(X)
print(np.all(np.diff(nmf.history_["objective"]) <= 0))

# %%
# Lemma 4.1: normalised topics cost nothing
# -----------------------------------------
# Every product of two free factors is also a product with normalised topics.

free = NMF(4, normalize=False, solver="alternating", **iterations).fit(X)
normalised = convert(free, to=NMF)
product = free.weights_ @ free.components_
same = normalised.weights_ @ normalised.components_
print(np.allclose(product, same))

# %%
# Lemma 4.2: NMF is PLSA
# ----------------------
# The weights differ by the totals of the documents, iterate by iterate.

plsa = PLSA(4, solver="joint", **iterations).fit(X)
totals = X.sum(axis=1)[:, None]
print(
    np.allclose(nmf.weights_, plsa.weights_ * totals),
    np.allclose(nmf.components_, plsa.components_),
)

# %%
# Algorithm 5: LDA is NMF with a Dirichlet prior
# ----------------------------------------------
# The only change is what the weights make of their counts: ``alpha + counts`` are the parameters of a Dirichlet posterior, and the next
# pass uses :math:`\exp(\mathrm{E}[\log h])`.

paper = {"alpha": 0.1, "eta": None, "estimate": "variational"}
lda = LDA(4, init="random", solver="joint", **paper, **iterations).fit(X)
print(np.allclose(lda.weights_posterior_.sum(axis=1), 4 * 0.1 + X.sum(axis=1)))

# %%
# Lemmas E.1 and E.3: Gamma-Poisson is LDA
# ----------------------------------------
# With one rate for all components, both have the same posteriors up to scale. So a fit of one is a fit of the other.

gamma = convert(lda, to=GammaPoisson)
shares = gamma.weights_ / gamma.weights_.sum(axis=1, keepdims=True)
print(np.allclose(shares, lda.weights_))

# %%
# Lemma 6.1: a Lasso on the weights does not make them sparse
# -----------------------------------------------------------
# Next to normalised topics, it only divides them by ``1 + strength``.

penalised = TopicModel(
    4, weights=Lasso(2.0), topics=Simplex(), solver="joint", **iterations
).fit(X)
print(np.allclose(penalised.weights_ * 3, nmf.weights_))

# %%
# Lemmas D.1 to D.3: the generative models are the same
# -----------------------------------------------------
# Poisson counts, given their total, are multinomial. So drawing Poisson counts from rates ``h`` and drawing multinomial counts from
# proportions ``h / sum(h)`` with Poisson totals is the same. Two samples of both have the same means:

rates = np.full((20_000, 2), [3.0, 1.0])
two_topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
drawn = generative.poisson(rates, two_topics, random_state=0)
print(drawn.mean(axis=0).round(2), (rates[0] @ two_topics).round(2))

# %%
# All claims at once
# ------------------
# ``verify`` checks every claim of the paper on your data and prints the largest deviation. In a terminal: ``isotopic verify DATA``.

table = verify(X[:60], 3)
print(table)

# %%
# Where to go on: :doc:`/paper` says where each algorithm and lemma is in the code.

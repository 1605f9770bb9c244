"""isotopic: the parts in count data.

NMF under the Kullback-Leibler divergence, PLSA, LDA and Gamma-Poisson factorization are one model
under different normalizations and priors, with one joint update (Geiger & Park). A model is a pair
of priors; one kernel shares out the counts, and each prior makes of its counts what it will.
"""

from isotopic import datasets, generative
from isotopic.blocks import open_blocks
from isotopic.convert import convert
from isotopic.counts import CountMatrix
from isotopic.estimators import LDA, NMF, PLSA, Checkpoint, GammaPoisson, TopicModel, load
from isotopic.kernels import Counts, expected_counts
from isotopic.objectives import (
    gamma_poisson_bound,
    generalized_kl,
    lasso_kl,
    lda_bound,
    plsa_log_likelihood,
)
from isotopic.priors import Dirichlet, Free, Gamma, Lasso, Simplex
from isotopic.solvers import Accelerated, Alternating, IncrementalEM, JointEM, OnlineEM
from isotopic.verify import verify

__version__ = "0.1.0"

__all__ = [
    "LDA",
    "NMF",
    "PLSA",
    "Accelerated",
    "Alternating",
    "Checkpoint",
    "CountMatrix",
    "Counts",
    "Dirichlet",
    "Free",
    "Gamma",
    "GammaPoisson",
    "IncrementalEM",
    "JointEM",
    "Lasso",
    "OnlineEM",
    "Simplex",
    "TopicModel",
    "convert",
    "datasets",
    "expected_counts",
    "gamma_poisson_bound",
    "generalized_kl",
    "generative",
    "lasso_kl",
    "lda_bound",
    "load",
    "open_blocks",
    "plsa_log_likelihood",
    "verify",
]

"""The scikit-learn face: the general model and its named corners. No numerics."""

from isotopic.estimators.beta import BetaNMF
from isotopic.estimators.checkpoint import Checkpoint
from isotopic.estimators.load import load
from isotopic.estimators.named import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.poisson import PoissonFactorization
from isotopic.estimators.relevance import ARDNMF
from isotopic.estimators.sparse import SparseNMF, SparsityWarning
from isotopic.estimators.topic_model import TopicModel

__all__ = [
    "ARDNMF",
    "LDA",
    "NMF",
    "PLSA",
    "BetaNMF",
    "Checkpoint",
    "GammaPoisson",
    "PoissonFactorization",
    "SparseNMF",
    "SparsityWarning",
    "TopicModel",
    "load",
]

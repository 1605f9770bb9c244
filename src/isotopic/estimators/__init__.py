"""The scikit-learn face: the general model and its named corners. No numerics."""

from isotopic.estimators.checkpoint import Checkpoint
from isotopic.estimators.load import load
from isotopic.estimators.named import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.sparse import SparseNMF, SparsityWarning
from isotopic.estimators.topic_model import TopicModel

__all__ = [
    "LDA",
    "NMF",
    "PLSA",
    "Checkpoint",
    "GammaPoisson",
    "SparseNMF",
    "SparsityWarning",
    "TopicModel",
    "load",
]

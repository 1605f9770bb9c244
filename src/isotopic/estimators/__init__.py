"""The scikit-learn face: the general model and the named ones. No numerics."""

from isotopic.estimators.beta import BetaNMF
from isotopic.estimators.checkpoint import Checkpoint
from isotopic.estimators.named import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.persistence import MODELS, load
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

for _model in (
    NMF,
    PLSA,
    LDA,
    GammaPoisson,
    PoissonFactorization,
    SparseNMF,
    BetaNMF,
    ARDNMF,
    TopicModel,
):
    MODELS[_model.__name__] = _model

"""The scikit-learn estimators: the general model and the named ones. They contain no numerics."""

from isotopic.containers import CountsWarning
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.beta import BetaNMF
from isotopic.estimators.checkpoint import Checkpoint
from isotopic.estimators.named import LDA, NMF, PLSA, GammaPoisson, PoissonFactorization
from isotopic.estimators.negative_binomial import NegativeBinomialNMF
from isotopic.estimators.persistence import load
from isotopic.estimators.relevance import ARDNMF
from isotopic.estimators.sparse import SparseNMF, SparsityWarning
from isotopic.estimators.topic_model import TopicModel
from isotopic.registry import register

__all__ = [
    "ARDNMF",
    "LDA",
    "MODELS",
    "NMF",
    "PLSA",
    "BetaNMF",
    "Checkpoint",
    "CountsWarning",
    "GammaPoisson",
    "NegativeBinomialNMF",
    "PoissonFactorization",
    "SparseNMF",
    "SparsityWarning",
    "TopicModel",
    "load",
]

# The estimators by name. Files can hold them, and the command line fits them.
MODELS: dict[str, type[BaseTopicModel]] = {
    model.__name__: register(model)
    for model in (
        NMF,
        PLSA,
        LDA,
        GammaPoisson,
        PoissonFactorization,
        SparseNMF,
        BetaNMF,
        NegativeBinomialNMF,
        ARDNMF,
        TopicModel,
    )
}

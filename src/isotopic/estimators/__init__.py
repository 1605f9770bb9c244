"""The scikit-learn face: the general model and its named corners. No numerics."""

from isotopic.estimators.named import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.topic_model import TopicModel

__all__ = ["LDA", "NMF", "PLSA", "GammaPoisson", "TopicModel"]

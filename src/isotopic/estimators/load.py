"""Loading a model from a file."""

import os
from typing import Any

from isotopic import archive
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.beta import BetaNMF
from isotopic.estimators.named import LDA, NMF, PLSA, GammaPoisson
from isotopic.estimators.persistence import MODELS
from isotopic.estimators.poisson import PoissonFactorization
from isotopic.estimators.relevance import ARDNMF
from isotopic.estimators.sparse import SparseNMF
from isotopic.estimators.topic_model import TopicModel
from isotopic.registry import register, registered_types

_ALL: tuple[type[BaseTopicModel], ...] = (
    NMF,
    PLSA,
    LDA,
    GammaPoisson,
    PoissonFactorization,
    SparseNMF,
    BetaNMF,
    ARDNMF,
    TopicModel,
)
MODELS.update({cls.__name__: register(cls) for cls in _ALL})


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved with its method ``save``.

    The file holds numbers and names, no code: reading one from a stranger cannot run any.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : fitted estimator

    Raises
    ------
    ValueError
        If the file is damaged, is not a model, or was written by a newer version.

    Examples
    --------
    >>> import isotopic, os, tempfile
    >>> X = isotopic.datasets.load_kjv().data
    >>> model = isotopic.NMF(5, max_iter=5, tol=0, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "kjv.isotopic"))
    ...     same = isotopic.load(os.path.join(folder, "kjv.isotopic"))
    >>> bool((same.components_ == model.components_).all())
    True
    """
    return archive.read(path, "model", registered_types())

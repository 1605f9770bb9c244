"""Read the shares of topics in samples, with the names of both: of models, weights and refits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import read_container
from isotopic.evaluate.topics import as_matrix, proportions
from isotopic.fitted import Fitted, fitted_of
from isotopic.fitted.value import names_of_topics


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of topics in samples.

    Attributes
    ----------
    matrix : ndarray of shape (samples, topics)
        Rows sum to one.
    sample_names, topic_names : ndarray or None
    """

    matrix: Array
    sample_names: Array | None
    topic_names: Array | None

    def name_column(self) -> dict[str, Array]:
        """Return the names of the topics as a column of a table, if they have some."""
        return {} if self.topic_names is None else {"name": np.asarray(self.topic_names, object)}


def read_shares(given: Any) -> Shares:
    """Return the shares of a fitted model, or of weights: an array, a data frame or a refit."""
    if isinstance(given, Fitted) or hasattr(given, "get_params"):
        fitted = fitted_of(given)
        names = None if fitted.topic_names is None else names_of_topics(fitted)
        matrix = proportions(fitted.weights.mean, fitted.topics.mean)
        return Shares(matrix, fitted.sample_names, names)
    named = read_container(given, "weights")
    form = "a fitted model, a refit or an array of samples x components"
    weights = as_matrix("weights", named.matrix, form, "sample", "component")
    matrix = proportions(weights, np.ones((weights.shape[1], 1)))
    return Shares(matrix, named.sample_names, named.feature_names)

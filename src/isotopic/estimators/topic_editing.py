"""Methods of estimators that return a model whose topics are ordered, named or made otherwise."""

from typing import Any, Self

from isotopic.decompose import Decomposition
from isotopic.estimators import editing, reordering
from isotopic.estimators.documentation import documented
from isotopic.fitted import Fitted, fitted_of
from isotopic.fitted.topic_names import with_topic_names


@documented
class TopicEditing:
    """Base class of the estimators: models with the same topics in another form."""

    def with_fitted(self, fitted: Fitted) -> Self:
        """Return a copy of this estimator that holds another fitted value."""
        raise NotImplementedError

    def reorder(self, order: Any = "prevalence") -> Self:
        """Return the same model with its topics in another order.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
            A new one. All that belongs to topics moves with them: posteriors, priors, seeds,
            forbidden features, a given ``init``. Fixed topics must stay in front.
        """
        model: Self = reordering.reorder_model(self, order)
        return model

    def merge(self, groups: Any, X: Any, *, missing_mask: Any = None) -> Self:
        r"""Return a model in which groups of topics are merged.

        The counts that they explain are added, and the priors absorb the sum. Proportions, and
        Dirichlet and Gamma posteriors of weights, add up exactly: the prior of a merged topic has
        the sum of the concentrations (shapes) of its parts.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
            A new one, as if fitted with ``max_iter=0`` from there: ``n_iter_`` is 0, the history
            empty. ``model.set_params(warm_start=True).fit(X)`` continues from it. An ``init`` that
            is a pair or a model has too many topics and becomes ``"random"``.

        Raises
        ------
        ValueError
            If the merged topic has no prior of the same kind: for fixed topics, for Gamma weights
            with different rates, for topics with different priors.
        """
        model: Self = reordering.merge_model(self, groups, X, missing_mask)
        return model

    def split(self, topic: int, X: Any, *, n: int = 2, missing_mask: Any = None) -> Self:
        """Return a model in which a topic is split into parts.

        The counts that the topic explains are fitted by PLSA with ``n`` topics, and the priors
        absorb the parts. These share the concentration (shape) of the topic, so that :meth:`merge`
        undoes a split.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
            A new one, as if fitted with ``max_iter=0`` from there: see :meth:`merge`. The largest
            part keeps the number of the topic, and the others come last.
        """
        model: Self = editing.split_model(self, topic, X, n, missing_mask)
        return model

    def drop(self, topics: Any, X: Any, *, missing_mask: Any = None) -> Self:
        """Return a model without some of its topics.

        The counts that they explain go to the other topics, in proportion to the weights of their
        sample, and the priors absorb the sums.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
            A new one, as if fitted with ``max_iter=0`` from there: see :meth:`merge`.
        """
        model: Self = editing.drop_topics(self, topics, X, missing_mask)
        return model

    def drop_features(
        self, features: Any, X: Any, *, feature_names: Any = None, missing_mask: Any = None
    ) -> Self:
        """Return a model without some features, such as words that should have been stop words.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
            A new one over the other features, as if fitted with ``max_iter=0`` to ``X`` without
            those columns: see :meth:`merge`.
        """
        model: Self = editing.drop_features_of(self, features, X, feature_names, missing_mask)
        return model

    def label(self, names: Any, **describe: Any) -> Self:
        """Return the same model with named topics.

        Tables, plots, reports and files of the model then use the names. They stay with their
        topics when these are reordered; a new fit has none.

        %(arguments)s

        Returns
        -------
        model : fitted estimator
            A new one.
        """
        if isinstance(names, Decomposition):
            names = list(names.table["names"])
        return self.with_fitted(with_topic_names(fitted_of(self), names, **describe))

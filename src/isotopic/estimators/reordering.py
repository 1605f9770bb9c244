"""Topics in another order, and several topics made one."""

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array
from isotopic.estimators.constraints import knowledge_table
from isotopic.estimators.offsets import Offsets
from isotopic.evaluate import prevalence
from isotopic.init.start import absorbed, explained_counts
from isotopic.priors import Prior
from isotopic.threads import use_threads

_OF_WEIGHTS = (
    "weights_",
    "weights_posterior_",
    "weights_posterior_rate_",
    "_effective_weights",
    "_weights_explained",
)
_OF_TOPICS = (
    "components_",
    "components_posterior_",
    "components_posterior_rate_",
    "_effective_components",
    "_components_explained",
)


class Rearranging:
    """A model whose topics can be reordered and merged."""

    # Parameters that are settings of the priors: of which side (0 the weights, 1 the topics), and
    # what they are called there; nothing if the parameter is the prior itself.
    _prior_settings: ClassVar[dict[str, tuple[int, str]]] = {}

    def reorder(self, order: Any = "prevalence") -> Self:
        """Give the same model with its topics in another order.

        Parameters
        ----------
        order : "prevalence" or array-like of int of shape (n_components,), default="prevalence"
            ``order[i]`` is the topic that becomes topic ``i``, as in
            ``isotopic.match(a, b).order``; or the most prevalent first.

        Returns
        -------
        model : fitted estimator
            A new one. All that belongs to topics moves with them: posteriors, priors, seeds,
            forbidden features, what was given as ``init``. Fixed topics must stay in front.
        """
        check_is_fitted(self)
        if isinstance(order, str) and order == "prevalence":
            order = _prevalent_first(prevalence(self), self._n_fixed())
        order = _read_order(order, len(self.components_))
        n_fixed = self._n_fixed()
        if set(order[:n_fixed]) != set(range(n_fixed)):
            raise ValueError(
                f"the first {n_fixed} topics are fixed_topics and must stay in front; they can be "
                "reordered among themselves only"
            )
        weights, topics = self._own_priors()
        new = self._copy_with((weights, topics), (weights.reordered(order), topics.rows(order)))
        new.fixed_topics = _rows(self.fixed_topics, order[:n_fixed])
        new.seeds, new.forbidden = (_reordered(t, order) for t in (self.seeds, self.forbidden))
        new.init = _reordered_init(self.init, order)
        kept = {name: value for name, value in vars(self).items() if name not in vars(new)}
        weights, topics = self._fitted_priors
        kept["_fitted_priors"] = weights.reordered(order), topics.rows(order)
        for name in _OF_WEIGHTS:
            kept[name] = None if kept[name] is None else np.ascontiguousarray(kept[name][:, order])
        for name in _OF_TOPICS:
            layout = np.ascontiguousarray if name.endswith("_") else np.asfortranarray
            kept[name] = None if kept[name] is None else layout(kept[name][order])
        new.__dict__.update(kept)
        return new

    def merge(self, groups: Any, X: Any, *, missing_mask: Any = None) -> Self:
        r"""Give a model in which some topics are one.

        The counts that they explain are added, and the priors absorb the sum. Proportions, and
        Dirichlet and Gamma posteriors of weights, add up exactly: the prior of a merged topic has
        the sum of the concentrations (shapes) of its parts.

        Parameters
        ----------
        groups : list of lists of int
            The topics that become one, such as ``[[0, 3], [2, 5, 6]]``. A group takes the place of
            its first topic; the others keep their order.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The data that the model was fitted to, for the new objective.
        missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        model : fitted estimator
            A new one, as if fitted with ``max_iter=0`` from there: ``n_iter_`` is 0, the history
            empty. ``model.set_params(warm_start=True).fit(X)`` goes on from it. A pair or a model
            that was given as ``init`` has too many topics and becomes ``"random"``.

        Raises
        ------
        ValueError
            Where it has no meaning: for fixed topics, for Gamma weights with different rates, for
            topics whose priors differ.
        """
        check_is_fitted(self)
        home = _read_groups(groups, len(self.components_))
        if np.bincount(home)[home[: self._n_fixed()]].max(initial=1) > 1:
            raise ValueError("fixed_topics are held as they are and cannot be merged")
        new = self._merged_settings(home)
        counts = new._read(X, reset=True, missing_mask=missing_mask)
        if len(self.weights_) != counts.shape[0] or not np.allclose(
            self.sample_totals_, counts.sample_totals, rtol=1e-4
        ):
            raise ValueError("X is not the data that the model was fitted to")
        given = self.weights_[:, : self._n_fixed_weights]
        offsets = Offsets(self._size_factors, given if given.size else None)
        problem, seen = new._problem(counts, self._copies, offsets)
        by_sample, by_topic = explained_counts(self)
        by_sample, by_topic = _added(by_sample.T, home).T, _added(by_topic, home)
        if seen is not None:
            by_sample = by_sample[seen]
        if problem.X.copies is not None:
            by_sample = by_sample * problem.X.copies[:, np.newaxis]
        with use_threads(self.n_jobs):
            state = problem.evaluate(*absorbed(problem, by_sample, by_topic), passes=1)
            attributes = new._fitted(
                state,
                counts=counts,
                problem=problem,
                copies=self._copies,
                seen=seen,
                offsets=offsets,
            )
        new.__dict__.update(attributes)
        new.n_iter_, new.converged_, new.history_ = 0, False, self.history_[:0].copy()
        return new

    def _merged_settings(self, home: Array) -> Self:
        """Give the unfitted model of the merged topics, with what was learned."""
        weights, topics = self._own_priors()
        learned = topics.with_learned(_inside(self._fitted_priors[1]))
        merged = weights.with_learned(self._fitted_priors[0]).merged(home)
        new = self._copy_with((weights, topics), (merged, _merged_rows(learned, home)))
        new.n_components = int(home.max()) + 1
        if not isinstance(self.init, str):
            new.init = "random"
        shape, names = self.components_.shape, getattr(self, "feature_names_in_", None)
        if self.seeds is not None:
            seeds = knowledge_table("seeds", self.seeds, shape, names, self._feature_totals)
            new.seeds = _added(seeds, home)
        if self.forbidden is not None:
            allowed = knowledge_table("forbidden", self.forbidden, shape, names) == 0
            new.forbidden = _added(allowed.astype(float), home) == 0
        return new

    def _copy_with(self, old: tuple[Prior, Prior], priors: tuple[Prior, Prior]) -> Self:
        """Give the unfitted model with other priors."""
        new = type(self)(**self.get_params(deep=False))
        for name, (side, setting) in self._prior_settings.items():
            if priors[side] != old[side]:
                setattr(new, name, getattr(priors[side], setting) if setting else priors[side])
        return new

    def _n_fixed(self) -> int:
        n_topics = 0 if self.fixed_topics is None else len(self.fixed_topics)
        return max(n_topics, self._n_fixed_weights)

    # What the estimator itself has.
    _size_factors: Array | None
    _n_fixed_weights: int
    components_: Array
    weights_: Array
    sample_totals_: Array
    history_: Array
    n_components: int
    n_iter_: int
    converged_: bool
    n_jobs: int | None
    init: Any
    seeds: Any
    forbidden: Any
    fixed_topics: Any
    _fitted_priors: Any
    _feature_totals: Array
    _copies: Array | None
    get_params: Callable[..., dict[str, Any]]
    _own_priors: Callable[[], tuple[Any, Any]]
    _problem: Callable[..., Any]
    _fitted: Callable[..., dict[str, Any]]
    _read: Callable[..., Any]


def _prevalent_first(shares: Array, n_fixed: int) -> Array:
    order = np.argsort(-shares, kind="stable")
    return np.concatenate([order[order < n_fixed], order[order >= n_fixed]])


def _read_order(given: Any, n: int) -> Array:
    order = np.asarray(given)
    if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order.ravel()), np.arange(n)):
        raise ValueError(
            f"order must name each of the {n} topics once, or be 'prevalence', not {given!r:.200}"
        )
    return order.ravel()


def _read_groups(given: Any, n: int) -> Array:
    """Give for each topic the number of the merged topic that it belongs to."""
    groups = [list(group) if np.ndim(group) == 1 else group for group in given]
    first, taken = np.arange(n), set[int]()
    for group in groups:
        if not isinstance(group, list) or not all(_is_topic(topic, n) for topic in group):
            raise ValueError(f"groups must be lists of topics between 0 and {n - 1}, not {given!r}")
        if len(set(group)) < 2:
            raise ValueError(f"a group needs at least two different topics; one is {group}")
        if taken & set(group):
            raise ValueError(f"each topic can be in one group only; {group} meets another one")
        first[group] = min(group)
        taken |= set(group)
    if not groups:
        raise ValueError("there is no group of topics to merge")
    return np.unique(first, return_inverse=True)[1]


def _is_topic(given: Any, n: int) -> bool:
    return isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < n


def _rows(table: Any, order: Array) -> Any:
    if table is None:
        return None
    return table.iloc[order] if hasattr(table, "iloc") else np.asarray(table)[order]


def _reordered(knowledge: Any, order: Array) -> Any:
    if isinstance(knowledge, Mapping):
        where = np.argsort(order)
        return {int(where[topic]): features for topic, features in knowledge.items()}
    return _rows(knowledge, order)


def _reordered_init(init: Any, order: Array) -> Any:
    if isinstance(init, str):
        return init
    if hasattr(init, "reorder"):
        return init.reorder(order)
    weights, topics = init
    return np.asarray(weights)[:, order], np.asarray(topics)[order]


def _added(rows: Array, home: Array) -> Array:
    """Add up the rows that belong together."""
    sums = np.zeros((home.max() + 1, rows.shape[1]))
    np.add.at(sums, home, rows)
    return sums


def _inside(prior: Any) -> Any:
    """Give the prior of the topics that are not held."""
    return getattr(prior, "prior", prior)


def _merged_rows(prior: Any, home: Array) -> Any:
    """Give the prior of merged topics: that of each of its parts, if it is the same."""
    first = np.unique(home, return_index=True)[1]
    for topic, own in enumerate(home):
        if prior.rows(np.array([topic])) != prior.rows(first[[own]]):
            raise ValueError(
                f"topics {first[own]} and {topic} have different priors; merged they have none"
            )
    return prior.rows(first)

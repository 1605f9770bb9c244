"""Errors for parameters that a model does not have, which name the parameter that is meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, Self

# What the parameters of other packages are called here.
_ITERATIONS, _THREADS, _TOPICS, _SEED = "max_iter", "n_jobs", "n_components", "random_state"
_PENALTY = "strength (of SparseNMF)"
_READING = "the options of read_counts, which makes the counts,"
_FOLD_IN = "not needed: transform solves each sample's problem to a millionth of its total"
_NAMES = "not needed: names come with X (a data frame, AnnData or read_counts)"
_GENES = "not needed: give fit the columns of the genes that you choose"
_OUTLIERS = "not needed: consensus leaves outliers out"
_BATCHES = "partial_fit(X) for each batch, or solver=OnlineEM(batch_size=...)"
ELSEWHERE: dict[str, dict[str, str]] = {
    "scikit-learn": {
        "doc_topic_prior": "alpha (of LDA)",
        "topic_word_prior": "eta (of LDA)",
        "beta_loss": "beta (of BetaNMF; NMF has Kullback-Leibler, beta=1)",
        "learning_method": 'solver ("online" for mini-batches; the default uses all data)',
        "learning_decay": "solver=OnlineEM(forgetting=...)",
        "learning_offset": "solver=OnlineEM(delay=...)",
        "batch_size": _BATCHES,
        "total_samples": _BATCHES,
        "alpha_W": _PENALTY,
        "alpha_H": _PENALTY,
        "l1_ratio": _PENALTY,
        "evaluate_every": "not needed: history_ has the objective of every iteration",
        "perp_tol": "tol",
        "mean_change_tol": _FOLD_IN,
        "max_doc_update_iter": _FOLD_IN,
        "max_no_improvement": "min_gain",
        "forget_factor": "solver=OnlineEM(forgetting=...)",
        "shuffle": "not needed: updates do not depend on an order",
    },
    "gensim": {
        "num_topics": _TOPICS,
        "id2word": _NAMES,
        "corpus": "fit(X), with X from read_counts or a sparse matrix of documents x words,",
        "passes": _ITERATIONS,
        "iterations": _ITERATIONS,
        "chunksize": _BATCHES,
        "update_every": _BATCHES,
        "decay": "solver=OnlineEM(forgetting=...)",
        "offset": "solver=OnlineEM(delay=...)",
        "eval_every": "not needed: history_ has the objective of every iteration",
        "gamma_threshold": _FOLD_IN,
        "minimum_probability": "not needed: transform returns every weight",
        "per_word_topics": "the method posterior",
        "workers": _THREADS,
        "kappa": "solver=OnlineEM(forgetting=...)",
        "normalize": "normalize (of NMF and BetaNMF)",
    },
    "tomotopy": {
        "k": _TOPICS,
        "seed": _SEED,
        "tw": "not needed: give fit a weighted X",
        "min_cf": _READING,
        "min_df": _READING,
        "rm_top": _READING,
    },
    "fastTopics": {
        "k": _TOPICS,
        "numiter": _ITERATIONS,
        "nc": _THREADS,
    },
    "cNMF": {
        "components": _TOPICS,
        "n_iter": "n_runs (of consensus)",
        "numgenes": _GENES,
        "num_highvar_genes": _GENES,
        "genes_file": _GENES,
        "densify": "not needed: sparse and dense data give the same result",
        "density_threshold": _OUTLIERS,
        "local_density_threshold": _OUTLIERS,
        "total_workers": _THREADS,
    },
    "SigProfiler": {
        "minimum_signatures": "n_components of consensus, such as range(2, 26)",
        "maximum_signatures": "n_components of consensus, such as range(2, 26)",
        "nmf_replicates": "n_runs (of consensus)",
        "cpu": _THREADS,
        "exclude_signature_subgroups": "refit(X, reference) with a reference without these columns",
    },
    "stm": {
        "K": _TOPICS,
        "prevalence": "fit(X, covariates=..., formula=...)",
        "content": "fit(X, fixed_weights=group_weights(X, groups))",
    },
    "other packages": {
        "n_topics": _TOPICS,
        "n_factors": _TOPICS,
        "n_signatures": _TOPICS,
        "rank": _TOPICS,
        "random_seed": _SEED,
        "threads": _THREADS,
        "n_threads": _THREADS,
        "num_threads": _THREADS,
        "max_iterations": _ITERATIONS,
        "n_iterations": _ITERATIONS,
        "concentration": "alpha (of LDA, for weights) or eta (for topics)",
    },
}


@cache
def parameter_names(model: type) -> list[str] | None:
    """Return the names of the parameters of a class, or None if it takes any."""
    own = list(signature(model.__init__).parameters.values())[1:]  # type: ignore[misc]
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in own):
        return None
    return [parameter.name for parameter in own]


def check_parameters(model: type, names: Iterable[str], error: type[Exception]) -> None:
    """Raise if a model has no parameter of one of these names, and say what is meant."""
    known = parameter_names(model)
    for name in names:
        if known is not None and name not in known:
            raise error(f"{model.__name__} has no parameter {name!r}. {_hint(name, known)}")


def _hint(name: str, known: list[str]) -> str:
    for package, meanings in ELSEWHERE.items():
        if name in meanings:
            meaning = meanings[name]
            if meaning.startswith("not needed: "):
                return f"It is {meaning}."
            return f"Use {meaning} instead of {name} ({package})."
    having = sorted({cls.__name__ for cls in _models() if name in (parameter_names(cls) or ())})
    if having:
        return f"{', '.join(having)} {'has' if len(having) == 1 else 'have'} it."
    close = get_close_matches(name, known, n=1, cutoff=0.75)
    return f"Did you mean {close[0]!r}?" if close else f"Its parameters are: {', '.join(known)}."


def _models(of: type | None = None) -> list[type]:
    """Return all estimator classes of the package."""
    below: list[type] = (of or KnownParameters).__subclasses__()
    own = [cls for cls in below if cls.__module__.startswith("isotopic.")]
    return own + [deeper for cls in below for deeper in _models(cls)]


class _InitSignature:
    """The signature of a class whose ``__new__`` only checks: that of its ``__init__``."""

    def __get__(self, instance: Any, owner: type) -> Signature:
        own = signature(owner.__init__)  # type: ignore[misc]
        given = list(own.parameters.values())[1:]
        return own.replace(parameters=given, return_annotation=Parameter.empty)


class KnownParameters:
    """Base of all estimators: refuse parameters that the model does not have."""

    __signature__ = _InitSignature()

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Check the names of the parameters, before ``__init__`` sets them."""
        check_parameters(cls, given, TypeError)
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and return the estimator; unknown ones raise as in scikit-learn."""
        own = [name for name in params if "__" not in name]
        check_parameters(type(self), own, ValueError)
        return super().set_params(**params)  # type: ignore[misc,no-any-return]

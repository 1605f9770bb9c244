"""Files of fitted models, of this version and of older ones."""

import os
from typing import Any

from isotopic import archive, divergences
from isotopic.fitted import Fitted, Offsets, OnlineMemory
from isotopic.priors import Posterior
from isotopic.registry import registered_types

# Names that classes and their fields had in files of version 1.
_NEW_TYPES = {
    "Held": "WithFixedTopics",
    "Given": "WithFixedWeights",
    "Sized": "WithSizeFactors",
    "Weighted": "SampleWeighted",
    "InTurn": "BlockUpdate",
    "Learning": "HyperparameterUpdates",
    "FurtherMM": "Accelerated",
    "JointMM": "JointEM",
    "SequentialMM": "Alternating",
}
_NEW_FIELDS = {"own": "self_contribution"}


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
    return read_file(path, "model")


def read_file(path: str | os.PathLike[str], kind: str) -> Any:
    """Read a file that holds a model, of this version or of an older one, or a checkpoint."""
    upgrade = _upgrade if kind == "model" else _refuse_older
    return archive.read(path, kind, registered_types(), upgrade)


def _refuse_older(node: Any, version: int) -> Any:
    """Raise ValueError: the state of a solver is not the same in other versions."""
    raise ValueError(
        f"This checkpoint was written by an older isotopic (file format {version}), and this one "
        "cannot continue it. Delete the file to start again."
    )


def _upgrade(node: Any, version: int) -> Any:
    """Return the JSON tree of a file of version 1 with the names of today."""
    if isinstance(node, list):
        return [_upgrade(item, version) for item in node]
    if not isinstance(node, dict):
        return node
    if "type" in node and isinstance(node.get("fields"), dict):
        named = {_NEW_FIELDS.get(name, name): value for name, value in node["fields"].items()}
        new_type = _NEW_TYPES.get(node["type"], node["type"])
        return {**node, "type": new_type, "fields": _upgrade(named, version)}
    return {name: _upgrade(value, version) for name, value in node.items()}


def _posterior_of_version_1(old: dict[str, Any], side: str) -> Posterior:
    return Posterior.__from_archive__(
        {
            "mean": old[f"{side}_"],
            "effective": old[f"_effective_{side}"],
            "parameters": old[f"{side}_posterior_"],
            "rates": old[f"{side}_posterior_rate_"],
            "explained": old[f"_{side}_explained"],
        }
    )


def fitted_of_version_1(old: dict[str, Any]) -> Fitted | None:
    """Return the value of a file of version 1, which held the attributes of an estimator."""
    if not old:
        return None
    weights_prior, topics_prior = old["_fitted_priors"]
    beta = old.get("beta_", 1.0)
    weights, n_fixed = old["weights_"], old.get("_n_fixed_weights", 0)
    online = None
    if "_topic_average" in old:
        online = OnlineMemory(old["_topic_average"], old["n_samples_seen_"], old["n_iter_"])
    return Fitted.__from_archive__(
        {
            "weights_prior": weights_prior,
            "topics_prior": topics_prior,
            "weights": _posterior_of_version_1(old, "weights"),
            "topics": _posterior_of_version_1(old, "components"),
            "offsets": Offsets(
                old.get("_size_factors"), weights[:, :n_fixed].copy() if n_fixed else None
            ),
            "copies": old["_copies"],
            "sample_totals": old["sample_totals_"],
            "feature_totals": old["_feature_totals"],
            "has_missing": old["_has_missing"],
            "divergence": divergences.KullbackLeibler() if beta == 1 else divergences.Beta(beta),
            "objective": old["objective_"],
            "log_likelihood": old["_log_likelihood"],
            "saturated_divergence": old["_saturated_divergence"],
            "history": old["history_"],
            "converged": old["converged_"],
            "feature_names": old.get("feature_names_in_"),
            "online": online,
        }
    )

"""The topics of a fit, for the terminal and for ``--json``."""

from typing import Any

import numpy as np
from scipy.special import rel_entr

from isotopic.arrays import Array
from isotopic.cli.output import align_columns, short
from isotopic.evaluate import prevalence
from isotopic.kernels import normalized

_TERMS, _SAMPLES = 7, 3


def term_divergences(model: Any, shares: Array) -> Array:
    """Return what each term adds to the KL divergence of a topic from the mean topic.

    A term has a large value if it is frequent in the topic and rare elsewhere.
    """
    topics = normalized(model.components_)
    return np.asarray(rel_entr(topics, shares @ topics))


def topic_lines(model: Any, feature_names: Array, sample_names: Any) -> list[str]:
    """Return a table of the topics, largest first: share, distinctive terms, main samples."""
    shares = prevalence(model)
    divergences = term_divergences(model, shares)
    rows = [("topic", "share", "distinctive terms", "samples with the largest weights")]
    for topic in np.argsort(-shares, kind="stable"):
        terms = feature_names[np.argsort(-divergences[topic], kind="stable")[:_TERMS]]
        samples = sample_names[np.argsort(-model.weights_[:, topic], kind="stable")[:_SAMPLES]]
        terms_text = " ".join(map(short, terms))
        samples_text = ", ".join(map(short, samples))
        rows.append((str(topic), f"{shares[topic]:.1%}", terms_text, samples_text))
    return align_columns(rows, right=(0, 1))


def topic_facts(model: Any, feature_names: Array) -> list[dict[str, Any]]:
    """Return the share and the distinctive terms of each topic, for JSON."""
    shares = prevalence(model)
    order = np.argsort(-term_divergences(model, shares), axis=1, kind="stable")[:, :_TERMS]
    return [
        {"topic": k, "share": shares[k], "terms": feature_names[order[k]].tolist()}
        for k in range(len(shares))
    ]

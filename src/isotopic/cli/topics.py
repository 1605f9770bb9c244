"""Topics as lines of text."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import rel_entr

from isotopic.arrays import Array
from isotopic.cli.output import columns, short
from isotopic.evaluate import prevalence
from isotopic.kernels import normalized

_TERMS, _SAMPLES = 7, 3


def distinctive(model: Any, shares: Array) -> Array:
    """Say what a term adds to the divergence of a topic from the whole: frequent, and its own."""
    topics = normalized(model.components_)
    return np.asarray(rel_entr(topics, shares @ topics))


def topic_lines(model: Any, feature_names: Array, sample_names: Array) -> Iterator[str]:
    """Give a line for each topic, the largest first: share, terms, samples."""
    shares = prevalence(model)
    apart = distinctive(model, shares)
    rows = [("topic", "share", "terms that set the topic apart", "samples with most of it")]
    for topic in np.argsort(-shares, kind="stable"):
        terms = feature_names[np.argsort(-apart[topic], kind="stable")[:_TERMS]]
        samples = sample_names[np.argsort(-model.weights_[:, topic], kind="stable")[:_SAMPLES]]
        rows.append(
            (
                str(topic),
                f"{shares[topic]:.1%}",
                " ".join(short(term, 20) for term in terms),
                ", ".join(short(sample, 20) for sample in samples),
            )
        )
    yield from columns(rows, right=(0, 1))


def topic_facts(model: Any, feature_names: Array) -> list[dict[str, Any]]:
    """Give the same for machines."""
    shares = prevalence(model)
    apart = distinctive(model, shares)
    return [
        {
            "topic": topic,
            "share": shares[topic],
            "terms": feature_names[np.argsort(-apart[topic], kind="stable")[:_TERMS]].tolist(),
        }
        for topic in range(len(shares))
    ]

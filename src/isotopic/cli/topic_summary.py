"""The topics of a fit as commands print them."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.cli.output import align_columns, short
from isotopic.evaluate import prevalence
from isotopic.evaluate.topics import distinctive_features

# Distinctive terms and main samples that are printed of each topic.
TERMS, _SAMPLES = 7, 3


def distinctive_terms(
    model: Any, feature_names: Array, n_terms: int = TERMS
) -> tuple[Array, Array]:
    """Return the share of each topic, and its terms that are frequent in it and rare elsewhere."""
    shares = prevalence(model)
    return shares, feature_names[distinctive_features(model.components_, shares, n_terms)]


def topic_lines(
    model: Any, feature_names: Array, sample_names: Any, n_terms: int = TERMS
) -> list[str]:
    """Return a table of the topics, largest first: share, distinctive terms, main samples."""
    shares, terms = distinctive_terms(model, feature_names, n_terms)
    between = ", " if any(" " in term for term in terms.flat) else " "
    names = model.topic_names_
    rows = [("topic", "share", "distinctive terms", "samples with the largest weights")]
    for topic in np.argsort(-shares, kind="stable"):
        samples = sample_names[np.argsort(-model.weights_[:, topic], kind="stable")[:_SAMPLES]]
        terms_text = between.join(map(short, terms[topic]))
        samples_text = ", ".join(map(short, samples))
        number = str(topic) if names is None else f"{topic} {short(names[topic], 40)}".rstrip()
        rows.append((number, f"{shares[topic]:.1%}", terms_text, samples_text))
    return align_columns(rows, right=(0, 1))


def topic_facts(model: Any, feature_names: Array, n_terms: int = TERMS) -> list[dict[str, Any]]:
    """Return the share and the distinctive terms of each topic, for JSON."""
    shares, terms = distinctive_terms(model, feature_names, n_terms)
    names = model.topic_names_
    return [
        {"topic": k, "share": shares[k], "terms": terms[k].tolist()}
        | ({} if names is None else {"name": names[k] or None})
        for k in range(len(shares))
    ]

"""The names that people or programs give to topics."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.elementwise import normalized
from isotopic.evaluate.topics import top_features
from isotopic.fitted.value import Fitted, read_feature_names

#: A function that names a topic: it gets the strongest terms and the main documents of the topic.
Namer = Callable[[list[str], list[str]], str | None]


def with_topic_names(fitted: Fitted, given: Any, **describe: Any) -> Fitted:
    """Return the same model with named topics.

    ``given`` is a mapping from topics to names, a name (or ``None``) for each topic, the path of a
    JSON file with either, or a function; ``describe`` is what :func:`describe_topics` takes.
    Topics that a mapping does not mention keep their names.
    """
    n = fitted.n_components
    if callable(given):
        given = [given(terms, texts) for terms, texts in describe_topics(fitted, **describe)]
    elif isinstance(given, (str, os.PathLike)):
        given = _read_file(Path(given))
    names = np.full(n, "", dtype=object)
    if isinstance(given, Mapping):
        if fitted.topic_names is not None:
            names[:] = fitted.topic_names
        for topic, name in given.items():
            names[_topic_of(topic, n)] = _as_name(name)
    else:
        if given is not None and not isinstance(given, Iterable):
            raise TypeError(
                "names must be a mapping from topics to names, a name for each topic, a file or a "
                f"function, not {given!r:.100}."
            )
        listed = [] if given is None else list(given)
        if given is not None and len(listed) != n:
            raise ValueError(f"There are {len(listed)} names for {n} topics; each topic needs one.")
        names[: len(listed)] = [_as_name(name) for name in listed]
    return replace(fitted, topic_names=names if any(names) else None)


def describe_topics(
    fitted: Fitted,
    *,
    feature_names: Any = None,
    documents: Sequence[str] | None = None,
    n_terms: int = 10,
    n_documents: int = 3,
) -> list[tuple[list[str], list[str]]]:
    """Return the strongest terms of each topic, and its main documents, for a function that names.

    ``documents`` are the texts of the fitted samples.
    """
    features = read_feature_names(fitted, feature_names)
    weights = fitted.weights.mean
    if documents is not None and len(documents) != len(weights):
        raise ValueError(
            f"documents has {len(documents)} entries, but the model was fitted to {len(weights)} "
            "samples."
        )
    described = []
    for topic, order in enumerate(top_features(normalized(fitted.topics.mean), n_terms)):
        texts: list[str] = []
        if documents is not None:
            best = np.argsort(-weights[:, topic], kind="stable")[:n_documents]
            texts = [str(documents[int(i)]) for i in best]
        described.append((list(map(str, features[order])), texts))
    return described


def _read_file(path: Path) -> Any:
    """Return the names in a JSON file, such as ``{"3": "trade"}``."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, (dict, list)):
        raise ValueError(
            f'{path} holds no names of topics. Expected an object such as {{"3": "trade"}}, or a '
            "list with a name for each topic."
        )
    return found


def _topic_of(given: Any, n: int) -> int:
    """Return the number of a topic; JSON has it as text."""
    text = str(given)
    is_number = isinstance(given, (Integral, str)) and not isinstance(given, bool)
    if not (is_number and text.isascii() and text.isdigit() and int(text) < n):
        raise ValueError(f"{given!r} is not a topic. The topics are 0 to {n - 1}.")
    return int(text)


def _as_name(given: Any) -> str:
    """Return a name without surrounding space; an empty one stands for none."""
    if given is not None and not isinstance(given, str):
        raise TypeError(f"The name of a topic must be a str or None, not {given!r}.")
    return "" if given is None else given.strip()

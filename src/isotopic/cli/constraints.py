"""Read seed words and fixed topics from files."""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.cli import options
from isotopic.cli.command import Option
from isotopic.cli.folder import read_folder
from isotopic.cli.output import InputError, library_errors_as_messages, print_message, short
from isotopic.io import Options
from isotopic.io.files import open_text
from isotopic.io.read import errors_naming_file
from isotopic.io.tables import open_table

SEED_WORDS = Option(
    "--seed-words",
    "Seed words of the topics: one line per topic, such as 'sea, ship' or '3: sea, ship'.",
    "FILE",
    options.parse_path,
    group="Model",
)
FIXED_TOPICS = Option(
    "--fixed-topics",
    "Known topics, which become the first ones and are not changed: the folder of a fit, or a "
    "table such as its topics.csv.",
    "FOLDER|FILE",
    options.parse_existing,
    group="Model",
)

# Words that a message names.
_NAMED = 10


@dataclass(frozen=True)
class Constraints:
    """Seed words and fixed topics, before they are matched with the features of the data."""

    seeds: dict[int, Any] | None
    fixed: tuple[Array, Array] | None

    def parameters(self, feature_names: Array) -> dict[str, Any]:
        """Return the parameters of a model of these features."""
        found: dict[str, Any] = {}
        if self.seeds is not None:
            found["seeds"] = place_seed_words(self.seeds, feature_names)
        if self.fixed is not None:
            found["fixed_topics"] = place_fixed_topics(*self.fixed, feature_names)
        return found


def read_constraints(given: Namespace) -> Constraints:
    """Return the seed words and the fixed topics of the options."""
    seeds, fixed = given.seed_words, given.fixed_topics
    return Constraints(
        None if seeds is None else read_seed_words(seeds, given.encoding),
        None if fixed is None else read_fixed_topics(Path(fixed), given.encoding),
    )


def read_seed_words(path: Path, encoding: str) -> dict[int, Any]:
    """Return the seed words of each topic, from lines or a JSON object.

    A line holds the words of one topic, separated by commas or else by spaces. ``3: sea, ship`` is
    topic 3; a line without a number is the next topic, the first is topic 0. Empty lines and those
    that begin with ``#`` are ignored. A JSON object has topics as keys, and lists of words or
    objects with pseudo-counts of words as values.
    """
    with library_errors_as_messages(), open_text(path, encoding) as stream:
        text = stream.read()
    try:
        topics = json.loads(text) if text.lstrip().startswith("{") else _topics_of_lines(text)
        seeds = {int(topic): words for topic, words in topics.items()}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} does not hold seed words: {error}") from None
    if not seeds:
        raise InputError(f"{path} holds no seed words.")
    for topic, words in seeds.items():
        if not isinstance(words, (list, dict)) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{path}: the seed words of topic {topic} must be a list of words.")
    return seeds


def _topics_of_lines(text: str) -> dict[int, list[str]]:
    topics: dict[int, list[str]] = {}
    following = 0
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        number, colon, listed = line.partition(":")
        if not (colon and number.strip().isdecimal()):
            number, listed = str(following), line
        topic = int(number)
        if topic in topics:
            raise ValueError(f"topic {topic} has two lines")
        words = listed.split(",") if "," in listed else listed.split()
        topics[topic] = [word.strip() for word in words if word.strip()]
        following = topic + 1
    return topics


def place_seed_words(seeds: dict[int, Any], feature_names: Array) -> dict[int, Any]:
    """Return the seeds with the column indices of the words among the features.

    Words that the data does not have are printed and left out.
    """
    places = {str(name): i for i, name in enumerate(feature_names)}
    placed: dict[int, Any] = {}
    missing: list[str] = []
    for topic, words in seeds.items():
        found = {word: places.get(word, places.get(word.lower())) for word in words}
        missing += [word for word, place in found.items() if place is None]
        known = {place: word for word, place in found.items() if place is not None}
        if known:
            has_values = isinstance(words, dict)
            placed[topic] = {i: words[w] for i, w in known.items()} if has_values else list(known)
    if not placed:
        raise InputError(f"None of the seed words is a feature of the data: {_shown(missing)}.")
    if missing:
        print_message(f"warning: the data does not have the seed words {_shown(missing)}")
    return placed


def read_fixed_topics(path: Path, encoding: str) -> tuple[Array, Array]:
    """Return names of features and topics (topics x features), from a fit or a table.

    The table has the features in its first column and a topic in each of the others, as the
    ``topics.csv`` of a fit.
    """
    if path.is_dir():
        fit = read_folder(path)
        return fit.data.feature_names, fit.model.components_
    with library_errors_as_messages(), errors_naming_file(path):
        table = open_table(path, Options(encoding=encoding))
        columns = range(1, len(table.names))
        if not columns:
            raise InputError(
                f"{path} must have a column of features and a column for each topic, but has only "
                "one column."
            )
        chunks: list[Any] = list(table.chunks())
        names = [name for chunk in chunks for name in chunk.text(0)]
        return np.array(names, dtype=object), np.vstack([c.numbers(columns) for c in chunks]).T


def place_fixed_topics(names: Array, topics: Array, feature_names: Array) -> Array:
    """Return the topics with the features of the data; those that they lack are zero.

    Features that the data does not have are left out, and the share of the topics that they hold
    is printed.
    """
    places = {str(name): i for i, name in enumerate(feature_names)}
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if repeated:
        raise InputError(
            f"The fixed topics have several features called {repeated[0]!r:.100}. "
            "Make the names unique."
        )
    known = np.array([str(name) in places for name in names], dtype=bool)
    if not known.any():
        raise InputError("None of the features of the fixed topics is a feature of the data.")
    placed = np.zeros((len(topics), len(feature_names)))
    placed[:, [places[str(name)] for name in names[known]]] = topics[:, known]
    if not known.all():
        share = topics[:, ~known].sum() / topics.sum()
        print_message(
            f"warning: the data does not have {np.sum(~known):,} features of the fixed topics, "
            f"which hold {share:.1%} of them: {_shown(names[~known])}"
        )
    return placed


def _shown(words: Iterable[str]) -> str:
    """Return the first of some words as text."""
    listed = [short(str(word), 30) for word in words]
    more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more

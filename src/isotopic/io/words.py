"""Counting the words of documents."""

from collections.abc import Iterable, Iterator

from isotopic.io.options import Options
from isotopic.io.source import LoadedSource, loaded


def count_words(
    documents: Iterable[str], options: Options, names: list[str] | None
) -> LoadedSource:
    """Return the counts of the words of documents, which are read one by one."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - slow to load

    words = options.stop_words
    vectorizer = CountVectorizer(
        stop_words=words if words is None or isinstance(words, str) else list(words),
        min_df=options.min_df,
        max_df=options.max_df,
        max_features=options.max_features,
        vocabulary=options.vocabulary,
    )
    kept: list[str] = []
    if options.keep_text:
        documents = _keep_beginnings(documents, options.keep_text, kept)
    counts = vectorizer.fit_transform(documents)
    features = vectorizer.get_feature_names_out()
    return loaded(counts, names, features, kept if options.keep_text else None)


def _keep_beginnings(documents: Iterable[str], length: int, kept: list[str]) -> Iterator[str]:
    """Yield the documents, and append the beginning of each to ``kept``."""
    for document in documents:
        kept.append(document[:length])
        yield document

"""Words of documents: how a text is split into the terms that are counted."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from numbers import Integral
from typing import Any

from isotopic.io.markup import strip_html
from isotopic.io.source import Options

# Endings of English contractions. A word keeps its ending (don't, we've), so that don, ve and ll do
# not become terms; the possessive 's is left out, so that dog and dog's are the same term.
_ENDINGS = "(?:'(?i:t|ve|ll|re|d|m)\\b)"

_ENGLISH = ("english", "en")

# The typographic one, which is read as the plain one.
_APOSTROPHE = "\u2019"

# Scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer; kana and Chinese characters.
_LONG_WORDS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SHORT_WORDS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"

# Words of these scripts have fewer letters than this on average; unsplit texts have many more.
_LONGEST_MEAN = {_LONG_WORDS: 9.0, _SHORT_WORDS: 5.0}

# Unsplit text is refused if it makes more than this share of all letters.
_UNSPLIT_SHARE = 0.2

_UNSPLIT = (
    "the text is written without spaces between its words, so that words cannot be counted: {:.0%} "
    "of it are unsplit, such as {!r}. Put spaces between the words first (with jieba, MeCab, "
    "PyThaiNLP or another library for the language), or count single characters with "
    "token_pattern=r'\\w' (--token-pattern '\\w')"
)


@cache
def default_pattern() -> str:
    """Return the pattern of words: two or more letters or digits, and endings of contractions.

    Marks belong to the letters before them, as in Hindi and in letters with combining accents.
    """
    codes = range(0x300, 0x10000)
    marks = "".join(chr(code) for code in codes if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return rf"\b\w[\w{marks}]+{_ENDINGS}*|\b\w{_ENDINGS}+"


class Analyzer:
    """Split documents into the terms that the options describe.

    Parameters
    ----------
    options : Options
        Of these: ``stop_words``, ``ngrams``, ``token_pattern``, ``lowercase``, ``keep_html`` and
        ``vocabulary``.

    Attributes
    ----------
    n_terms : int
        The number of terms of all documents so far.
    n_stripped : int
        The number of documents so far in which there was HTML.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.lengths = _ngram_lengths(options.ngrams)
        self.find = _word_finder(options.token_pattern)
        self.is_stop_word = _stop_word_test(options.stop_words)
        given = options.vocabulary
        self.vocabulary = frozenset(() if given is None else given)  # none of these is a stop word
        self.n_terms = 0
        self.n_stripped = 0
        self._unsplit = _Unsplit()

    def __call__(self, document: str) -> list[str]:
        """Return the terms of a document in their order."""
        text = document if self.options.keep_html else strip_html(document)
        self.n_stripped += text != document
        if self.options.lowercase:
            text = text.lower()
        if self.options.token_pattern is None:
            self._unsplit.add(text)
            text = text.replace(_APOSTROPHE, "'")
        words = self.find(text)
        if self.is_stop_word is not None:
            known = self.vocabulary
            words = [word for word in words if word in known or not self.is_stop_word(word)]
        if self.lengths != (1,):
            words = [
                " ".join(words[i : i + length])
                for length in self.lengths
                for i in range(len(words) - length + 1)
            ]
        self.n_terms += len(words)
        return words

    def check(self) -> None:
        """Raise if the documents were written without spaces between words."""
        self._unsplit.check()


def _ngram_lengths(given: int | Sequence[int]) -> tuple[int, ...]:
    """Return the lengths of the n-grams in ascending order."""
    lengths: tuple[Any, ...] = tuple(given) if isinstance(given, Sequence) else (given,)
    if not lengths or not all(isinstance(n, Integral) and int(n) >= 1 for n in lengths):
        raise ValueError(
            f"ngrams must be the lengths of the terms in words, such as 2 or (1, 2), not {given!r}"
        )
    return tuple(sorted({int(n) for n in lengths}))


def _word_finder(pattern: str | None) -> Callable[[str], list[str]]:
    """Return the function that finds the words of a text."""
    try:
        compiled = re.compile(default_pattern() if pattern is None else pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(
            f"token_pattern={pattern!r} is not a regular expression: {error}"
        ) from error
    if compiled.groups > 1:
        raise ValueError(
            f"token_pattern={pattern!r} has {compiled.groups} groups; a word is what one group "
            "matches, or the whole pattern without groups. Write the others as (?:...)"
        )
    if compiled.match("") is not None:
        raise ValueError(
            f"token_pattern={pattern!r} matches the empty string. Make it match at least one "
            "character"
        )
    return compiled.findall


def _stop_word_test(given: str | Sequence[str] | None) -> Callable[[str], bool] | None:
    """Return a function that says whether a word is ignored."""
    if given is None:
        return None
    if not isinstance(given, str):
        chosen = {word.lower().replace(_APOSTROPHE, "'") for word in given}
        return lambda word: word.lower() in chosen
    listed = stop_word_list(given)
    is_english = given.lower() in _ENGLISH

    @cache
    def is_ignored(word: str) -> bool:
        word = word.lower()
        if word in listed or "'" not in word:
            return word in listed
        # Contractions of stop words (we've), and of verbs that have no other use (don't, isn't).
        return word.partition("'")[0] in listed or (is_english and word.endswith("n't"))

    return is_ignored


def stop_word_list(language: str) -> frozenset[str]:
    """Return the stop words of a language, which is given by its English name or ISO 639-1 code."""
    if language.lower() in _ENGLISH:
        text = import_module("sklearn.feature_extraction.text")  # slow to load
        return frozenset(text.ENGLISH_STOP_WORDS)
    try:
        library = import_module("stop_words")
    except ImportError as error:
        raise ImportError(
            f"stop words for {language!r} need stop-words: pip install 'isotopic[text]'. Without "
            "it you can use 'english', none (None) or a list of your own"
        ) from error
    names = library.LANGUAGE_MAPPING | {name: name for name in library.AVAILABLE_LANGUAGES}
    if language.lower() not in names:
        raise ValueError(
            f"there are no stop words for {language!r}, only for "
            f"{', '.join(sorted(library.AVAILABLE_LANGUAGES))}. Pass the words themselves "
            "(stop_words=[...], or --stop-words FILE with one word per line)"
        )
    words = library.get_stop_words(names[language.lower()])
    # The lists also have forms that are split here, such as qu'il.
    parts = {part for word in words for part in re.split(f"['{_APOSTROPHE}]", word.lower())}
    return frozenset(parts) | {word.lower() for word in words}


class _Unsplit:
    """Detect unsplit text in scripts that put no spaces between words."""

    def __init__(self) -> None:
        self.letters = 0
        self.runs: dict[str, list[int]] = {scripts: [0, 0] for scripts in _LONGEST_MEAN}
        self.example = ""

    def add(self, text: str) -> None:
        """Add the statistics of a document."""
        self.letters += len(text)
        if text.isascii():
            return
        for scripts, sums in self.runs.items():
            found = _runs_of(scripts).findall(text)
            sums[0] += len(found)
            sums[1] += sum(map(len, found))
            self.example = max(found[:20], key=len, default=self.example)

    def check(self) -> None:
        """Raise if much of the text is unsplit."""
        unsplit = sum(
            letters
            for scripts, (n_runs, letters) in self.runs.items()
            if letters > _LONGEST_MEAN[scripts] * n_runs
        )
        if unsplit > _UNSPLIT_SHARE * self.letters:
            raise ValueError(_UNSPLIT.format(unsplit / self.letters, self.example[:20]))


@cache
def _runs_of(scripts: str) -> re.Pattern[str]:
    return re.compile(f"[{scripts}]+")

"""Make the bundled corpus: how often each term stands in each chapter of the King James Bible.

The text is in the public domain. It is printed by the program ``bible`` of Debian's package
``bible-kjv``; the file written holds counts, terms and chapter names, not the text::

    apt install bible-kjv
    python tools/make_kjv.py

The texts of every sixth chapter go into an archive for the tutorial about texts.

The same text and the same compression library give the same file, byte for byte.
"""

import argparse
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "src" / "isotopic" / "datasets" / "kjv.npz"
TEXTS = ROOT / "docs" / "tutorials" / "chapters.zip"

N_VERSES = 31_102
N_CHAPTERS = 1_189
MIN_CHAPTERS = 5  # a term in fewer chapters says little about what goes with what

CHAPTER_HEADING = re.compile(r"(?:[1-3] )?[A-Z][A-Za-z ]* \d+")  # "1 Samuel 3"
VERSE = re.compile(r" +\d+ (?P<text>.+)")  # "  16 For God so loved the world, ..."

# The king's house is about a king, and Ben-hadad is the Benhadad of other verses.
POSSESSIVE_OR_HYPHEN = re.compile(r"'s?\b|(?<=[a-z])-(?=[a-z])")

# scikit-learn's list is of modern English. These do the same work in the English of 1611, or are
# modern and missing there ("shall", "did").
ARCHAIC_STOP_WORDS = """
    thou thee thy thine thyself ye
    art wast wert hath hast hadst having doth dost doest doeth did didst
    shall shalt shouldest wilt wouldest mayest mightest canst couldest let
    say said saith saying sayest spake
    unto forth till lest nigh betwixt
    hither thither hitherto whosoever whatsoever whomsoever whoso whithersoever wheresoever
    thereof therewith thereon thereto thereunto thereat therefrom thereout
    whereof wherewith whereon whereto whereunto wherewithal wherefore
    yea nay verily lo behold o oh ah
    likewise howbeit insomuch forasmuch notwithstanding
"""
# Two entries of scikit-learn's list are subjects here: offerings by fire, and the cry of the poor.
KEPT_WORDS = frozenset({"cry", "fire"})
STOP_WORDS = ENGLISH_STOP_WORDS.union(ARCHAIC_STOP_WORDS.split()) - KEPT_WORDS


def printed_text() -> str:
    """Return the whole text: a heading for each chapter, then an indented line for each verse."""
    one_line_a_verse = ["-l", "100000"]
    return subprocess.run(
        ["bible", *one_line_a_verse, "Gen1:1-Rev22:21"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        encoding="ascii",
        timeout=60,  # it prints in less than a second
    ).stdout


def verses_by_chapter(text: str) -> dict[str, list[str]]:
    """Cut the printed text into chapters, and check that nothing of it is missing."""
    chapters: dict[str, list[str]] = {}
    verses: list[str] = []
    for line in filter(None, text.splitlines()):
        if verse := VERSE.fullmatch(line):
            verses.append(verse["text"])
        elif CHAPTER_HEADING.fullmatch(line):
            verses = chapters.setdefault(line, [])
        else:
            raise ValueError(f"neither a chapter's heading nor a verse: {line!r}")

    found = len(chapters), sum(map(len, chapters.values()))
    if found != (N_CHAPTERS, N_VERSES):
        raise ValueError(f"expected {N_CHAPTERS} chapters and {N_VERSES} verses, found {found}")
    return chapters


def terms(text: str) -> Iterator[str]:
    """Yield the words of a text: runs of letters in lower case, stop words left out."""
    plain = POSSESSIVE_OR_HYPHEN.sub("", text.lower())
    return (word for word in re.findall("[a-z]+", plain) if word not in STOP_WORDS)


def count_terms(chapters: dict[str, list[str]]) -> tuple[sparse.csr_array, list[str]]:
    """Return the counts, chapters by terms, and the terms in alphabetical order."""
    counts = [Counter(terms(" ".join(verses))) for verses in chapters.values()]
    chapters_with = Counter(term for count in counts for term in count)
    vocabulary = sorted(term for term, n in chapters_with.items() if n >= MIN_CHAPTERS)
    column = {term: i for i, term in enumerate(vocabulary)}

    entries = [
        (n, row, column[term])
        for row, count in enumerate(counts)
        for term, n in count.items()
        if term in column
    ]
    data, rows, columns = np.array(entries).T
    X = sparse.csr_array((data, (rows, columns)), shape=(len(counts), len(vocabulary)))
    X.sort_indices()
    if (X.sum(axis=1) == 0).any():
        raise ValueError("a chapter has no terms left")
    return X, vocabulary


def smallest(values: np.ndarray) -> np.ndarray:
    """Return the values in the smallest unsigned type that holds them."""
    return values.astype(np.min_scalar_type(values.max()))


def write_texts(chapters: dict[str, list[str]], path: Path) -> None:
    """Write every sixth chapter as a text file, in a folder for each testament."""
    new = list(chapters).index("Matthew 1")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, verses) in list(enumerate(chapters.items()))[::6]:
            folder = "new" if number >= new else "old"
            member = zipfile.ZipInfo(f"{folder}/{name}.txt")  # of 1980, so the bytes are stable
            archive.writestr(member, "\n".join(verses), zipfile.ZIP_DEFLATED, 9)


def main() -> None:
    """Write the corpus and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", type=Path, default=OUTPUT)
    parser.add_argument("--texts", type=Path, default=TEXTS)
    output, texts = vars(parser.parse_args()).values()

    chapters = verses_by_chapter(printed_text())
    write_texts(chapters, texts)
    X, vocabulary = count_terms(chapters)
    np.savez_compressed(  # NumPy dates every member of the archive 1980, so the bytes are stable
        output,
        shape=np.array(X.shape, dtype=np.int32),
        data=smallest(X.data),
        indices=smallest(X.indices),
        indptr=X.indptr.astype(np.int32),
        feature_names=np.array(vocabulary),
        sample_names=np.array(list(chapters)),
    )
    print(
        f"{output.name}: {X.shape[0]} chapters x {X.shape[1]} terms, {X.nnz} nonzeros, "
        f"{X.sum()} words, {output.stat().st_size / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main()

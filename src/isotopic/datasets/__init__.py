"""Example data that come with the package."""

from importlib.resources import files

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from isotopic.containers import NamedMatrix

__all__ = ["load_kjv"]

_KJV_DESCR = """\
The King James Bible, by chapter
--------------------------------

The number of occurrences of 4,346 terms in the 1,189 chapters of the King James Version (the Old
and the New Testament, 31,102 verses; the text is in the public domain).

Words are runs of letters in lower case; a possessive counts as its noun ("king's" as "king") and
a hyphen inside a word is dropped ("Ben-hadad" as "benhadad"). The vocabulary leaves out the
English stop words of scikit-learn (except "cry" and "fire", which are subjects here), function
words of the English of 1611 (thou, unto, hath, saith, ...), and terms in fewer than five chapters.

Only the counts are stored, not the text. ``tools/make_kjv.py`` in the source tree computes them.
"""


class _Corpus(Bunch):  # type: ignore[misc]  # scikit-learn has no types
    """Counts with names of their rows and columns, which ``fit`` and others take as they are."""

    def named_matrix(self) -> NamedMatrix:
        """Return the counts with the names of samples and features."""
        return NamedMatrix(self.data, self.feature_names, self.sample_names)


def load_kjv() -> Bunch:
    """Return the term counts of the chapters of the King James Bible.

    Returns
    -------
    corpus : sklearn.utils.Bunch
        Every function that takes counts takes it as it is, with its names. The fields are

        data : scipy.sparse.csr_array of shape (1189, 4346), int32
            The number of occurrences of each term in each chapter.
        feature_names : ndarray of str, shape (4346,)
            The terms, in alphabetical order.
        sample_names : ndarray of str, shape (1189,)
            The chapters, in the order of the book: ``"Genesis 1"``, ``"Genesis 2"``, ...
        DESCR : str
            How the terms were chosen and counted.

    Examples
    --------
    >>> from isotopic.datasets import load_kjv
    >>> corpus = load_kjv()
    >>> corpus.data.shape
    (1189, 4346)
    >>> print(corpus.sample_names[0])
    Genesis 1
    >>> from isotopic import LDA
    >>> model = LDA(5, tol=1e-2, random_state=0).fit(corpus)
    >>> print(model.feature_names_in_[0])
    aaron
    """
    with (
        files(__name__).joinpath("kjv.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return _Corpus(
            # The file has the smallest types; callers expect signed integers.
            data=sparse.csr_array(
                (
                    stored["data"].astype(np.int32),
                    stored["indices"].astype(np.int32),
                    stored["indptr"],
                ),
                shape=tuple(stored["shape"].tolist()),
            ),
            feature_names=stored["feature_names"],
            sample_names=stored["sample_names"],
            DESCR=_KJV_DESCR,
        )

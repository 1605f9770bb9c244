"""Data sets that come with the package."""

from importlib.resources import files

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

__all__ = ["load_kjv"]

_KJV_DESCR = """\
The King James Bible, by chapter
--------------------------------

How often each of 4,346 terms occurs in each of the 1,189 chapters of the King James Version
(the Old and the New Testament, 31,102 verses; the text is in the public domain).

Words are runs of letters in lower case; a possessive counts as its noun ("king's" as "king") and
a hyphen inside a word is dropped ("Ben-hadad" as "benhadad"). Left out are scikit-learn's English
stop words (except "cry" and "fire", which are subjects here), function words of the English of
1611 (thou, unto, hath, saith, ...), and terms in fewer than five chapters.

Only the counts are kept, not the text. ``tools/make_kjv.py`` in the source tree makes them.
"""


def load_kjv() -> Bunch:
    """Load the chapters of the King James Bible as counts of terms.

    Returns
    -------
    corpus : sklearn.utils.Bunch
        With the fields

        data : scipy.sparse.csr_array of shape (1189, 4346), int32
            How often each term occurs in each chapter.
        feature_names : ndarray of str, shape (4346,)
            The terms, in alphabetical order.
        sample_names : ndarray of str, shape (1189,)
            The chapters, in the order of the book: ``"Genesis 1"``, ``"Genesis 2"``, ...
        DESCR : str
            A description of what was counted.

    Examples
    --------
    >>> from isotopic.datasets import load_kjv
    >>> corpus = load_kjv()
    >>> corpus.data.shape
    (1189, 4346)
    >>> print(corpus.sample_names[0])
    Genesis 1
    """
    with (
        files(__name__).joinpath("kjv.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return Bunch(
            # The file holds the smallest types; users expect signed ones.
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

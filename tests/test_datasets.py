"""The bundled corpus is what its description says."""

import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from processes import run_python
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from isotopic import NMF
from isotopic.datasets import load_kjv

MAKE_KJV = Path(__file__).parents[1] / "tools" / "make_kjv.py"


@pytest.fixture(scope="module")
def kjv():
    return load_kjv()


def test_fields_agree_with_each_other_and_with_the_description(kjv):
    assert set(kjv) == {"data", "feature_names", "sample_names", "DESCR"}
    assert kjv.data.shape == (len(kjv.sample_names), len(kjv.feature_names)) == (1189, 4346)
    assert f"{kjv.data.shape[0]:,} chapters" in kjv.DESCR
    assert f"{kjv.data.shape[1]:,} terms" in kjv.DESCR


def test_data_are_positive_counts_in_canonical_form(kjv):
    assert isinstance(kjv.data, sparse.csr_array)
    assert kjv.data.dtype == np.int32
    assert kjv.data.has_canonical_format
    assert kjv.data.data.min() == 1


def test_no_chapter_is_empty_and_no_term_is_rare(kjv):
    assert np.diff(kjv.data.indptr).min() > 0
    assert np.diff(kjv.data.tocsc().indptr).min() == 5


def test_terms_are_sorted_words_without_stop_words(kjv):
    terms = kjv.feature_names.tolist()
    assert terms == sorted(set(terms))
    assert all(term.isascii() and term.isalpha() and term.islower() for term in terms)
    assert set(terms) & ENGLISH_STOP_WORDS == {"cry", "fire"}
    assert not set(terms) & {"thou", "thee", "thy", "ye", "unto", "shall", "hath", "saith"}


def test_chapters_are_named_in_the_order_of_the_book(kjv):
    books = [name.rpartition(" ")[0] for name in kjv.sample_names]
    assert len(set(kjv.sample_names)) == 1189
    assert len(set(books)) == 66
    assert books.count("Psalms") == 150
    assert [kjv.sample_names[0], kjv.sample_names[-1]] == ["Genesis 1", "Revelation 22"]


def test_counts_stand_where_the_text_has_them(kjv):
    god = kjv.data[:, [kjv.feature_names.tolist().index("god")]].toarray().ravel()
    count = dict(zip(kjv.sample_names, god, strict=True))
    assert count["Genesis 1"] == 32
    # Esther is the book that never names God.
    assert sum(n for name, n in count.items() if name.startswith("Esther ")) == 0


def test_the_corpus_is_fitted_as_it_is_with_its_names(kjv):
    model = NMF(2, max_iter=2, tol=0, random_state=0).fit(kjv)
    assert model.feature_names_in_.tolist() == kjv.feature_names.tolist()
    assert model.document_info(kjv)["sample"].tolist() == kjv.sample_names.tolist()


def test_every_call_gives_its_own_copy(kjv):
    other = load_kjv()
    other.data.data[:] = 0
    other.feature_names[0] = ""
    assert kjv.data.data.min() == 1
    assert kjv.feature_names[0]


def test_file_is_small():
    assert len(files("isotopic.datasets").joinpath("kjv.npz").read_bytes()) < 300_000


@pytest.mark.skipif(not MAKE_KJV.exists(), reason="needs the source tree")
@pytest.mark.skipif(shutil.which("bible") is None, reason="needs the program of bible-kjv")
def test_tool_makes_the_same_corpus(tmp_path):
    texts = tmp_path / "chapters.zip"
    run_python(MAKE_KJV, tmp_path / "kjv.npz", "--texts", texts)
    bundled_texts = MAKE_KJV.parents[1] / "docs" / "tutorials" / "chapters.zip"
    assert texts.read_bytes() == bundled_texts.read_bytes()
    with (
        np.load(tmp_path / "kjv.npz") as made,
        files("isotopic.datasets").joinpath("kjv.npz").open("rb") as file,
        np.load(file) as bundled,
    ):
        assert set(made) == set(bundled)
        for name in bundled:
            np.testing.assert_array_equal(made[name], bundled[name], strict=True)

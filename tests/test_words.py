"""Words of documents: contractions, HTML, stop words, n-grams, and scripts without spaces."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotopic import read_counts
from isotopic.io import Options
from isotopic.io.markup import readable_text, strip_html
from isotopic.io.words import Analyzer


def terms(text, **options):
    return Analyzer(Options(**options))(text)


def read(tmp_path, *documents, **options):
    (tmp_path / "x.txt").write_text("\n".join(documents), encoding="utf-8")
    return read_counts(tmp_path / "x.txt", **{"min_df": 1, **options}).feature_names.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We don't, I've, they'll", ["we", "don't", "i've", "they'll"]),
        ("We don\u2019t", ["we", "don't"]),
        ("the dog's bone", ["the", "dog", "bone"]),
        ("shouldn't've", ["shouldn't've"]),
        ("l'homme aujourd'hui", ["homme", "aujourd", "hui"]),
        ("dell'arte, O'Brien", ["dell", "arte", "brien"]),
        ("'quoted' words'", ["quoted", "words"]),
        ("x 1 22 b2b", ["22", "b2b"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("cafe\u0301 re\u0301sume\u0301", ["cafe\u0301", "re\u0301sume\u0301"]),
    ],
)
def test_words_are_whole(text, expected):
    assert terms(text, stop_words=None) == expected


def test_contractions_of_stop_words_are_stop_words():
    assert terms("I don't think we've seen what can't be, john'd") == ["think", "seen", "john'd"]
    assert terms("don't stop", stop_words=["Don\u2019t"]) == ["stop"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Good.<br /><br />Bad", "Good.  Bad"),
        ("<p class='x'>A &amp; B&nbsp;C</p>", " A & B\xa0C "),
        ("a <script>var b='<i>'</script>c<!-- d --><STYLE>e{}</style >f", "a  c  f"),
        ("a < b, c > d, <me@example.org>, i <3 you", "a < b, c > d, <me@example.org>, i <3 you"),
        ("<!-- open", "<!-- open"),
        ("<script>open", " open"),
        ("x</div>y<h1>z", "x y z"),
        ("good&lt;br /&gt;bad &amp;lt;", "good bad &lt;"),
        ("<title>A</title><doc>b</doc>", " A  b "),
        ("<!DOCTYPE html><my-part>a<title>", "  a "),
        ("<input type=text> <option selected>", "  <option selected>"),
    ],
)
def test_html_is_stripped(text, expected):
    assert strip_html(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<version> <cluster>",
        "x <unknown to historians> here. if (x <y and zebra> q)",
        "if (i <a and b> c)",
        "copy <input> <output>",
        "&lt version  &copy=3",
        "two  spaces <here>\n\n\n& there",
    ],
)
def test_words_in_brackets_that_are_no_html_are_text(text):
    assert strip_html(text) == text
    assert readable_text(text) == text


def test_the_data_say_in_how_many_documents_there_was_html(tmp_path):
    (tmp_path / "x.txt").write_text("fine <b>film</b>\nfine <version> film\n")
    data = read_counts(tmp_path / "x.txt", keep_text=True)
    assert data.notes == (
        "HTML was left out of 1 of 2 documents; keep_html=True (--keep-html) keeps it",
    )
    assert data.notes[0] in repr(data)
    assert data.documents.tolist()[1].strip() == "fine <version> film"
    assert not read_counts(tmp_path / "x.txt", keep_html=True).notes


def test_a_number_of_documents_that_may_be_a_percentage_warns(tmp_path):
    (tmp_path / "x.txt").write_text("sun moon\n" * 50 + "sun star\n" * 60 + "sun rain\n" * 30)
    with pytest.warns(UserWarning, match=r"more than 30 of the 140 documents.*max_df=0\.3 "):
        data = read_counts(tmp_path / "x.txt", max_df=30)
    assert data.feature_names.tolist() == ["rain"]
    read_counts(tmp_path / "x.txt", max_df=120)  # tests raise on warnings


def test_html_is_stripped_unless_it_is_kept(tmp_path):
    documents = ["fine film<br /><br />fine cast", "<b>film</b> &quot;cast&quot;"]
    assert read(tmp_path, *documents) == ["cast", "film", "fine"]
    assert "br" in read(tmp_path, *documents, keep_html=True)


@given(st.text(alphabet="<>!-/ascript&;#x \n", max_size=200))
def test_text_outside_of_markup_is_left(text):
    plain = text.replace("<", " ").replace("&", " ")
    assert strip_html(plain) == plain
    assert strip_html(f"<p>{plain}</p>") == f" {plain} "


@pytest.mark.parametrize("part", ["<!--", "<script>", "<", "</script ", "<a ", "&", "<style><!--"])
def test_stripping_takes_time_that_grows_with_the_text(part):
    start = time.process_time()
    strip_html(part * 200_000)
    assert time.process_time() - start < 10  # a quadratic one takes hours


def test_ngrams_are_of_words_that_are_counted():
    assert terms("the city of New York", ngrams=2) == ["city new", "new york"]
    assert terms("red red wine", ngrams=(1, 2)) == ["red", "red", "wine", "red red", "red wine"]
    assert terms("red", ngrams=(3,)) == []


def test_ngrams_of_a_vocabulary_are_counted_as_in_the_fit(tmp_path):
    (tmp_path / "x.txt").write_text("the city of new york\nnew york")
    found = read_counts(tmp_path / "x.txt", ngrams=(1, 2), vocabulary=["city new", "the", "york"])
    assert found.counts.toarray().tolist() == [[1, 1, 1], [0, 0, 1]]
    assert found.n_terms == 7 + 3  # the city new york; new york
    found = read_counts(tmp_path / "x.txt", vocabulary=np.array(["the", "york"]))
    assert found.counts.toarray().tolist() == [[1, 1], [0, 1]]


def test_case_and_patterns(tmp_path):
    assert terms("The Cat sat", lowercase=False) == ["Cat", "sat"]
    assert terms("We DON'T, Don't Shout", lowercase=False) == ["Shout"]
    assert terms("DON'T", lowercase=False, stop_words=None) == ["DON'T"]
    assert terms("a-b c-d x", token_pattern=r"\w-\w", stop_words=None) == ["a-b", "c-d"]
    assert terms("#red #blue", token_pattern=r"#(\w+)", stop_words=None) == ["red", "blue"]


def test_stop_words_of_other_languages():
    pytest.importorskip("stop_words")
    assert terms("Der Hund und die Katze", stop_words="german") == ["hund", "katze"]
    assert terms("Der Hund und die Katze", stop_words="DE") == ["hund", "katze"]
    assert terms("ce qu'il est de l'homme", stop_words="french") == ["homme"]
    assert terms("the cat", stop_words="en") == ["cat"]
    with pytest.raises(ValueError, match="no stop words for 'klingon', only for arabic"):
        terms("x", stop_words="klingon")


CHINESE = "机器学习是人工智能的一个分支\uff0c它使用统计方法让计算机系统从数据中学习。"
JAPANESE = "機械学習とは、経験からの学習により自動で改善するコンピューターアルゴリズムである。"
THAI = "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์เช่นเดียวกับภาษาจีน"


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, THAI])
def test_text_without_spaces_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match=r"without spaces between its words.*--token-pattern"):
        read(tmp_path, text, text)
    letters = read(tmp_path, text, text, token_pattern=r"\w")
    assert all(len(letter) == 1 for letter in letters)


@pytest.mark.parametrize(
    "text",
    [
        "机器 学习 是 人工 智能 的 一个 分支 \uff0c 它 使用 统计 方法 让 计算机 从 数据 中 学习",
        "ภาษา ไทย เป็น ภาษา ที่ มี ระดับ เสียง ของ คำ แน่นอน หรือ วรรณยุกต์",
        "한국어 문장은 띄어쓰기를 한다",
        "Русский текст между пробелами",
        "an English text that quotes 机器学习是人工智能 once, and goes on in English after that",
    ],
)
def test_text_with_spaces_is_counted(tmp_path, text):
    assert len(read(tmp_path, text, text)) > 2


def test_samples_of_anndata_are_named_by_a_column(tmp_path):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    cells = pd.DataFrame(
        {
            "barcode": ["AAC", "AAG", "AAT"],
            "kind": pd.Categorical(["T", "B", "T"]),
            "some": pd.Categorical(["T", None, "T"]),
        },
        index=["0", "1", "2"],
    )
    anndata.AnnData(np.eye(3), obs=cells).write_h5ad(tmp_path / "x.h5ad")
    for column, names in {"barcode": ["AAC", "AAG", "AAT"], "kind": ["T", "B", "T"]}.items():
        data = read_counts(tmp_path / "x.h5ad", name_column=column)
        assert data.sample_names.tolist() == names
    with pytest.raises(ValueError, match="obs has no column 'none'; it has "):
        read_counts(tmp_path / "x.h5ad", name_column="none")
    with pytest.raises(ValueError, match="name of a sample or feature is missing"):
        read_counts(tmp_path / "x.h5ad", name_column="some")


WORD_OPTIONS = {
    "text_column": "text",
    "stop_words": None,
    "ngrams": (1, 2),
    "token_pattern": r"\w+",
    "lowercase": False,
    "keep_html": True,
    "min_df": 3,
    "max_df": 0.5,
    "max_features": 10,
    "vocabulary": ["cat"],
    "keep_text": 5,
}


@pytest.mark.parametrize("name", WORD_OPTIONS)
@pytest.mark.parametrize("format", ["npz", "wide", "long", "mtx"])
def test_options_of_documents_are_not_ignored_for_counts(tmp_path, name, format):
    files = {
        "wide": ("x.csv", "id,cat,dog\na,1,2\nb,3,4\n"),
        "long": ("x.csv", "sample,feature,count\na,x,1\na,y,3\nb,y,2\n"),
        "mtx": ("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 3\n"),
    }
    path = tmp_path / "x.npz"
    if format == "npz":
        np.savez(path, np.eye(3))
    else:
        path = tmp_path / files[format][0]
        path.write_text(files[format][1], "utf-8")
    assert read_counts(path).format == format
    with pytest.raises(ValueError, match=rf"{name} would have no effect: the format {format} h"):
        read_counts(path, format=format, **{name: WORD_OPTIONS[name]})


def test_a_column_of_names_is_not_ignored(tmp_path):
    np.savez(tmp_path / "x.npz", np.eye(3))
    with pytest.raises(ValueError, match=r"name_column applies only to .*, but this is npz"):
        read_counts(tmp_path / "x.npz", name_column="id")

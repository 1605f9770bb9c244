"""Tables that can be read in two ways are refused; the error shows the options that settle it."""

import datetime
import decimal
import itertools
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from isotopic import read_counts
from isotopic.cli import main

TEXTS = ["the cat sat on the red mat", "a dog and a cat ran home", "the dog sat on a red mat"]


def refuse(path, match, **options):
    """Check that a file is refused, and that the error shows arguments and command-line options."""
    with pytest.raises(ValueError, match=match) as error:
        read_counts(path, **options)
    message = str(error.value)
    assert str(path) in message
    assert re.search(r"\w+=", message)
    assert re.search(r"--[a-z]+", message)
    return message


def write(path, rows, sep=","):
    path.write_text("".join(sep.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


COLUMNS = {
    "id": ["d1", "d2", "d3"],
    "year": [1999, 2001, 2003],
    "date": ["1999-01-02", "2001-03-04", "2003-05-06"],
    "label": [1, 0, 1],
    "split": ["train", "test", "train"],
    "text": TEXTS,
}


@pytest.mark.parametrize("columns", list(itertools.permutations(["id", "year", "text"])))
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_documents_are_found_in_every_order_of_columns(tmp_path, columns, suffix):
    check_documents(tmp_path / f"x{suffix}", columns)


@pytest.mark.parametrize(
    "columns", [("text", "split", "label"), ("label", "text"), ("date", "text", "label", "split")]
)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_documents_are_found_beside_labels_and_dates(tmp_path, columns, suffix):
    check_documents(tmp_path / f"x{suffix}", columns)


def check_documents(path, columns):
    if path.suffix == ".parquet":
        parquet.write_table(pa.table({name: COLUMNS[name] for name in columns}), path)
    elif path.suffix == ".jsonl":
        rows = [{name: COLUMNS[name][i] for name in columns} for i in range(3)]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        rows = [columns, *zip(*(COLUMNS[name] for name in columns), strict=True)]
        write(path, rows, "\t" if path.suffix == ".tsv" else ",")
    data = read_counts(path, min_df=1)
    assert data.format in ("text-table", "jsonl")
    assert {"cat", "mat"} <= set(data.feature_names)
    assert not {"1999", "train"} & set(data.feature_names)


@pytest.mark.parametrize("columns", list(itertools.permutations(["split", "label", "text"])))
def test_a_text_table_without_a_header_is_refused_and_settled(tmp_path, columns):
    """Read as a long table, train and test would be its words."""
    path = write(tmp_path / "x.tsv", zip(*(COLUMNS[n] for n in columns), strict=True), "\t")
    refuse(path, r"line 1.*may be data.*header=False \(--header no\)")
    text = f"x{columns.index('text')}"
    data = read_counts(path, header=False, text_column=text, min_df=1)
    assert data.counts.shape[0] == 3
    assert "train" not in data.feature_names
    out = tmp_path / "out"
    command = f"fit {path} -k 2 -o {out} --no-report --min-df 1 --header no --text-column {text}"
    assert main(shlex.split(command)) == 0


def test_a_prose_column_with_another_name_is_refused_and_settled(tmp_path):
    for names in (("id", "review", "stars"), ("review", "id", "stars"), ("stars", "review", "id")):
        columns = {"id": COLUMNS["id"], "review": TEXTS, "stars": [5, 3, 1]}
        path = write(tmp_path / "x.csv", [names, *zip(*(columns[n] for n in names), strict=True)])
        refuse(path, "'review' looks like text.*text_column='review' .--text-column review")
        assert "cat" in read_counts(path, text_column="review", min_df=1).feature_names


def test_quoted_prose_with_commas_is_one_column(tmp_path):
    rows = [["id", "text"], *([i, f'"{text}, and, so, on"'] for i, text in enumerate(TEXTS))]
    data = read_counts(write(tmp_path / "x.csv", rows), min_df=1)
    assert data.format == "text-table"
    assert data.counts.shape[0] == 3


def test_two_columns_of_text_are_refused_and_settled(tmp_path):
    rows = [["abstract", "body"], *zip(TEXTS, TEXTS[::-1], strict=True)]
    path = write(tmp_path / "x.csv", rows)
    refuse(path, "'abstract', 'body' hold text; say which")
    assert read_counts(path, text_column="body", min_df=1).format == "text-table"
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"abstract": t, "body": t}) + "\n" for t in TEXTS))
    refuse(path, "line 1 has text in 'body' and 'abstract'")
    assert read_counts(path, text_column="body", min_df=1).format == "jsonl"


def test_one_word_documents_are_refused_and_settled(tmp_path):
    path = write(tmp_path / "x.csv", [["text", "split", "label"], ["good", "train", 1]])
    refuse(path, "'text' may hold documents or names")
    assert read_counts(path, text_column="text", min_df=1).feature_names.tolist() == ["good"]


@pytest.mark.parametrize("columns", [["id", "year", "text"], ["id", "text"]])
@pytest.mark.parametrize("has_header", [True, False])
def test_tables_in_txt_are_not_plain_lines(tmp_path, columns, has_header):
    rows = list(zip(*(COLUMNS[name] for name in columns), strict=True))
    path = write(tmp_path / "x.txt", [columns, *rows] if has_header else rows, "\t")
    refuse(path, "cells separated by tabs.*format='text-table'.*format='text-lines'")
    text = "text" if has_header else f"x{columns.index('text')}"
    data = read_counts(path, format="text-table", text_column=text, header=has_header, min_df=1)
    assert "1999" not in data.feature_names
    assert read_counts(path, format="text-lines", min_df=1).counts.shape[0] == 3 + has_header


@pytest.mark.parametrize("content", ["a,b\n1,2\n3,4\n", "x;1;2\ny;3;4\n", "1 2 3\n4 5 6\n"])
def test_numbers_in_txt_are_not_words(tmp_path, content):
    (tmp_path / "x.txt").write_text(content)
    refuse(tmp_path / "x.txt", "format='text-lines'")


def test_lines_of_prose_are_documents_still(tmp_path):
    (tmp_path / "x.txt").write_text("One, two, three.\nA cat, a dog, a mat.\n")
    assert read_counts(tmp_path / "x.txt", min_df=1).format == "text-lines"


# Long or wide


def test_a_wide_table_with_one_mistake_is_no_long_table(tmp_path):
    rows = [["name", "a", "b"], ["x", 1, 2], ["y", "O", 3], ["z", 4, 5]]
    path = write(tmp_path / "x.csv", rows)
    refuse(path, "'a' holds '1', 'O', '4'. If 'O' is a mistake.*format='long'.*format='wide'")
    with pytest.raises(ValueError, match="line 3, column 'a': 'O' is not a number"):
        read_counts(path, format="wide")
    rows[2][1] = 0
    assert read_counts(write(path, rows)).format == "wide"


def test_a_mistake_in_the_first_column_does_not_make_it_names(tmp_path):
    path = write(tmp_path / "x.csv", [["a", "b", "c", "d"], [1, 2, 0, 5], ["O", 3, 1, 6]])
    refuse(path, "'a' holds numbers and 'O'.*name_column='a'")


def test_a_long_table_whose_samples_have_one_feature_each_is_refused(tmp_path):
    path = write(tmp_path / "x.csv", [["who", "class", "n"], ["a", "x", 3], ["b", "y", 4]])
    refuse(path, "each of the 2 samples has a single feature")
    assert read_counts(path, format="long").counts.shape == (2, 2)


@pytest.mark.parametrize("header", [["i", "j", "x"], None])
def test_triplets_are_not_three_features(tmp_path, header):
    rows = [[0, 1, 3], [0, 4, 1], [2, 0, 5], [2, 1, 1]]
    path = write(tmp_path / "x.csv", rows if header is None else [header, *rows])
    refuse(path, "sample, feature and count, or three features.*format='long'.*format='wide'")
    assert read_counts(path, format="wide").counts.shape == (4, 3)
    assert read_counts(path, format="long").counts.shape == (2, 3)


def test_a_long_table_with_more_columns_is_refused(tmp_path):
    path = write(tmp_path / "x.csv", [["", "sample", "term", "count"], [0, 1, 5, 2], [1, 1, 6, 1]])
    refuse(path, "columns of a long one, 'sample', 'term', 'count', and others.*format='long'")
    assert read_counts(path, format="long").counts.shape == (1, 2)


@pytest.mark.parametrize(
    ("column", "values", "what"),
    [
        ("id", [17, 4, 99], "identifiers"),
        ("doc_id", [3, 1, 2], "identifiers"),
        ("n", [1, 2, 3, 4, 5, 6], "identifiers"),
        ("year", [1999, 1999, 2001], "years"),
        ("timestamp", [1600000000, 1600000001, 1600000002], "years or times"),
        ("label", [0, 1, 0], "labels"),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_that_are_no_counts_are_refused_and_settled(
    tmp_path, column, values, what, place, suffix
):
    if column == "n" and place:
        return  # only a first column numbers the rows
    path = tmp_path / f"x{suffix}"
    counts = [[3, 0, 2, 1, 4, 0], [1, 5, 0, 2, 2, 1], [0, 0, 7, 1, 0, 3]]
    columns = dict(zip(["cat", "dog", "mat"], [c[: len(values)] for c in counts], strict=True))
    items = list(columns.items())
    items.insert(place, (column, values))
    if suffix == ".parquet":
        parquet.write_table(pa.table(dict(items)), path)
    else:
        write(path, [[k for k, _ in items], *zip(*(v for _, v in items), strict=True)])
    message = refuse(path, f"{column!r} seems to hold .*{what}")
    assert f"drop_columns=['{column}'] (--drop-columns {column})" in message
    assert read_counts(path, drop_columns=[column]).feature_names.tolist() == list(columns)
    assert read_counts(path, name_column=column).sample_names.tolist() == list(map(str, values))
    assert read_counts(path, format="wide").counts.shape[1] == 4


def test_rows_that_are_features_are_refused_and_settled(tmp_path):
    path = write(tmp_path / "x.csv", [["gene", "c1", "c2"], ["g1", 1, 2], ["g2", 0, 3]])
    refuse(path, "rows seem to be features.*transpose=True .--transpose.*format='wide'")
    assert read_counts(path, transpose=True).feature_names.tolist() == ["g1", "g2"]
    assert read_counts(path, format="wide").feature_names.tolist() == ["c1", "c2"]


@pytest.mark.parametrize("rows", [[["s1", 3, 0], ["s2", 1, 4]], [["s1", "x", 2], ["s1", "y", 3]]])
def test_a_missing_header_is_noticed_and_settled(tmp_path, rows):
    path = write(tmp_path / "x.csv", rows)
    refuse(path, r"line 1.*may be data.*header=False \(--header no\).*header=True")
    assert read_counts(path, header=False).counts.sum() == sum(
        value for row in rows for value in row if isinstance(value, int)
    )
    named = read_counts(path, header=True, format="wide" if rows[0][1] == 3 else "long")
    assert named.counts.shape[0] == 1


def test_years_may_name_columns(tmp_path):
    years = [str(year) for year in range(1999, 2006)]
    path = write(tmp_path / "x.csv", [["word list", *years], ["cat", *range(7)]])
    assert read_counts(path).feature_names.tolist() == years


# Numbers


@pytest.mark.parametrize(
    "cell",
    [
        "1_000",
        '"1,000"',
        "0x1F",
        "5%",
        "1999-01-02",
        "١٢",
        "1 000",
        "True",
        "\N{MINUS SIGN}3",
        "1.000.000",
    ],
)
@pytest.mark.parametrize("format", ["wide", "long"])
def test_what_is_no_plain_number_is_refused(tmp_path, cell, format):
    rows = [["sample", "a"], *[["s", 1]] * 30, ["t", cell]]
    if format == "long":
        rows = [["sample", "feature", "count"], *[["s", "x", 1]] * 30, ["t", "y", cell]]
    path = write(tmp_path / "x.csv", rows)
    with pytest.raises(ValueError, match=r"line 32, column .* is not a number"):
        read_counts(path)


def test_decimal_commas_and_points_for_thousands_are_refused(tmp_path):
    path = write(tmp_path / "x.csv", [["s", "a", "b", "c"], ["x", "1,5", 2, 3]], ";")
    with pytest.raises(ValueError, match=r"'1,5'"):
        read_counts(path)
    path = write(tmp_path / "x.csv", [["s", "a", "b", "c"], ["x", "1.000", 2, 3]], ";")
    refuse(path, "'1.000' may be a thousand or a fraction")
    assert read_counts(path, format="wide").counts.toarray().tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_are_not_data(tmp_path, end, mark):
    content = mark + end.join(["sample,a,b,c", "x,1,2,3", "y,4,5,6"]) + "\n"
    (tmp_path / "x.csv").write_bytes(content.encode())
    data = read_counts(tmp_path / "x.csv")
    assert data.sample_names.tolist() == ["x", "y"]
    assert data.counts.toarray().tolist() == [[1, 2, 3], [4, 5, 6]]


# Parquet

DAY = datetime.date(2020, 1, 2)
TYPED = {
    "timestamp": pa.array([datetime.datetime(2020, 1, 2)] * 3),
    "date32": pa.array([DAY] * 3),
    "time": pa.array([datetime.time(1, 2)] * 3),
    "duration": pa.array([datetime.timedelta(5)] * 3),
    "text of digits": pa.array(["7", "8", "9"]),
    "dictionary of text": pa.array(["a", "b", "a"]).dictionary_encode(),
    "list": pa.array([[1], [2], [3]]),
    "struct": pa.array([{"a": 1}] * 3),
    "binary": pa.array([b"1", b"2", b"3"]),
    "boolean": pa.array([True, False, True]),
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_columns_of_other_types_are_no_counts(tmp_path, kind, place):
    columns = [("a", pa.array([1, 2, 3])), ("b", pa.array([0, 5, 1])), ("c", pa.array([2, 2, 0]))]
    columns.insert(place, ("odd", TYPED[kind]))
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table(dict(columns)), path)
    is_label = place == 0 and kind != "boolean"
    if not is_label:
        refuse(path, "column 'odd' holds")
    if kind != "boolean":
        with pytest.raises(ValueError, match="column 'odd' holds"):
            read_counts(path, format="wide", name_column="a")
    data = read_counts(path, drop_columns=["odd"])
    assert data.counts.toarray().tolist() == [[1, 0, 2], [2, 5, 2], [3, 1, 0]]


def test_numbers_of_every_type_in_parquet_are_counts(tmp_path):
    table = pa.table(
        {
            "a": pa.array([1, 2, 3], pa.uint8()),
            "b": pa.array([1.5, 2, 3], pa.float32()),
            "c": pa.array([decimal.Decimal("1.25")] * 3),
            "d": pa.array([4, 4, 5]).dictionary_encode(),
        }
    )
    parquet.write_table(table, tmp_path / "x.parquet")
    found = read_counts(tmp_path / "x.parquet").counts.toarray()
    np.testing.assert_array_equal(found, [[1, 1.5, 1.25, 4], [2, 2, 1.25, 4], [3, 3, 1.25, 5]])
    flags = pa.table({"a": [True, False], "b": [True, True]})
    parquet.write_table(flags, tmp_path / "x.parquet")
    assert read_counts(tmp_path / "x.parquet").counts.toarray().tolist() == [[1, 1], [0, 1]]


# Lines of pairs


def test_lines_that_may_be_ldac_or_svmlight_are_refused_and_settled(tmp_path):
    path = tmp_path / "x.dat"
    path.write_text("1 3:2\n1 1:1\n1 2:2\n")
    refuse(path, "may be numbers of pairs or labels.*format='ldac'.*format='svmlight'")
    assert read_counts(path, format="ldac").counts.shape == (3, 4)
    assert read_counts(path, format="svmlight").counts.shape == (3, 3)


def test_dropped_columns_must_exist_and_be_of_a_wide_table(tmp_path):
    path = write(tmp_path / "x.csv", [["s", "a", "b", "c"], ["x", 1, 2, 3]])
    with pytest.raises(ValueError, match="no column 'd'; the columns are 's', 'a'"):
        read_counts(path, drop_columns=["d"])
    (tmp_path / "x.txt").write_text("a cat\na cat\n")
    with pytest.raises(ValueError, match="drop_columns applies only to wide tables"):
        read_counts(tmp_path / "x.txt", drop_columns=["d"])


@pytest.mark.parametrize("number", ["1_0", "\u0663", "0x1", "1,5"])
@pytest.mark.parametrize("name", ["x.svm", "x.ldac", "x.mtx"])
def test_numbers_of_other_kinds_are_refused_in_lines_too(tmp_path, name, number):
    head = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n"
    lines = {"x.svm": f"1 1:{number}", "x.ldac": f"1 1:{number}", "x.mtx": f"{head}1 2 {number}"}
    (tmp_path / name).write_text(lines[name] + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line \d: .* is not (feature:count|a row)"):
        read_counts(tmp_path / name)


def test_decimal_commas_do_not_make_names(tmp_path):
    path = write(tmp_path / "x.csv", [["sample", "a", "b"], ["x", "1,5", 2], ["y", "2,5", 3]], ";")
    refuse(path, "If '1,5' is a mistake, correct it")
    with pytest.raises(ValueError, match="write numbers without separators, and fractions with a"):
        read_counts(path, format="wide")


def test_an_empty_last_column_is_not_the_index(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("sample,a,b,\nx,1,2,\ny,3,4,\n")
    with pytest.raises(ValueError, match="line 2, column '': an empty cell"):
        read_counts(path)

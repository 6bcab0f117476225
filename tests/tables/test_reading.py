"""Tables are read as they were written, and what is no table says so in a sentence."""

import contextlib
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer.tables.reading import Table, TableError, nearest, read_table, separator_of

ROWS = [("zip", "name", "price"), ("01234", 'Ann "A" Lee', "1.5"), ("99999", "Bob; x, y|z", "2")]


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def as_csv(separator):
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in ROWS]
    return "\r\n".join(separator.join(row) for row in quoted) + "\r\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_quotes(tmp_path, separator):
    frame = read_table(written(tmp_path / "t.csv", as_csv(separator))).frame
    assert frame.rows() == [tuple(row) for row in ROWS[1:]]
    assert frame.columns == list(ROWS[0])


def test_rare_separators_empty_lines_and_a_column_without_a_name(tmp_path):
    table = read_table(written(tmp_path / "t.txt", "\n  \nsize   price\n 1.5     2\n10    3 \n"))
    assert table.frame.rows() == [("1.5", "2"), ("10", "3")]
    assert table.separator == " "
    frame = read_table(written(tmp_path / "t.csv", ',a b\n0,"x y"\n1,z\n')).frame
    assert frame.columns == ["unnamed", "a b"]
    assert read_table(written(tmp_path / "one.csv", "a b\nx\ny z\n")).frame.columns == ["a b"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    path = written(tmp_path / "t.csv", "städte,n\nKöln,1\nZürich,2\n", encoding)
    told = pytest.warns(UserWarning, match="read as Windows-1252") if encoding == "cp1252" else contextlib.nullcontext()
    with told:
        frame = read_table(path).frame
    assert frame.columns == ["städte", "n"]
    assert frame["städte"].to_list() == ["Köln", "Zürich"]
    assert read_table(path, encoding).frame.equals(frame)


def test_encodings_that_are_named(tmp_path):
    path = written(tmp_path / "t.csv", "mesto,n\nBrno,1\nPlzeň,2\n", "cp1250")
    assert read_table(path, "cp1250").frame["mesto"].to_list() == ["Brno", "Plzeň"]
    with pytest.raises(TableError, match="There is no encoding 'klingon'"):
        read_table(path, "klingon")
    with pytest.raises(TableError, match="is not in the encoding utf-8"):
        read_table(path, "utf-8")


def test_gz_and_parquet(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n,y\n"))
    zipped = read_table(tmp_path / "t.csv.gz")
    assert zipped.frame["a"].to_list() == ["1", None]
    assert zipped.separator == ","
    pl.DataFrame({"a": [1, 2], "b": ["x", None]}).write_parquet(tmp_path / "t.parquet")
    typed = read_table(str(tmp_path / "t.parquet"))
    assert typed.frame["a"].dtype == pl.Int64
    assert typed.separator == ""


def test_words_that_mean_missing(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "a,b\nNA,1\n?,2\nnull,3\nNAN,4\n")).frame
    assert frame["a"].to_list() == [None, None, None, "NAN"]


def test_pandas_keeps_gaps_and_types():
    frame = pd.DataFrame(
        {
            "n": [1.0, np.nan],
            "i": pd.array([1, None], dtype="Int64"),
            "w": ["x", None],
            "c": pd.Categorical(["u", None]),
            "d": pd.to_datetime(["2020-01-01", None]),
            "b": [True, False],
        }
    )
    found = read_table(frame).frame
    assert [found[name].to_list()[1] for name in "niwcd"] == [None] * 5
    assert found["n"].dtype == pl.Float64
    assert found["b"].to_list() == ["true", "false"]
    assert found["d"].dtype.is_temporal()
    assert found["c"].dtype == pl.Categorical


def test_quotes_between_tabs_are_letters_where_rows_are_whole_without_them(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('a\tb\n1\t"open\n2\tnever "closed\n3\t"or so"\n')
    assert read_table(path).frame["b"].to_list() == ['"open', 'never "closed', '"or so"']
    path.write_text('a\tb\n1\t"tab\tinside"\n2\t"plain"\n')
    assert read_table(path).frame["b"].to_list() == ["tab\tinside", "plain"]


def test_content_has_a_hash(tmp_path):
    a, b = pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [1, 3]})
    assert read_table(a).digest == read_table(a.clone()).digest != read_table(b).digest
    table = read_table(a)
    assert isinstance(table, Table)
    assert read_table(table) is table
    assert len(table) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has no rows"),
        (b"\x89PNG\x00\x00\x1a", "holds binary data"),
        (b"<html><body>no</body></html>", "looks like HTML"),
        (b'{"a": 1}', "looks like HTML, XML, JSON"),
        (b"a,b,a\n1,2,3\n", "two columns named 'a'"),
        (b"1.5,2\n3,4\n", "numbers in place of column names"),
        (b"a,,b\n1,2,3\n", "Column 2 of"),
        (b"a,b\n1,2\n3,4,5\n6,7\n", "Row 3 of"),
        (b'a,b\n"x,1\n2,3\n', "quote that is not closed"),
        (b"\x1f\x8bnothing", "cannot be unpacked"),
        (b"PAR1nothing", "cannot be read"),
    ],
)
def test_what_is_no_table(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        read_table(path)


def test_paths_that_are_none(tmp_path):
    written(tmp_path / "houses.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match=r"did you mean 'houses\.csv'"):
        read_table(tmp_path / "house.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(TableError, match="this is a list"):
        read_table([1, 2])
    with pytest.raises(TableError, match="two columns"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_nearest_names():
    assert nearest("prise", ["price", "zone"]) == "did you mean 'price'?"
    assert nearest("PRICE", ["price", "zone"]).startswith("did you mean 'price'")
    assert nearest("xyz", ["price", "zone"]) == "the columns are 'price', 'zone'."
    assert nearest("xyz", list("abcdefghij"), "losses").endswith("'h' and 2 more.")


def test_a_decimal_comma_is_no_separator():
    assert separator_of("a;b\n1,5;2,5\n3,5;4\n") == ";"


def test_nan_in_frames_is_missing(tmp_path):
    frame = pl.DataFrame({"x": [1.0, float("nan"), None], "w": ["a", None, "b"]})
    assert read_table(frame).frame["x"].null_count() == 2
    frame.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame["x"].null_count() == 2


def test_markers_of_missing_values_may_have_spaces(tmp_path):
    text = "age, work, kind\n39, State, a\n?, ?, b\n NA,\tnull , \n"
    frame = read_table(written(tmp_path / "t.csv", text)).frame
    assert frame["age"].to_list() == ["39", None, None]
    assert frame["work"].to_list() == [" State", None, None]
    assert frame["kind"].to_list() == [" a", " b", None]


def test_a_cell_that_never_ends(tmp_path):
    for text in ('a,b\n1,"' + 140_000 * "x" + '"\n', '"a,' + 140_000 * "x" + "\n1,2\n"):
        with pytest.raises(TableError, match=r"field larger than field limit.*a quote that is not closed"):
            read_table(written(tmp_path / "t.csv", text))

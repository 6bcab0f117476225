"""Rules by which columns are numbers, categories, dates, texts, sequences, ids or nothing."""

import datetime

import numpy as np
import polars as pl
import pytest
from each_case import each

from representer.tables.column_types import column_types, parsed_dates, type_of
from representer.tables.reading import TableError, read_table

N = 60
RNG = np.random.default_rng(0)


def words(values):
    return pl.Series("x", [None if value is None else str(value) for value in values], pl.String)


@each(
    ("values", "kind", "how"),
    [
        ([None] * N, "empty", ""),
        (["k"] * N, "constant", ""),
        ([f"{i / 7:.3f}" for i in range(N)], "number", ""),
        ([f"{i}e-3" for i in range(N)], "number", ""),
        ([f"{i},5" for i in range(N)], "number", ","),
        ([f"0.{i}" for i in range(N)], "number", ""),
        ([i % 2 for i in range(N)], "number", ""),
        ([f"0{i % 9}234" for i in range(N)], "category", ""),
        ([["red", "blue"][i % 2] for i in range(N)], "category", "words"),
        ([f"2020-01-{1 + i % 28:02d}" for i in range(N)], "date", "%Y-%m-%d"),
        ([f"{1 + i % 28:02d}.03.2020" for i in range(N)], "date", "%d.%m.%Y"),
        ([f"{1 + i % 12:02d}/{1 + i % 28:02d}/2020" for i in range(N)], "date", "%m/%d/%Y"),
        ([f"{1 + i % 28:02d}/{1 + i % 12:02d}/2020" for i in range(N)], "date", "%d/%m/%Y"),
        ([f"2020-01-05 {i % 24:02d}:30" for i in range(N)], "date", "%Y-%m-%d %H:%M"),
        ([f"2020-01-05T{i % 24:02d}:30:00Z" for i in range(N)], "date", "%Y-%m-%dT%H:%M:%SZ"),
        ([f"{i % 24}:15" for i in range(N)], "date", "%H:%M"),
        ([f"2020-01-05T{i % 24:02d}:30:00.25Z" for i in range(N)], "date", "%Y-%m-%dT%H:%M:%S%.fZ"),
        ([f"2020-01-05T{i % 24:02d}:30:00+02:00" for i in range(N)], "date", "%Y-%m-%dT%H:%M:%S%.f%z"),
        ([f"01/{1 + i % 28:02d}/2020 11:{i:02d} PM" for i in range(N)], "date", "%m/%d/%Y %I:%M %p"),
        ([f"{1 + i % 12:02d}/{1 + i % 28:02d}/98" for i in range(N)], "date", "%m/%d/%y"),
        ([f"{1 + i % 28:02d} July 2020" for i in range(N)], "date", "%d %B %Y"),
        ([f"Jul {1 + i % 28}, 2020" for i in range(N)], "date", "%b %d, %Y"),
        ([f"{1 + i % 12},{100 + i},000" for i in range(N)], "number", "1,000.0"),
        ([f"{i},234.5" if i % 2 else f"{i}" for i in range(N)], "number", "1,000.0"),
        ([f"{i}.234,5" for i in range(N)], "number", "1.000,0"),
        ([f"{i}.234" for i in range(N)], "number", ""),
        ([f"{i},234" for i in range(N)], "number", ","),
        (["".join(RNG.choice(list("ACGT"), 12)) for _ in range(N)], "sequence", "words"),
        (["".join(RNG.choice(list("MKVLAER"), 15)) for _ in range(N)], "sequence", "words"),
        ([f"a long text number {i}" for i in range(N)], "text", "words"),
        ([f"user{i}" for i in range(N)], "id", ""),
        (range(5, N + 5), "id", ""),
        ([f"w{i % 40}" for i in range(N)], "text", "words"),
        (["x", None] * (N // 2), "category", "words"),
    ],
)
def test_rules(values, kind, how):
    found = type_of(words(values))
    assert (found.type, found.format) == (kind, how)
    assert found.used == (kind not in ("empty", "constant", "id"))


def test_commas_in_a_file_that_they_separate_are_of_thousands():
    found = type_of(words([f"{i},234" if i else "950" for i in range(N)]), commas_separate=True)
    assert (found.type, found.format, found.why) == ("number", "1,000.0", "numbers from 950 to 59234")
    assert type_of(words([f"{i},5" for i in range(N)]), commas_separate=True).format == ","
    assert type_of(words([f"{i},234" for i in range(N)]), "number", commas_separate=True).format == "1,000.0"


def test_days_and_months_that_can_be_exchanged_are_told():
    assert type_of(words([f"0{1 + i % 9}/03/2020" for i in range(N)])).why.endswith("the day first")
    assert "first" not in type_of(words([f"{13 + i % 9}/03/2020" for i in range(N)])).why


def test_a_few_words_among_numbers_are_told():
    why = type_of(words(["-" if i % 3 == 0 else f"{i}.5" for i in range(N)])).why
    assert why.endswith("though 40 of 60 are numbers; leave cells such as '-' empty if all are")


def test_counts_of_gaps_and_values():
    found = type_of(words(["1.5", None, "2.5", "1.5"]))
    assert (found.missing, found.distinct) == (1, 2)


def test_integers_are_ids_by_name_or_by_counting():
    shuffled = RNG.permutation(10_000)[:N]
    assert type_of(pl.Series("customer_id", shuffled)).type == "id"
    assert type_of(pl.Series("area", shuffled)).type == "number"
    assert type_of(pl.Series("area", np.arange(N)[::-1].copy())).type == "id"


def test_typed_columns_keep_their_types():
    assert type_of(pl.Series("x", ["1", "2"] * 30)).type == "number"  # words of a file
    assert type_of(pl.Series("x", [True, False])).type == "category"
    assert type_of(pl.Series("x", ["1", "2"]).cast(pl.Categorical)).type == "category"
    assert type_of(pl.Series("x", [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)])).type == "date"
    assert type_of(pl.Series("x", [[1], [2]])).type == "skipped"


def test_declared_types_win():
    table = read_table(pl.DataFrame({"zip": ["1234", "5678"], "note": ["a", "b"]}))
    found = column_types(table, {"zip": "category", "note": "skipped"})
    assert [found[name].type for name in ("zip", "note")] == ["category", "skipped"]
    assert found["zip"].why == "declared by you"
    with pytest.raises(TableError, match="did you mean 'zip'"):
        column_types(table, {"zipp": "category"})
    with pytest.raises(TableError, match="one of number, category"):
        column_types(table, {"zip": "words"})
    with pytest.raises(TableError, match="none of the known forms"):
        column_types(table, {"note": "date"})


def test_times_of_day_are_moments_of_one_day():
    found = parsed_dates(pl.Series("x", ["06:00", "nonsense"]), "%H:%M")
    assert found.to_list() == [datetime.datetime(2000, 1, 1, 6), None]

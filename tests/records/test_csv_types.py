"""What the columns of a CSV hold is found out, wherever in the file it is said; and so is what parts its fields."""

from __future__ import annotations

import csv
import io
import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin.records import read_events
from tocsin.records.csv_values import convert_column

BLOCK = 1 << 20
"""Bytes of a block of a CSV, at least."""

WORDS = ["NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", ""]


def matched(where: str, path: Path, **options: str) -> list[int]:
    return tocsin.match([{"id": "s", "where": where}], path, **options).table["event"].to_pylist()


def written(path: Path, header: str, lines: list[str]) -> Path:
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("before", ["", "NA", " null "])
def test_a_column_without_values_in_its_first_blocks(before: str, tmp_path: Path) -> None:
    """It is of the type of the first values that it has, two megabytes later."""
    filler = "x" * 100
    count = 3 * BLOCK // 100
    lines = [f"{before},{filler}"] * count
    lines[-2:] = [f"5,{filler}", f"7,{filler}"]

    path = written(tmp_path / "late.csv", "n,f", lines)

    assert matched("n > 4 AND n < 6", path) == [count - 2]
    assert len(matched("n IS NULL", path)) == count - 2


def test_null_words_before_text_are_text(tmp_path: Path) -> None:
    """NA is Namibia where the column is of countries, even if a whole block says nothing else."""
    filler = "x" * 1000
    count = 2 * BLOCK // 1000
    path = written(tmp_path / "countries.csv", "country,f", [*[f"NA,{filler}"] * count, f"DE,{filler}"])

    assert len(matched("country = 'NA'", path)) == count
    assert matched("country = 'DE'", path) == [count]


@pytest.mark.parametrize("word", WORDS)
def test_null_words_among_numbers_are_absence(word: str, tmp_path: Path) -> None:
    path = written(tmp_path / "n.csv", "n,d", ["1,2024-05-31", f"{word},{word}", "3,2024-06-01"])

    answer = tocsin.match([{"id": "null", "where": "n IS NULL AND d IS NULL"}, {"id": "n", "where": "n >= 1"}], path)

    assert [tuple(row.values()) for row in answer.table.to_pylist()] == [(0, "n"), (1, "null"), (2, "n")]
    assert not answer.errors
    assert matched("d > DATE('2024-05-31')", path) == [2]


def test_a_column_of_null_words_alone_is_text(tmp_path: Path) -> None:
    path = written(tmp_path / "n.csv", "n,m", ["NA,1", ",2"])

    assert matched("n = 'NA'", path) == [0]
    assert matched("n IS NULL", path) == [1]


def test_what_is_no_number_among_many_is_a_misfit(tmp_path: Path) -> None:
    """It is reported with its row; where it is no exception, the column is text."""
    lines = [str(n) for n in range(40)]
    lines[7] = "unknown"

    answer = tocsin.match([{"id": "s", "where": "n < 10"}], written(tmp_path / "n.csv", "n", lines))
    assert answer.table["event"].to_pylist() == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    (reject,) = answer.errors
    assert (reject.row, reject.field) == (7, "n")
    assert "'unknown' is not a number" in reject.reason and "schema={'n': 'string'}" in reject.reason

    codes = written(tmp_path / "codes.csv", "code", ["12", "A7", "13", "B9", "14"])
    assert matched("code = '12' OR code = 'A7'", codes) == [0, 1]


def test_instants_with_a_word_among_them(tmp_path: Path) -> None:
    lines = [f"2024-05-{day:02}T08:00:00Z" for day in range(1, 31)]
    lines[4] = "soon"

    answer = tocsin.match(
        [{"id": "s", "where": "t >= TIMESTAMP('2024-05-29T00:00:00Z')"}], written(tmp_path / "t.csv", "t", lines)
    )

    assert answer.table["event"].to_pylist() == [28, 29]
    assert [reject.row for reject in answer.errors] == [4]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_recognised(delimiter: str, tmp_path: Path) -> None:
    rows = [["name", "price", "note"], ["a; b, c", "5", "x|y"], ["d", "7", "tab\there"], ["", "9", 'say "so"']]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    path = tmp_path / "some.csv"
    path.write_text(text.getvalue(), "utf-8")

    assert matched("price > 6", path) == [1, 2]
    assert matched("name = 'a; b, c' AND note = 'x|y'", path) == [0]
    assert matched("price > 6", path, delimiter=delimiter) == [1, 2]


def test_subscriptions_with_semicolons(tmp_path: Path) -> None:
    path = written(tmp_path / "subscriptions.csv", "id;where", ["a;price > 5", "b;price IN (1, 2, 3)"])

    assert tocsin.match(path, [{"price": 2}]).table["subscription"].to_pylist() == ["b"]


def test_a_delimiter_that_is_given_goes_before_what_is_recognised(tmp_path: Path) -> None:
    path = written(tmp_path / "odd.csv", "a:b,c", ["1:2,3"])

    assert matched("a = 1 AND \"b,c\" = '2,3'", path, delimiter=":") == [0]


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "é", 5])
def test_what_is_no_delimiter(delimiter: str, tmp_path: Path) -> None:
    with pytest.raises(tocsin.InvalidInput, match=r"delimiter is .* must be one character"):
        matched("a = 1", written(tmp_path / "a.csv", "a", ["1"]), delimiter=delimiter)


def test_a_delimiter_for_what_is_no_csv(tmp_path: Path) -> None:
    for source in ([{"a": 1}], b'{"a": 1}', tmp_path / "a.jsonl"):
        with pytest.raises(tocsin.InvalidInput, match="a delimiter is for CSV files"):
            tocsin.match([{"id": 1, "where": "a = 1"}], source, delimiter=";")


@given(st.integers(0, 2**32), st.sampled_from([",", ";", "\t", "|"]), st.integers(2, 6))
def test_any_table_is_read_as_it_was_written(seed: int, delimiter: str, width: int) -> None:
    """Numbers and blanks: as JSON has them."""
    dice = random.Random(seed)
    rows = [[dice.choice([None, dice.randint(-50, 50), 1.5]) for _ in range(width)] for _ in range(dice.randint(1, 30))]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([[f"c{n}" for n in range(width)], *rows])
    asked = [{"id": n, "where": f"c{n} >= 0 OR c{n} IS NULL"} for n in range(width)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.csv"
        path.write_text(text.getvalue(), "utf-8")
        found = tocsin.match(asked, path).table.to_pylist()

    objects = [{f"c{n}": value for n, value in enumerate(row) if value is not None} for row in rows]
    assert found == tocsin.match(asked, objects).table.to_pylist()


FIELDS = st.one_of(
    st.sampled_from(
        [b"1", b" 3 ", b"+4", b"1e5", b"inf", b".5", b"5.", b"0x10", b"N/A", b"$17", b"abc", b"\xff\xfe", b" "]
    ),
    st.sampled_from([b"9007199254740993", b"-99999999999999999999999", b"true", b"FALSE", b"yes", b"1717142400"]),
    st.sampled_from([b"2024-05-31", b"2024-05-31T08:00:00+02:00", b"2024-05-31 08:00", b"2024-13-99", b"05/31/2024"]),
    st.binary(max_size=3),
    st.none(),
)


@given(st.lists(FIELDS, max_size=12), st.sampled_from(["number", "string", "boolean", "instant", "instant(ms)"]))
def test_a_field_is_read_as_it_would_be_by_itself(fields: list[bytes | None], kind: str) -> None:
    """What its column also holds changes neither its value nor the reason why it has none."""
    values, problems = convert_column(pa.array(fields, pa.binary()), kind, "c")
    alone = [convert_column(pa.array([field], pa.binary()), kind, "c") for field in fields]

    assert values.to_pylist() == [value.to_pylist()[0] for value, _ in alone]
    assert problems == [(place, reason) for place, (_, found) in enumerate(alone) for _, reason in found]


def test_only_columns_that_are_asked_for_are_converted(tmp_path: Path) -> None:
    """Other columns still name what was misspelt; those of the schema are checked."""
    path = tmp_path / "wide.csv"
    path.write_text("a.b,price,note\n1,x,2\n2,5,3\n")
    kept = [chunk.table.column_names for chunk in read_events(path, lambda name: name == "a.b")]
    assert kept == [["a.b"]]
    assert [len(chunk) for chunk in read_events(path, lambda _: False)] == [2]
    answer = tocsin.match([{"id": 1, "where": "a.b = 2"}, {"id": 2, "where": "prise = 5"}], path)
    assert answer.table["subscription"].to_pylist() == [1] and not answer.errors
    assert any("did you mean price?" in str(warning) for warning in answer.warnings)
    answer = tocsin.match({"id": 1, "where": "a.b = 2"}, path, schema={"price": "number"})
    assert [(reject.row, reject.field) for reject in answer.errors] == [(0, "price")]

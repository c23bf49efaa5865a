"""Rows of a CSV keep their values, their numbers and their lines, whatever lies beside them in their block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tocsin

ONE = [{"id": "one", "where": "n = 1"}]
BEYOND = [{"id": "x", "where": "n = 9007199254740992"}]


def csv(tmp_path: Path, data: str | bytes) -> Path:
    path = tmp_path / "records.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


def test_a_fraction_beside_a_misfit_keeps_its_value(tmp_path: Path) -> None:
    """A misfit leaves the other numbers of its block as they were written."""
    lines = ["10,some text to fill blocks"] * 120_000
    lines[110_000], lines[110_001] = "1.5,x", "abc,x"

    answer = tocsin.match([*ONE, {"id": "half", "where": "n = 1.5"}], csv(tmp_path, "n,s\n" + "\n".join(lines) + "\n"))

    assert pairs(answer) == [(110_000, "half")]


def test_whole_numbers_beyond_2_53_beside_fractions_are_of_no_type(tmp_path: Path) -> None:
    """A whole number beyond 2**53 in a column of fractions is of no type and reported."""
    answer = tocsin.match(BEYOND, csv(tmp_path, "n,s\n9007199254740993,a\n1.5,b\n"))

    assert pairs(answer) == []
    assert [reject.row for reject in answer.errors] == [0]


def test_whole_numbers_beyond_2_53_under_a_schema_are_of_no_type(tmp_path: Path) -> None:
    """A whole number beyond 2**53 in a column that the schema types as numbers is of no type and reported."""
    answer = tocsin.match(BEYOND, csv(tmp_path, "n,s\n9007199254740993,a\n"), schema={"n": "number"})

    assert pairs(answer) == []
    assert [reject.row for reject in answer.errors] == [0]


def test_bad_rows_of_every_block_keep_their_numbers(tmp_path: Path) -> None:
    """Rows with the wrong number of fields are reported under their own numbers, whichever block they lie in."""
    bad = [5, 150_000, 200_000, 299_999]
    lines = [f"{row % 7},x{row}" for row in range(300_000)]
    for row in bad:
        lines[row] = "1,2,3"

    answer = tocsin.match(
        [{"id": "x", "where": "n = 3 OR s = 'x299998'"}], csv(tmp_path, "n,s\n" + "\n".join(lines) + "\n")
    )

    assert [reject.row for reject in answer.errors] == bad
    assert answer.table["event"].to_pylist() == [
        row for row in range(300_000) if (row % 7 == 3 or row == 299_998) and row not in bad
    ]


def test_lines_of_bad_rows_count_every_line_break(tmp_path: Path) -> None:
    """The line of a bad row counts blank lines and line breaks in quotes."""
    answer = tocsin.match(ONE, csv(tmp_path, 'n,s\n1,"a\nb\nc"\n\n1,2,3\n'))

    assert "line 6" in answer.errors[0].reason


def test_a_cell_larger_than_a_block_leaves_the_other_rows_alone(tmp_path: Path) -> None:
    """The rows beside a cell of megabytes are served."""
    answer = tocsin.match(ONE, csv(tmp_path, "n,s\n1,a\n1," + "x" * 3_000_000 + "\n1,b\n"))

    served = pairs(answer)
    assert served[0] == (0, "one")
    assert served[-1] == (2, "one")


@pytest.mark.parametrize(
    ("data", "coding"),
    [(b"n,\xff\n1,2\n", "WINDOWS-1252"), ("n,s\n1,2\n".encode("utf-16"), "UTF-16")],
    ids=["header", "utf-16"],
)
def test_a_header_that_is_not_utf8_is_refused(data: bytes, coding: str, tmp_path: Path) -> None:
    """The names of columns are UTF-8, or the file is refused, with a command that probably converts it."""
    with pytest.raises(tocsin.InvalidInput, match=f"iconv -f {coding} -t UTF-8"):
        tocsin.match(ONE, csv(tmp_path, data))


def test_a_header_without_a_line_break_has_no_rows(tmp_path: Path) -> None:
    """The end of the file ends the header."""
    assert tocsin.match(ONE, csv(tmp_path, "n,s")).stats.events == 0


def test_an_unknown_type_in_a_schema_is_refused(tmp_path: Path) -> None:
    """A schema names the types of the language and no other."""
    with pytest.raises(tocsin.InvalidInput):
        tocsin.match(ONE, csv(tmp_path, "n,s\n1,2\n"), schema={"n": "float"})


def test_a_bad_score_costs_the_others_nothing(tmp_path: Path) -> None:
    """A score that is no number is one reject, and the scores beside it hold."""
    path = csv(tmp_path, "id,where,score\na,n = 1,2\nb,n = 1,x\nc,n = 1,\n")

    answer = tocsin.match(path, [{"n": 1}], ranking=tocsin.Top(9))

    assert pairs(answer) == [(0, "a"), (0, "c")]


def test_a_subscription_with_a_bad_score_is_not_accepted_in_any_block(tmp_path: Path) -> None:
    """A subscription whose score is no number is rejected and matches nothing, after many blocks too."""
    rows = "".join(f"i{number},n = 2,1\n" for number in range(90_000))

    answer = tocsin.match(csv(tmp_path, "id,where,score\n" + rows + "bad,n = 1,x\n"), [{"n": 1}])

    assert [reject.id for reject in answer.errors] == ["bad"]
    assert pairs(answer) == []


def test_a_misfit_among_subscriptions_is_one_reject(tmp_path: Path) -> None:
    """A subscription whose text is not UTF-8 is reported once."""
    answer = tocsin.match(csv(tmp_path, b"id,where\n1,n = 1\n2,n = \xff\n"), [{"n": 1}])

    assert len(answer.errors) == 1


@pytest.mark.parametrize("column", [0, 1])
def test_a_quote_that_is_never_closed_is_told(tmp_path: Path, column: int) -> None:
    """All behind it is one record, of as many fields as the header or not: that is a reject, and no event."""
    lines = ["a,b", "5,x", ('"5,oops', '5,"oops')[column], "5,y", "5,z"]
    (tmp_path / "e.csv").write_text("\n".join(lines) + "\n")

    answer = tocsin.match([{"id": "five", "where": "a = 5"}], tmp_path / "e.csv")

    assert [(row["event"], row["subscription"]) for row in answer] == [(0, "five")]
    [reject] = answer.errors
    assert (reject.row, reject.reason[:50]) == (1, "line 3: a quote is never closed, so that everythin")
    assert not reject.reason.endswith("\n")


@pytest.mark.parametrize(("name", "told"), [("Pries", "did you mean Preis?"), ("x", 'it has Preis, "a b"')])
def test_a_column_of_the_schema_that_is_not_there(name: str, told: str, tmp_path: Path) -> None:
    """The nearest name, or all of them, as a condition writes them."""
    with pytest.raises(tocsin.InvalidInput, match=f"has no column {name}, which the schema names; {re.escape(told)}$"):
        tocsin.match(ONE, csv(tmp_path, "Preis,a b\n1,2\n"), schema={name: "number"})


def test_a_quote_that_ends_with_the_file_is_closed(tmp_path: Path) -> None:
    """Without a line break behind it; of several lines; doubled."""
    for last in ('5,"y"', '5,"y\nz"', '5,"y""z"', '5,""', '5,""""'):
        (tmp_path / "e.csv").write_text(f"a,b\n5,x\n{last}")
        answer = tocsin.match([{"id": "five", "where": "a = 5"}], tmp_path / "e.csv")
        assert (len(answer), answer.errors) == (2, [])

"""How CSV columns get their types, and what becomes of fields and rows that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin

ONE = [{"id": "one", "where": "n = 1"}]


def csv(tmp_path: Path, data: str | bytes) -> Path:
    path = tmp_path / "events.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


def places(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(reject.row, reject.field) for reject in answer.errors]


def subscriptions(**wheres: str) -> list[dict[str, str]]:
    return [{"id": name, "where": where} for name, where in wheres.items()]


def test_the_first_block_types_the_columns(tmp_path: Path) -> None:
    """Numbers, booleans, dates, times and text are told apart by what the first block holds."""
    path = csv(tmp_path, "i,f,b,d,t,s\n1,1.5,true,2024-05-31,2024-05-31T08:15:00Z,1a\n2,2,false,,,true\n")
    asked = subscriptions(
        i="i = 1",
        f="f = 1.5",
        b="b AND b <> FALSE",
        d="d = DATE('2024-05-31')",
        t="t = TIMESTAMP('2024-05-31T08:15:00Z')",
        s="s = '1a'",
        text="s = 'true'",
        whole="f = 2 AND NOT b",
    )

    answer = tocsin.match(asked, path)

    assert pairs(answer) == [*((0, name) for name in "bdfist"), (1, "text"), (1, "whole")]
    assert answer.errors == []


@pytest.mark.parametrize(
    ("kind", "where"),
    [("number", "v = 1"), ("string", "v = '1'"), ("boolean", "v = TRUE")],
)
def test_a_schema_types_a_column(kind: str, where: str, tmp_path: Path) -> None:
    """The schema's type goes before what the values look like."""
    answer = tocsin.match(subscriptions(x=where), csv(tmp_path, "v,w\n1,a\n0,b\n"), schema={"v": kind})

    assert pairs(answer) == [(0, "x")]
    assert answer.errors == []


def test_a_schema_of_instants(tmp_path: Path) -> None:
    """Dates, local times and times with a zone are instants; without a zone they are in UTC."""
    texts = ["2024-05-31", "2024-05-31T08:15:00", "2024-05-31 10:15:00+02:00", " 2024-05-31T08:15:00Z ", "31 May"]
    asked = subscriptions(
        day="v = DATE('2024-05-31')",
        moment="v = TIMESTAMP('2024-05-31T08:15:00Z')",
        null="v IS NULL",
        text="v = '31 May'",
    )

    answer = tocsin.match(asked, csv(tmp_path, "v\n" + "\n".join(texts) + "\n"), schema={"v": "instant"})

    assert pairs(answer) == [(0, "day"), (1, "moment"), (2, "moment"), (3, "moment")]
    assert places(answer) == [(4, "v")]


def test_misfits_are_present_and_of_no_type(tmp_path: Path) -> None:
    """A value that does not fit its column is reported, IS NULL is FALSE of it, and everything else UNKNOWN."""
    path = csv(tmp_path, "v,w\n1,a\nabc,b\n,c\n")
    asked = subscriptions(null="v IS NULL", present="v IS NOT NULL", text="v = 'abc'", other="v <> 1", b="w = 'b'")

    answer = tocsin.match(asked, path, schema={"v": "number"})

    assert pairs(answer) == [(0, "present"), (1, "b"), (1, "present"), (2, "null")]
    assert places(answer) == [(1, "v")]
    assert "'abc' is not a number" in answer.errors[0].reason


@pytest.mark.parametrize(("kind", "text"), [("number", "1x"), ("boolean", "maybe"), ("instant", "2024-13-01")])
def test_a_misfit_costs_its_row_nothing_else(kind: str, text: str, tmp_path: Path) -> None:
    """The other columns of a row with a misfit are served."""
    path = csv(tmp_path, f"v,n\n{text},1\n,1\n")

    answer = tocsin.match(ONE, path, schema={"v": kind})

    assert pairs(answer) == [(0, "one"), (1, "one")]


def test_later_blocks_keep_the_first_blocks_types(tmp_path: Path) -> None:
    """Text in a column whose first block is numbers is a misfit; fractions after whole numbers are numbers."""
    count = 120_000
    lines = [f"{i % 5 + 10},some text to fill blocks" for i in range(count)]
    lines[0], lines[110_000], lines[-1] = "1,x", "1.5,x", "1,x"
    asked = subscriptions(one="n = 1", half="n > 1 AND n < 2 AND s = 'x'", text="n = 'abc'", null="n IS NULL")

    fraction = tocsin.match(asked, csv(tmp_path, "n,s\n" + "\n".join(lines) + "\n"))
    lines[110_000] = "abc,x"
    misfit = tocsin.match(asked, csv(tmp_path, "n,s\n" + "\n".join(lines) + "\n"))

    assert pairs(fraction) == [(0, "one"), (110_000, "half"), (count - 1, "one")]
    assert fraction.errors == []
    assert pairs(misfit) == [(0, "one"), (count - 1, "one")]
    assert places(misfit) == [(110_000, "n")]


def test_an_empty_field_is_absent_and_quotes_are_an_empty_string(tmp_path: Path) -> None:
    """Nothing between two commas is absence, `""` the empty string."""
    path = csv(tmp_path, 's,n\n,1\n"",2\nx,3\n')

    answer = tocsin.match(subscriptions(null="s IS NULL", empty="s = ''"), path)

    assert pairs(answer) == [(0, "null"), (1, "empty")]
    assert answer.errors == []


def test_rows_with_the_wrong_number_of_fields_are_rejects(tmp_path: Path) -> None:
    """A row too long or too short is reported with its row and line, and keeps its number."""
    path = csv(tmp_path, "n,s\n1,a\n1,2,3\n1,b\n1\n2,c\n1,d\n")

    answer = tocsin.match(ONE, path)

    assert pairs(answer) == [(0, "one"), (2, "one"), (5, "one")]
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(1, None, ""), (3, None, "")]
    assert "line 3: 3 fields; the header has 2" in answer.errors[0].reason
    assert "line 5: 1 fields; the header has 2" in answer.errors[1].reason
    assert answer.stats.events == 6


def test_a_quoted_field_may_span_lines(tmp_path: Path) -> None:
    """A line break within quotes is part of the field; rows count records, not lines."""
    path = csv(tmp_path, 'n,s\n2,"a\nb"\n1,"x ""y"", z"\n')
    asked = [*ONE, *subscriptions(two="s = 'a\nb'", quotes="s = 'x \"y\", z'")]

    answer = tocsin.match(asked, path)

    assert pairs(answer) == [(0, "two"), (1, "one"), (1, "quotes")]


def test_cells_that_are_not_utf8_are_misfits(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are of no type and reported, in text and in numbers; the rest is served."""
    path = csv(tmp_path, b"n,s\n1,ok\n1,\xff\xfe\n\xff,ok\n1,ok\n")

    answer = tocsin.match([*ONE, *subscriptions(ok="s = 'ok'", null="s IS NULL")], path, schema={"n": "number"})

    assert pairs(answer) == [(0, "ok"), (0, "one"), (1, "one"), (2, "ok"), (3, "ok"), (3, "one")]
    assert sorted(places(answer)) == [(1, "s"), (2, "n")]
    assert all("UTF-8" in reject.reason for reject in answer.errors)


def test_numbers_that_float64_cannot_hold(tmp_path: Path) -> None:
    """Whole numbers beyond 2**53 and infinite ones are of no type and reported; `nan` is absence."""
    whole = tocsin.match(
        [*ONE, *subscriptions(present="n IS NOT NULL", big="n > 5")], csv(tmp_path, "n,s\n9007199254740993,a\n1,b\n")
    )
    fractions = tocsin.match(
        subscriptions(null="n IS NULL", big="n > 5"), csv(tmp_path, "n,s\n1e400,a\n1.5,b\nnan,c\n")
    )

    assert pairs(whole) == [(0, "present"), (1, "one"), (1, "present")]
    assert places(whole) == [(0, "n")]
    assert pairs(fractions) == [(2, "null")]
    assert places(fractions) == [(0, "n")]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    """A BOM before the header is skipped."""
    assert pairs(tocsin.match(ONE, csv(tmp_path, "\ufeffn,s\n1,a\n"))) == [(0, "one")]


@pytest.mark.parametrize("text", ["", "n,s\n"])
def test_a_file_without_rows_has_no_events(text: str, tmp_path: Path) -> None:
    """An empty file and a lone header are no events, and no error."""
    answer = tocsin.match(ONE, csv(tmp_path, text))

    assert (len(answer), answer.errors, answer.stats.events) == (0, [], 0)
    assert answer.table.column_names == ["event", "subscription"]


def test_the_last_line_needs_no_line_break(tmp_path: Path) -> None:
    """The end of the file ends the last row."""
    assert pairs(tocsin.match(ONE, csv(tmp_path, "n,s\r\n1,a\r\n1,b"))) == [(0, "one"), (1, "one")]


def test_a_schema_that_names_no_column_is_refused(tmp_path: Path) -> None:
    """The message names the column and what there is."""
    with pytest.raises(tocsin.InvalidInput, match=r"no column q, which .*; it has n, s$"):
        tocsin.match(ONE, csv(tmp_path, "n,s\n1,2\n"), schema={"q": "number"})


@pytest.mark.parametrize("events", [[{"n": 1}], b'{"n": 1}', "events.csv", "events.jsonl"])
def test_a_type_that_there_is_not_is_refused(events: object, tmp_path: Path) -> None:
    """Whatever the events come as; the message names the types."""
    if isinstance(events, str):
        events = csv(tmp_path, "n\n1\n") if events.endswith("csv") else tmp_path / events
    for schema in ("n:number", 5):
        with pytest.raises(tocsin.InvalidInput, match=r"schema is .*; it maps names of attributes to types"):
            tocsin.match([{"id": "a", "where": "n > 1"}], [{"n": 2}], schema=schema)  # type: ignore[arg-type]
    with pytest.raises(tocsin.InvalidInput, match="'n' the type 'date'; the types are number, string"):
        tocsin.match(ONE, events, schema={"n": "date"})
